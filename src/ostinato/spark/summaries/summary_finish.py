"""The state of a stopped stream of summaries -> the answers that the end of input would give, as a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.kernels.constants import NO_TIME
from ostinato.spark.streams.stream_buckets import HEADER, rows_or_error, with_errors_raised
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.spark.streams.stream_processor import WAITING
from ostinato.spark.summaries.batch_summaries import answer_fields, named_answers, stored_schema
from ostinato.spark.summaries.summary_processor import NUMBER, PAGE, PAGES, pages_of
from ostinato.spark.summaries.summary_stream_task import SummaryBucketTask, SummaryDefinition
from ostinato.spark.summaries.summary_streaming import summary_task
from ostinato.streams.bucket_state import BucketState


def finished_summary(definition: SummaryDefinition, opened: Checkpoint) -> DataFrame:
    """The answers to asking rows after the last watermark. If no rows ask, one for each key with rows after it."""
    fields = answer_fields(definition.layout(), definition.empty_input(opened.spark))
    pages = pages_of(opened).groupBy(BUCKET).agg(F.collect_list(F.struct(NUMBER, PAGE)).alias(PAGES))
    waiting = opened.buckets().where(F.size(WAITING) > 0).join(pages, BUCKET, "left").select(HEADER, WAITING, PAGES)
    task = FinishSummaries(summary_task(definition))
    return named_answers(with_errors_raised(waiting, task, stored_schema(fields)), fields)


@dataclass(frozen=True, slots=True)
class FinishSummaries:
    """For mapInArrow: buckets with their pages in; the answers at the end of input out, with a column for an error."""

    task: SummaryBucketTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        buckets = (bucket for batch in batches for bucket in batch.to_pylist())
        return rows_or_error(map(self._last_rows, buckets), self.task.output)

    def _last_rows(self, bucket: dict[str, Any]) -> pa.Table:

        pages = {page[NUMBER]: page[PAGE] for page in bucket[PAGES] or ()}
        state = BucketState(bucket[HEADER], (), tuple(bucket[WAITING]))
        step = self.task.worker.advance(state, None, NO_TIME, finished=True, read_page=pages.get)
        return self.task.rows(step.results)
