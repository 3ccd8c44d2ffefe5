"""For mapInArrow: the state of some buckets of keys and the rows that came for them in; pairs and new state out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.column_names import ERROR
from ostinato.spark.correlations.correlation_packing import (
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
    WANTED,
)
from ostinato.spark.streams.stream_packing import BUCKET, one_batch, pack_batch, pack_results, unpack_table

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask
    from ostinato.correlations.task.correlation_worker import CorrelationStep, Correlator
    from ostinato.spark.correlations.worker_reads import WorkerReads

Batches = Iterator[pa.RecordBatch]
STEPPED = pa.schema(
    [
        pa.field(BUCKET, pa.int32()),
        pa.field(KIND, pa.int8()),
        pa.field(PACK, pa.binary()),
        *(pa.field(name, pa.int64()) for name in (LATEST, *COUNTS)),
        pa.field(ERROR, pa.string()),
    ]
)


@dataclass(slots=True)
class _Bucket:
    """What came for one bucket: packs by kind, and the latest time it had met."""

    latest: int | None = None
    packs: dict[int, list[bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdvanceBuckets:
    """One step of a stream for each bucket that has a state or rows."""

    task: CorrelationTask
    options: CorrelationOptions
    live: pa.Schema
    archive: pa.Schema
    """Of the archive's own rows, and of those that are read back."""
    pairs: pa.Schema
    watermark: int | None
    """Rows up to it are complete; None: no row has been seen before this batch."""
    late_until: int | None
    """The watermark of the batch before: rows that come now and aren't later are late."""
    read_back: frozenset[int] = frozenset()
    """The buckets for which HISTORY was read; for the others nothing was."""
    reader: WorkerReads | None = None
    """Reads what is wanted here and now, instead."""
    finished: bool = False
    """The input has ended: only pairs come out."""

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.correlations.task.correlation_worker import Correlator
        from ostinato.rows.batches import failure

        try:
            correlator = Correlator(self.task, self.options)
            for number, bucket in sorted(_gathered(batches).items()):
                yield _records(number, self._advanced(correlator, number, bucket))
        except Exception as error:
            yield failure(ours_or_raise(error), STEPPED)

    def _advanced(self, correlator: Correlator, number: int, bucket: _Bucket) -> list[dict[str, Any]]:
        rows = _table(bucket, LIVE_ROWS, self.live)
        arrived, latest = rows.num_rows, bucket.latest
        if arrived:
            times = self._times(rows)
            rows = rows.filter(pa.array(self._is_in_time(times)))
            known = [int(times.max())] if (times != _NO_TIME).any() else []
            latest = max([*known, *([] if latest is None else [latest])], default=None)
        step = self._step(correlator, number, bucket, rows)
        records: list[dict[str, Any]] = [{KIND: PAIRS, PACK: pack} for pack in self._packed(step.results)]
        if step.wanted.num_rows:
            return [{KIND: WANTED, PACK: pack_batch(one_batch(step.wanted))}]
        if self.finished:
            return records
        counts = {name: int(getattr(step.counts, name, 0)) for name in COUNTS}
        counts |= {"rows": arrived, "late_rows": arrived - rows.num_rows}
        counts[ARCHIVE_COUNT] = step.counts.rows - rows.num_rows
        return [*records, {KIND: STATE, PACK: step.state, LATEST: latest, **counts}]

    def _step(self, correlator: Correlator, number: int, bucket: _Bucket, rows: pa.Table) -> CorrelationStep:
        state = bucket.packs.get(STATE, [None])[0]
        archive = None if self.task.shared else _table(bucket, ARCHIVE_ROWS, self.archive)
        history = _table(bucket, HISTORY, self.archive) if number in self.read_back else None
        watermark = _NO_TIME if self.watermark is None else self.watermark
        step = correlator.advance(state, rows, archive, watermark, finished=self.finished, history=history)
        if step.wanted.num_rows and self.reader is not None:
            history = self.reader.read(number, step.wanted)
            step = correlator.advance(state, rows, archive, watermark, finished=self.finished, history=history)
        return step

    def _times(self, rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        from ostinato.rows.batches import one_array
        from ostinato.rows.times import microseconds_of

        return microseconds_of(one_array(rows.column(self.task.live.time_columns.start)))

    def _is_in_time(self, times: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """A row without a time is late: nobody knows where it belongs."""
        return times > (_NO_TIME if self.late_until is None else self.late_until)

    def _packed(self, results: pa.Table) -> Iterator[bytes]:
        return pack_results(results.rename_columns(self.pairs.names).cast(self.pairs))


_NO_TIME = -(1 << 63)
"""As in `matching.search`, which this module doesn't load before a worker runs."""


def _gathered(batches: Batches) -> dict[int, _Bucket]:
    found: dict[int, _Bucket] = {}
    for batch in batches:
        numbers, kinds, packs, latest = (column.to_pylist() for column in batch.columns)
        for number, kind, pack, time in zip(numbers, kinds, packs, latest, strict=True):
            bucket = found.setdefault(number, _Bucket())
            bucket.packs.setdefault(kind, []).append(pack)
            if kind == STATE:
                bucket.latest = time
    return found


def _table(bucket: _Bucket, kind: int, schema: pa.Schema) -> pa.Table:
    return unpack_table(bucket.packs.get(kind, []), schema)


def _records(bucket: int, records: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{BUCKET: bucket, **record} for record in records], schema=STEPPED)
