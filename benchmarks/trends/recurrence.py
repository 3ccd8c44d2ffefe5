"""The plain way: Python's own big integers, one running sum for each state of each query. The baseline of the goals.

An event goes to those queries only that have its type, and adds to a state what the states before it hold. That is
what a good programmer writes in an afternoon: exact at any size, nothing compiled, nothing shared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.trends.windows import Unsupported, Windows, symbols_of, windows_of
from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import Events, Extent, Program, QueryResults, Slot, SlotKind

Update = tuple[list[int], int, int, tuple[int, ...]]
"""Sums of a query, the state to add to, the first state to add, the other states to add."""


@dataclass(slots=True)
class _Query:
    """Sums of the open window: `sums[state]`, and for each slot another list of the kind."""

    program: Program
    sums: list[int] = field(default_factory=list)
    slots: list[list[Any]] = field(default_factory=list)
    found: dict[int, tuple[int, list[Any]]] = field(default_factory=dict)
    """Window -> count and slots."""

    def begin(self) -> None:
        states = self.program.automaton.states
        self.sums[:] = [0] * states
        self.sums[START] = 1
        self.slots[:] = [_nothing(slot) * states for slot in self.program.slots]

    def end(self, window: int) -> None:
        accepting = sorted(self.program.automaton.accepting)
        total = sum(self.sums[state] for state in accepting)
        if total:
            slots = [
                _joined(slot, [sums[state] for state in accepting])
                for slot, sums in zip(self.program.slots, self.slots, strict=True)
            ]
            self.found[window] = (total, slots)

    def results(self, windows: Windows) -> QueryResults:
        rows = np.array(sorted(self.found), np.int64)
        kept = [self.found[row] for row in rows.tolist()]
        return QueryResults(
            sequence=windows.sequence[rows],
            window=windows.start[rows],
            count=_column([count for count, _ in kept], object),
            slots=tuple(
                _column([values[place] for _, values in kept], _dtype(slot))
                for place, slot in enumerate(self.program.slots)
            ),
            present=tuple(np.ones(len(rows), np.bool_) for _ in self.program.slots),
        )


def plain_recurrence(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    """Queries with the same windows go through the events together."""
    if any(valid is not None for valid in events.valid):
        raise Unsupported("values that may be NULL")
    symbols = symbols_of(events)
    by_extent: dict[Extent, list[int]] = defaultdict(list)
    for number, program in enumerate(programs):
        if program.edges or program.automaton.absences or program.selection is not Selection.ANY:
            raise Unsupported("only running sums")
        by_extent[program.extent].append(number)
    results: dict[int, QueryResults] = {}
    for extent, numbers in by_extent.items():
        windows = windows_of(events, extent)
        queries = [_Query(programs[number]) for number in numbers]
        with_slots = any(programs[number].slots for number in numbers)
        (_with_slots if with_slots else _counts_only)(queries, windows, symbols, events)
        results.update((number, query.results(windows)) for number, query in zip(numbers, queries, strict=True))
    return tuple(results[number] for number in range(len(programs)))


def _counts_only(queries: Sequence[_Query], windows: Windows, symbols: Any, events: Events) -> None:
    touched = {int(symbol): _updates(queries, int(symbol)) for symbol in np.unique(symbols)}
    at_once = any(_touches_twice(updates) for updates in touched.values())
    for window, (first, last) in enumerate(zip(windows.first.tolist(), windows.last.tolist(), strict=True)):
        for query in queries:
            query.begin()
        given, times = symbols[first:last].tolist(), events.time[first:last]
        if at_once or (np.diff(times) == 0).any():
            _advance_with_ties(touched, given, times.tolist())
        else:
            _advance(touched, given)
        for query in queries:
            query.end(window)


def _advance(touched: dict[int, list[Update]], symbols: list[int]) -> None:
    for symbol in symbols:
        for sums, target, source, more in touched[symbol]:
            new = sums[source]
            for other in more:
                new += sums[other]
            sums[target] += new


def _advance_with_ties(touched: dict[int, list[Update]], symbols: list[int], times: list[int]) -> None:
    """Events of one time see the sums before it."""
    pending: list[tuple[list[int], int, int]] = []
    before = None
    for symbol, time in zip(symbols, times, strict=True):
        if time != before:
            for sums, target, new in pending:
                sums[target] += new
            pending.clear()
            before = time
        for sums, target, source, more in touched[symbol]:
            new = sums[source]
            for other in more:
                new += sums[other]
            pending.append((sums, target, new))
    for sums, target, new in pending:
        sums[target] += new


def _updates(queries: Sequence[_Query], symbol: int) -> list[Update]:
    """What an event with these conditions changes, in all queries."""
    updates: list[Update] = []
    for query in queries:
        for target, sources in _sources(query.program, symbol).items():
            updates.append((query.sums, target, sources[0][0], tuple(source for source, _ in sources[1:])))
    return updates


def _sources(program: Program, symbol: int) -> dict[int, list[tuple[int, int]]]:
    """Target -> the (source, label) from which this event leads there."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for transition in program.automaton.transitions:
        if symbol >> program.qualifies[transition.label] & 1:
            found[transition.target].append((transition.source, transition.label))
    return found


