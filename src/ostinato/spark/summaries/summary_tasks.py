"""The Spark task of summaries on a batch. Only workers load the engine."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.rows.batches import OutputRows, batch_of, batches_of
from ostinato.spark.shipping.task_results import Batches, results_of
from ostinato.summaries.task.summary_answers import ASKED_AT, AnswerLayout
from ostinato.summaries.task.summary_input import Moments


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """For mapInArrow: all rows of some keys in, answers out."""

    layout: AnswerLayout
    moments: Moments
    shipped: tuple[str, ...]
    """The names of arriving columns, in their order."""
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._answers, self.output, self.shipped)

    def _answers(self, rows: pa.Table) -> Batches:
        from ostinato.summaries.task.summary_batches import SummaryBatch

        names = dict(zip(self.layout.schema.names, self.output.names, strict=False))
        for answers in SummaryBatch(self.layout, self.moments).answers(batch_of(rows, ()).arrays):
            columns = {names[name]: array for name, array in answers.items()}
            yield from batches_of(OutputRows(len(answers[ASKED_AT]), columns), self.output)
