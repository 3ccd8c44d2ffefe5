"""State of a bucket + arriving rows + watermark -> output rows + state. All steps together output a batch's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.stream.appended_bucket import is_appended, opened_bucket
from ostinato.clause.stream.key_layout import KeyLayout, key_numbers, lay_out
from ostinato.clause.stream.key_lifetimes import NEW, lifetimes, whole_lifetimes
from ostinato.clause.stream.row_ordinals import pool_with_ordinals
from ostinato.clause.stream.stream_search import NO_RESULTS, KeyMatches, StreamSearch
from ostinato.clause.task.clause_worker import Worker
from ostinato.rows.batches import Batch, OutputRows, batch_of, joined_rows
from ostinato.rows.column_names import DECIDED, LATE
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import Ordered
from ostinato.streams.bucket_state import (
    EMPTY,
    BucketState,
    OpenBucket,
    RememberedKeys,
    header_bytes,
    segments_of,
)
from ostinato.streams.intake import Gate, Intake
from ostinato.streams.record_batches import as_batch, joined
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import Section
from ostinato.streams.stream_settings import StreamSettings


class Searched(NamedTuple):
    """The matches of a step (None: no key was searched), and the keys after it."""

    key_matches: KeyMatches | None
    left: OpenBucket
    forgotten_keys: int = 0


class StreamWorker:
    """One query over buckets of keys; holds nothing between steps."""

    def __init__(
        self, typed: TypedPlan, conditions: Sequence[tuple[str, int]], settings: StreamSettings, fingerprint: str
    ) -> None:
        """`fingerprint` distinguishes the states of this query from those of others."""
        self.typed = typed
        self.conditions = tuple(conditions)
        self.settings = settings
        self.worker = Worker(typed, skips_errors=settings.on_error == "skip")
        self.bound = typed.plan.bound
        # Later rows of an eager stream may be equal to the last one, whose ordinal they continue.
        keeps_last_row = typed.plan.has_ids and settings.eager
        self.search = StreamSearch(self.worker, keeps_last_row=keeps_last_row)
        self.gate = Gate(self.bound.order_by[0].column, settings.eager)
        self.forget_us = settings.forget_us
        self.fingerprint = fingerprint

    def opened(self, state: BucketState) -> OpenBucket:
        """The state with all its rows. Raises as `open_state` does."""
        return opened_bucket(state, self.fingerprint)

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
        """One step (`StreamCore.advance`). Results have columns only where they have rows.

        `all_keys`: keys without new rows are searched, too, because the query has changed. `failed` are output rows of
        arriving rows that aren't matched.
        """
        before = self.opened(state)
        intake = self.gate.take_in(state, before, arrived, watermark_us, finished=finished)
        layout = self._layout(before, intake, all_keys=finished or all_keys)
        searched = self._searched(before, intake, layout, finished) if len(layout.keys) else Searched(None, before)
        key_matches, left = searched.key_matches, searched.left
        after = EMPTY
        if not finished:
            is_same = key_matches is None and not is_appended(state, self.fingerprint)
            open_rows = state.open_rows if is_same else segments_of(left.open_rows, Section.OPEN_ROWS)
            header = header_bytes(left.keys, intake.known_until, self.fingerprint)
            after = BucketState(header, open_rows, intake.waiting)
        ends = np.concatenate([self._expiry(left), self._forgotten_at(left)])
        known_us = max(watermark_us, before.known_until)
        return self._step(searched, intake, left.keys, after, ends, known_us, finished, failed)

    def _step(
        self,
        searched: Searched,
        intake: Intake,
        keys: RememberedKeys,
        after: BucketState,
        ends: NDArray[np.int64],
        known_us: int,
        finished: bool,
        failed: OutputRows = NO_RESULTS,
    ) -> Step[OutputRows]:
        """`keys` are the keys after the step, and `ends` the times that end their first open starts."""
        # Later than the watermark itself: for a second clause in the same query, the row must not be late.
        decided = known_us + 1
        if finished or self.settings.eager:
            decided = max(decided, intake.latest)
        open_keys = int((keys.start < keys.rows).sum())
        return Step(
            self._results(searched.key_matches, intake, failed, decided),
            after,
            None if finished else self._wake_at(ends, intake),
            Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=0 if searched.key_matches is None else searched.key_matches.count,
                open_runs=open_keys,
                waiting_rows=intake.waiting_rows,
                buffered_rows=int(keys.rows.sum()) + intake.waiting_rows,
                forgotten_keys=searched.forgotten_keys,
                **{f"kept_for_{self.search.needs.kept_for.name.lower()}": len(keys.rows) - open_keys},
            ),
        )

    # --- keys and rows of the step ---

    def _layout(self, before: OpenBucket, intake: Intake, *, all_keys: bool) -> KeyLayout:
        keys = before.keys
        key_of = key_numbers(self.remembered_keys(before), intake.released, self.bound.partition_by)
        if intake.released is None:
            rows = np.empty(0, np.int64)
        else:
            ordered = self.worker.order(self.batch(intake.released)).rows
            rows = np.arange(intake.released.num_rows) if ordered is None else ordered
        ends = self._expiry(before)
        due = (ends > before.known_until) & (ends <= intake.known_until)
        due |= self._forgotten_at(before) <= intake.known_until
        return lay_out(keys, np.ones(len(keys.rows), np.bool_) if all_keys else due, rows, key_of)

    def remembered_keys(self, opened: OpenBucket) -> list[pa.Array] | None:
        """The columns of the keys in the state; None if there are no keys."""
        if opened.open_rows is None:
            return None
        first_rows = pa.array(opened.keys.first)
        return [opened.open_rows.column(name).take(first_rows) for name in self.bound.partition_by]

    def _expiry(self, left: OpenBucket) -> NDArray[np.int64]:
        """For each key the time up to which rows must be known for WITHIN to end its first open start, or NEVER."""
        keys = left.keys
        result = np.full(len(keys.rows), NEVER)
        within = self.search.within_us
        if within is None or self.search.needs.held_back:  # a row that waits for another doesn't expire by time
            return result
        is_open = keys.start < keys.rows
        result[is_open] = self.gate.times(left.open_rows)[(keys.first + keys.start)[is_open]] + within
        return result

    def _forgotten_at(self, left: OpenBucket) -> NDArray[np.int64]:
        """For each key the time up to which rows must be known for it to be forgotten, or NEVER."""
        keys = left.keys
        if self.forget_us is None or left.open_rows is None:
            return np.full(len(keys.rows), NEVER)
        last: NDArray[np.int64] = self.gate.times(left.open_rows)[keys.first + keys.rows - 1]
        return last + self.forget_us

    def _wake_at(self, ends: NDArray[np.int64], intake: Intake) -> int | None:
        ends = ends[(ends > intake.known_until) & (ends < NEVER)]
        moments = [int(ends.min()) + (1 if self.settings.eager else 0)] if len(ends) else []
        if intake.waiting_from is not None:
            moments.append(intake.waiting_from)
        return min(moments, default=None)

    # --- matching ---

    def _searched(self, before: OpenBucket, intake: Intake, layout: KeyLayout, finished: bool) -> Searched:
        pool = self._pool(before, intake.released, layout)
        assert pool is not None
        rows = pool.take(pa.array(layout.rows))
        remembered = len(before.keys.rows)
        if self.forget_us is None:
            times = np.empty(0, np.int64) if self.search.within_us is None else self.gate.times(rows)
            spans = whole_lifetimes(layout, remembered, finished=finished)
        else:
            times = self.gate.times(rows)
            spans = lifetimes(layout, remembered, times, self.forget_us, intake.known_until, finished=finished)
        window = self.worker.window(self.batch(rows), Ordered(None, spans.key_at))
        key_matches = self.search.find(spans.keys(before.keys), window, times, intake.known_until, spans.ended)
        untouched = np.ones(remembered, np.bool_)
        untouched[layout.keys[layout.keys < remembered]] = False
        rest = before.keys.select(untouched)
        stay = np.concatenate([ranges(before.keys.first[untouched], rest.rows), layout.rows[key_matches.rows]])
        left = pool.take(pa.array(stay)) if len(stay) else None
        forgotten = 0 if finished else int(((spans.continues != NEW) & spans.ended).sum())
        keys = rest.followed_by(key_matches.keys)
        return Searched(key_matches, OpenBucket(keys, intake.known_until, left, None), forgotten)

    def _pool(self, before: OpenBucket, released: pa.RecordBatch | None, layout: KeyLayout) -> pa.RecordBatch | None:
        """Open rows, then released ones; with ids, they have ordinals."""
        if self.typed.plan.has_ids:
            return pool_with_ordinals(before.open_rows, released, layout, self.bound.order_by)
        return joined([before.open_rows, released])

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Shipped rows with their conditions as masks."""
        return batch_of(rows, self.conditions)

    # --- results ---

    def no_results(self, rows: pa.Table) -> OutputRows:
        """The columns of results, without rows; `rows` has the shipped columns."""
        return self._decided([self._late_rows(as_batch(rows.slice(0, 0)), is_late=False)], 0)

    def _results(self, key_matches: KeyMatches | None, intake: Intake, failed: OutputRows, decided: int) -> OutputRows:
        outputs = [self._marked(failed, is_late=False)] if failed.count else []
        if key_matches is not None and key_matches.results.count:
            outputs.append(self._marked(key_matches.results, is_late=False))
        if intake.late is not None and self.settings.shows_late:
            outputs.append(self._late_rows(intake.late, is_late=True))
        return self._decided(outputs, decided) if outputs else NO_RESULTS

    def _decided(self, outputs: Sequence[OutputRows], decided: int) -> OutputRows:
        """All outputs in one, with their decision time."""
        rows = joined_rows(outputs)
        decided_at = pa.array(np.full(rows.count, decided)).cast(pa.timestamp("us", "UTC"))
        return OutputRows(rows.count, {**rows.arrays, DECIDED: decided_at})

    def _marked(self, rows: OutputRows, *, is_late: bool) -> OutputRows:
        if not self.settings.shows_late:
            return rows
        return OutputRows(rows.count, {**rows.arrays, LATE: pa.array(np.full(rows.count, is_late))})

    def _late_rows(self, late: pa.RecordBatch, *, is_late: bool) -> OutputRows:
        """Late rows in the form of the others: the columns of the row itself, and NULL for values of a match."""
        columns = dict(zip(late.schema.names, late.columns, strict=True))
        return self._marked(self.worker.without_match(columns, late.num_rows), is_late=is_late)


NEVER = np.iinfo(np.int64).max
