"""One clause on one DataFrame -> Spark's types, the columns to ship, and the measures that Spark evaluates."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.key_columns import key_columns
from ostinato.clause.plan.match_plan import MatchPlan, make_plan, slot_name
from ostinato.clause.plan.typed_plan import Limits, TypedPlan, check_condition, type_plan
from ostinato.clause.query.clause import MatchRecognize, Output
from ostinato.errors import errors_quoting
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Aggregate, Case, Column, Expr, Navigation, rebuild
from ostinato.expressions.types import Settings
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import ERROR, MATCHED
from ostinato.spark.clause.located_failures import FailureLocator
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.shipped_rows import ShippedRows, packed_columns
from ostinato.spark.shipping.spark_input import SparkInput, SparkRefused, raise_early, refused
from ostinato.spark.shipping.spark_types import spark_type


def plan_query(
    clause: MatchRecognize, df: DataFrame, limits: Limits, settings: Settings, *, shows_order: bool = False
) -> SparkQuery:
    """The clause planned over the DataFrame's columns. `shows_order`: see `bind`."""
    bound = bind(clause, df.columns, case_sensitive=settings.case_sensitive, shows_order=shows_order)
    return SparkQuery(make_plan(bound), df, limits, settings)


def with_key_columns(clause: MatchRecognize, df: DataFrame, settings: Settings) -> DataFrame:
    """The DataFrame with the columns of the keys that are expressions. Raises a QueryError for one Spark refuses."""
    keys = key_columns(clause, df.columns, case_sensitive=settings.case_sensitive)
    for key in keys:
        error = refused(df, key.expression, key.written, clause.text)
        if error is not None:
            raise error
    if not keys:
        return df
    return df.selectExpr("*", *(f"{render_expression(key.expression)} AS {quote(key.name)}" for key in keys))


@dataclass(frozen=True, slots=True)
class Analysed:
    """Spark's types of the inputs and of the row conditions, and the rows to ship."""

    types: dict[Expr, s.DataType]
    shipped: ShippedRows


