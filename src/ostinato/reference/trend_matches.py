"""Bound event query and rows -> every match, by trying every sequence of events and every choice of variables.

Slow and obvious: the oracle extends a run event by event while the variables of the run are a prefix of some word of
the pattern (`trend_words.py`). It checks the remaining conditions on complete matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from ostinato.event_queries.language.event_query import (
    AllOf,
    BoundEventQuery,
    EventPattern,
    EventSpan,
    EventWindows,
    RunCondition,
    Selection,
    TimeSpan,
    TimeWindows,
)
from ostinato.expressions.syntax import Aggregate, walk
from ostinato.reference.oracle_ordering import as_moment, partitions, sort_rows
from ostinato.reference.trend_values import adjacent_holds, at_row, run_holds
from ostinato.reference.trend_words import Reading, always_adjacent, match_readings, prefix_readings, variables_of

_EPOCH = datetime(1970, 1, 1)
_ROW = "\0row"
"""The column in which the oracle keeps the index of a row in the input."""


MAX_RUNS = 100_000


class TooManyRuns(Exception):
    """The oracle gives up: one group and window has more than MAX_RUNS runs."""


@dataclass(frozen=True, slots=True)
class Event:
    """A row with a time. `index` is its index in the input, `position` its index within its group in time order."""

    index: int
    row: Mapping[str, Any] = field(compare=False, repr=False)
    time_us: int
    position: int


Run = tuple[tuple[Event, str], ...]
"""Events with the variables they are bound to, in order of time."""


@dataclass(frozen=True, slots=True)
class OracleMatch:
    """`group` holds the GROUP BY values. `window` is the window's start in microseconds, or counted in events.

    `pairs` are (index of the row in the input, variable), in order of time.
    """

    group: tuple[Any, ...]
    window: int | None
    pairs: tuple[tuple[int, str], ...]


def trend_matches(bound: BoundEventQuery, rows: Sequence[Mapping[str, Any]]) -> list[OracleMatch]:
    """Every match, by group, window, first time, last time, word and rows. LIMIT isn't applied."""
    if isinstance(bound.query.pattern, AllOf):
        raise NotImplementedError("the matches of an AND are pairs; a query can only count them")
    return [
        OracleMatch(event_set.group, event_set.window, tuple((event.index, variable) for event, variable in run))
        for event_sets in by_window(bound, rows)
        for run in in_order(bound, [run for event_set in event_sets for run in event_set.matches(bound.query.pattern)])
        for event_set in event_sets[:1]
    ]


def in_order(bound: BoundEventQuery, runs: Sequence[Run]) -> list[Run]:
    """Matches of one window by first time, last time, then event by event: variable (in the pattern's order), row."""

    def key(run: Run) -> tuple[int, int, list[tuple[int, int]]]:
        pairs = [(bound.variables.index(variable), event.position) for event, variable in run]
        return run[0][0].time_us, run[-1][0].time_us, pairs

    return sorted(runs, key=key)


# --- events that may be in one match ----------------------------------------------------------------------------------


def by_window(bound: BoundEventQuery, rows: Sequence[Mapping[str, Any]]) -> Iterator[list[EventSet]]:
    """For each group and each window with events: one set of events for each combination of values of SAME."""
    timed = [{**row, _ROW: index} for index, row in enumerate(rows) if row[bound.time] is not None]
    others = [name for name in bound.columns if name not in (bound.time, *bound.group_by)]
    for members in partitions(timed, bound.group_by):
        ordered = sort_rows(members, [(bound.time, False, True)], others)
        events = [Event(_index(row), row, time_us(row[bound.time]), position) for position, row in enumerate(ordered)]
        group = tuple(events[0].row[name] for name in bound.group_by)
        for window, inside in _windows(bound, events):
            yield [EventSet(bound, group, window, events_of_values) for events_of_values in _agreeing(bound, inside)]


def _index(row: Mapping[str, Any]) -> int:
    index = row[_ROW]
    assert isinstance(index, int)
    return index


def time_us(value: Any) -> int:
    """A timestamp or a date in microseconds since 1970 (UTC); a whole number is that already."""
    return (as_moment(value) - _EPOCH) // timedelta(microseconds=1) if isinstance(value, date) else int(value)


