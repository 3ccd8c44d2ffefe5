"""For mapInArrow: the states of some buckets of keys and their new rows in; pairs and new states out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.kernels.constants import NO_TIME
from ostinato.rows.batches import one_array
from ostinato.rows.times import microseconds_of
from ostinato.spark.correlations.correlation_packs import (
    ARCHIVE_COUNT,
    ARCHIVE_ROWS,
    COUNTS,
    HISTORY,
    KIND,
    LATEST,
    LIVE_ROWS,
    PACK,
    PAIRS,
    STATE,
    STEPPED,
    WAKES_AT,
    WANTED,
)
from ostinato.spark.shipping.task_results import Batches, or_failure
from ostinato.spark.streams.stream_packing import BUCKET, one_batch, pack_batch, pack_results, unpack_table

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask
    from ostinato.correlations.task.correlation_worker import Correlator, StoredStep


@dataclass(slots=True)
class _Bucket:
    """The packs of one bucket by kind, the latest time of its earlier rows, and when its state changes without rows."""

    latest: int | None = None
    wakes_at: int | None = None
    packs: dict[int, list[bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdvanceBuckets:
    """One step of the stream for each bucket that has new rows, or whose state changes at this watermark."""

    task: CorrelationTask
    options: CorrelationOptions
    live: pa.Schema
    archive: pa.Schema
    """The columns of archive rows, new ones and those that are read back."""
    pairs: pa.Schema
    watermark: int | None
    """Rows up to this time are complete; None: there was no row before this batch."""
    late_until: int | None
    """The watermark of the batch before. New rows up to this time are late."""
    read_back: frozenset[int] = frozenset()
    """The buckets whose HISTORY was read."""
    copied: frozenset[int] = frozenset()
    """The buckets whose state is written again even if it doesn't change."""
    finished: bool = False
    """Whether the input has ended. Then there are only pairs, no state."""

    def __call__(self, batches: Batches) -> Batches:
        return or_failure(self._stepped(batches), STEPPED)

    def _stepped(self, batches: Batches) -> Batches:
        from ostinato.correlations.task.correlation_worker import Correlator

        correlator = Correlator(self.task, self.options)
        for number, bucket in sorted(_gathered(batches).items()):
            if not self._is_idle(bucket):
                yield _records(number, self._advanced(correlator, number, bucket))
            elif number in self.copied:
                times = {LATEST: bucket.latest, WAKES_AT: bucket.wakes_at}
                yield _records(number, [{KIND: STATE, PACK: bucket.packs[STATE][0], **times}])

    def _is_idle(self, bucket: _Bucket) -> bool:
        """Whether the bucket has a state and no rows, and the state doesn't change at this watermark."""
        if self.finished or set(bucket.packs) != {STATE}:
            return False
        return bucket.wakes_at is None or self.watermark is None or self.watermark < bucket.wakes_at

    def _advanced(self, correlator: Correlator, number: int, bucket: _Bucket) -> list[dict[str, Any]]:
        rows = _table(bucket, LIVE_ROWS, self.live)
        arrived, latest = rows.num_rows, bucket.latest
        if arrived:
            times = self._times(rows)
            rows = rows.filter(pa.array(self._is_in_time(times)))
            new_latest = [int(times.max())] if (times != NO_TIME).any() else []
            latest = max([*new_latest, *([] if latest is None else [latest])], default=None)
        step = self._step(correlator, number, bucket, rows)
        records: list[dict[str, Any]] = [{KIND: PAIRS, PACK: pack} for pack in self._packed(step.results)]
        if step.wanted.num_rows:
            return [{KIND: WANTED, PACK: pack_batch(one_batch(step.wanted))}]
        if self.finished:
            return records
        counts = {name: int(getattr(step.counts, name, 0)) for name in COUNTS}
        counts |= {"rows": arrived, "late_rows": arrived - rows.num_rows}
        counts[ARCHIVE_COUNT] = step.counts.rows - rows.num_rows
        return [*records, {KIND: STATE, PACK: step.state, LATEST: latest, WAKES_AT: step.wakes_at, **counts}]

    def _step(self, correlator: Correlator, number: int, bucket: _Bucket, rows: pa.Table) -> StoredStep:
        state = bucket.packs.get(STATE, [None])[0]
        archive = None if self.task.shared else _table(bucket, ARCHIVE_ROWS, self.archive)
        history = _table(bucket, HISTORY, self.archive) if number in self.read_back else None
        watermark = NO_TIME if self.watermark is None else self.watermark
        return correlator.advance(state, rows, archive, watermark, finished=self.finished, history=history)

    def _times(self, rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        return microseconds_of(one_array(rows.column(self.task.live.time_columns.start)))

    def _is_in_time(self, times: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Marks the rows that aren't late. A row without a time is late."""
        return times > (NO_TIME if self.late_until is None else self.late_until)

    def _packed(self, results: pa.Table) -> Iterator[bytes]:
        return pack_results(results.rename_columns(self.pairs.names).cast(self.pairs))


def _gathered(batches: Batches) -> dict[int, _Bucket]:
    buckets: dict[int, _Bucket] = {}
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        for number, kind, pack, latest, wakes_at in zip(*columns, strict=True):
            bucket = buckets.setdefault(number, _Bucket())
            bucket.packs.setdefault(kind, []).append(pack)
            if kind == STATE:
                bucket.latest, bucket.wakes_at = latest, wakes_at
    return buckets


def _table(bucket: _Bucket, kind: int, schema: pa.Schema) -> pa.Table:
    return unpack_table(bucket.packs.get(kind, []), schema)


def _records(bucket: int, records: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{BUCKET: bucket, **record} for record in records], schema=STEPPED)
