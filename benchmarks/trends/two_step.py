"""MCEP's way (2019): build every trend, then aggregate. What queries have in common is built once.

In SEQ(X, Travel+, Y) that is Travel+: its runs are built once for all queries, and each is put together with the events
of every query before and after it. Every trend is written out before it is counted. Compiled, on 64-bit integers; the
number of trends is exponential, so `trends` are counted first and the caller says how many are too many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.trends.windows import Unsupported, symbols_of, windows_of
from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import Events, Program, QueryResults
from ostinato.kernels.kernel_cache import kernel


def two_step(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    """For queries SEQ(X, Travel+, Y) with the same Travel, windows and nothing else."""
    shared, first_kinds, last_kinds = _shape(programs)
    windows = windows_of(events, programs[0].extent)
    counts = np.zeros((len(windows.start), len(programs)), np.int64)
    by_kind = np.empty((len(events.conditions), windows.most_rows), np.int64)
    run, trend = np.empty(windows.most_rows + 2, np.int64), np.empty(windows.most_rows + 2, np.int64)
    _windows(
        *(windows.first, windows.last, events.time, symbols_of(events)),
        *(shared, np.array(first_kinds), np.array(last_kinds), by_kind, run, trend, counts),
    )
    return tuple(_results(windows, counts[:, number]) for number in range(len(programs)))


def _results(windows, count) -> QueryResults:  # type: ignore[no-untyped-def]
    kept = np.flatnonzero(count)
    return QueryResults(windows.sequence[kept], windows.start[kept], count[kept].astype(object), (), ())


def _shape(programs: Sequence[Program]) -> tuple[int, list[int], list[int]]:
    """The shared condition, and the conditions before and after it by query."""
    edges = ((START, 0, 1), (1, 1, 2), (2, 2, 3), (2, 1, 2))
    for program in programs:
        found = tuple((t.source, t.label, t.target) for t in program.automaton.transitions)
        if set(found) != set(edges) or program.edges or program.slots or program.extent != programs[0].extent:
            raise Unsupported("only COUNT(*) of SEQ(X, T+, Y) in the same windows")
    shared = {program.qualifies[1] for program in programs}
    if len(shared) != 1:
        raise Unsupported("another type under Kleene plus")
    return (
        shared.pop(),
        [program.qualifies[0] for program in programs],
        [program.qualifies[2] for program in programs],
    )


@kernel
def _windows(first, last, time, symbols, shared, first_kinds, last_kinds, by_kind, run, trend, counts):  # type: ignore[no-untyped-def]
    """All runs of shared events by depth first, window by window; each completed by every query."""
    number = np.zeros(len(by_kind), np.int64)
    for window in range(len(first)):
        _sort_by_kind(first[window], last[window], symbols, by_kind, number)
        depth, place = 0, 0
        while True:
            while (
                place < number[shared]
                and depth > 0
                and time[by_kind[shared, place]] <= time[by_kind[shared, run[depth - 1]]]
            ):
                place += 1
            if place < number[shared]:
                run[depth] = place
                depth += 1
                for query in range(len(first_kinds)):
                    counts[window, query] += _completed(
                        time, by_kind, number, shared, first_kinds[query], last_kinds[query], run, depth, trend
                    )
                place += 1
            elif depth > 0:
                depth -= 1
                place = run[depth] + 1
            else:
                break


@kernel
def _sort_by_kind(first, last, symbols, by_kind, number):  # type: ignore[no-untyped-def]
    """The rows of a window for each condition."""
    number[:] = 0
    for row in range(first, last):
        for kind in range(len(by_kind)):
            if symbols[row] >> kind & 1:
                by_kind[kind, number[kind]] = row
                number[kind] += 1


@kernel
def _completed(time, by_kind, number, shared, first_kind, last_kind, run, depth, trend):  # type: ignore[no-untyped-def]
    """How many trends of a query have this run: each is written out, then counted."""
    begins, ends = time[by_kind[shared, run[0]]], time[by_kind[shared, run[depth - 1]]]
    found = 0
    for one in range(number[first_kind]):
        before = by_kind[first_kind, one]
        if time[before] >= begins:
            break
        for other in range(number[last_kind] - 1, -1, -1):
            after = by_kind[last_kind, other]
            if time[after] <= ends:
                break
            trend[0], trend[depth + 1] = before, after
            for i in range(depth):
                trend[i + 1] = by_kind[shared, run[i]]
            found += trend[0] < trend[depth + 1]
    return found
