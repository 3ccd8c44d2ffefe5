"""Symbols of rows -> for each start the furthest row that some path through the automaton can consume.

One pass goes from the last row to the first. For each state it keeps the furthest row of all paths that begin with this
row in this state: the row itself, or the furthest row of a next state at the next row. So the work is linear in rows
times choices, whatever the number of starts. A row that the state's condition refuses has no path.

WITHIN and MAXLENGTH depend on the start, and the pass ignores them. They only cut paths short, and the first rows of a
path are a path themselves. So the furthest row with a bound is the nearer of the two: this one, or the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.attempts.state_sets import AllowedStates, consuming
from ostinato.clause.automaton.nfa import Nfa
from ostinato.kernels.stopping import check_stopped

_NONE = -1
_ROWS_PER_LOOK = 4096


def furthest_ends(nfa: Nfa, allowed: AllowedStates) -> NDArray[np.int64]:
    """For each row as a start: the row behind the last one that some path consumes; the row itself if there is none."""
    states, count = len(nfa.states), len(allowed.symbol)
    ends = np.arange(count, dtype=np.int64)
    if not states:
        return ends
    # One more entry stands for "no state", so that each state has a next one.
    lists = [consuming(state.choices) or [states] for state in nfa.states]
    next_states = np.concatenate([np.array(choices, np.int64) for choices in lists])
    first_of_state = np.cumsum([0, *map(len, lists[:-1])])
    holds = allowed.as_flags(states)
    from_start = np.array(consuming(nfa.at_start), np.int64)
    from_elsewhere = np.array(consuming(nfa.elsewhere), np.int64)
    reach = np.full(states + 1, _NONE, np.int64)
    for row in range(count - 1, -1, -1):
        if row % _ROWS_PER_LOOK == 0:
            check_stopped()
        here = np.maximum.reduceat(reach[next_states], first_of_state)
        np.maximum(here, row + 1, out=here)
        reach[:states] = np.where(holds[allowed.symbol[row]], here, _NONE)
        ends[row] = reach[from_elsewhere if row else from_start].max(initial=row)
    return ends
