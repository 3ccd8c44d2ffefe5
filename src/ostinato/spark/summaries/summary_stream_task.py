"""The tasks of a summary on a stream. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.kernels.constants import NO_TIME
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.column_names import PREFIX
from ostinato.spark.streams.stream_buckets import HEADER, WAITING, rows_or_error
from ostinato.spark.streams.stream_task import BucketTask
from ostinato.streams.bucket_state import BucketState
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.task.summary_answers import AnswerLayout
from ostinato.summaries.task.summary_input import SummaryInput

if TYPE_CHECKING:
    from ostinato.summaries.stream.summary_stream import SummaryStreamWorker, TimedAnswers

KEY_HASH = f"{PREFIX}hash"
TRIGGER = f"{PREFIX}asks"
PAGES = "pages"
"""The name of the state variable, for Spark's state reader."""
NUMBER, PAGE = "number", "page"


@dataclass(frozen=True, slots=True)
class SummaryBucketTask(BucketTask):
    """The task of an operator with summaries."""

    query: SummaryQuery
    source: SummaryInput
    form: NumberForm

    def new_core(self) -> SummaryStreamWorker:
        from ostinato.summaries.stream.summary_stream import SummaryStreamWorker

        names = self.shipped.names
        return SummaryStreamWorker(
            self.query,
            self.source,
            key_hash=KEY_HASH if KEY_HASH in names else None,
            trigger=TRIGGER if TRIGGER in names else None,
            fingerprint=self.fingerprint,
        )

    def rows(self, results: tuple[TimedAnswers, ...]) -> pa.Table:
        layout = AnswerLayout(self.source, self.query, self.form)
        answering = self.worker.answering
        tables = []
        for asked in results:
            columns = layout.columns(answering, asked.answers, asked.asked_at_us)
            tables.append(pa.Table.from_arrays([*asked.keys, *columns.values()], schema=self.output))
        return pa.concat_tables([self.output.empty_table(), *tables])


@dataclass(frozen=True, slots=True)
class AnswerPages:
    """For mapInArrow: pages in, the answers of their keys out, with a column for an error."""

    task: SummaryBucketTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pages = (bytes(page.as_buffer()) for batch in batches for page in batch.column(0))
        return rows_or_error(map(self._answered, pages), self.task.output)

    def _answered(self, page: bytes) -> pa.Table:
        worker = self.task.worker
        return self.task.rows((worker.all_answers(worker.page(page)),))


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
