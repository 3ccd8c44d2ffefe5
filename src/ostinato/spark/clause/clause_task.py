"""What a Spark task runs for a clause. Engines are loaded where it runs: the driver loads no kernel to plan a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.rows.column_names import PREFIX

BITS_PER_COLUMN = 60


def bits_name(column: int) -> str:
    """The shipped column that holds so many row conditions as bits."""
    return f"{PREFIX}bits{column}"


def condition_bits(plan: MatchPlan) -> list[tuple[str, int]]:
    """For each row condition the shipped column and the bit that hold it."""
    return condition_places(len(plan.row_conditions))


def condition_places(count: int) -> list[tuple[str, int]]:
    """For each of so many conditions the shipped column and the bit that hold it."""
    bits = (divmod(i, BITS_PER_COLUMN) for i in range(count))
    return [(bits_name(column), bit) for column, bit in bits]


@dataclass(frozen=True, slots=True)
class SparkTask:
    """Everything a task needs, sent to the executors once per query."""

    typed: TypedPlan
    shipped: tuple[str, ...]
    """The names of the columns that arrive, in their order."""
    output: pa.Schema
    sorted_by_spark: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ostinato.clause.task.arrow_batches import match_batches

        conditions = condition_bits(self.typed.plan)
        return match_batches(
            self.typed, batches, self.shipped, conditions, self.output, sorted_by_key=self.sorted_by_spark
        )
