"""The Spark tasks of a clause on a batch. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import Limits, TypedPlan
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places

if TYPE_CHECKING:
    from ostinato.rows.batches import OutputRows


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


@dataclass(frozen=True, slots=True)
class SkippingTask:
    """For mapInArrow: all rows of some keys in, the rows of their matches and the rows that failed out."""

    plan: MatchPlan
    settings: Settings
    limits: Limits
    shipped: pa.Schema
    """The columns of arriving rows, which this task evaluates."""
    output: pa.Schema
    sorted_by_spark: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ostinato.clause.task.arrow_batches import run_in_steps

        keys, names = self.plan.bound.partition_by, self.shipped.names
        return run_in_steps(self._run, keys, batches, names, self.output, sorted_by_key=self.sorted_by_spark)

    def _run(self) -> Callable[[pa.Table], OutputRows]:
        from ostinato.clause.task.evaluated_plan import EvaluatedPlan
        from ostinato.clause.task.skipping_plan import SkippingPlan
        from ostinato.rows.arrow_tables import columns_of

        skipping = SkippingPlan(EvaluatedPlan(self.plan, self.shipped, self.settings, self.limits))
        return lambda table: skipping.measured(skipping.run(columns_of(table), table.num_rows))