def _touches_twice(updates: Sequence[Update]) -> bool:
    """Whether an event is taken by two states of one query: both must see the sums before it."""
    lists = [id(sums) for sums, *_ in updates]
    return len(set(lists)) < len(lists)


# --- with sums, minima and maxima beside the counts -------------------------------------------------------------------


def _with_slots(queries: Sequence[_Query], windows: Windows, symbols: Any, events: Events) -> None:
    touched = {
        int(symbol): [(query, _sources(query.program, int(symbol))) for query in queries]
        for symbol in np.unique(symbols)
    }
    touched = {symbol: [(query, found) for query, found in pairs if found] for symbol, pairs in touched.items()}
    values = [column.tolist() for column in events.values]
    times = events.time.tolist()
    for window, (first, last) in enumerate(zip(windows.first.tolist(), windows.last.tolist(), strict=True)):
        for query in queries:
            query.begin()
        pending: list[tuple[_Query, int, int, list[Any]]] = []
        for row in range(first, last):
            if row > first and times[row] != times[row - 1]:
                _commit(pending)
            for query, found in touched[int(symbols[row])]:
                for target, sources in found.items():
                    pending.append((query, target, *_new(query, sources, values, row)))
        _commit(pending)
        for query in queries:
            query.end(window)


def _new(query: _Query, sources: list[tuple[int, int]], values: list[list[Any]], row: int) -> tuple[int, list[Any]]:
    """What the event itself counts in a state, and its slots: the trends that end with it."""
    count = sum(query.sums[source] for source, _ in sources)
    slots = []
    for slot, sums in zip(query.program.slots, query.slots, strict=True):
        parts = [sums[source] for source, _ in sources]
        for source, label in sources:
            if label in slot.labels and query.sums[source]:
                own = values[slot.value][row] if slot.value >= 0 else 1
                parts.append(own * query.sums[source] if slot.kind in _LINEAR else own)
        slots.append(_joined(slot, parts))
    return count, slots


def _commit(pending: list[tuple[_Query, int, int, list[Any]]]) -> None:
    for query, target, count, slots in pending:
        query.sums[target] += count
        for slot, sums, new in zip(query.program.slots, query.slots, slots, strict=True):
            sums[target] = _joined(slot, [sums[target], new])
    pending.clear()


_LINEAR = (SlotKind.COUNT, SlotKind.SUM)


def _nothing(slot: Slot) -> list[Any]:
    return [0] if slot.kind in _LINEAR else [None]


def _joined(slot: Slot, parts: Sequence[Any]) -> Any:
    if slot.kind in _LINEAR:
        return sum(parts)
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return min(known) if slot.kind is SlotKind.MIN else max(known)


def _column(values: list[Any], dtype: Any) -> Any:
    column = np.empty(len(values), dtype)
    column[:] = values
    return column


def _dtype(slot: Slot) -> Any:
    return object if slot.kind in _LINEAR else np.int64