class SparkQuery:
    """The part of a plan that a batch and a stream have in common."""

    def __init__(self, plan: MatchPlan, df: DataFrame, limits: Limits, settings: Settings) -> None:
        self.plan = plan
        self.bound = plan.bound
        self.limits = limits
        self.source = SparkInput.of(df, settings)
        analysed = self._analysed_once() or self._analysed_with_errors()
        self.types = analysed.types
        self.shipped = analysed.shipped
        for name in self._ordering_columns:
            self.source.arrow_column(name)
        with errors_quoting(self.bound.clause.text):
            for condition in plan.row_conditions:
                check_condition(self.source.arrow(self.types[condition], "a condition"), condition.span)

    @property
    def df(self) -> DataFrame:
        return self.source.df

    @property
    def settings(self) -> Settings:
        return self.source.settings

    @property
    def _ordering_columns(self) -> tuple[str, ...]:
        """Partition keys, then ORDER BY."""
        return (*self.bound.partition_by, *(key.column for key in self.bound.order_by))

    @property
    def row_expressions(self) -> tuple[Expr, ...]:
        """The expressions over one row."""
        return (*(item.expr for item in self.plan.inputs), *self.plan.row_conditions)

    # --- types ---

    def _analysed_once(self) -> Analysed | None:
        """Spark analyses the shipped columns only, which saves a round of questions. None if Spark refuses them.

        Conditions are taken as BOOLEAN: they are shipped inside of CASE WHEN, where Spark refuses all other types.
        """
        types = self.source.types(expr for expr in self.row_expressions if isinstance(expr, Column))
        conditions = [condition for condition in self.plan.row_conditions if condition not in types]
        types |= dict.fromkeys(conditions, s.BooleanType())
        shipped = self._shipped(types)
        computed = [item for item in self.plan.inputs if item.expr not in types]
        with without_error_log():
            try:
                if computed:
                    shipped_types = shipped.types
                    types |= {item.expr: shipped_types[item.name] for item in computed}
                elif conditions:
                    raise_early(shipped.selected)
            except SparkRefused:
                return None
        return Analysed(types, shipped)

    def _analysed_with_errors(self) -> Analysed:
        """As `_analysed_once`. Raises a QueryError for the first expression that Spark refuses."""
        try:
            types = self.source.types(self.row_expressions)
        except SparkRefused:
            for expr in self.row_expressions:
                self._check(self.df, expr, expr)
            raise
        return Analysed(types, self._shipped(types))

    def _check(self, df: DataFrame, expr: Expr, written: Expr) -> None:
        """Raises a QueryError if Spark refuses this expression."""
        error = refused(df, expr, written, self.bound.clause.text)
        if error is not None:
            raise error from None

    @functools.cached_property
    def typed(self) -> TypedPlan:
        """The plan with its types, for workers."""
        return type_plan(
            self.plan,
            lambda expr: self.source.arrow(
                self.types[expr], expr.name if isinstance(expr, Column) else render_expression(expr)
            ),
            self.source.arrow_column,
            self.settings,
            self.limits,
        )

    # --- before matching ---

    def _shipped(self, types: Mapping[Expr, s.DataType]) -> ShippedRows:
        """Keys, order columns, inputs and packed row conditions."""
        columns = {name: quote(name) for name in self._ordering_columns}
        shown = {name: self.source.column_types[name] for name in self._ordering_columns}
        locator = FailureLocator(self.bound.clause.text, shown, self._column_type, self.settings)
        columns |= {item.name: render_expression(locator.located(item.expr)) for item in self.plan.inputs}
        conditions = {condition: locator.located(condition) for condition in self.plan.row_conditions}
        types = {conditions.get(expr, expr): kind for expr, kind in types.items()}
        return ShippedRows.of(self.source, columns | packed_columns(list(conditions.values()), types))

    def _column_type(self, expr: Expr) -> pa.DataType | None:
        return self.source.arrow_column(expr.name) if isinstance(expr, Column) else None

    def sort_order(self, shipped: ShippedRows | None = None) -> list[SparkColumn | str]:
        """Partition keys, then ORDER BY, as shipped columns. A name sorts upwards with NULLs first."""
        shipped = shipped or self.shipped
        order: list[SparkColumn | str] = [shipped.travelling(name) for name in self.bound.partition_by]
        for bound in self.bound.order_by:
            key = bound.key
            if not key.descending and key.puts_nulls_first:
                order.append(shipped.travelling(bound.column))
                continue
            column = shipped.column(bound.column)
            if key.descending:
                order.append(column.desc_nulls_first() if key.puts_nulls_first else column.desc_nulls_last())
            else:
                order.append(column.asc_nulls_last())
        return order

    # --- after matching ---

    def worker_schema(self) -> s.StructType:
        """The columns of the rows that workers return."""
        fields = [s.StructField(name, self.source.column_types[name]) for name in self.plan.shown]
        for i, (slot, kind) in enumerate(zip(self.plan.slots, self.typed.slot_types, strict=True)):
            fields.append(s.StructField(slot_name(i), self._slot_type(slot, kind)))
        if self.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED:
            fields.append(s.StructField(MATCHED, s.BooleanType()))
        return s.StructType([*fields, s.StructField(ERROR, s.StringType())])

    def _slot_type(self, slot: Expr, kind: pa.DataType) -> s.DataType:
        """A value of one row keeps its Spark type, which may be more precise than Arrow's: INTERVAL HOUR."""
        match slot:
            case Navigation(operand=operand) | Aggregate(
                "min" | "max" | "min_by" | "max_by" | "first_value" | "last_value" | "percentile_approx", (operand, *_)
            ):
                return self.types.get(operand) or spark_type(kind)
            case Aggregate("array_agg", (operand,)) if operand in self.types:
                return s.ArrayType(self.types[operand])
        return spark_type(kind)

    def outputs(self) -> dict[str, Expr]:
        """The output columns in the standard's order, as expressions over the columns that workers return."""
        outputs: dict[str, Expr] = {name: Column(name) for name in self.plan.shown}
        shows_unmatched = self.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED
        for measure, expr in zip(self.bound.measures, self.plan.outer, strict=True):
            of_matches = shows_unmatched and not self.plan.is_frame_function(measure.name)
            outputs[measure.name] = Case(None, ((Column(MATCHED), expr),), None) if of_matches else expr
        return {name: outputs[name] for name in self.bound.output_names}

    def with_plan(self, plan: MatchPlan) -> SparkQuery:
        """The same query with other measures."""
        query = copy.copy(self)
        query.plan, query.bound = plan, plan.bound
        return query

    def measured(self, matched: DataFrame) -> DataFrame:
        """The output columns. Spark evaluates the measures over the rows that workers returned."""
        locator = self._measure_locator()
        columns = [
            f"{render_expression(locator.located(expr, name))} AS {quote(name)}"
            for name, expr in self.outputs().items()
        ]
        with without_error_log():
            try:
                result = raise_early(matched.selectExpr(*columns))
            except SparkRefused:
                for measure, expr in zip(self.bound.clause.measures, self.plan.outer, strict=False):
                    # Columns that options add come last. Spark never refuses them.
                    self._check(matched, expr, measure.expression)
                raise
        return result

    def _measure_locator(self) -> FailureLocator:
        """Names the rows whose measures fail by the keys and times that the output shows."""
        shown = {name: self.source.column_types[name] for name in self._ordering_columns if name in self.plan.shown}
        slots = {slot_name(i): kind for i, kind in enumerate(self.typed.slot_types)}
        return FailureLocator(None, shown, by_column_name(slots), self.settings)


def over_columns(expr: Expr, names: Mapping[str, str]) -> Expr:
    """The expression over other columns: `names` has the new name of each column."""
    if isinstance(expr, Column):
        return Column(names[expr.name])
    return rebuild(expr, lambda inner: over_columns(inner, names))
