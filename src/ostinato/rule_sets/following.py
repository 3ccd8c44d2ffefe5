"""Open starts of a rule + recent and new rows of their keys -> the keys in which later rows still decide the start.

There the rule emits nothing, and nobody needs the rows between the start and the recent ones: a step only appends its
rows (`docs/decisions/022-open-rows-are-appended.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ostinato.clause.stream.live_states import DECIDED, LiveStates
from ostinato.clause.task.neighbour_conditions import Edges
from ostinato.rows.batches import Mask
from ostinato.rows.ordering import Ordered
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.rule_sets.standings import Standing
from ostinato.streams.bucket_state import Rows
from ostinato.streams.stored_state import check

LIVE_STATES = "the live states of a rule in the state of this stream"


class Followed(NamedTuple):
    """The outcome for the laid-out keys."""

    keys: Mask
    """Those in which later rows decide the start."""
    live: Rows
    """The numbers of their live states after the new rows."""


def followed_keys(
    search: RuleSearch, rows: KeyRows, standing: Standing, began_us: Rows, follows: Mask, known_until: int
) -> Followed:
    """Follows the rule's open starts through the new rows. `standing.live` has the live states before them, and
    `began_us` the time of each start."""
    live_states = search.live
    assert live_states is not None
    nothing = Followed(np.zeros_like(follows), np.zeros_like(standing.live))
    follows = follows & (standing.live != DECIDED) & _is_unbounded(search, rows, standing)
    if search.within_us is not None:
        last = np.maximum(rows.times[rows.key_at[1:] - 1], known_until) if rows.count else known_until
        follows = follows & (began_us > last - search.within_us)
    if not follows.any():
        return nothing
    try:
        return _walked(search, live_states, rows, standing, follows) or nothing
    except Exception:  # the search tells of it
        return nothing


def _walked(
    search: RuleSearch, live_states: LiveStates, rows: KeyRows, standing: Standing, follows: Mask
) -> Followed | None:
    """None if a condition fails at a new row."""
    seen = search.view(rows, standing, follows)
    if seen is None or seen.failed:
        return None
    window = search.search.worker.window(seen.batch, Ordered(None, seen.view_at))
    window = replace(window, edges=Edges(follows, np.zeros_like(follows)))
    symbols = search.search.worker.symbols(window)
    stored = np.searchsorted(seen.visible, rows.stored_end) - np.searchsorted(seen.visible, rows.key_at[:-1])
    first_new = seen.view_at[:-1] + stored
    if window.failures is not None and any(
        row >= first_new[np.searchsorted(seen.view_at, row, side="right") - 1] for row in window.failures.rows
    ):
        return None
    live = np.zeros_like(standing.live)
    live[follows] = live_states.walk(standing.live[follows], symbols, first_new[follows], seen.view_at[1:][follows])
    return Followed(live != DECIDED, live)


def _is_unbounded(search: RuleSearch, rows: KeyRows, standing: Standing) -> Mask:
    """Whether no limit of the number of rows can matter to the open start."""
    task, end = search.search.worker.task, rows.key_at[1:]
    unlimited = np.iinfo(np.int64).max
    longest = unlimited if task.nfa.longest_partition is None else task.nfa.longest_partition
    most = min(unlimited if task.max_length is None else task.max_length, task.max_partial_matches)
    unbounded: Mask = (end - standing.start < most) & (end - rows.first_stored < longest)
    return unbounded


def live_numbers(live: Rows, lists: Sequence[tuple[int, ...]], live_states: LiveStates) -> Rows:
    """The numbers that a rule has for the lists of a bucket. Raises STATE_FORMAT for lists that can't be the rule's."""
    used, position = np.unique(live, return_inverse=True)
    numbers = []
    for number in used.tolist():
        states = lists[number]
        check(number == 0 or live_states.holds(states), LIVE_STATES, "they aren't states of the pattern")
        numbers.append(live_states.number_of(states))
    return np.array(numbers, np.int64)[position]
