"""The DataFrame that queries read: its columns, and Spark's types of expressions over one row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import refusal
from ostinato.spark.shipping.spark_types import arrow_type

SparkRefused = (AnalysisException, ParseException)
"""Spark's exceptions for expressions that it can't parse or type."""


@dataclass(frozen=True, slots=True)
class SparkInput:
    """The input of one or more queries."""

    df: DataFrame
    settings: Settings
    column_types: dict[str, s.DataType]

    @staticmethod
    def of(df: DataFrame, settings: Settings | None = None) -> SparkInput:
        """The DataFrame with the settings of its session, or with other settings."""
        return SparkInput(
            df, settings or session_settings(df), {field.name: field.dataType for field in df.schema.fields}
        )

    def arrow(self, kind: s.DataType, name: str) -> pa.DataType:
        """The Arrow type in which values of a Spark type reach Python. `name` is the column's, for errors."""
        return arrow_type(kind, self.settings.timezone, name)

    def arrow_column(self, name: str) -> pa.DataType:
        """The Arrow type of a column of the input."""
        return self.arrow(self.column_types[name], name)

    def arrow_schema(self, fields: Iterable[s.StructField]) -> pa.Schema:
        return pa.schema([pa.field(field.name, self.arrow(field.dataType, field.name)) for field in fields])

    def types(self, exprs: Iterable[Expr]) -> dict[Expr, s.DataType]:
        """Spark's types of expressions over one row. Nothing runs. Raises `SparkRefused` for a bad expression."""
        distinct = dict.fromkeys(exprs)
        types: dict[Expr, s.DataType] = {
            expr: self.column_types[expr.name] for expr in distinct if isinstance(expr, Column)
        }
        others = [expr for expr in distinct if expr not in types]
        if others:
            with without_error_log():
                texts = (f"{render_expression(expr)} AS c{i}" for i, expr in enumerate(others))
                fields = self.df.selectExpr(*texts).schema.fields
            types |= {expr: field.dataType for expr, field in zip(others, fields, strict=True)}
        return types


def refused(df: DataFrame, expr: Expr, written: Expr, text: str | None) -> QueryError | None:
    """The error if Spark refuses the expression over the DataFrame. `written` is the user's form of it."""
    with without_error_log():
        try:
            raise_early(df.selectExpr(render_expression(expr)))
        except SparkRefused as error:
            return refusal(error, written, text)
    return None


def raise_early(df: DataFrame) -> DataFrame:
    """The DataFrame, after Spark has analysed it. A classic session has done so; Connect would raise errors later."""
    if type(df).__module__.startswith("pyspark.sql.connect"):
        _ = df.schema
    return df