def _windows(bound: BoundEventQuery, events: Sequence[Event]) -> Iterator[tuple[int | None, list[Event]]]:
    """Each window that holds an event, by its start."""
    position: Callable[[Event], int]
    match bound.query.bound:
        case TimeWindows(length, slide):
            size, step = length // timedelta(microseconds=1), slide // timedelta(microseconds=1)
            position, lowest = (lambda event: event.time_us), None
        case EventWindows(size, step):
            position, lowest = (lambda event: event.position), 0
        case _:
            yield None, list(events)
            return
    starts = set()
    for event in events:
        start = position(event) // step * step
        while position(event) < start + size:
            if lowest is None or start >= lowest:
                starts.add(start)
            start -= step
    for start in sorted(starts):
        yield start, [event for event in events if start <= position(event) < start + size]


def _agreeing(bound: BoundEventQuery, events: Sequence[Event]) -> list[list[Event]]:
    """The events grouped by their values of SAME, without events that have a NULL among them."""
    without_nulls = [event for event in events if all(event.row[name] is not None for name in bound.same)]
    together = partitions([event.row for event in without_nulls], bound.same)
    chosen = [{_index(row) for row in indices} for indices in together]
    return [[event for event in without_nulls if event.index in indices] for indices in chosen]


# --- matches ----------------------------------------------------------------------------------------------------------


