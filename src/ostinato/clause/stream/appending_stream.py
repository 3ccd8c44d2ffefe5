"""The core of clauses whose open runs cost only their new rows: old rows are read for starts that end.

A step first follows the live states of open starts through the new rows. Where later rows still decide the start, the
step emits nothing: it appends the new rows and doesn't read those before them. It searches all other keys that have new
rows as `clause_stream.py` does, on a bucket that has only these keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.stream.appended_bucket import AppendedBucket, BucketLayout, KeyTable
from ostinato.clause.stream.clause_stream import NEVER, Searched, StreamWorker
from ostinato.clause.stream.key_layout import KeyLayout, key_numbers
from ostinato.clause.stream.live_states import DECIDED, LiveStates
from ostinato.clause.stream.numbered_rows import IN_HEADER, must_compact, segment_of
from ostinato.clause.stream.row_ordinals import with_ordinals
from ostinato.clause.stream.searched_again import why_searched_again
from ostinato.clause.stream.stream_search import NO_RESULTS
from ostinato.clause.task.clause_worker import Window
from ostinato.clause.task.neighbour_conditions import Edges
from ostinato.rows.batches import OutputRows, joined_rows
from ostinato.rows.column_names import ORDINAL
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import Ordered
from ostinato.streams.bucket_state import (
    EMPTY,
    BucketState,
    OpenBucket,
    RememberedKeys,
    Rows,
    check_columns,
    other_query,
    read_rows,
)
from ostinato.streams.intake import Intake
from ostinato.streams.record_batches import joined
from ostinato.streams.step import Step
from ostinato.streams.stored_segments import with_segments
from ostinato.streams.stored_state import Section
from ostinato.streams.stream_settings import StreamSettings


def stream_worker(
    typed: TypedPlan, conditions: Sequence[tuple[str, int]], settings: StreamSettings, fingerprint: str
) -> StreamWorker:
    """The core of a clause."""
    core = AppendingStreamWorker if why_searched_again(typed.plan, settings) is None else StreamWorker
    return core(typed, conditions, settings, fingerprint)


class _Arrived(NamedTuple):
    """The released rows in the order of matching: key `number[i]` has the rows `key_at[i]:key_at[i + 1]`."""

    rows: pa.RecordBatch | None
    number: Rows
    """New keys have the numbers behind the remembered ones."""
    key_at: Rows

    def of(self, chosen: NDArray[np.bool_]) -> pa.RecordBatch | None:
        """The rows of some keys."""
        if self.rows is None or not chosen.any():
            return None
        return self.rows if chosen.all() else self.rows.filter(pa.array(np.repeat(chosen, np.diff(self.key_at))))


class _Undecided(NamedTuple):
    """Keys whose first open start stays undecided by the new rows."""

    keys: Rows
    of_arrived: NDArray[np.bool_]
    """The mask of these keys among those of `_Arrived`."""
    live: Rows
    window: pa.RecordBatch | None
    """The recent rows of each key and its new rows."""
    window_end: Rows
    """The end of each key's rows in the window."""
    failed: OutputRows
    """The new rows of these keys at which conditions failed, where these don't stop the query."""


