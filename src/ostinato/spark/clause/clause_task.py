"""The Spark task of a clause on a batch. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.rows.packed_conditions import condition_places


@dataclass(frozen=True, slots=True)
class SparkTask:
    """For mapInArrow: all rows of some keys in, the rows of their matches out."""

    typed: TypedPlan
    shipped: tuple[str, ...]
    """The names of arriving columns, in their order."""
    output: pa.Schema
    sorted_by_spark: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ostinato.clause.task.arrow_batches import match_batches

        conditions = condition_places(len(self.typed.plan.row_conditions))
        return match_batches(
            self.typed, batches, self.shipped, conditions, self.output, sorted_by_key=self.sorted_by_spark
        )
