"""Where all rules stand after a step -> the bucket after the step. New rows are appended to the stored ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.live_states import DECIDED
from ostinato.clause.stream.numbered_rows import IN_HEADER, must_compact, segment_of
from ostinato.kernels.constants import NO_TIME
from ostinato.rows.matches import ranges
from ostinato.rule_sets.bucket_layout import Attempts, RuleBucket
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_search import RuleSearch
from ostinato.rule_sets.standings import KeptRows, Standing, attempts_of
from ostinato.rule_sets.stored_keys import StoredKeys, no_keys
from ostinato.streams.bucket_state import Rows
from ostinato.streams.stored_segments import with_segments


@dataclass(frozen=True, slots=True)
class Stands:
    """Where one rule stands after a step in the laid-out keys."""

    search: RuleSearch
    standing: Standing
    began_us: Rows
    """With WITHIN, the time of the first open start; else NO_TIME."""


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows of a step."""

    keys: Rows
    """The numbers of the laid-out keys."""
    rows: KeyRows
    most_recent: int
    """The number of recent rows that each key keeps in the header."""
    are_read: bool
    """Whether rows were read from segments."""

    def bytes_from(self, start: Rows, stored: StoredKeys) -> Rows:
        """At most so many bytes of each key are from `start` on. If not all of its rows are here, all of them count."""
        rows, is_cut = self.rows, self.rows.missing > 0
        size = np.ceil(rows.bytes_from(np.where(is_cut, rows.stored_end, start))).astype(np.int64)
        size[is_cut] += stored.state_bytes[self.keys[is_cut]]
        return size


def bucket_after(
    before: RuleBucket,
    step: StepRows,
    stands: Mapping[str, Stands],
    names: Sequence[str],
    stays_from: Rows,
    declared: Declaration,
) -> RuleBucket:
    """`names` are the rules that the bucket names, `stays_from` has the first row of each key that some rule needs."""
    rows, rewrites = step.rows, step.most_recent != before.keys.most_recent
    # Rows that aren't here stay, because an open start needs them.
    begin = np.where(rows.missing > 0, rows.first_stored, stays_from)
    kept = np.flatnonzero(rows.key_at[1:] > begin)
    kept_keys, appended, numbers = _kept_keys(before, step, kept, begin[kept], rewrites, declared)
    untouched = np.ones(before.keys.count, np.bool_)
    untouched[step.keys[step.keys < before.keys.count]] = False
    new_number = np.where(untouched, np.cumsum(untouched) - 1, -1)
    lists = _Lists(before.lists)
    kept_rows = KeptRows(kept, int(untouched.sum()) + np.arange(len(kept)), begin[kept], kept_keys.first_us)
    parts = [_untouched_attempts(before, tuple(stands), new_number)]
    for number, each in enumerate(stands.values()):
        live = lists.of(each.standing.live, each.search)
        parts.append(attempts_of(number, each.standing, each.began_us, live, rows, kept_rows))
    after = RuleBucket(
        before.digest,
        tuple(names),
        before.keys.select(np.flatnonzero(untouched)).followed_by(kept_keys),
        Attempts.joined(parts),
        lists.all,
        (0 if rewrites else before.stored_rows) + len(numbers),
        max(before.next_number, int(numbers.max(initial=IN_HEADER)) + 1),
        with_segments(() if rewrites else before.segments, segment_of([(appended, numbers)])),
    )
    return _compacted(after, declared) if step.are_read else after


def _kept_keys(
    before: RuleBucket, step: StepRows, kept: Rows, begin: Rows, rewrites: bool, declared: Declaration
) -> tuple[StoredKeys, pa.RecordBatch | None, Rows]:
    """The laid-out keys that keep rows, the rows to append to the segments, and the numbers of their keys."""
    rows, stored = step.rows, before.keys
    if not len(kept):
        return no_keys(declared, step.most_recent), None, np.empty(0, np.int64)
    batch = pa.RecordBatch.from_pydict(dict(rows.columns))
    first, end = rows.key_at[:-1][kept], rows.key_at[1:][kept]
    count, number = end - begin, np.minimum(step.keys[kept], stored.count)
    new = np.minimum(count, end - rows.stored_end[kept])
    segment = np.full(len(kept), IN_HEADER) if rewrites else np.append(stored.segment, IN_HEADER)[number]
    has_older = count > step.most_recent
    segment[~has_older] = IN_HEADER
    begins = has_older & (segment == IN_HEADER)
    segment[begins] = before.next_number + np.arange(int(begins.sum()))
    appended = np.where(begins, count, new) * has_older
    recent = np.minimum(count, step.most_recent)
    is_cut = rows.missing[kept] > 0
    first_us = np.where(is_cut, np.append(stored.first_us, NO_TIME)[number], rows.times[np.maximum(begin, first)])
    starts = rows.key_at[:-1].copy()
    starts[kept] = np.maximum(begin, first)
    keys = StoredKeys(
        tuple(batch.column(name).take(pa.array(first)) for name in declared.keys),
        count,
        segment,
        first_us,
        step.bytes_from(starts, stored)[kept],
        step.most_recent,
        batch.take(pa.array(ranges(end - recent, recent))) if step.most_recent else None,
    )
    added = batch.take(pa.array(ranges(end - appended, appended))) if appended.any() else None
    return keys, added, np.repeat(segment, appended)


def _compacted(bucket: RuleBucket, declared: Declaration) -> RuleBucket:
    """The bucket without dead rows in its segments, and with one segment, if it has too many of them."""
    keys = bucket.keys
    stored = np.flatnonzero(keys.has_older_rows)
    numbers = np.repeat(keys.segment[stored], keys.rows[stored])
    if not must_compact(bucket.stored_rows, len(numbers), bucket.segments):
        return bucket
    rows = bucket.rows_of(stored, declared)
    return replace(bucket, stored_rows=len(numbers), segments=segment_of([(rows, numbers)]))


def _untouched_attempts(before: RuleBucket, names: tuple[str, ...], new_number: Rows) -> Attempts:
    """The attempts on keys that weren't laid out, with the new numbers of rules and keys."""
    attempts = before.attempts
    if not len(attempts.key):
        return attempts
    new_rule = np.array([names.index(name) if name in names else -1 for name in before.rules], np.int64)
    moved = attempts._replace(rule=new_rule[attempts.rule], key=new_number[attempts.key])
    return moved.select((moved.rule >= 0) & (moved.key >= 0))


class _Lists:
    """Numbers the lists of live states of a bucket."""

    def __init__(self, lists: Sequence[tuple[int, ...]]) -> None:
        self._number = {states: number for number, states in enumerate(lists)}

    @property
    def all(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._number)

    def of(self, live: Rows, search: RuleSearch) -> Rows:
        """The numbers in the bucket of a rule's lists."""
        if search.live is None or not live.any():
            return np.full(len(live), DECIDED)
        own, position = np.unique(live, return_inverse=True)
        states = [search.live.states(int(number)) for number in own]
        numbers = [self._number.setdefault(each, len(self._number)) for each in states]
        return np.array(numbers, np.int64)[position]