@dataclass
class EventSet:
    """The events of one group, one window and one combination of values of SAME, in order of time.

    Not frozen, without slots: it caches results.
    """

    bound: BoundEventQuery
    group: tuple[Any, ...]
    window: int | None
    events: list[Event]

    def __post_init__(self) -> None:
        self._edges: dict[tuple[int, str, int, str], bool] = {}
        self._absent: dict[EventPattern, list[Run]] = {}

    def matches(self, pattern: EventPattern) -> list[Run]:
        """Every match of the pattern, each once, under the query's selection."""
        runs = self._runs(pattern, self.bound.query.selection)
        return [run for run in runs if self._spells(pattern, run) and self._in_span(run) and self._run_conditions(run)]

    def _runs(self, pattern: EventPattern, selection: Selection) -> Iterator[Run]:
        """Every run that is a match or can become one."""
        waiting: list[Run] = [(pair,) for pair in self._qualifying(pattern) if prefix_readings(pattern, (pair[1],))]
        tried = 0
        while waiting:
            run = waiting.pop()
            yield run
            tried += 1
            if tried > MAX_RUNS:
                raise TooManyRuns
            waiting.extend((*run, pair) for pair in self._followers(pattern, run, selection))

    def _followers(self, pattern: EventPattern, run: Run, selection: Selection) -> list[tuple[Event, str]]:
        candidates = [pair for pair in self._qualifying(pattern) if self._extends(pattern, run, pair)]
        match selection:
            case Selection.ANY:
                return candidates
            case Selection.STRICT:
                return [pair for pair in candidates if self._directly_after(run[-1][0], pair[0])]
            case Selection.NEXT:
                first = min((event.time_us for event, _ in candidates), default=None)
                return [pair for pair in candidates if pair[0].time_us == first]

    def _qualifying(self, pattern: EventPattern) -> list[tuple[Event, str]]:
        return [pair for variable in variables_of(pattern) for pair in self._qualified[variable]]

    @cached_property
    def _qualified(self) -> dict[str, list[tuple[Event, str]]]:
        return {
            variable: [(event, variable) for event in self.events if at_row(condition, event.row) is True]
            for variable, condition in self.bound.qualifies.items()
        }

    def _extends(self, pattern: EventPattern, run: Run, pair: tuple[Event, str]) -> bool:
        """Whether the pair may come next by the pattern, the conditions on the pair before, and absent events."""
        last = run[-1]
        if pair[0].time_us <= last[0].time_us:
            return False
        longer = (*run, pair)
        readings = prefix_readings(pattern, tuple(variable for _, variable in longer))
        return (
            bool(readings)
            and self._edge(last, pair)
            and any(self._nothing_between(reading, longer) for reading in readings)
        )

    def _directly_after(self, event: Event, other: Event) -> bool:
        """STRICT: the other event has the next time of any event, and neither shares its time with a third event."""
        times = [each.time_us for each in self.events]
        later = min(time for time in times if time > event.time_us)
        return other.time_us == later and times.count(event.time_us) == times.count(later) == 1

    def _edge(self, before: tuple[Event, str], after: tuple[Event, str]) -> bool:
        """Whether the conditions between adjacent events hold for these two."""
        key = (before[0].index, before[1], after[0].index, after[1])
        if key not in self._edges:
            rows = before[0].row, after[0].row
            named = [each for each in self.bound.adjacent if (each.before, each.after) == (before[1], after[1])]
            pairs = [(rows[0], before[1]), (rows[1], after[1])]
            self._edges[key] = all(adjacent_holds(each, *rows) for each in named) and all(
                run_holds(each, pairs) for each in self._between_neighbours if each.variables == {before[1], after[1]}
            )
        return self._edges[key]

    @cached_property
    def _between_neighbours(self) -> list[RunCondition]:
        """The conditions over two variables that are always adjacent. Skip-till-next checks them too."""
        plain = [
            each
            for each in self.bound.run
            if each.each is None and not any(isinstance(node, Aggregate) for node in walk(each.condition))
        ]
        pattern = self.bound.query.pattern
        return [each for each in plain if len(each.variables) == 2 and always_adjacent(pattern, *each.variables)]

    # --- conditions over a complete match ---

    def _spells(self, pattern: EventPattern, run: Run) -> bool:
        """Whether the variables of the run match the pattern by a reading whose absent events are absent."""
        return any(
            self._nothing_between(reading, run)
            and self._nothing_before(reading, run)
            and self._nothing_after(reading, run)
            for reading in match_readings(pattern, tuple(variable for _, variable in run))
        )

    def _nothing_between(self, reading: Reading, run: Run) -> bool:
        return not any(
            self._occurs(absent, _strictly_between(before, after))
            for absent, (before, _), (after, _) in zip(reading[1:], run, run[1:], strict=False)
        )

    def _nothing_before(self, reading: Reading, run: Run) -> bool:
        first, last = run[0][0], run[-1][0]

        def counts(event: Event) -> bool:
            return event.time_us < first.time_us and self._reaches(event, last)

        return not self._occurs(reading[0], counts)

    def _nothing_after(self, reading: Reading, run: Run) -> bool:
        first, last = run[0][0], run[-1][0]

        def counts(event: Event) -> bool:
            return last.time_us < event.time_us and self._reaches(first, event)

        return not self._occurs(reading[len(run)], counts)

    def _occurs(self, absent: frozenset[EventPattern], counts: Callable[[Event], bool]) -> bool:
        """Whether one of the patterns has a match all of whose events count."""
        for pattern in absent:
            if pattern not in self._absent:
                runs = self._runs(pattern, Selection.ANY)
                self._absent[pattern] = [run for run in runs if self._spells(pattern, run)]
            if any(all(counts(event) for event, _ in run) for run in self._absent[pattern]):
                return True
        return False

    def _in_span(self, run: Run) -> bool:
        return self._reaches(run[0][0], run[-1][0])

    def _reaches(self, first: Event, last: Event) -> bool:
        """Whether WITHIN without windows allows a match from the first event to the last."""
        match self.bound.query.bound:
            case TimeSpan(length):
                return timedelta(microseconds=last.time_us - first.time_us) <= length
            case EventSpan(length):
                return last.position - first.position <= length - 1
            case _:
                return True

    def _run_conditions(self, run: Run) -> bool:
        pairs = [(event.row, variable) for event, variable in run]
        for condition in self.bound.run:
            if not condition.variables <= set(self.bound.variables):
                raise NotImplementedError("a condition over several variables with one under NOT")
            if not run_holds(condition, pairs):
                return False
        return True


def _strictly_between(before: Event, after: Event) -> Callable[[Event], bool]:
    return lambda event: before.time_us < event.time_us < after.time_us
