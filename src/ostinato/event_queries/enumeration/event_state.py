"""What the search of `event_search.py` is told, what it writes to, and the numbers by which it says how it went."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# What the kernel returns.
FINISHED, MORE_BLOCK, MORE_OUTPUT, MORE_DEPTH, BLOCK_TOO_LARGE, FAILED, STOPPED = 0, 1, 2, 3, 4, 5, 6
# Why it failed.
TOO_MANY_PARTIAL_MATCHES, TOO_MANY_IN_SEQUENCE, TOO_MANY_MATCHES = 1, 2, 3
CONDITION_FAILED = 100
"""Added to the code of an error inside a condition over the run (expressions/run_conditions/interpreter.py)."""

# When the marks of `event_marks` are made: before the search, or for each scope, or for each start.
ONCE, PER_SCOPE, PER_START = 0, 1, 2
PER_SEQUENCE = 100
"""One sequence may try so many times the partial matches that one time of first events may."""
NO_LIMIT = -1
STEPS_PER_LOOK = 256
"""After so many candidates the search looks whether it has to stop; one of them may look through all later rows."""

# Places in `progress`.
SCOPE, PHASE, FAILURE, FAILED_ROW, BLOCK_ROW, BLOCK_END = 0, 1, 2, 3, 4, 5
DEPTH, LIMIT, ACCEPT_FROM, TRIED, SEQUENCE_TRIED = 6, 7, 8, 9, 10
BLOCK_MATCHES, BLOCK_ROWS, MATCHES, ROWS, SCOPE_MATCHES, NEEDED_MATCHES, NEEDED_ROWS = 11, 12, 13, 14, 15, 16, 17
ABSENT_UNTIL = 18
PROGRESS = 19
# What it was doing.
NEW_SCOPE, NEW_BLOCK, IN_BLOCK, ARRANGING = 0, 1, 2, 3


class Rules(NamedTuple):
    """How to search, as numbers."""

    selection: int
    marks: int
    scanned: int
    """How many candidates they test for one row (`event_marks.SCANNED`)."""
    span: int
    """The largest distance between `position` of the first and the last row; negative: no such bound."""
    ordered_ends: bool
    """Whether later rows can't end earlier: what follows the first row that ends too late can be left out."""
    bulk: NDArray[np.bool_]
    """The steps that end a match whatever the event: all that can take one are written at once."""
    limit: int
    """So many matches of a scope are wanted, or NO_LIMIT."""
    largest_block: int
    largest_rows: int
    """With a limit: a block of more matches, or of more rows, is given up with BLOCK_TOO_LARGE."""
    enough: int
    """A block stops when it has so many matches, or NO_LIMIT; only where all end at one time."""
    accept_from: int
    accept_until: int
    """Matches end in rows of this range."""
    most: int
    """More matches than this in all are an error."""
    max_partial_matches: int


class Scopes(NamedTuple):
    """Where to search: in each scope among rows [first, end), for matches that start in [start_from, start_until)."""

    first: NDArray[np.int64]
    end: NDArray[np.int64]
    start_from: NDArray[np.int64]
    start_until: NDArray[np.int64]
    new_sequence: NDArray[np.bool_]
    """Whether the scope is the first of its sequence."""
    found: NDArray[np.int64]
    """Filled: how many matches there are in all when the scope is done."""


class Block(NamedTuple):
    """Room for the matches of one block, in the order of the search; match m has rows `at[m]:at[m + 1]`."""

    at: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.uint8]
    keys: NDArray[np.int32]
    numbers: NDArray[np.int32]
    """Room for sorting: two rows of keys, two of numbers of matches, and `digits` for counting."""
    digits: NDArray[np.int64]


class Output(NamedTuple):
    """Room for matches in their final order; match m has rows `at[m]:at[m + 1]`."""

    at: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.uint8]


class Work(NamedTuple):
    """Room for the search itself: a row per depth. Fields from `registers` on are those of conditions over the run."""

    row: NDArray[np.int64]
    label: NDArray[np.int32]
    state: NDArray[np.int32]
    step: NDArray[np.int64]
    at: NDArray[np.int64]
    until: NDArray[np.int64]
    follows: NDArray[np.int64]
    """SKIP TILL NEXT MATCH: the first row that can carry on."""
    cursor: NDArray[np.int64]
    """For each step from START the next member of its label to start with."""
    label_end: NDArray[np.int64]
    """For each label the end of the members that the present start may reach."""
    later_best: NDArray[np.int64]
    group_best: NDArray[np.int64]
    registers: NDArray[np.int64]
    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    stack: NDArray[np.float64]
    stack_whole: NDArray[np.int64]
    stack_null: NDArray[np.bool_]
    node: NDArray[np.int32]


class NoChecks(NamedTuple):
    """What the search without conditions over the run takes in their place."""

    conditions: tuple[()] = ()
