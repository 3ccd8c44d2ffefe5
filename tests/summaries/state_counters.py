"""The state summary as the paper describes it, exact: global, local, active global and active local counters.

INITIALIZE makes an empty one, INSERT and REMOVE change it. Counters are Python integers, one for each state but the
start. The product has compiled counters (`counting_kernels.py`) to choose events and counts exactly when it is asked
(`bridges.py`); tests compare both with this class.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace

from ostinato.summaries.engine.bridges import (
    Contributions,
    Number,
    Row,
    WeightedEvents,
    begun,
    bridge,
    contributions,
    counts_after,
    counts_after_taking,
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
    def events(self) -> WeightedEvents:
        return WeightedEvents(self.times, self.types, self.weights)

    def matches(self) -> Number:
        """All complete matches in the summary."""
        return _complete(self.program, self.everything)

    def present(self, event: int) -> Number:
        """B_pres: complete matches that contain the event, eq. 1."""
        return _complete(self.program, self.local[event])

    def newcomer(self, type: int, weight: Number = 1) -> Row:
        """Active local counters that an event would have if it were inserted now."""
        lone = WeightedEvents([0], [type], [weight])
        return _sum(counts_after_taking(self.program, lone, 0, self.active), begun(self.program, lone, 0))

    def insert(self, time: int, type: int, weight: Number = 1) -> None:
        """INSERT, at the end: O(events in the window)."""
        self.expire(time)
        initial = self.newcomer(type, weight)
        self.times.append(time)
        self.types.append(type)
        self.weights.append(weight)
        event, events = len(self) - 1, self.events
        grown = _sum(counts_after(self.program, events, event, self.active), begun(self.program, events, event))
        self.everything = _sum(self.everything, _difference(grown, self.active))
        self.active = grown
        for other in range(self.first, event):
            before = self.active_local[other]
            now = counts_after(self.program, events, event, before)
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
        """REMOVE: O(events in the window).

        Forward and backward counts (`joint_counts`) give the matches that other events share with the event. Under
        skip-till-next, other events may now match in its place, so all counters are recounted.
        """
        if self.program.any_match:
            joint = [joint_counts(program, self.events, self.window, event) for program in self._each_state()]
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
        counts_by_state = [contributions(program, self.events, self.window) for program in self._each_state()]
        self.everything = [counts.total for counts in counts_by_state]
        self.local = [[counts.of_event[event] for counts in counts_by_state] for event in range(len(self))]

    def _replay_active(self) -> None:
        self.active = self._zeros()
        for event in range(self.first, len(self)):
            grown = counts_after(self.program, self.events, event, self.active)
            self.active = _sum(grown, begun(self.program, self.events, event))
        before: list[Row] = [self._zeros() for _ in range(min(self.first, len(self)))]
        self.active_local = before + active_counts(self.program, self.events, self.first)

    def _begins(self, event: int) -> bool:
        return bool(self.program.begins[self.types[event]])

    def _zeros(self) -> Row:
        return [0] * self.program.states

    def _each_state(self) -> list[CountProgram]:
        """The program with each of its states as the only final one."""
        states = range(self.program.states)
        return [replace(self.program, final=tuple(int(state == only) for state in states)) for only in states]


def joint_counts(program: CountProgram, events: WeightedEvents, window: int, event: int) -> Contributions:
    """The number of matches that contain the event, and of these the number that contain each other event.

    A bridge behind the event counts them: the event gets a type of its own that every partial match has to take.
    """
    kind = events.types[event]
    forced = replace(
        program,
        moves=(*program.moves, program.moves[kind]),
        begins=(*program.begins, program.begins[kind]),
        may_skip=(*program.may_skip, (False,) * program.states),
    )
    types = list(events.types)
    types[event] = len(program.moves)
    left = range(bisect_left(events.times, events.times[event] - window), event + 1)
    right = range(event + 1, bisect_right(events.times, events.times[event] + window))
    joint = bridge(forced, replace(events, types=types), window, left, right)
    counts: list[Number] = [0] * len(events)
    for other, count in zip((*left, *right), (*joint.left, *joint.right), strict=True):
        counts[other] = count
    return Contributions(joint.total, counts)


def active_counts(program: CountProgram, events: WeightedEvents, first: int) -> list[Row]:
    """For each event from `first` on: partial matches by state that contain it and start at `first` or later."""
    counts: list[Row] = []
    row: Row = [0] * program.states
    for event in range(first, len(events)):
        local = _sum(counts_after_taking(program, events, event, row), begun(program, events, event))
        for later in range(event + 1, len(events)):
            local = counts_after(program, events, later, local)
        counts.append(local)
        row = _sum(counts_after(program, events, event, row), begun(program, events, event))
    return counts


def _sum(row: Row, other: Row) -> Row:
    return [a + b for a, b in zip(row, other, strict=True)]


def _difference(row: Row, other: Row) -> Row:
    return [a - b for a, b in zip(row, other, strict=True)]


def _complete(program: CountProgram, row: Row) -> Number:
    return sum((count for count, is_final in zip(row, program.final, strict=True) if is_final), 0)
