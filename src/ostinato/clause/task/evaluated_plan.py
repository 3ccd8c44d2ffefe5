"""A clause whose row expressions and measures are evaluated in this process, not by Spark.

Expressions are the evaluator's subset of Spark's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan, slot_name
from ostinato.clause.plan.typed_plan import Limits, TypedPlan, check_condition, type_plan
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.task.located_errors import located
from ostinato.errors import MatchError, QueryError, errors_quoting
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.syntax import Expr
from ostinato.expressions.typing import type_of
from ostinato.rows.batches import Batch, Mask, OutputRows
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import MATCHED
from ostinato.rows.evaluated_rows import evaluated_batch
from ostinato.rows.failing_rows import failing_rows, first_failing_row
from ostinato.streams.stream_settings import ERROR_COLUMN


class EvaluatedPlan:
    """A plan whose row expressions are evaluated here."""

    def __init__(self, plan: MatchPlan, schema: pa.Schema, settings: t.Settings, limits: Limits) -> None:
        self.plan = plan
        self.settings = settings
        self.types = {field.name: field.type for field in schema}
        with errors_quoting(plan.bound.clause.text):
            self.row_conditions = [self._prepared(condition) for condition in plan.row_conditions]
            for condition, ready in zip(plan.row_conditions, self.row_conditions, strict=True):
                check_condition(ready.type, condition.span)
            self.inputs = {item.name: self._prepared(item.expr) for item in plan.inputs if item.is_computed}
            self.typed: TypedPlan = type_plan(plan, self._input_type, lambda name: self.types[name], settings, limits)
            slots = {slot_name(i): kind for i, kind in enumerate(self.typed.slot_types)}
            self.outer = [prepare(expr, by_column_name(slots), settings) for expr in plan.outer]

    def _prepared(self, expr: Expr) -> PreparedExpression:
        return prepare(expr, by_column_name(self.types), self.settings)

    def _input_type(self, expr: Expr) -> pa.DataType:
        return type_of(expr, by_column_name(self.types), self.settings)

    def batch(self, columns: dict[str, pa.Array], count: int) -> Batch:
        """The rows, with all expressions over a single row evaluated."""
        return evaluated_batch(columns, count, self.inputs, self.row_conditions)

    def batch_or_located_error(self, columns: dict[str, pa.Array], count: int) -> Batch:
        """As `batch`; the error of a row names its key, its time, and the expression."""
        try:
            return self.batch(columns, count)
        except MatchError:
            row, error = self._first_failing_row(columns, count)
            raise located(error, self.plan.bound, columns, row) from None

    def _first_failing_row(self, columns: dict[str, pa.Array], count: int) -> tuple[int, MatchError]:
        def evaluate(begin: int, end: int) -> None:
            self.batch({name: array.slice(begin, end - begin) for name, array in columns.items()}, end - begin)

        return first_failing_row(count, evaluate)

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of the output and their types."""
        bound = self.plan.bound
        types = {name: self.types[name] for name in self.plan.shown}
        types |= {measure.name: ready.type for measure, ready in zip(bound.measures, self.outer, strict=True)}
        return pa.schema([pa.field(name, types[name]) for name in bound.output_names])

    def measured(self, rows: OutputRows) -> pa.Table:
        """The output table: the measures, computed from the values that matching returned."""
        bound = self.plan.bound
        everywhere = np.ones(rows.count, np.bool_)
        matched = np.asarray(rows.arrays[MATCHED]) if MATCHED in rows.arrays else everywhere
        result = {name: rows.arrays[name] for name in self.plan.shown}
        for measure, ready in zip(bound.measures, self.outer, strict=True):
            shown = everywhere if self.plan.is_frame_function(measure.name) else matched
            result[measure.name], failed = measured_or_failed(ready, rows, shown, most=0)
            for row, error in failed.items():
                raise located(error, bound, rows.arrays, row, measure.name) from None
        return pa.table([result[name] for name in bound.output_names], names=list(bound.output_names))


def measured_or_failed(
    measure: PreparedExpression, rows: OutputRows, good: Mask, most: int | None = None
) -> tuple[pa.Array, dict[int, MatchError]]:
    """The measure where it can be evaluated, and the errors of other good rows. `most`: as in `failing_rows`."""
    try:
        return measured_where(measure, rows, good), {}
    except MatchError:
        number = np.flatnonzero(good)

    def evaluate(begin: int, end: int) -> None:
        chosen = np.zeros(rows.count, np.bool_)
        chosen[number[begin:end]] = True
        measured_where(measure, rows, chosen)

    failed = {int(number[at]): error for at, error in failing_rows(len(number), evaluate, most).items()}
    if most is not None and len(failed) > most:
        return pa.nulls(rows.count, measure.type), failed
    rest = good.copy()
    rest[list(failed)] = False
    return measured_where(measure, rows, rest), failed


def measured_where(measure: PreparedExpression, rows: OutputRows, inside: Mask) -> pa.Array:
    """The measure for some rows, NULL for others. It isn't evaluated for those, because it may fail there."""
    if inside.all():
        return measure.evaluate(by_column_name(rows.arrays), rows.count)
    chosen = pa.array(inside)
    arrays = {name: array.filter(chosen) for name, array in rows.arrays.items()}
    values = measure.evaluate(by_column_name(arrays), int(inside.sum()))
    return values.take(pa.array(np.cumsum(inside) - 1, mask=~inside))


def check_no_error_column(bound: BoundClause) -> None:
    """Raises DUPLICATE_COLUMN if the output has a column `error` already."""
    if ERROR_COLUMN in (name.lower() for name in bound.output_names):
        raise QueryError(
            "DUPLICATE_COLUMN",
            f"the output already has a column '{ERROR_COLUMN}', which on_error=\"skip\" adds",
            hint="give the measure another name",
        )
