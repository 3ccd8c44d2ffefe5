"""The output columns of a clause on a stream: those of a batch, the decision time, and the mark of late rows."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.clause.query.clause import Measure, Output
from ostinato.clause.stream.stream_limits import run_slot
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Case, Column, Expr, Operator, string_literal
from ostinato.rows.column_names import DECIDED, ERROR, LATE, MATCHED, STATUS
from ostinato.spark.clause.skipping_query import SkippingQuery, with_errors_shown
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.streams.stream_operator import decided_field
from ostinato.streams.stream_settings import LATE_COLUMN, STATUS_COLUMN, WITHDRAWN, StreamSettings


def stream_schema(query: SparkQuery, stream: StreamSettings, delay_ms: int | None = None) -> s.StructType:
    """The columns of the core's rows: the worker's without ERROR, the decision time, and the mark of late rows."""
    if stream.on_error == "skip":
        fields = list(SkippingQuery(query).output_fields)
    else:
        fields = [field for field in query.worker_schema().fields if field.name != ERROR]
    fields.append(decided_field(delay_ms))
    if stream.shows_late:
        fields.append(s.StructField(LATE, s.BooleanType()))
    if stream.emit == "early":
        fields.append(s.StructField(STATUS, s.StringType()))
    return s.StructType(fields)


def measured_stream(query: SparkQuery, stream: StreamSettings, matched: DataFrame) -> DataFrame:
    """The output columns. Columns that the stream adds are further measures of the query."""
    plan = with_errors_shown(query.plan) if stream.on_error == "skip" else query.plan
    return query.with_plan(_with_stream_columns(plan, stream)).measured(matched)


def _with_stream_columns(plan: MatchPlan, stream: StreamSettings) -> MatchPlan:
    bound, clause = plan.bound, plan.bound.clause
    computed = stream.on_error == "skip"  # by workers, which leave out rows of no match
    added = {LATE_COLUMN: Column(LATE)} if stream.shows_late else {}
    if stream.emit == "early":
        added[STATUS_COLUMN] = Column(STATUS)
    if stream.decision_time is not None:
        added[stream.decision_time] = Column(DECIDED)
    for name in added:
        if name.lower() in (output.lower() for output in bound.output_names):
            raise QueryError(
                "DUPLICATE_COLUMN",
                f"the output already has a column '{name}', which the stream would add",
                hint="give the measure another name",
            )
    # A withdrawn row has its run id, but no match. Late rows have no run id anyway.
    run_id = Column(slot_name(run_slot(plan))) if stream.emit == "early" else None
    more = tuple(Measure(name, expr) for name, expr in added.items())
    return replace(
        plan,
        outer=(
            *(expr if computed or expr == run_id else _of_match(expr, clause.output, stream) for expr in plan.outer),
            *added.values(),
        ),
        bound=replace(
            bound,
            measures=(*bound.measures, *more),
            # `_of_match` makes measures of unmatched rows NULL. Unmatched rows also have a decision time.
            clause=replace(clause, output=_without_unmatched(clause.output)),
        ),
    )


def _of_match(measure: Expr, output: Output, stream: StreamSettings) -> Expr:
    """The measure, but NULL for rows outside of a match, even if the measure of no values isn't NULL."""
    if output is Output.ALL_ROWS_WITH_UNMATCHED:
        measure = Case(None, ((Column(MATCHED), measure),), None)
    if stream.emit == "early":
        is_match = Operator("<>", (Column(STATUS), string_literal(WITHDRAWN)))
        measure = Case(None, ((is_match, measure),), None)
    if stream.shows_late:
        measure = Case(None, ((Operator("not", (Column(LATE),)), measure),), None)
    return measure


def _without_unmatched(output: Output) -> Output:
    return Output.ALL_ROWS if output is Output.ALL_ROWS_WITH_UNMATCHED else output