class AppendingStreamWorker(StreamWorker):
    """One query over buckets of keys; holds nothing between steps but a cache of live states."""

    def __init__(
        self, typed: TypedPlan, conditions: Sequence[tuple[str, int]], settings: StreamSettings, fingerprint: str
    ) -> None:
        super().__init__(typed, conditions, settings, fingerprint)
        needs = self.search.needs
        before = max(margins_of(typed.plan).before, needs.before, int(needs.numbers))
        self.live = LiveStates(typed.plan)
        self.layout = BucketLayout(fingerprint, tuple(self.bound.partition_by), before, self.live)

    def advance(
        self,
        state: BucketState,
        arrived: pa.Table | None,
        watermark_us: int,
        *,
        finished: bool = False,
        all_keys: bool = False,
        failed: OutputRows = NO_RESULTS,
    ) -> Step[OutputRows]:
        """One step (`StreamWorker.advance`). A state of the other layout is read as a whole, and laid out anew."""
        bucket, opened = None if all_keys else self.layout.read(state), None
        if bucket is None:
            opened = self.opened(state)
            bucket = self.layout.new_bucket(opened.known_until)
        self._check_columns(bucket.table, arrived)
        waiting = read_rows(state.waiting, Section.WAITING_ROWS)
        known = OpenBucket(RememberedKeys.new(0), bucket.known_until, None, waiting)
        intake = self.gate.take_in(state, known, arrived, watermark_us, finished=finished)
        released = self._arrived(bucket.table, intake.released)
        undecided = self._undecided(bucket, released, intake, finished)
        searched = self._to_search(bucket, released, undecided, intake, finished)
        before = self._searched_bucket(bucket, searched, waiting) if opened is None else opened
        check_columns(before, intake.released)
        of_searched = replace(intake, released=released.of(~undecided.of_arrived))
        layout = self._layout(before, of_searched, all_keys=finished or all_keys)
        outcome = Searched(None, before)
        if len(layout.keys):
            outcome = self._searched(before, of_searched, layout, finished)
        after, kept = EMPTY, self._table_of(outcome.left)
        if not finished:
            bucket = self._appended(bucket, searched, undecided, released, outcome.left)
            after = BucketState(
                self.layout.header_of(replace(bucket, known_until=intake.known_until)), bucket.segments, intake.waiting
            )
            kept = bucket.table
        known_us = max(watermark_us, known.known_until)
        all_failed = [rows for rows in (failed, undecided.failed) if rows.count]
        failed = joined_rows(all_failed) if all_failed else NO_RESULTS
        return self._step(outcome, intake, kept.keys, after, self._ends(kept), known_us, finished, failed)

    # --- which keys are searched ---

    def _check_columns(self, table: KeyTable, arrived: pa.Table | None) -> None:
        if arrived is None or not table.count:
            return
        stored = [column.type for column in table.values]
        types = [arrived.schema.field(name).type for name in self.layout.names]
        schema = arrived.schema.remove_metadata()
        if self.typed.plan.has_ids:
            schema = schema.append(pa.field(ORDINAL, pa.int64()))
        if stored != types or (table.recent is not None and not table.recent.schema.equals(schema)):
            raise other_query("the columns of its input, or their types, have changed")

    def _arrived(self, table: KeyTable, released: pa.RecordBatch | None) -> _Arrived:
        if released is None:
            return _Arrived(None, np.empty(0, np.int64), np.zeros(1, np.int64))
        ordered = self.worker.order(self.batch(released))
        number = key_numbers(list(table.values) if table.count else None, released, self.layout.names)
        first = ordered.key_at[:-1]
        if ordered.rows is not None:
            released, first = released.take(pa.array(ordered.rows)), ordered.rows[first]
        if self.typed.plan.has_ids:
            released = with_ordinals(released, ordered.key_at, self.bound.order_by)
        return _Arrived(released, number[first], ordered.key_at)

    def _pool(self, before: OpenBucket, released: pa.RecordBatch | None, layout: KeyLayout) -> pa.RecordBatch | None:
        return joined([before.open_rows, released])  # which have their ordinals

    def _ends(self, table: KeyTable) -> NDArray[np.int64]:
        """For each key the time up to which rows must be known for WITHIN to end its first open start, or NEVER."""
        ends = np.full(table.count, NEVER)
        if self.search.within_us is not None:
            is_open = table.keys.start < table.keys.rows
            ends[is_open] = table.since_us[is_open] + self.search.within_us
        return ends

    def _to_search(
        self, bucket: AppendedBucket, released: _Arrived, undecided: _Undecided, intake: Intake, finished: bool
    ) -> Rows:
        """The remembered keys with new rows that may decide their start, or whose WITHIN ends."""
        table = bucket.table
        if finished:
            return np.arange(table.count)
        ends = self._ends(table)
        searched = (ends > bucket.known_until) & (ends <= intake.known_until)
        searched[released.number[released.number < table.count]] = True
        searched[undecided.keys] = False
        return np.flatnonzero(searched)

    def _undecided(self, bucket: AppendedBucket, released: _Arrived, intake: Intake, finished: bool) -> _Undecided:
        """Follows the live states of open starts through the new rows of their keys."""
        table = bucket.table
        remembered = np.append(table.live * (table.segment != IN_HEADER), DECIDED)
        arrived = np.minimum(released.number, table.count)
        follows = (remembered[arrived] != DECIDED) & (not finished)
        none = np.empty(0, np.int64)
        if released.rows is None or not follows.any():
            return _Undecided(none, np.zeros(len(arrived), np.bool_), none, None, none, NO_RESULTS)
        keys, first = released.number[follows], released.key_at[:-1][follows]
        new = np.diff(released.key_at)[follows]
        recent = table.recent_counts[keys]
        window_at = np.append(0, np.cumsum(recent + new))
        pool = joined([table.recent, released.rows])
        assert pool is not None
        offset = 0 if table.recent is None else table.recent.num_rows
        chosen = np.empty(int(window_at[-1]), np.int64)
        chosen[ranges(window_at[:-1], recent)] = table.recent_of(keys)
        chosen[ranges(window_at[:-1] + recent, new)] = offset + ranges(first, new)
        rows = pool.take(pa.array(chosen))
        window = self.worker.window(self.batch(rows), Ordered(None, window_at))
        cut = np.ones(len(keys), np.bool_)
        window = replace(window, edges=Edges(cut, ~cut))
        symbols, first_new = self.worker.symbols(window), window_at[:-1] + recent
        live = self.live.walk(table.live[keys], symbols, first_new, window_at[1:])
        stays = (live != DECIDED) & self._is_unbounded(table, keys, new)
        if self.search.within_us is not None:
            latest = np.maximum(self.gate.times(rows)[window_at[1:] - 1], intake.known_until)
            stays &= table.since_us[keys] + self.search.within_us > latest
        of_arrived = np.zeros(len(arrived), np.bool_)
        of_arrived[np.flatnonzero(follows)[stays]] = True
        failed = self._failed(window, ranges(first_new[stays], new[stays]))
        return _Undecided(keys[stays], of_arrived, live[stays], rows, window_at[1:][stays], failed)

    def _failed(self, window: Window, rows: Rows) -> OutputRows:
        """Those of the rows at which a condition failed."""
        if window.failures is None or not window.failures.rows:
            return NO_RESULTS
        chosen = set(rows.tolist())
        errors = {row: error for row, error in window.failures.by_row().items() if row in chosen}
        return self.worker.failed_rows(window.columns.arrays, errors) if errors else NO_RESULTS

    def _is_unbounded(self, table: KeyTable, keys: Rows, new: Rows) -> NDArray[np.bool_]:
        """Whether no limit of the number of rows can matter to the first open start."""
        task, rows = self.worker.task, table.keys.rows[keys] + new
        consumed = rows - table.keys.start[keys]
        longest = NEVER if task.nfa.longest_partition is None else task.nfa.longest_partition
        most = min(NEVER if task.max_length is None else task.max_length, task.max_partial_matches)
        return (consumed < most) & (rows < longest)

    def _searched_bucket(self, bucket: AppendedBucket, keys: Rows, waiting: pa.RecordBatch | None) -> OpenBucket:
        """A bucket that has only these keys."""
        rows = self.layout.rows_of(bucket.segments, bucket.table, keys) if len(keys) else None
        return OpenBucket(bucket.table.keys.select(keys), bucket.known_until, rows, waiting)

    # --- the bucket after the step ---

    def _appended(
        self, bucket: AppendedBucket, searched: Rows, undecided: _Undecided, released: _Arrived, left: OpenBucket
    ) -> AppendedBucket:
        """The bucket with its new rows. If old rows were read and many are dead, all rows are written again."""
        others = np.delete(np.arange(bucket.table.count), searched)
        found = self._table_of(left)
        is_stored = found.keys.rows > self.layout.most_recent
        found.segment[is_stored] = bucket.next_number + np.arange(int(is_stored.sum()))
        table = self._followed(bucket.table, undecided, released).select(others).followed_by(found)
        new_rows = released.of(undecided.of_arrived)
        new_numbers = np.repeat(bucket.table.segment[undecided.keys], np.diff(released.key_at)[undecided.of_arrived])
        numbers = np.repeat(found.segment, found.keys.rows)
        stored = None
        if left.open_rows is not None and is_stored.any():
            stored = left.open_rows.filter(pa.array(numbers != IN_HEADER))
        numbers = numbers[numbers != IN_HEADER]
        after = replace(
            bucket,
            table=table,
            stored_rows=bucket.stored_rows + len(new_numbers) + len(numbers),
            next_number=bucket.next_number + int(is_stored.sum()),
            segments=with_segments(bucket.segments, segment_of([(new_rows, new_numbers), (stored, numbers)])),
        )
        was_read = (bucket.table.segment[searched] != IN_HEADER).any()
        return self._compacted(after) if was_read else after

    def _compacted(self, bucket: AppendedBucket) -> AppendedBucket:
        live_rows = bucket.live_rows
        if not must_compact(bucket.stored_rows, live_rows, bucket.segments):
            return bucket
        table = bucket.table
        stored = np.flatnonzero(table.segment != IN_HEADER)
        rows = self.layout.rows_of(bucket.segments, table, stored) if len(stored) else None
        numbers = np.repeat(table.segment[stored], table.keys.rows[stored])
        return replace(bucket, stored_rows=live_rows, segments=segment_of([(rows, numbers)]))

    def _followed(self, table: KeyTable, undecided: _Undecided, released: _Arrived) -> KeyTable:
        """The table after the new rows of undecided keys."""
        if not len(undecided.keys):
            return table
        keys, rows, live = undecided.keys, table.keys.rows.copy(), table.live.copy()
        rows[keys] += np.diff(released.key_at)[undecided.of_arrived]
        live[keys] = undecided.live
        recent = table.recent
        if recent is not None:
            first = np.cumsum(table.recent_counts) - table.recent_counts
            first[keys] = recent.num_rows + undecided.window_end - table.recent_counts[keys]
            pool = joined([recent, undecided.window])
            assert pool is not None
            recent = pool.take(pa.array(ranges(first, table.recent_counts)))
        return replace(table, keys=table.keys._replace(rows=rows), live=live, recent=recent)

    def _table_of(self, left: OpenBucket) -> KeyTable:
        """The keys that a search left, without their numbers in segments."""
        keys, rows = left.keys, left.open_rows
        if rows is None:
            return self.layout.empty()
        count, first = len(keys.rows), keys.first
        zeros = np.zeros(count, np.int64)
        recent_counts = np.minimum(keys.rows, self.layout.most_recent)
        recent = rows.take(pa.array(ranges(first + keys.rows - recent_counts, recent_counts)))
        since, is_open = zeros.copy(), keys.start < keys.rows
        if self.search.within_us is not None:
            since[is_open] = self.gate.times(rows)[(first + keys.start)[is_open]]
        starts = pa.array(first)
        return KeyTable(
            tuple(rows.column(name).take(starts) for name in self.layout.names),
            keys,
            zeros.copy(),
            since,
            self._live(left),
            recent if recent.num_rows else None,
            recent_counts,
        )

    def _live(self, left: OpenBucket) -> Rows:
        """The live states of each key's first open start. Keys whose rows are all in the header need none."""
        keys, live = left.keys, self.live
        result = np.full(len(keys.rows), DECIDED)
        is_open = (keys.start < keys.rows) & (keys.rows > self.layout.most_recent)
        if is_open.any():
            assert left.open_rows is not None
            end = keys.first + keys.rows
            ordered = Ordered(None, np.append(0, end))
            window = self.worker.window(self.batch(left.open_rows), ordered)
            window = self.search.growing(window, np.ones(len(keys.rows), np.bool_), keys)
            symbols = self.worker.symbols(replace(window, failures=RowFailures()))  # the search has told of them
            begin = np.where(keys.start == 0, live.at_start, live.elsewhere)
            result[is_open] = live.walk(begin[is_open], symbols, (keys.first + keys.start)[is_open], end[is_open])
        return result
