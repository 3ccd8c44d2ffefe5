"""Input, working arrays and status codes of the search of `event_search.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Status that the kernel returns.
FINISHED, MORE_BLOCK, MORE_OUTPUT, MORE_DEPTH, BLOCK_TOO_LARGE, FAILED, STOPPED = 0, 1, 2, 3, 4, 5, 6
# Reasons of a failure.
TOO_MANY_PARTIAL_MATCHES, TOO_MANY_IN_SEQUENCE, TOO_MANY_MATCHES = 1, 2, 3
CONDITION_FAILED = 100
"""Added to the code of an error inside a condition over the run (expressions/run_conditions/interpreter.py)."""

# When the marks of `event_marks` are computed: before the search, for each scope, or for each start.
ONCE, PER_SCOPE, PER_START = 0, 1, 2
PER_SEQUENCE = 100
"""One sequence may try this many times the partial matches that one start time may."""
NO_LIMIT = -1
STEPS_PER_LOOK = 256
"""Number of candidates between two readings of the stop flag. One candidate may scan all later rows."""

# Fields of `progress`.
SCOPE, PHASE, FAILURE, FAILED_ROW, BLOCK_ROW, BLOCK_END = 0, 1, 2, 3, 4, 5
DEPTH, LIMIT, ACCEPT_FROM, TRIED, SEQUENCE_TRIED = 6, 7, 8, 9, 10
BLOCK_MATCHES, BLOCK_ROWS, MATCHES, ROWS, SCOPE_MATCHES, NEEDED_MATCHES, NEEDED_ROWS = 11, 12, 13, 14, 15, 16, 17
ABSENT_UNTIL = 18
PROGRESS = 19
# The activity that was interrupted.
NEW_SCOPE, NEW_BLOCK, IN_BLOCK, ARRANGING = 0, 1, 2, 3


class EventSearchRules(NamedTuple):
    """The parameters of a search, as numbers."""

    selection: int
    marks: int
    scanned: int
    """The number of candidates that marks test for one row (`event_marks.SCANNED`)."""
    span: int
    """The largest distance between `position` of the first and the last row; negative if there is no bound."""
    ordered_ends: bool
    """Whether later rows never end earlier. Then rows behind the first one that ends too late are skipped."""
    bulk: NDArray[np.bool_]
    """The steps that always end a match: the matches of all rows that can take one are written at once."""
    limit: int
    """The number of matches wanted in a scope, or NO_LIMIT."""
    largest_block: int
    largest_rows: int
    """With a limit: the kernel gives up a block with more matches or rows, with the status BLOCK_TOO_LARGE."""
    enough: int
    """A block stops at this many matches, or NO_LIMIT. Only used if all matches of the block end at one time."""
    accept_from: int
    accept_until: int
    """Matches end in rows of this range."""
    most: int
    """More matches than this in total are an error."""
    max_partial_matches: int


class Scopes(NamedTuple):
    """The scopes: in each, search rows [first, end) for matches that start in [start_from, start_until)."""

    first: NDArray[np.int64]
    end: NDArray[np.int64]
    start_from: NDArray[np.int64]
    start_until: NDArray[np.int64]
    new_sequence: NDArray[np.bool_]
    """Whether the scope is the first of its sequence."""
    matches_after: NDArray[np.int64]
    """Output: the total number of matches of this scope and all before it."""


class Block(NamedTuple):
    """Room for the matches of one block, in search order; match m has rows `at[m]:at[m + 1]`."""

    at: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.uint8]
    keys: NDArray[np.int32]
    numbers: NDArray[np.int32]
    """Room for sorting: two rows of keys, two of match numbers, and `digits` for counting."""
    digits: NDArray[np.int64]


class MatchOutput(NamedTuple):
    """Room for matches in their final order; match m has rows `at[m]:at[m + 1]`."""

    at: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.uint8]


class SearchArrays(NamedTuple):
    """The search's stack, with one entry for each depth, and its working space.

    Fields from `registers` on are for conditions over the run.
    """

    row: NDArray[np.int64]
    label: NDArray[np.int32]
    state: NDArray[np.int32]
    step: NDArray[np.int64]
    at: NDArray[np.int64]
    until: NDArray[np.int64]
    follows: NDArray[np.int64]
    """SKIP TILL NEXT MATCH: the first row that can follow."""
    cursor: NDArray[np.int64]
    """For each step from START, the next member of its label to start with."""
    label_end: NDArray[np.int64]
    """For each label, the end of the members that the current start may reach."""
    best_ends: NDArray[np.int64]
    """Working space of `event_marks.mark`."""
    registers: NDArray[np.int64]
    int_totals: NDArray[np.int64]
    real_totals: NDArray[np.float64]
    stack: NDArray[np.float64]
    stack_whole: NDArray[np.int64]
    stack_null: NDArray[np.bool_]
    node: NDArray[np.int32]


class NoChecks(NamedTuple):
    """Placeholder for conditions over the run, for searches without them."""

    conditions: tuple[()] = ()
