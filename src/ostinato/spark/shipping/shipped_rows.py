"""Rows on their way to Python: the columns that a query needs, under names of our own, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""A column to ship where a query needs none: rows still have to be counted."""


def travelling_name(position: int) -> str:
    """Columns travel under names of our own: mapInArrow can't take names with dots."""
    return f"{PREFIX}c{position}"


def stored_name(position: int) -> str:
    """The same for columns that tasks give."""
    return f"{PREFIX}o{position}"


@dataclass(frozen=True, slots=True)
class ShippedRows:
    """The columns that travel: for each the name by which workers know it, and its SQL over the input."""

    source: SparkInput
    columns: Mapping[str, str]

    @staticmethod
    def of(source: SparkInput, columns: Mapping[str, str]) -> ShippedRows:
        return ShippedRows(source, dict(columns) or {_ROW: "1"})

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which workers know the columns, in their order."""
        return tuple(self.columns)

    def travelling(self, name: str) -> str:
        """The name under which a column travels."""
        return travelling_name(self.names.index(name))

    def column(self, name: str) -> SparkColumn:
        """A column among those of `selected`. Spark's hash takes -0.0 and 0.0 for one value, as its GROUP BY does."""
        return F.col(self.travelling(name))

    def selected(self) -> DataFrame:
        """The rows with what travels, and nothing else."""
        texts = (f"{text} AS {travelling_name(i)}" for i, text in enumerate(self.columns.values()))
        return self.source.df.selectExpr(*texts)

    def by_key(self, keys: Sequence[str]) -> DataFrame:
        """The same with the rows of a key in one task; without keys in the only one."""
        rows = self.selected()
        return rows.repartition(*map(self.column, keys)) if keys else rows.repartition(1)

    @property
    def schema(self) -> pa.Schema:
        """The columns as workers get them, under the names by which they know them."""
        fields = zip(self.names, self.selected().schema.fields, strict=True)
        return pa.schema([pa.field(name, self.source.arrow(field.dataType, name)) for name, field in fields])


def described(schema: pa.Schema) -> str:
    """Names and types of columns, as they are kept beside a state."""
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def packed_columns(conditions: Sequence[Expr], types: Mapping[Expr, s.DataType]) -> dict[str, str]:
    """Conditions over one row as SQL of the columns whose bits hold them."""
    bits = [f"({_bit(condition, types.get(condition), i % BITS_PER_COLUMN)})" for i, condition in enumerate(conditions)]
    return {
        name: " | ".join(bits[i * BITS_PER_COLUMN : (i + 1) * BITS_PER_COLUMN])
        for i, name in enumerate(bits_columns(len(conditions)))
    }


def _bit(condition: Expr, kind: s.DataType | None, bit: int) -> str:
    """NULL counts as false; a condition that is nothing but NULL needs a type."""
    condition = Cast(condition, "BOOLEAN") if isinstance(kind, s.NullType) else condition
    return f"CASE WHEN {render_expression(condition)} THEN {1 << bit}L ELSE 0L END"
