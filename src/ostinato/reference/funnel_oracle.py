"""Funnels by trying every sequence of a key's events: slow and obvious. docs/funnels.md has the same rules in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

Mode = Literal["any", "strict_order", "strict_increase"]


@dataclass(frozen=True, slots=True)
class FunnelEvent:
    """An event of one key: its time, a number that orders events of this time, and the steps (from 1) it can be."""

    time: int | None
    tie: int
    steps: frozenset[int]


@dataclass(frozen=True, slots=True)
class FunnelOracle:
    steps: int
    within: int | None
    mode: Mode

    def best(self, events: Sequence[FunnelEvent]) -> tuple[int, ...] | None:
        """The times of the key's best attempt: the longest, the earliest of these. None without a first step."""
        ordered = in_order(events)
        attempts = [
            tuple(_time(ordered[i]) for i in chosen)
            for chosen in self._sequences(ordered)
            if not self._is_superseded(ordered, chosen)
        ]
        return min(attempts, key=lambda times: (-len(times), times), default=None)

    def level(self, events: Sequence[FunnelEvent]) -> int:
        """The length of the longest sequence, as windowFunnel counts it: whether or not the first step is repeated."""
        return max((len(chosen) for chosen in self._sequences(in_order(events))), default=0)

    def _sequences(self, events: Sequence[FunnelEvent]) -> Iterator[tuple[int, ...]]:
        for length in range(1, self.steps + 1):
            for chosen in combinations(range(len(events)), length):
                if self._is_sequence(events, chosen):
                    yield chosen

    def _is_sequence(self, events: Sequence[FunnelEvent], chosen: tuple[int, ...]) -> bool:
        times = [_time(events[i]) for i in chosen]
        return (
            all(step in events[i].steps for step, i in enumerate(chosen, start=1))
            and (self.within is None or times[-1] - times[0] <= self.within)
            and (self.mode != "strict_increase" or all(a < b for a, b in pairwise(times)))
            and (self.mode != "strict_order" or self._has_strict_order(events, chosen))
        )

    def _has_strict_order(self, events: Sequence[FunnelEvent], chosen: tuple[int, ...]) -> bool:
        """Between two steps there are only events of reached steps; none is the next step."""
        for step, (before, after) in enumerate(pairwise(chosen), start=1):
            reached = set(range(1, step + 1))
            between = events[before + 1 : after]
            if any(not event.steps & reached or step + 1 in event.steps for event in between):
                return False
        return True

    def _is_superseded(self, events: Sequence[FunnelEvent], chosen: tuple[int, ...]) -> bool:
        """Whether another first step comes before the second step, or in the window if there is no second step."""
        first = chosen[0]
        end = chosen[1] if len(chosen) > 1 else len(events)
        later: Callable[[int], bool] = (
            (lambda i: _time(events[first]) < _time(events[i]) < _end_time(events, end))
            if self.mode == "strict_increase"
            else (lambda i: first < i < end)
        )
        in_window = [
            i
            for i in range(len(events))
            if later(i) and (self.within is None or _time(events[i]) - _time(events[first]) <= self.within)
        ]
        if self.mode == "strict_order":  # the next event decides: any other one has ended the attempt
            in_window = [i for i in in_window if i == first + 1]
        return any(1 in events[i].steps for i in in_window)


def in_order(events: Sequence[FunnelEvent]) -> list[FunnelEvent]:
    """By time, by tie, by the first step that the event can be; events that are no step come first."""
    return sorted(
        (event for event in events if event.time is not None),
        key=lambda event: (_time(event), event.tie, min(event.steps, default=0)),
    )


def _time(event: FunnelEvent) -> int:
    assert event.time is not None
    return event.time


def _end_time(events: Sequence[FunnelEvent], end: int) -> float:
    return _time(events[end]) if end < len(events) else float("inf")
