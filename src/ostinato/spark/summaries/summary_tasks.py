"""The Spark task of summaries on a batch. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.batches import OutputRows, batch_of, batches_of, failure
from ostinato.summaries.task.summary_answers import ASKED_AT, AnswerLayout
from ostinato.summaries.task.summary_input import Moments

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """For mapInArrow: all rows of some keys in, answers out."""

    layout: AnswerLayout
    moments: Moments
    shipped: tuple[str, ...]
    """The names of arriving columns, in their order."""
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.summaries.task.summary_batches import SummaryBatch

        try:
            waiting = [batch.rename_columns(list(self.shipped)) for batch in batches if batch.num_rows]
            if not waiting:
                return
            arrays = batch_of(pa.Table.from_batches(waiting), ()).arrays
            names = dict(zip(self.layout.schema.names, self.output.names, strict=False))
            for answers in SummaryBatch(self.layout, self.moments).answers(arrays):
                columns = {names[name]: array for name, array in answers.items()}
                yield from batches_of(OutputRows(len(answers[ASKED_AT]), columns), self.output)
        except Exception as error:
            yield failure(ours_or_raise(error), self.output)
