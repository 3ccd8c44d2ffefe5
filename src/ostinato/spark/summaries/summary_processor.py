"""One bucket of summaries inside transformWithState. Its pages are read and written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ostinato.spark.streams.bucket_store import StoredBucket
from ostinato.spark.streams.stream_processor import BucketProcessor
from ostinato.spark.summaries.summary_stream_task import NUMBER, PAGE, PAGES, SummaryBucketTask

if TYPE_CHECKING:
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.step import Step

_NUMBER = s.StructType([s.StructField(NUMBER, s.IntegerType())])
_PAGE = s.StructType([s.StructField(PAGE, s.BinaryType())])


class SummaryProcessor(BucketProcessor):
    """Pages are in a map. A step reads and writes only those of its keys."""

    task: SummaryBucketTask

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._pages = handle.getMapState(PAGES, _NUMBER, _PAGE)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int, **more: Any) -> Step[Any]:
        return super()._step(state, arrived, watermark_us, read_page=self._page, **more)

    def _page(self, number: int) -> bytes | None:
        row = self._pages.getValue((number,))
        return None if row is None else bytes(row[0])

    def _store(self, before: StoredBucket, step: Step[Any], *, timer_fired: bool) -> StoredBucket:
        from ostinato.summaries.stream.summary_stream import SummaryStep

        assert isinstance(step, SummaryStep)
        for number, page in step.pages.items():
            if page is None:
                self._pages.removeKey((number,))
            else:
                self._pages.updateValue((number,), (page,))
        return super()._store(before, step, timer_fired=timer_fired)
