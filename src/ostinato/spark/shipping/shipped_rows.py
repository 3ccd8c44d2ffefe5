"""A query's input -> the columns that are sent to Python workers, under names of our own."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Cast, Expr
from ostinato.rows.column_names import PREFIX
from ostinato.rows.packed_conditions import BITS_PER_COLUMN, bits_columns
from ostinato.spark.shipping.spark_input import SparkInput

_ROW = f"{PREFIX}row"
"""The column to ship if a query needs none: the number of rows still matters."""


def travelling_name(position: int) -> str:
    """The name of a shipped column. mapInArrow doesn't accept names with dots."""
    return f"{PREFIX}c{position}"


def stored_name(position: int) -> str:
    """The name of a column that tasks return."""
    return f"{PREFIX}o{position}"


@dataclass(frozen=True)  # without slots: `selected` is computed once
class ShippedRows:
    """The shipped columns: for each, the workers' name of it and its SQL over the input."""

    source: SparkInput
    columns: Mapping[str, str]

    @staticmethod
    def of(source: SparkInput, columns: Mapping[str, str]) -> ShippedRows:
        return ShippedRows(source, dict(columns) or {_ROW: "1"})

    @property
    def names(self) -> tuple[str, ...]:
        """The workers' names of the columns, in their order."""
        return tuple(self.columns)

    def travelling(self, name: str) -> str:
        """The name of a column while it is shipped."""
        return travelling_name(self.names.index(name))

    def column(self, name: str) -> SparkColumn:
        """A column of `selected`. Spark's hash treats -0.0 and 0.0 as equal, as its GROUP BY does."""
        return F.col(self.travelling(name))

    @functools.cached_property
    def selected(self) -> DataFrame:
        """The input with the shipped columns only."""
        texts = (f"{text} AS {travelling_name(i)}" for i, text in enumerate(self.columns.values()))
        return self.source.df.selectExpr(*texts)

    def by_key(self, keys: Sequence[str]) -> DataFrame:
        """`selected` with all rows of a key in one task. Without keys, one task has all rows."""
        return by_key(self.selected, [self.travelling(name) for name in keys])

    @property
    def types(self) -> dict[str, s.DataType]:
        """Spark's types of the columns, by the workers' names."""
        return {name: field.dataType for name, field in zip(self.names, self.selected.schema.fields, strict=True)}

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows at workers, with the workers' names."""
        return pa.schema([pa.field(name, self.source.arrow(kind, name)) for name, kind in self.types.items()])


def by_key(rows: DataFrame, keys: Sequence[SparkColumn | str]) -> DataFrame:
    """The rows, all of a key in one task. Without keys, one task has all rows.

    Keys are columns, or their names. A name costs 3 round trips to the JVM, a column of one name 13.
    """
    return rows.repartition(*keys) if keys else rows.repartition(1)


def with_row_of_nulls(rows: DataFrame, zeros: Collection[str] = ()) -> DataFrame:
    """The rows and one of NULLs, in which the columns `zeros` are 0.

    A row without a time changes no result. It makes a task run: even no rows may have a result.
    """
    values = (F.lit(0 if field.name in zeros else None).cast(field.dataType) for field in rows.schema.fields)
    return rows.unionAll(rows.sparkSession.range(1).select(*values))


def described(schema: pa.Schema) -> str:
    """Names and types of columns, as they are stored beside a state."""
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def packed_columns(conditions: Sequence[Expr], types: Mapping[Expr, s.DataType]) -> dict[str, str]:
    """Conditions over one row, packed into bits: the SQL of each bit column by its name."""
    bits = [f"({_bit(condition, types.get(condition), i % BITS_PER_COLUMN)})" for i, condition in enumerate(conditions)]
    return {
        name: " | ".join(bits[i * BITS_PER_COLUMN : (i + 1) * BITS_PER_COLUMN])
        for i, name in enumerate(bits_columns(len(conditions)))
    }


def _bit(condition: Expr, kind: s.DataType | None, bit: int) -> str:
    """NULL counts as false. The literal NULL needs a cast."""
    condition = Cast(condition, "BOOLEAN") if isinstance(kind, s.NullType) else condition
    return f"CASE WHEN {render_expression(condition)} THEN {1 << bit}L ELSE 0L END"
