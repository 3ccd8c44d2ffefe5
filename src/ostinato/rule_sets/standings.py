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
    live: Rows
    """The number of the live states of the first open start (`LiveStates`). DECIDED: they aren't known."""


def stored_standing(name: str, stored: StoredAttempts, rows: KeyRows) -> Standing:
    """Where the rule stood after the step before. Its live states aren't looked up."""
    attempts, key = stored.laid_out(name)
    first, stored_end = rows.first_stored, rows.stored_end
    none, quiet = np.zeros_like(first), np.full(len(first), NO_TIME)
    standing = Standing(first.copy(), stored_end.copy(), none, stored_end.copy(), first.copy(), quiet, none.copy())
    standing.visible_from[key] += attempts.hidden
    standing.start[key] -= attempts.open
    standing.number[key] = attempts.number
    standing.reported_until[key] -= attempts.unreported
    standing.covered_until[key] += attempts.covered
    is_quiet = attempts.quiet > 0
    standing.quiet_until[key[is_quiet]] = stored.first_us[attempts.key[is_quiet]] + attempts.quiet[is_quiet]
    return standing


def standing_at(begin: Rows, visible_from: Rows | None = None) -> Standing:
    """A version that has searched nothing yet. It begins at these rows, and may read those from `visible_from` on."""
    visible_from = begin if visible_from is None else visible_from
    none = np.zeros_like(begin)
    return Standing(visible_from, begin, none, begin, begin, np.full(len(begin), NO_TIME), none)


class KeptRows(NamedTuple):
    """The rows that the laid-out keys keep, for all rules; one entry for each key that keeps some."""

    keys: Rows
    """Their positions among the laid-out keys."""
    numbers: Rows
    """Their numbers in the bucket after the step."""
    begin: Rows
    """The first row."""
    first_us: Rows
    """Its time."""


def attempts_of(
    rule: int, standing: Standing, began_us: Rows, live: Rows, rows: KeyRows, kept_rows: KeptRows
) -> Attempts:
    """The attempts of one rule on the laid-out keys that keep rows, without those that remember nothing.

    For each laid-out key, `began_us` is the time of the first open start or NO_TIME, `live` its list of live states.
    """
    kept, begin, first_time = kept_rows.keys, kept_rows.begin, kept_rows.first_us
    end = rows.key_at[1:][kept]
    # Later matches end after their first row. A quiet time that ends before this row says nothing about them.
    quiet_until = standing.quiet_until[kept]
    attempts = Attempts(
        rule=np.full(len(kept), rule),
        key=kept_rows.numbers,
        open=end - standing.start[kept],
        hidden=np.maximum(standing.visible_from[kept] - begin, 0),
        number=standing.number[kept],
        unreported=end - np.maximum(standing.reported_until[kept], begin),
        covered=np.maximum(standing.covered_until[kept] - begin, 0),
        quiet=np.maximum(quiet_until, first_time) - first_time,
        began=np.maximum(began_us[kept], first_time) - first_time,
        live=live[kept],
    )
    return attempts.select(np.logical_or.reduce([column > 0 for column in attempts[2:]]))
