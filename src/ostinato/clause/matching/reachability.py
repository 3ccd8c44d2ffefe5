"""A symbol per row -> the states that may consume the row and still lead to a complete match.

One pass goes from the last row to the first. A symbol stands for the row conditions that hold, and allows certain
states. The result is the number of a set of states for each row. Conditions over the run count as true, so a set may be
too large, never too small. Without such conditions, a search that enters only these states never has to turn back, and
is linear in rows.

The pass is the lazily built deterministic automaton of the reversed pattern: sets are numbered as they appear, and
(set, symbol) -> set is looked up in a table that is filled on demand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT
from ostinato.clause.matching.nfa_tables import NfaTables, words
from ostinato.kernels.kernel_cache import inline_kernel, kernel
from ostinato.kernels.stopping import check_stopped, stop_flag

AT_END = 0
"""The number of the set after the last row of a finished partition."""
AT_OPEN_END = 1
"""The number of the set after the last row so far, where more rows may come."""
NO_STATES = AT_OPEN_END
"""The set after the last row holds no state, so it also serves for rows that no state may consume."""

DONE, SETS_FULL, STOPPED = 0, 1, 2
_LARGEST_TABLE = 1 << 22


class Reachable(NamedTuple):
    """Row r may be consumed by the states of `sets[set_of_row[r]]` (bits)."""

    set_of_row: NDArray[np.int32]
    sets: NDArray[np.uint64]


def reachable_states(
    automaton: NfaTables,
    symbol_of_row: NDArray[np.int32],
    allowed: NDArray[np.uint64],
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    is_open: NDArray[np.uint8],
) -> Reachable:
    """`allowed[symbol]` are the states (bits) whose row condition holds. Key k has the rows `first[k]:end[k]`."""
    states = len(automaton.label)
    symbols = len(allowed)
    capacity = 64
    sets, leads, table, buckets = _empty_sets(capacity, symbols, words(states))
    leads[AT_END] = automaton.completing
    leads[AT_OPEN_END] = ~np.uint64(0)
    set_of_row = np.empty(len(symbol_of_row), np.int32)
    progress = np.array([len(first), -1, 2], np.int64)  # keys left, next row in the last of them, sets
    while True:
        status = _walk_back(
            automaton,
            symbol_of_row,
            allowed,
            first,
            end,
            is_open,
            set_of_row,
            sets,
            leads,
            table,
            buckets,
            progress,
            stop_flag(),
        )
        check_stopped()
        if status == DONE:
            return Reachable(set_of_row, sets[: progress[2]])
        capacity *= 4
        sets, leads, table, buckets = _grown(capacity, symbols, sets, leads, table, int(progress[2]))


def _empty_sets(
    capacity: int, symbols: int, width: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    # Many symbols: a full table would cost more than a look into the buckets for each row.
    rows = capacity if capacity * symbols <= _LARGEST_TABLE else 0
    return (
        np.zeros((capacity, width), np.uint64),
        np.zeros((capacity, width), np.uint64),
        np.full((rows, symbols), -1, np.int32),
        np.full(4 * capacity, -1, np.int32),
    )


def _grown(
    capacity: int,
    symbols: int,
    sets: NDArray[np.uint64],
    leads: NDArray[np.uint64],
    table: NDArray[np.int32],
    used: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    new_sets, new_leads, new_table, new_buckets = _empty_sets(capacity, symbols, sets.shape[1])
    new_sets[:used], new_leads[:used] = sets[:used], leads[:used]
    if len(new_table):
        new_table[: len(table)] = table
    _fill_buckets(new_sets, used, new_buckets)
    return new_sets, new_leads, new_table, new_buckets


@kernel
def _walk_back(  # type: ignore[no-untyped-def]
    automaton, symbol_of_row, allowed, first, end, is_open, set_of_row, sets, leads, table, buckets, progress, stopped
):
    width = sets.shape[1]
    wanted = np.zeros(width, np.uint64)
    while progress[0] > 0:
        key = progress[0] - 1
        row = progress[1] if progress[1] >= 0 else end[key] - 1
        if row == end[key] - 1:
            after = AT_OPEN_END if is_open[key] else AT_END
        else:
            after = set_of_row[row + 1]
        while row >= first[key]:
            symbol = symbol_of_row[row]
            here = table[after, symbol] if after < table.shape[0] else -1
            if here < 0:  # rare, and the only rows that cost more than a look into the table
                if stopped[0] != 0:
                    return STOPPED
                for word in range(width):
                    wanted[word] = allowed[symbol, word] & leads[after, word]
                here = _find_set(sets, wanted, buckets)
                if here < 0:
                    if progress[2] == len(sets):
                        progress[1] = row
                        return SETS_FULL
                    here = _add_set(automaton, sets, leads, wanted, buckets, progress[2])
                    progress[2] += 1
                if after < table.shape[0]:
                    table[after, symbol] = here
            set_of_row[row] = here
            after = here
            row -= 1
        progress[0] -= 1
        progress[1] = -1
    return DONE


@inline_kernel
def _hash(wanted, mask):  # type: ignore[no-untyped-def]
    mixed = np.uint64(1469598103934665603)
    for word in wanted:
        mixed = (mixed ^ word) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(mask))


@inline_kernel
def _find_set(sets, wanted, buckets):  # type: ignore[no-untyped-def]
    """The number of an equal set, or -1."""
    mask = len(buckets) - 1
    at = _hash(wanted, mask)
    while buckets[at] >= 0:
        candidate = buckets[at]
        same = True
        for word in range(len(wanted)):
            if sets[candidate, word] != wanted[word]:
                same = False
                break
        if same:
            return np.int64(candidate)
        at = (at + 1) & mask
    return np.int64(-1)


@inline_kernel
def _add_set(automaton, sets, leads, wanted, buckets, number):  # type: ignore[no-untyped-def]
    """Stores the set under this number, with the states that lead into it by one choice."""
    for word in range(len(wanted)):
        sets[number, word] = wanted[word]
        leads[number, word] = np.uint64(0)
    for state in range(len(automaton.label)):
        for at in range(automaton.choice_at[state], automaton.choice_at[state + 1]):
            choice = automaton.choices[at]
            if choice == ACCEPT:
                leads[number, state >> 6] |= np.uint64(1) << np.uint64(state & 63)
                break
            if choice >= 0 and (wanted[choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                leads[number, state >> 6] |= np.uint64(1) << np.uint64(state & 63)
                break
    mask = len(buckets) - 1
    at = _hash(wanted, mask)
    while buckets[at] >= 0:
        at = (at + 1) & mask
    buckets[at] = number
    return number


@kernel
def _fill_buckets(sets, used, buckets):  # type: ignore[no-untyped-def]
    mask = len(buckets) - 1
    for number in range(2, used):
        at = _hash(sets[number], mask)
        while buckets[at] >= 0:
            at = (at + 1) & mask
        buckets[at] = number
