"""The output of a correlation on a stream: a folder of Parquet files, or a function, called once for each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

Output = str | Callable[[DataFrame, int], None]
"""A folder of Parquet files, or a function of a batch's rows and its number. A batch that runs again calls it again."""
Trigger = Mapping[str, Any] | str | None
"""The arguments of Spark's trigger, or an interval between batches."""


@dataclass(frozen=True, slots=True)
class WriteRows:
    """For foreachBatch: writes the rows of each batch. A batch that runs again overwrites its sub-folder."""

    output: Output

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        if isinstance(self.output, str):
            rows.write.mode("overwrite").parquet(f"{self.output.rstrip('/')}/batch_id={batch_id}")
        else:
            self.output(rows, batch_id)


def start_query(
    rows: DataFrame, write: Callable[[DataFrame, int], None], checkpoint: str, trigger: Trigger
) -> StreamingQuery:
    """Starts a query that hands its batches to `write`."""
    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    if isinstance(trigger, str):
        writer = writer.trigger(processingTime=trigger)
    elif trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()
