"""For workers: the rows of an archive by bucket and time -> the state of each bucket, or the rows already decided."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from ostinato.rows.times import microseconds_of
from ostinato.spark.streams.stream_buckets import HEADER, OPEN_ROWS, WAITING, rows_or_error
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.spark.streams.stream_task import BucketTask
from ostinato.streams.history import history_steps
from ostinato.streams.step import Step

WAKE_AT_US = "wake_at_us"
STATES = pa.schema(
    [
        pa.field(BUCKET, pa.int32()),
        pa.field(HEADER, pa.binary()),
        pa.field(OPEN_ROWS, pa.list_(pa.binary())),
        pa.field(WAITING, pa.list_(pa.binary())),
        pa.field(WAKE_AT_US, pa.int64()),
    ]
)
"""The columns of initial states."""


class _Piece(NamedTuple):
    """Rows of one bucket, as shipped, and the latest time of the whole archive."""

    bucket: int
    latest_us: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class ReplayHistory:
    """For mapInArrow: the bucket, the shipped columns and the archive's latest time in, sorted by bucket and time.

    The state of each bucket comes out, as STATES; or the output rows, if `output` has their columns. Both have a column
    for an error. Rows without a time are left out, as a stream does; they only name buckets without rows.
    """

    task: BucketTask
    time: str
    output: pa.Schema | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(self._tables(batches), self.output or STATES)

    def _tables(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for bucket, pieces in itertools.groupby(self._pieces(batches), operator.attrgetter("bucket")):
            first = next(pieces)
            tables = (piece.rows for piece in itertools.chain([first], pieces))
            steps = history_steps(self.task.worker, tables, self.time, first.latest_us)
            if self.output is not None:
                yield from (self.task.rows(step.results) for step in steps)
            else:
                yield _state_row(bucket, _last(steps))

    def _pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[_Piece]:
        """The rows of the batches, cut where the bucket changes. None if the archive has no time at all."""
        shipped = self.task.shipped
        for batch in batches:
            latest_us = microseconds_of(batch.column(batch.num_columns - 1))
            buckets = batch.column(0).to_numpy()
            edges = [0, *(1 + (buckets[1:] != buckets[:-1]).nonzero()[0]), len(buckets)]
            for begin, end in itertools.pairwise(edges):
                if begin == end or not batch.column(batch.num_columns - 1)[begin].is_valid:
                    continue
                columns = batch.columns[1:-1]
                rows = pa.Table.from_arrays([column.slice(begin, end - begin) for column in columns], shipped.names)
                # A session may use large Arrow types. Stored rows must not depend on that, so they are cast.
                rows = rows.cast(shipped).filter(rows.column(self.time).is_valid())
                yield _Piece(int(buckets[begin]), int(latest_us[begin]), rows)


def _last(steps: Iterable[Step[object]]) -> Step[object]:
    *_, last = steps
    return last


def _state_row(bucket: int, step: Step[object]) -> pa.Table:
    state = step.state
    values = (bucket, state.header, state.open_rows, state.waiting, step.wake_at_us)
    return pa.Table.from_pylist([dict(zip(STATES.names, values, strict=True))], schema=STATES)
