"""Runs the search kernel to its end: enlarges a buffer whenever it is full, and resumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.nfa_tables import NfaTables
from ostinato.kernels.stopping import check_stopped, stop_flag


class SearchOutcome(NamedTuple):
    """The matches, and how the search ended."""

    matches: s.MatchBuffers
    failure: int
    failed_row: int
    steps: int
    failed_at: NDArray[np.int64]
    """As in `SearchBuffers`, for searches that go on after a failed condition."""
    failed_why: NDArray[np.int64]


def run_search(
    search: Callable[..., int],
    automaton: NfaTables,
    rules: s.SearchRules,
    rows: s.SearchRows,
    starts: s.SpanStarts,
    conditions: Any,
    register_counts: tuple[int, int],
    *,
    notes_failures: bool = False,
) -> SearchOutcome:
    """Runs the kernel to its end. `starts` is changed in place. `notes_failures`: a condition that fails isn't TRUE."""
    states, row_count = len(automaton.label), int(rows.end.max(initial=rows.base)) - rows.base
    depth = 1024  # large enough that two threads don't write to one cache line
    matches = s.MatchBuffers(
        start=np.empty(1024, np.int64),
        length=np.empty(1024, np.int64),
        number=np.empty(1024, np.int64),
        ahead=np.empty(1024, np.int64),
        path=np.empty(8192 if rules.keep_path else 0, np.int32),
    )
    buffers = _buffers(depth, register_counts, rules, states, row_count)
    failed_at, failed_why = (np.zeros(row_count if notes_failures else 0, np.int64) for _ in range(2))
    buffers = buffers._replace(failed_at=failed_at, failed_why=failed_why)
    progress = np.zeros(9, np.int64)
    stopped = stop_flag()
    while True:
        status = search(automaton, rules, rows, starts, matches, buffers, conditions, progress, stopped)
        check_stopped()
        if status == s.MORE_MATCHES:
            matches = s.MatchBuffers._make([*(_double(array) for array in matches[:-1]), matches.path])
        elif status == s.MORE_PATH and len(matches.path) >= s.LARGEST_PATH:
            progress[s.FAILURE] = s.RESULT_TOO_LARGE
            break
        elif status == s.MORE_PATH:
            matches = matches._replace(path=_double(matches.path))
        elif status == s.MORE_DEPTH:
            depth *= 4
            deeper = _buffers(depth, register_counts, rules, states, row_count)
            buffers = deeper._replace(
                memo=buffers.memo, claimed=buffers.claimed, failed_at=failed_at, failed_why=failed_why
            )
        elif status == s.MORE_MEMO:
            buffers = buffers._replace(
                memo=np.concatenate([buffers.memo, np.zeros(max(len(buffers.memo), 1024), np.int64)])
            )
        else:
            break
    return SearchOutcome(
        _cut(matches, progress),
        int(progress[s.FAILURE]),
        int(progress[s.FAILED_ROW]),
        int(progress[s.STEPS]),
        failed_at,
        failed_why,
    )


def _buffers(
    depth: int, register_counts: tuple[int, int], rules: s.SearchRules, states: int, rows: int
) -> s.SearchBuffers:
    registers, accumulators = register_counts
    memo = rows * states if rules.memo == s.MEMO_FOREVER else 1024 if rules.memo == s.MEMO_PER_START else 0
    return s.SearchBuffers(
        node=np.zeros(depth, np.int32),
        cursor=np.zeros(depth, np.int64),
        registers=np.full((depth, registers), -1, np.int64),
        int_totals=np.zeros((depth, accumulators), np.int64),
        real_totals=np.zeros((depth, accumulators), np.float64),
        memo=np.zeros(memo, np.int64),
        claimed=np.zeros(rows if rules.mode in (s.INCREMENTAL, s.GROWING) else 0, np.int64),
        failed_at=np.zeros(0, np.int64),
        failed_why=np.zeros(0, np.int64),
        stack=np.zeros(64, np.float64),
        stack_whole=np.zeros(64, np.int64),
        stack_null=np.zeros(64, np.bool_),
    )


def _double(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.empty(max(len(array), 1024), array.dtype)])


def _cut(matches: s.MatchBuffers, progress: NDArray[np.int64]) -> s.MatchBuffers:
    """The buffers without their unused ends."""
    count, path = int(progress[s.MATCHES]), int(progress[s.PATH])
    return s.MatchBuffers._make([*(array[:count] for array in matches[:-1]), matches.path[:path]])
