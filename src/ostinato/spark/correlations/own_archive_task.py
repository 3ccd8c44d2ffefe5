"""The task of a correlation of a stream with its own recent history. Only workers load the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.spark.streams.stream_task import BucketTask

if TYPE_CHECKING:
    from ostinato.correlations.stream.correlation_stream import CorrelationStream
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask


@dataclass(frozen=True, slots=True)
class OwnArchiveTask(BucketTask):
    """Sent to the executors with every batch."""

    task: CorrelationTask
    options: CorrelationOptions
    us_per_unit: int
    """Microseconds of the watermark for one unit of the rows' times."""

    def new_core(self) -> CorrelationStream:
        from ostinato.correlations.stream.correlation_stream import CorrelationStream, StreamClock

        clock = StreamClock(self.task.live.time_columns.start, self.us_per_unit)
        return CorrelationStream(self.task, self.options, clock, self.fingerprint)

    def rows(self, results: pa.Table) -> pa.Table:
        return results.rename_columns(self.output.names).cast(self.output)
