"""One clause on one DataFrame, taken apart for Spark: types asked of Spark, columns to ship, measures put around."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.calls.options import shown
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.match_plan import MatchPlan, make_plan, slot_name
from ostinato.clause.plan.typed_plan import Limits, TypedPlan, check_condition, type_plan
from ostinato.clause.query.clause import MatchRecognize, Output
from ostinato.errors import QueryError, speaking_of
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Aggregate, Case, Cast, Column, Expr, Navigation, span_of
from ostinato.expressions.types import Settings
from ostinato.rows.column_names import ERROR, MATCHED, PREFIX
from ostinato.spark.clause.clause_task import BITS_PER_COLUMN, bits_name
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.spark_types import arrow_type, spark_type

_RAISED = f"raise_error(concat({ERROR}, repeat(uuid(), 0)))"
RAISES = f"CASE WHEN {ERROR} IS NULL THEN TRUE ELSE CAST({_RAISED} AS BOOLEAN) END"
"""The condition that all rows fulfil, except one that carries an error: that one is raised.

A row with an error is NULL otherwise, so conditions of the query around it would drop it. Spark never mixes them with
one that isn't deterministic, hence the uuid.
"""
_ROW = f"{PREFIX}row"
"""A column to ship where a query needs none: rows still have to be counted."""


def check_spark(spark: Any) -> None:
    """Raises INVALID_OPTION for anything but a session, classic or Connect."""
    if not hasattr(spark, "readStream"):
        raise QueryError("INVALID_OPTION", f"spark is a Spark session, not {shown(spark)}")


def session_settings(df: DataFrame) -> Settings:
    """The rules for expressions of the DataFrame's session."""
    conf = df.sparkSession.conf

    def is_on(name: str) -> bool:
        return str(conf.get(name)).lower() == "true"  # asked with a default, Spark answers that, not its own

    return Settings(
        ansi=is_on("spark.sql.ansi.enabled"),
        timezone=str(conf.get("spark.sql.session.timeZone")),
        double_quoted_identifiers=is_on("spark.sql.ansi.doubleQuotedIdentifiers"),
        case_sensitive=is_on("spark.sql.caseSensitive"),
    )


def plan_query(clause: MatchRecognize, df: DataFrame, limits: Limits, settings: Settings) -> SparkQuery:
    """The clause planned over the DataFrame's columns."""
    return SparkQuery(make_plan(bind(clause, df.columns, case_sensitive=settings.case_sensitive)), df, limits, settings)


