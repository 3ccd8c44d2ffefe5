"""One bucket of summaries inside transformWithState: as any bucket, with pages that are read and written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ostinato.spark.streams.stream_processor import BucketProcessor, BucketStep, Stored

if TYPE_CHECKING:
    from ostinato.spark.summaries.summary_stream_task import SummaryStreamTask
    from ostinato.streams.bucket_state import BucketState

PAGES = "pages"
"""The state variable, by the name under which Spark's state reader finds it."""
NUMBER, PAGE = "number", "page"
_NUMBER = s.StructType([s.StructField(NUMBER, s.IntegerType())])
_PAGE = s.StructType([s.StructField(PAGE, s.BinaryType())])


class SummaryProcessor(BucketProcessor):
    """Pages are in a map of their own: a step touches those of its keys."""

    task: SummaryStreamTask

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._pages = handle.getMapState(PAGES, _NUMBER, _PAGE)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int) -> BucketStep:
        return self.task.worker.advance(state, arrived, watermark_us, read_page=self._page)

    def _page(self, number: int) -> bytes | None:
        kept = self._pages.getValue((number,))
        return None if kept is None else bytes(kept[0])

    def _store(self, before: Stored, step: BucketStep) -> Stored:
        from ostinato.summaries.stream.summary_stream import SummaryStep

        assert isinstance(step, SummaryStep)
        for number, page in step.pages.items():
            if page is None:
                self._pages.removeKey((number,))
            else:
                self._pages.updateValue((number,), (page,))
        return super()._store(before, step)
