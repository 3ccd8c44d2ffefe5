"""One bucket of summaries inside transformWithState: as any bucket, with pages that are read and written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ostinato.spark.streams.stream_checkpoint import Checkpoint, bucket_number
from ostinato.spark.streams.stream_processor import BucketProcessor, Stored

if TYPE_CHECKING:
    from ostinato.spark.summaries.summary_stream_task import SummaryBucketTask
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.step import Step

PAGES = "pages"
"""The state variable, by the name under which Spark's state reader finds it."""
NUMBER, PAGE = "number", "page"
_NUMBER = s.StructType([s.StructField(NUMBER, s.IntegerType())])
_PAGE = s.StructType([s.StructField(PAGE, s.BinaryType())])


def pages_of(opened: Checkpoint) -> DataFrame:
    """One row for each page of summaries in a checkpoint: its bucket, its number and its bytes."""
    number, page = F.col(f"user_map_key.{NUMBER}"), F.col(f"user_map_value.{PAGE}")
    return opened.variable(PAGES, by_entry=True).select(bucket_number(), number, page)


class SummaryProcessor(BucketProcessor):
    """Pages are in a map of their own: a step touches those of its keys."""

    task: SummaryBucketTask

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._pages = handle.getMapState(PAGES, _NUMBER, _PAGE)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int) -> Step[Any]:
        step: Step[Any] = self.task.worker.advance(state, arrived, watermark_us, read_page=self._page)
        return step

    def _page(self, number: int) -> bytes | None:
        kept = self._pages.getValue((number,))
        return None if kept is None else bytes(kept[0])

    def _store(self, before: Stored, step: Step[Any]) -> Stored:
        from ostinato.summaries.stream.summary_stream import SummaryStep

        assert isinstance(step, SummaryStep)
        for number, page in step.pages.items():
            if page is None:
                self._pages.removeKey((number,))
            else:
                self._pages.updateValue((number,), (page,))
        return super()._store(before, step)