class SparkQuery:
    """What batch and streaming plans of one clause have in common."""

    def __init__(self, plan: MatchPlan, df: DataFrame, limits: Limits, settings: Settings) -> None:
        self.plan = plan
        self.bound = plan.bound
        self.df = df
        self.limits = limits
        self.settings = settings
        self.column_types = {field.name: field.dataType for field in df.schema.fields}
        self.types = self._types([*(item.expr for item in plan.inputs), *plan.row_conditions])
        self.condition_types = [self.types[condition] for condition in plan.row_conditions]
        for name in (*self.bound.partition_by, *(key.column for key in self.bound.order_by)):
            self.arrow(self.column_types[name], name)
        with speaking_of(self.bound.clause.text):
            for condition, kind in zip(plan.row_conditions, self.condition_types, strict=True):
                check_condition(self.arrow(kind, "a condition"), span_of(condition))
        self.shipped = self._shipped()
        # Under names of our own: mapInArrow can't take names with dots.
        self.travels = {name: f"{PREFIX}c{i}" for i, name in enumerate(self.shipped)}

    @property
    def shipped_names(self) -> tuple[str, ...]:
        """The names of the columns that travel, in their order."""
        return tuple(self.shipped)

    def projected(self) -> DataFrame:
        """What travels, and nothing else."""
        return self.df.selectExpr(*(f"{text} AS {self.travels[name]}" for name, text in self.shipped.items()))

    # --- types ---

    def _types(self, exprs: Sequence[Expr]) -> dict[Expr, s.DataType]:
        """What Spark makes of expressions over one row. Only analysis; the first that fails is reported as ours."""
        known: dict[Expr, s.DataType] = {
            expr: self.column_types[expr.name] for expr in exprs if isinstance(expr, Column)
        }
        asked = [expr for expr in dict.fromkeys(exprs) if expr not in known]
        if not asked:
            return known
        with without_error_log():
            try:
                texts = (f"{render_expression(expr)} AS c{i}" for i, expr in enumerate(asked))
                fields = self.df.selectExpr(*texts).schema.fields
            except (AnalysisException, ParseException):
                for expr in asked:
                    self._try(self.df, expr, expr)
                raise
        return known | {expr: field.dataType for expr, field in zip(asked, fields, strict=True)}

    def _try(self, df: DataFrame, expr: Expr, written: Expr) -> None:
        """Raises our error if it is this expression that Spark refuses."""
        try:
            _ = df.selectExpr(render_expression(expr)).schema
        except (AnalysisException, ParseException) as error:
            raise refusal(error, written, self.bound.clause.text) from None

    def arrow(self, kind: s.DataType, name: str) -> pa.DataType:
        return arrow_type(kind, self.settings.timezone, name)

    @functools.cached_property
    def typed(self) -> TypedPlan:
        """The plan with its types, to be sent to workers."""
        return type_plan(
            self.plan,
            lambda expr: self.arrow(
                self.types[expr], expr.name if isinstance(expr, Column) else render_expression(expr)
            ),
            lambda name: self.arrow(self.column_types[name], name),
            self.settings,
            self.limits,
        )

    # --- before matching ---

    def _shipped(self) -> dict[str, str]:
        """Keys, order columns, inputs and packed row conditions, each with its SQL: nothing else travels."""
        names = dict.fromkeys((*self.bound.partition_by, *(key.column for key in self.bound.order_by)))
        columns = {name: quote(name) for name in names}
        for item in self.plan.inputs:
            columns[item.name] = render_expression(item.expr)
        conditions = [
            Cast(condition, "BOOLEAN") if isinstance(kind, s.NullType) else condition
            for condition, kind in zip(self.plan.row_conditions, self.condition_types, strict=True)
        ]
        for start in range(0, len(conditions), BITS_PER_COLUMN):
            packed = packed_conditions(conditions[start : start + BITS_PER_COLUMN])
            columns[bits_name(start // BITS_PER_COLUMN)] = packed
        return columns or {_ROW: "1"}

    def key_expression(self, name: str) -> SparkColumn:
        """What to hash of a partition key that travels."""
        if isinstance(self.column_types[name], s.FloatType | s.DoubleType):
            return F.expr(f"{self.travels[name]} + 0.0D")  # -0.0 and 0.0 are one key, but Spark's hash tells them apart
        return F.col(self.travels[name])

    def sort_order(self) -> list[SparkColumn]:
        """Partition keys, then ORDER BY, of what travels."""
        order = [F.col(self.travels[name]) for name in self.bound.partition_by]
        for bound in self.bound.order_by:
            column, key = F.col(self.travels[bound.column]), bound.key
            if key.descending:
                order.append(column.desc_nulls_first() if key.puts_nulls_first else column.desc_nulls_last())
            else:
                order.append(column.asc_nulls_first() if key.puts_nulls_first else column.asc_nulls_last())
        return order

    # --- after matching ---

    def arrow_schema(self, schema: s.StructType) -> pa.Schema:
        return pa.schema([pa.field(field.name, self.arrow(field.dataType, field.name)) for field in schema.fields])

    def worker_schema(self) -> s.StructType:
        """The columns of the rows that matching gives."""
        fields = [s.StructField(name, self.column_types[name]) for name in self.plan.shown]
        for i, (slot, kind) in enumerate(zip(self.plan.slots, self.typed.slot_types, strict=True)):
            fields.append(s.StructField(slot_name(i), self._slot_type(slot, kind)))
        if self.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED:
            fields.append(s.StructField(MATCHED, s.BooleanType()))
        return s.StructType([*fields, s.StructField(ERROR, s.StringType())])

    def _slot_type(self, slot: Expr, kind: pa.DataType) -> s.DataType:
        """A value of one row keeps Spark's own type, which says more than Arrow's: INTERVAL HOUR."""
        match slot:
            case Navigation(operand=operand) | Aggregate("min" | "max" | "min_by" | "max_by", (operand, *_)):
                return self.types.get(operand) or spark_type(kind)
            case Aggregate("array_agg", (operand,)) if operand in self.types:
                return s.ArrayType(self.types[operand])
        return spark_type(kind)

    def measured(self, found: DataFrame) -> DataFrame:
        """The output columns in the standard's order, measures evaluated by Spark around what matching gave."""
        shows_unmatched = self.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED
        columns = {name: quote(name) for name in self.plan.shown}
        for measure, expr in zip(self.bound.measures, self.plan.outer, strict=True):
            measured = Case(None, ((Column(MATCHED), expr),), None) if shows_unmatched else expr
            columns[measure.name] = f"{render_expression(measured)} AS {quote(measure.name)}"
        with without_error_log():
            try:
                result = found.selectExpr(*(columns[name] for name in self.bound.output_names))
                _ = result.schema  # Connect analyses late: let errors show here
            except (AnalysisException, ParseException):
                for measure, expr in zip(self.bound.clause.measures, self.plan.outer, strict=True):
                    self._try(found, expr, measure.expression)
                raise
        return result


def packed_conditions(conditions: Sequence[Expr]) -> str:
    """Conditions as the bits of one BIGINT; NULL counts as false."""
    bits = (f"CASE WHEN {render_expression(c)} THEN {1 << i}L ELSE 0L END" for i, c in enumerate(conditions))
    return " | ".join(f"({bit})" for bit in bits)


_CODES = {
    "UNRESOLVED_ROUTINE": "UNKNOWN_FUNCTION",
    "DATATYPE_MISMATCH": "TYPE_MISMATCH",
    "UNRESOLVED_COLUMN": "UNKNOWN_COLUMN",
    "FIELD_NOT_FOUND": "UNKNOWN_COLUMN",
    "WRONG_NUM_ARGS": "INVALID_ARGUMENTS",
    "PARSE_SYNTAX_ERROR": "SYNTAX_ERROR",
}


def refusal(error: Exception, expr: Expr | None, text: str | None) -> QueryError:
    """Spark's word on an expression as our error: its message without the plan, with a caret."""
    condition = getattr(error, "getCondition", lambda: None)() or ""
    code = next((ours for theirs, ours in _CODES.items() if str(condition).startswith(theirs)), "ANALYSIS_ERROR")
    message = str(error).strip().split("\n")[0].split(" SQLSTATE")[0].split(";")[0]
    message = message.split("] ", 1)[-1].rstrip(". ")
    return QueryError(code, message, text=text, span=None if expr is None else span_of(expr))
