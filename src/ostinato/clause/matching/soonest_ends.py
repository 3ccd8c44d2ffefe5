"""Reachable states -> for each row and state, how many rows later a match can end at the soonest.

One pass goes from the last row to the first. With WITHIN or MAXLENGTH, the search then enters only states from which a
match can end in time. Conditions over the run count as true, so a distance may be too short, never too long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT
from ostinato.clause.matching.nfa_tables import NfaTables
from ostinato.clause.matching.reachability import NO_STATES, Reachable
from ostinato.kernels.kernel_cache import kernel
from ostinato.kernels.stopping import check_stopped, stop_flag

FAR = (1 << 15) - 1
"""The distance of an end that is this far or further."""
NOT_COUNTED = np.empty((0, 0), np.int16)
LARGEST = 1 << 26
"""The most distances to store: 128 MiB. With more rows or states, the search doesn't know them."""


def soonest_ends(
    automaton: NfaTables, reachable: Reachable, first: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int16]:
    """The distance from each row, as consumed by each state, to the last row of a match. No further rows follow `end`.

    Key k has the rows `first[k]:end[k]`. Only distances of reachable states are set. If the array would be too large,
    it is NOT_COUNTED.
    """
    rows, states = len(reachable.set_of_row), len(automaton.label)
    if rows * states > LARGEST:
        return NOT_COUNTED
    soonest = np.empty((rows, states), np.int16)
    _fill(
        automaton.choice_at,
        automaton.choices,
        reachable.set_of_row,
        reachable.sets,
        first,
        end,
        soonest,
        stop_flag(),
    )
    check_stopped()
    return soonest


@kernel
def _fill(choice_at, choices, set_of_row, sets, first, end, soonest, stopped):  # type: ignore[no-untyped-def]
    states = soonest.shape[1]
    for key in range(len(first)):
        following = sets[NO_STATES]
        for row in range(end[key] - 1, first[key] - 1, -1):
            if stopped[0] != 0:
                return
            number = set_of_row[row]
            here = sets[number]
            for state in range(states if number != NO_STATES else 0):
                if not (here[state >> 6] >> np.uint64(state & 63)) & np.uint64(1):
                    continue
                distance = FAR
                for at in range(choice_at[state], choice_at[state + 1]):
                    choice = choices[at]
                    if choice < 0:
                        if choice == ACCEPT or row == end[key] - 1:
                            distance = 0
                            break
                    elif (following[choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                        one_later = int(soonest[row + 1, choice]) + 1
                        distance = min(distance, one_later)
                soonest[row, state] = distance
            following = here
