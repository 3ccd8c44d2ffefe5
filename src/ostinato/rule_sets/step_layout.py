"""The keys of a step -> the rows that the rules search, and the keys in which they only follow their open starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ostinato.kernels.clock import Clock, Work
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import Mask
from ostinato.rule_sets.bucket_after import StepRows
from ostinato.rule_sets.bucket_layout import RuleBucket, StoredAttempts
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.following import Followed, followed_keys, live_numbers
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_lifetimes import LaidOut, in_lifetimes
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.rule_sets.standings import stored_standing
from ostinato.rule_sets.step_rows import ReleasedRows, lay_out_rows
from ostinato.streams.bucket_state import Rows

WORTH_FOLLOWING = 1.0
"""Older rows for each new row of a step. With fewer, searching them again costs less than following open starts."""
MOST_RECENT = 32
"""A rule that looks back on more rows of a key than this reads all of its stored rows in each step."""
_NO_WORK = Work(0, 0, 0)


class Laid(NamedTuple):
    """The rows of a step by lifetimes, and for each rule the keys in which it follows its open start."""

    rows: StepRows
    ended: Mask
    """Whether no row follows in a key."""
    forgotten_keys: int
    followed: Mapping[str, Followed]


@dataclass(frozen=True, slots=True)
class StepLayout:
    """Chooses the rows of one step."""

    bucket: RuleBucket
    released: ReleasedRows
    searches: Mapping[str, RuleSearch]
    """The active rules."""
    declared: Declaration
    known_until: int
    finished: bool
    clock: Clock
    rule_ns: dict[str, int] = field(default_factory=dict)
    """The time that following took for each rule."""

    @property
    def most_recent(self) -> int:
        """The number of recent rows of each key in the header. Rules that may read more search all rows."""
        least = int(self.declared.forget_us is not None)  # the last row tells how long a key has been silent
        counts = (search.recent_rows for search in self.searches.values())
        return max([least, *(count for count in counts if count <= MOST_RECENT)])

    def lay_out(self, due: Mask) -> Laid:
        """`due`: stored keys to search in any case, with all of their rows."""
        bucket, most_recent = self.bucket, self.most_recent
        due = due | (self.finished or most_recent != bucket.keys.most_recent)
        keys = np.union1d(np.flatnonzero(due), self.released.number)
        stored = np.minimum(keys, bucket.keys.count)
        older = np.append(bucket.keys.has_older_rows, False)[stored]
        reads = older & np.append(due, False)[stored]
        followed: dict[str, Followed] = {}
        if self._is_worth_following(keys[older & ~reads]):
            follows, followed, rows = self._followed(keys, older, reads)
            reads = older & ~follows
        else:
            reads, rows = older, None
        if rows is None:
            rows = self._rows(keys, reads)
        laid_out = self._lifetimes(keys, rows)
        of_key = laid_out.of_key  # a key in which a rule follows its start has only one lifetime
        followed = {name: Followed((each.keys & ~reads)[of_key], each.live[of_key]) for name, each in followed.items()}
        step = StepRows(laid_out.keys, laid_out.rows, most_recent, bool(reads.any()))
        return Laid(step, laid_out.ended, laid_out.forgotten_keys, followed)

    def _is_worth_following(self, keys: Rows) -> bool:
        older_rows = int(self.bucket.keys.rows[keys].sum())
        return older_rows > 0 and older_rows >= WORTH_FOLLOWING * int(self.released.key_at[-1])

    def _rows(self, keys: Rows, reads: Mask) -> KeyRows:
        return lay_out_rows(self.bucket, keys, reads, self.released, self.declared)

    def _lifetimes(self, keys: Rows, rows: KeyRows) -> LaidOut:
        forget_us, count = self.declared.forget_us, self.bucket.keys.count
        return in_lifetimes(keys, rows, count, forget_us, self.known_until, finished=self.finished)

    def _followed(self, keys: Rows, older: Mask, reads: Mask) -> tuple[Mask, dict[str, Followed], KeyRows | None]:
        """The keys whose older rows no rule needs, for each rule where it follows open starts, and the rows if they are
        those to search."""
        rows = self._rows(keys, reads)
        follows = ~reads & ~self._lifetimes(keys, rows).has_ended
        followed: dict[str, Followed] = {}
        stored = StoredAttempts(self.bucket, keys)
        for name, search in self.searches.items():
            began_ns = self.clock.now_ns()
            if search.recent_rows > MOST_RECENT or not search.sees_all(rows):
                return ~older, {}, None
            attempts, position = stored.laid_out(name)
            is_open = np.zeros(len(keys), np.bool_)
            is_open[position[(attempts.open > 0) | (attempts.unreported > 0)]] = True
            is_open &= rows.missing > 0
            if search.live is not None and (is_open & follows).any():
                standing = stored_standing(name, stored, rows)
                standing.live[position] = live_numbers(attempts.live, self.bucket.lists, search.live)
                began_us = np.full(len(keys), NO_TIME)
                began_us[position] = stored.first_us[attempts.key] + attempts.began
                chosen = is_open & follows
                followed[name] = followed_keys(search, rows, standing, began_us, chosen, self.known_until)
                follows &= ~is_open | followed[name].keys
            else:
                follows &= ~is_open
            self.rule_ns[name] = self.clock.spent_ns(began_ns, _NO_WORK)
            if not (follows & older).any():
                return ~older, {}, None
        return follows, followed, rows if (follows | ~older | reads).all() else None
