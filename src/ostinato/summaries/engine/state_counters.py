"""The state summary as the paper describes it, exact: global, local, active global and active local counters.

INITIALIZE makes an empty one, INSERT and REMOVE change it. Counters are Python integers by state, the start left out.
It shows the data structure and serves tests; the driver keeps compiled counters (`counting_kernels.py`) for the choice
of events and counts exactly when it is asked (`bridges.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.summaries.engine.bridges import (
    Kept,
    Number,
    Row,
    active_counts,
    begun,
    contributions,
    joint_counts,
    passed,
    taken,
)
from ostinato.summaries.engine.counter_moves import CountProgram


@dataclass(slots=True)
class StateCounters:
    """INITIALIZE: `StateCounters(program, window)`."""

    program: CountProgram
    window: int
    times: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    weights: list[Number] = field(default_factory=list)
    everything: Row = field(default_factory=list)  # S_#Z, global: also partial matches whose window is over
    active: Row = field(default_factory=list)  # A_#Z, active global
    local: list[Row] = field(default_factory=list)  # c_#Z
    active_local: list[Row] = field(default_factory=list)  # A_c#Z; of zeros before `first`
    first: int = 0  # A_init, the oldest event that starts a match within the window; len(self) when there is none

    def __post_init__(self) -> None:
        self.everything = self._zeros()
        self.active = self._zeros()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def kept(self) -> Kept:
        return Kept(self.times, self.types, self.weights)

    def matches(self) -> Number:
        """All complete matches in the summary."""
        return _complete(self.program, self.everything)

    def present(self, event: int) -> Number:
        """B_pres: complete matches that contain the event, eq. 1."""
        return _complete(self.program, self.local[event])

    def newcomer(self, type: int, weight: Number = 1) -> Row:
        """Active local counters that an event would have if it were inserted now."""
        lone = Kept([0], [type], [weight])
        return _sum(taken(self.program, lone, 0, self.active), begun(self.program, lone, 0))

    def insert(self, time: int, type: int, weight: Number = 1) -> None:
        """INSERT, at the end: O(events in the window)."""
        self.expire(time)
        initial = self.newcomer(type, weight)
        self.times.append(time)
        self.types.append(type)
        self.weights.append(weight)
        event, kept = len(self) - 1, self.kept
        grown = _sum(passed(self.program, kept, event, self.active), begun(self.program, kept, event))
        self.everything = _sum(self.everything, _difference(grown, self.active))
        self.active = grown
        for other in range(self.first, event):
            before = self.active_local[other]
            now = passed(self.program, kept, event, before)
            self.local[other] = _sum(self.local[other], _difference(now, before))
            self.active_local[other] = now
        self.local.append(list(initial))
        self.active_local.append(initial)
        self.expire(time)

    def expire(self, now: int) -> None:
        """Time passes: partial matches that started too long ago are no longer active."""
        first = self.first
        while first < len(self) and not (self._begins(first) and now - self.times[first] <= self.window):
            first += 1
        if first != self.first:
            self.first = first
            self._replay_active()

    def remove(self, event: int) -> None:
        """REMOVE: O(events in the window). What the others shared with the event follows from forward and backward
        counts (`joint_counts`); under skip-till-next others may now match what the event took: counted anew."""
        if self.program.any_match:
            joint = [joint_counts(self.program, self.kept, self.window, event, only) for only in self._each_state()]
            self.everything = _difference(self.everything, self.local[event])
            self.local = [
                [count - joint[state].of_event[other] for state, count in enumerate(row)]
                for other, row in enumerate(self.local)
            ]
        for column in (self.times, self.types, self.weights, self.local, self.active_local):
            del column[event]
        if not self.program.any_match:
            self._recount()
        if event < self.first:
            self.first -= 1
            return
        while self.first < len(self) and not self._begins(self.first):
            self.first += 1
        self._replay_active()

    def _recount(self) -> None:
        found = [contributions(self.program, self.kept, self.window, only) for only in self._each_state()]
        self.everything = [counts.total for counts in found]
        self.local = [[counts.of_event[event] for counts in found] for event in range(len(self))]

    def _replay_active(self) -> None:
        self.active = self._zeros()
        for event in range(self.first, len(self)):
            grown = passed(self.program, self.kept, event, self.active)
            self.active = _sum(grown, begun(self.program, self.kept, event))
        before: list[Row] = [self._zeros() for _ in range(min(self.first, len(self)))]
        self.active_local = before + active_counts(self.program, self.kept, self.first)

    def _begins(self, event: int) -> bool:
        return bool(self.program.begins[self.types[event]])

    def _zeros(self) -> Row:
        return [0] * self.program.states

    def _each_state(self) -> list[list[int]]:
        states = range(self.program.states)
        return [[int(state == only) for state in states] for only in states]


def _sum(row: Row, other: Row) -> Row:
    return [a + b for a, b in zip(row, other, strict=True)]


def _difference(row: Row, other: Row) -> Row:
    return [a - b for a, b in zip(row, other, strict=True)]


def _complete(program: CountProgram, row: Row) -> Number:
    return sum((count for count, is_final in zip(row, program.final, strict=True) if is_final), 0)
