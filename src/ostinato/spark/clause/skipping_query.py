"""A clause with on_error="skip" on Spark: workers evaluate its expressions, so the columns of the input are shipped."""

from __future__ import annotations

import functools
from dataclasses import replace

from pyspark.sql import types as s

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.query.clause import Measure, Output
from ostinato.clause.task.evaluated_plan import EvaluatedPlan, check_no_error_column
from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.expressions.syntax import Column, walk
from ostinato.rows.column_names import ROW_ERROR
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.shipped_rows import ShippedRows
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.streams.stream_settings import ERROR_COLUMN

_HINT = (
    'with on_error="skip", Ostinato evaluates the clause itself: compute the value in a column of the input, '
    "or leave on_error out"
)


class SkippingQuery:
    """The plan of a clause whose rows and measures are evaluated by workers."""

    def __init__(self, query: SparkQuery) -> None:
        """Raises QueryError for an expression that only Spark can evaluate."""
        self.query = query
        self.shipped = _shipped(query)
        check_no_error_column(query.bound)
        try:
            self.evaluated = EvaluatedPlan(query.plan, self.shipped.schema, query.settings, query.limits)
        except QueryError as error:
            raise QueryError(error.code, error.message, hint=_HINT, text=error.text, span=error.span) from None
        for item in query.plan.inputs:
            ours, theirs = self.evaluated.typed.input_types[item.expr], query.typed.input_types[item.expr]
            if ours != theirs:
                raise QueryError(
                    "UNSUPPORTED_EXPRESSION",
                    f"Ostinato evaluates this as {ours}, Spark as {theirs}",
                    hint=_HINT,
                    text=query.bound.clause.text,
                    span=item.expr.span,
                )

    @functools.cached_property
    def output_fields(self) -> tuple[s.StructField, ...]:
        """The columns that workers return: the shown ones, the measures, and the error of a row."""
        types = self.query.source.column_types
        measures = zip(self.query.bound.measures, self.evaluated.outer, strict=True)
        return (
            *(s.StructField(name, types[name]) for name in self.query.plan.shown),
            *(s.StructField(measure.name, spark_type(ready.type)) for measure, ready in measures),
            s.StructField(ROW_ERROR, s.StringType()),
        )


def with_errors_shown(plan: MatchPlan) -> MatchPlan:
    """The plan over rows whose measures workers have computed: it only names them, and the column of errors."""
    bound = plan.bound
    error = Measure(ERROR_COLUMN, Column(ROW_ERROR))
    clause = bound.clause
    output = Output.ALL_ROWS if clause.output is Output.ALL_ROWS_WITH_UNMATCHED else clause.output
    return replace(
        plan,
        outer=(*(Column(measure.name) for measure in bound.measures), error.expression),
        bound=replace(
            bound,
            measures=(*bound.measures, error),
            clause=replace(clause, measures=(*clause.measures, error), output=output),
        ),
    )


def _shipped(query: SparkQuery) -> ShippedRows:
    """Keys, ORDER BY, and all columns of the input that the clause's row expressions read."""
    names = (*query.bound.partition_by, *(key.column for key in query.bound.order_by), *query.plan.shown)
    read = (node.name for expr in query.row_expressions for node in walk(expr) if isinstance(node, Column))
    return ShippedRows.of(query.source, {name: quote(name) for name in (*names, *read)})
