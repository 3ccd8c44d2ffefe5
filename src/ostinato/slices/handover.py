"""Handover: the row at which a slice takes over from earlier slices without knowing their matches.

The slice follows all runs that earlier slices may have open: the automaton starts in all states at once, and conditions
over the run count as true. When all these runs have ended, no earlier match is left. `Handover` says what else must
hold at the row. A slice without such a row leaves all its rows to the seam with its neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import Task
from ostinato.kernels.kernel_cache import kernel

NOWHERE = -1
"""The slice has no row for a handover."""


def within_reach(task: Task, time_us: NDArray[np.int64], row: int, end: int) -> int:
    """The row before which all matches that start before `row` end, by MAXLENGTH and WITHIN. At most `end`."""
    if task.max_length is not None:
        end = min(end, row - 1 + max(task.max_length, 1))
    if task.within_us is not None and row > 0:
        far = np.flatnonzero(np.abs(time_us[row:end] - time_us[row - 1]) > task.within_us)
        end = row + int(far[0]) if len(far) else end
    return end


@kernel
def end_of_runs(choice_at, choices, allowed, symbol_of_row, row, end):  # type: ignore[no-untyped-def]
    """The first of the rows `row:end` that no earlier run can consume; `end` if a run may survive."""
    states = len(choice_at) - 3
    width = allowed.shape[1]
    alive = np.full(width, ~np.uint64(0))
    following = np.zeros(width, np.uint64)
    while row < end:
        if not _step(choice_at, choices, allowed[symbol_of_row[row]], alive, following, states):
            return row
        alive[:] = following
        row += 1
    return end


@kernel
def quiet_rows(choice_at, choices, allowed, symbol_of_row, row, end):  # type: ignore[no-untyped-def]
    """The first and the last of the rows `row:end` that no earlier run can consume; NOWHERE, NOWHERE if there is none.

    Unlike in `end_of_runs`, runs may begin at each of the rows.
    """
    states = len(choice_at) - 3
    width = allowed.shape[1]
    alive = np.full(width, ~np.uint64(0))
    following = np.zeros(width, np.uint64)
    first, last = NOWHERE, NOWHERE
    while row < end:
        allowed_states = allowed[symbol_of_row[row]]
        if not _step(choice_at, choices, allowed_states, alive, following, states):
            first = row if first == NOWHERE else first
            last = row
        for start in range(states, states + 2):
            for at in range(choice_at[start], choice_at[start + 1]):
                choice = choices[at]
                if choice >= 0 and (allowed_states[choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                    following[choice >> 6] |= np.uint64(1) << np.uint64(choice & 63)
        alive[:] = following
        row += 1
    return first, last


@kernel
def _step(choice_at, choices, allowed_states, alive, following, states):  # type: ignore[no-untyped-def]
    """Sets the states that may consume a row after the alive ones. Returns whether there are any."""
    following[:] = np.uint64(0)
    has_any = False
    for state in range(states):
        if (alive[state >> 6] >> np.uint64(state & 63)) & np.uint64(1):
            for at in range(choice_at[state], choice_at[state + 1]):
                choice = choices[at]
                if choice >= 0 and (allowed_states[choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                    following[choice >> 6] |= np.uint64(1) << np.uint64(choice & 63)
                    has_any = True
    return has_any


@kernel
def meeting_row(ahead, entries):  # type: ignore[no-untyped-def]
    """The first row at which all chains that enter at one of the rows `0:entries` have met, or NOWHERE.

    From start p, the search continues at start `p + ahead[p]`. Rows count from the first possible entry.
    """
    rows = len(ahead)
    is_tried = np.zeros(rows, np.bool_)
    is_tried[: min(entries, rows)] = True
    waiting = min(entries, rows)  # starts that some chain tries, from the present row on
    for row in range(rows):
        if not is_tried[row]:
            continue
        if row >= entries - 1 and waiting == 1:
            return row
        waiting -= 1
        following = row + ahead[row]
        if following >= rows:
            return NOWHERE
        if not is_tried[following]:
            is_tried[following] = True
            waiting += 1
    return NOWHERE
