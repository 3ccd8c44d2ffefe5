"""The rows of all queries of a workload in one DataFrame: the query's name, and a column or a struct for each role.

In: the rows of each operator, which may belong to several queries. Out: the table that `rows/workload_layout.py`
describes, as in process.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Expr
from ostinato.rows.workload_layout import IN_STRUCTS, Role
from ostinato.rows.workload_layout import QUERY as QUERY_NAME
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.workload_rows.query_rows import QUERY, REPORT
from ostinato.workloads.report_rows import REPORT_NAME, REPORT_TYPE

CommonKey = tuple[Role, str]
"""A column of the common table, or a field of one of its structs."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A value of an operator's rows for a column of the common table."""

    role: Role
    key: str
    kind: s.DataType
    value: Expr
    """Over the columns of the operator's rows."""
    query: int | None
    """The query whose rows have the value; None: the value is NULL in rows of other queries anyway."""


@dataclass(frozen=True, slots=True)
class OperatorRows:
    """The rows of one operator."""

    rows: DataFrame
    """QUERY has the number of a row's query. REPORT has the report of a row about dropped state."""
    names: Sequence[str]
    """The names of the queries, by number."""
    columns: Sequence[ShownColumn]
    has_reports: bool


def common_rows(operators: Sequence[OperatorRows], *, reports: bool = False) -> DataFrame:
    """The rows of all operators. A column that has several types is text.

    With `reports`, the result also has the report rows, in a further column.
    """
    kinds: dict[CommonKey, set[s.DataType]] = {}
    for column in (column for operator in operators for column in operator.columns):
        kinds.setdefault((column.role, column.key), set()).add(column.kind)
    common = {key: next(iter(types)) if len(types) == 1 else s.StringType() for key, types in kinds.items()}
    return functools.reduce(DataFrame.unionAll, (_common(operator, common, reports) for operator in operators))


def _common(operator: OperatorRows, common: dict[CommonKey, s.DataType], reports: bool) -> DataFrame:
    names = F.array(*(F.lit(name) for name in operator.names))
    columns = [F.element_at(names, F.col(QUERY) + 1).alias(QUERY_NAME)]
    for role in Role:
        values = [_value(operator, key, kind).alias(key[1]) for key, kind in common.items() if key[0] is role]
        if values:
            columns.append((F.struct(*values) if role in IN_STRUCTS else values[0]).alias(role.value))
    if reports:
        report = F.col(REPORT) if operator.has_reports else F.lit(None).cast(spark_type(REPORT_TYPE))
        return operator.rows.select(*columns, report.alias(REPORT_NAME))
    rows = operator.rows.where(F.col(REPORT).isNull()) if operator.has_reports else operator.rows
    return rows.select(*columns)


def _value(operator: OperatorRows, key: CommonKey, kind: s.DataType) -> SparkColumn:
    """The value of a row's query; NULL if it has none."""
    values = []
    for column in operator.columns:
        if (column.role, column.key) == key:
            value = F.expr(render_expression(column.value))
            value = value if column.kind == kind else value.cast(kind)
            values.append(value if column.query is None else F.when(F.col(QUERY) == column.query, value))
    if not values:
        return F.lit(None).cast(kind)
    return values[0] if len(values) == 1 else F.coalesce(*values)
