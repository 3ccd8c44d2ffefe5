"""Attempts in the state of a bucket <-> where a rule stands in the rows of a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets.bucket_layout import Attempts, StoredAttempts
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.streams.bucket_state import Rows


class Standing(NamedTuple):
    """Where a rule stands in each key, as row numbers in `KeyRows`."""

    visible_from: Rows
    start: Rows
    number: Rows
    reported_until: Rows
    covered_until: Rows
    quiet_until: Rows
    """The time before which a match must not end, or it is suppressed. NO_TIME: any match is shown."""


def stored_standing(name: str, stored: StoredAttempts, rows: KeyRows) -> Standing:
    """Where the rule stood after the step before."""
    attempts, key = stored.laid_out(name)
    first, stored_end = rows.key_at[:-1], rows.stored_end
    quiet = np.full(len(first), NO_TIME)
    standing = Standing(first.copy(), stored_end.copy(), np.zeros_like(first), stored_end.copy(), first.copy(), quiet)
    standing.visible_from[key] += attempts.hidden
    standing.start[key] -= attempts.open
    standing.number[key] = attempts.number
    standing.reported_until[key] -= attempts.unreported
    standing.covered_until[key] += attempts.covered
    is_quiet = attempts.quiet > 0
    standing.quiet_until[key[is_quiet]] = rows.times[first[key[is_quiet]]] + attempts.quiet[is_quiet]
    return standing


def standing_at(begin: Rows, visible_from: Rows | None = None) -> Standing:
    """A version that has searched nothing yet. It begins at these rows, and may read those from `visible_from` on."""
    visible_from = begin if visible_from is None else visible_from
    return Standing(visible_from, begin, np.zeros_like(begin), begin, begin, np.full(len(begin), NO_TIME))


def attempts_of(rule: int, numbers: Rows, standing: Standing, rows: KeyRows, stays_from: Rows, kept: Rows) -> Attempts:
    """The attempts of one rule on the laid-out keys that keep rows, without those that remember nothing."""
    end, begin = rows.key_at[1:][kept], stays_from[kept]
    # Later matches end after their first row. A quiet time that ends before this row says nothing about them.
    quiet_until, first_time = standing.quiet_until[kept], rows.times[begin]
    attempts = Attempts(
        rule=np.full(len(kept), rule),
        key=numbers,
        open=end - standing.start[kept],
        hidden=np.maximum(standing.visible_from[kept] - begin, 0),
        number=standing.number[kept],
        unreported=end - np.maximum(standing.reported_until[kept], begin),
        covered=np.maximum(standing.covered_until[kept] - begin, 0),
        quiet=np.maximum(quiet_until, first_time) - first_time,
    )
    return attempts.select(np.logical_or.reduce([column > 0 for column in attempts[2:]]))
