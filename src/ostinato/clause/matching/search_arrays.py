"""The arrays and numbers that the search kernel shares with its callers: rules, rows, starts, matches, statuses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Statuses that the kernel returns.
FINISHED, MORE_MATCHES, MORE_PATH, MORE_DEPTH, MORE_MEMO, FAILED, STOPPED = 0, 1, 2, 3, 4, 5, 6
# Reasons for FAILED.
TOO_MANY_PARTIAL_MATCHES, SKIP_TO_FIRST_ROW, SKIP_TARGET_MISSING, TOO_MANY_IN_KEY, RESULT_TOO_LARGE = 1, 2, 3, 4, 5
TOO_MANY_IN_ALL = 6
CONDITION_FAILED = 100
"""Added to the code of an error inside a condition over the run (expressions/run_conditions/interpreter.py)."""

# Modes: the matches to return. GROWING returns every end of each start once. RECORDS returns the matches of a start
# that were preferred when their last row arrived. Both serve questions about the past (growths.py).
PREFERRED, ALL, INCREMENTAL, MAXIMAL, GROWING, RECORDS = 0, 1, 2, 3, 4, 5
# Where the search goes on after a preferred match.
PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = 0, 1, 2, 3
# A (state, row) that was tried is remembered not at all, within one start, or for the whole span.
NO_MEMO, MEMO_PER_START, MEMO_FOREVER = 0, 1, 2

NO_BOUND = -1
NO_LIMIT = np.iinfo(np.int64).max
OPEN_START = -1
"""The number of a record that is no match: later rows may continue runs of its start."""
PER_KEY = 100
"""A span may try this many times as many partial matches as one of its rows may."""
LARGEST_PATH = 1 << 29
"""The rows of matches that a task may hold: 2 GiB of states."""

# Indexes of `progress`.
SPAN, MATCHES, PATH, FAILURE, FAILED_ROW, STEPS, STAMP, SPAN_STEPS, SPAN_BEGAN = 0, 1, 2, 3, 4, 5, 6, 7, 8


class SearchRules(NamedTuple):
    """The rules of the search, as numbers."""

    mode: int
    skip: int
    skip_labels: NDArray[np.bool_]
    """For SKIP TO: whether a variable belongs to the target."""
    max_length: int
    within: int
    """The largest distance between `time` of the first and last row, or NO_BOUND."""
    max_partial_matches: int
    memo: int
    keep_path: bool
    timeouts: bool
    """Whether a start without a match returns the first run that was still open when WITHIN ended."""
    at_once: bool
    """INCREMENTAL in an open key: return matches that have ended; go on at the first start with an open run."""
    every_start: bool
    """Whether starts that a match skips are tried too."""
    notes_open: bool = False
    """Whether a start with an open run adds a record OPEN_START behind those of its matches."""
    in_frame: bool = False
    """Whether conditions over the run can't read rows before the start, or behind `max_length` rows from it."""
    max_in_all: int = NO_LIMIT
    """The partial matches that may be tried in all spans together."""


class SearchRows(NamedTuple):
    """The sorted rows, and spans of them. Each span is searched by itself; spans may overlap.

    Span k can read rows `first[k]:last_end[k]`, and consume those before `end[k]`.
    """

    first: NDArray[np.int64]
    last_end: NDArray[np.int64]
    end: NDArray[np.int64]
    is_open: NDArray[np.uint8]
    """Whether further rows of the key may follow."""
    known_until: int
    """Rows that follow are later than this."""
    set_of_row: NDArray[np.int32]
    sets: NDArray[np.uint64]
    time: NDArray[np.int64]
    base: int
    """No row before this one is consumed."""
    reach: NDArray[np.int64] = np.empty(0, np.int64)
    """For each start, the largest distance to the `time` of the last row; empty if it is `within` for all."""
    soonest: NDArray[np.int16] = np.empty((0, 0), np.int16)
    """[row, state] the number of rows from this one to the soonest end of a match, or fewer; empty if not known."""


class SpanStarts(NamedTuple):
    """Per span: the next start row to try, the row to stop at, the number of matches before."""

    row: NDArray[np.int64]
    stop: NDArray[np.int64]
    number: NDArray[np.int64]
    open_from: NDArray[np.int64]
    """With `at_once`: the first start whose runs later rows may continue, or -1."""


class MatchBuffers(NamedTuple):
    """Buffers for matches: `path` holds, match after match, the state that consumed each row."""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    number: NDArray[np.int64]
    ahead: NDArray[np.int64]
    """The distance from its start to the row where the search went on after the match."""
    path: NDArray[np.int32]


class SearchBuffers(NamedTuple):
    """Buffers for the search itself; `registers` and the accumulators have a row per depth."""

    node: NDArray[np.int32]
    cursor: NDArray[np.int64]
    registers: NDArray[np.int64]
    int_totals: NDArray[np.int64]
    real_totals: NDArray[np.float64]
    memo: NDArray[np.int64]
    claimed: NDArray[np.int64]
    """INCREMENTAL, GROWING: for each row from `base` on, the stamp of the last start with a match that ends there."""
    failed_at: NDArray[np.int64]
    """For each row from `base` on, the first start whose attempt failed at a condition of the row, plus 1, or 0; empty
    if such a failure ends the search."""
    failed_why: NDArray[np.int64]
    """The error code of that failure."""
    stack: NDArray[np.float64]
    stack_whole: NDArray[np.int64]
    stack_null: NDArray[np.bool_]
