"""The rows of all queries of a workload in one DataFrame: the query's name, and a column or a struct for each role.

In: parts, each the rows of one operator, in which several queries may have rows. Out: the table that
`rows/workload_layout.py` describes, as in process.
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
from ostinato.spark.event_queries.event_tasks import QUERY, REPORT
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.workloads.report_rows import REPORT_NAME, REPORT_TYPE

CommonKey = tuple[Role, str]
"""A column of the common table, or a field of one of its structs."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A value that rows of a part show in a column of the common table."""

    role: Role
    key: str
    kind: s.DataType
    value: Expr
    """Over the columns of the part's rows."""
    query: int | None
    """Only rows of this query have the value; None: it is NULL in rows of queries that don't."""


@dataclass(frozen=True, slots=True)
class PartRows:
    """The rows of one operator."""

    rows: DataFrame
    """With the number of a row's query in QUERY, and where there is a report of what was given up, in REPORT."""
    names: Sequence[str]
    """Of the queries, by number."""
    columns: Sequence[ShownColumn]
    has_reports: bool


def common_rows(parts: Sequence[PartRows], *, reports: bool = False) -> DataFrame:
    """The rows of all parts. A column that queries give in different types is text.

    With `reports` also the rows that tell what was given up, in a further column.
    """
    kinds: dict[CommonKey, set[s.DataType]] = {}
    for column in (column for part in parts for column in part.columns):
        kinds.setdefault((column.role, column.key), set()).add(column.kind)
    common = {key: next(iter(found)) if len(found) == 1 else s.StringType() for key, found in kinds.items()}
    return functools.reduce(lambda one, other: one.unionAll(other), (_common(part, common, reports) for part in parts))


def _common(part: PartRows, common: dict[CommonKey, s.DataType], reports: bool) -> DataFrame:
    names = F.array(*(F.lit(name) for name in part.names))
    columns = [F.element_at(names, F.col(QUERY) + 1).alias(QUERY_NAME)]
    for role in Role:
        values = [_value(part, key, kind).alias(key[1]) for key, kind in common.items() if key[0] is role]
        if values:
            columns.append((F.struct(*values) if role in IN_STRUCTS else values[0]).alias(role.value))
    if reports:
        report = F.col(REPORT) if part.has_reports else F.lit(None).cast(spark_type(REPORT_TYPE))
        return part.rows.select(*columns, report.alias(REPORT_NAME))
    rows = part.rows.where(F.col(REPORT).isNull()) if part.has_reports else part.rows
    return rows.select(*columns)


def _value(part: PartRows, key: CommonKey, kind: s.DataType) -> SparkColumn:
    """The value of a row's query; NULL where it has none."""
    values = []
    for column in part.columns:
        if (column.role, column.key) == key:
            value = F.expr(render_expression(column.value))
            value = value if column.kind == kind else value.cast(kind)
            values.append(value if column.query is None else F.when(F.col(QUERY) == column.query, value))
    if not values:
        return F.lit(None).cast(kind)
    return values[0] if len(values) == 1 else F.coalesce(*values)
