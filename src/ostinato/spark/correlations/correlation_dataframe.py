"""A correlation on batch DataFrames: the rows of both sides brought together by key, one call of Python, pairs out.

    select -> [union ->] repartition by key -> mapInArrow -> where (raises what a row reported) -> select (two structs)

The plan is lazy and made of public operations only, so it is the same on Spark Connect. Measures and the join's
predicate are Spark's to evaluate; what becomes of the pairs in the text around them is `correlation_sql`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START, Correlation
from ostinato.correlations.language.correlation_parser import CorrelationText, correlation_of
from ostinato.correlations.plan.correlation_plan import TimeColumns, clocks_of, plan_correlation
from ostinato.errors import QueryError, in_statement
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Column, Expr, rebuild
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.clause.batch import BatchOptions
from ostinato.spark.clause.clause_dataframe import Options
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.correlations.correlation_columns import PairColumns, Travelling
from ostinato.spark.correlations.correlation_sql import ARCHIVE, LIVE
from ostinato.spark.correlations.correlation_tasks import CorrelateKeys
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import RAISES, refusal
from ostinato.spark.shipping.worker_check import Checked

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask, SideTask


class SparkCorrelation:
    """A correlation planned over the columns of two DataFrames; the same object twice: both sides read its rows."""

    def __init__(
        self,
        correlation: Correlation,
        live: DataFrame,
        archive: DataFrame,
        limits: Limits,
        settings: Settings,
    ) -> None:
        self.correlation = correlation
        self.shared = archive is live
        names = (live.columns, archive.columns)
        with in_statement(correlation.text, correlation.bodies):
            self.plan = plan_correlation(correlation, *names, case_sensitive=settings.case_sensitive)
            self.live = SparkQuery(self.plan.live, live, limits, settings)
            self.archive = SparkQuery(self.plan.archive, archive, limits, settings)
            self.clocks = clocks_of(self.plan, _types_of(self.live), _types_of(self.archive))
        self.travelling = Travelling(self.live, self.archive, self.plan.keys, shared=self.shared)
        self.pairs = PairColumns(
            self.live,
            self.archive,
            self.archive.source.column_types[self.clocks.archive.start],
            self.live.source.column_types[self.clocks.live.end],
        )

    def task(self) -> CorrelationTask:
        """What workers are told."""
        from ostinato.correlations.task.correlation_task import CorrelationTask  # loads kernels

        plan = self.plan
        return CorrelationTask(
            live=self._side(self.live, self.clocks.live, {}),
            archive=self._side(self.archive, self.clocks.archive, self.travelling.archive_names),
            region=self.correlation.region,
            keys=plan.keys,
            shared=self.shared,
            equalities=tuple((one.live_slot, one.archive_slot) for one in plan.equalities),
        )

    def _side(self, query: SparkQuery, times: TimeColumns, arrives: dict[str, str]) -> SideTask:
        from ostinato.correlations.task.correlation_task import SideTask  # loads kernels

        conditions = tuple(
            (arrives.get(name, name), bit) for name, bit in condition_places(len(query.plan.row_conditions))
        )
        renamed = {name: other for name, other in arrives.items() if name != other}
        keys = tuple(map(query.source.arrow_column, query.bound.partition_by))
        return SideTask(typed=query.typed, time_columns=times, key_types=keys, conditions=conditions, columns=renamed)

    @property
    def archive_keys(self) -> tuple[str, ...]:
        """The archive's partition columns, in the order of the live side's that they belong to."""
        return tuple(other for _, other in self.plan.keys)

    # --- batch ---

    def matched(self, options: CorrelationOptions) -> DataFrame:
        """All pairs, as `correlation_sql` wants them; nothing runs yet."""
        schema = self.pairs.schema_with_error
        options = replace(options, recent_rows=None)  # all rows are at hand: there is nothing to read back
        task = CorrelateKeys(self.task(), options, self.travelling.arriving, self.live.source.arrow_schema(schema))
        return self.measured(self.travelling.by_key().mapInArrow(Checked(task), schema).where(RAISES))

    # --- after matching ---

    def measured(self, found: DataFrame) -> DataFrame:
        """The pairs with each side as a struct of its output columns, measures evaluated by Spark."""
        sides = ((True, self.live, LIVE), (False, self.archive, ARCHIVE))
        columns = [CORRELATION_START, CORRELATION_END]
        for is_live, query, name in sides:
            outputs = self._outputs(query, is_live)
            fields = (f"{render_expression(expr)} AS {quote(column)}" for column, expr in outputs)
            columns.append(f"struct({', '.join(fields)}) AS {name}")
        with without_error_log():
            try:
                result = found.selectExpr(*columns)
                _ = result.schema  # Connect analyses late: let errors show here
            except (AnalysisException, ParseException):
                with in_statement(self.correlation.text, self.correlation.bodies):
                    for is_live, query, _ in sides:
                        self._find_refused(found, query, is_live)
                raise
        return result

    def _outputs(self, query: SparkQuery, is_live: bool) -> list[tuple[str, Expr]]:
        """The side's output columns over the columns that pairs are stored in."""
        stored = self.pairs.stored[is_live]

        def over_stored(expr: Expr) -> Expr:
            if isinstance(expr, Column):
                return Column(stored[expr.name].name)
            return rebuild(expr, over_stored)

        outputs: dict[str, Expr] = {name: Column(name) for name in query.plan.shown}
        outputs |= {measure.name: expr for measure, expr in zip(query.bound.measures, query.plan.outer, strict=True)}
        return [(name, over_stored(outputs[name])) for name in query.bound.output_names]

    def _find_refused(self, found: DataFrame, query: SparkQuery, is_live: bool) -> None:
        """Raises our error for the measure that Spark refuses."""
        exprs = dict(self._outputs(query, is_live))
        for measure in query.bound.clause.measures:
            try:
                _ = found.selectExpr(render_expression(exprs[measure.name])).schema
            except (AnalysisException, ParseException) as error:
                raise refusal(error, measure.expression, query.bound.clause.text) from None


def pairs_of(text: str, found: CorrelationText, live: DataFrame, archive: DataFrame, options: Options) -> DataFrame:
    """The pairs of a correlation that stands in the text, over whole tables."""
    from ostinato.correlations.task.correlation_task import CorrelationOptions  # loads kernels

    if live.isStreaming or archive.isStreaming:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "a correlation in ost.sql is for batch DataFrames",
            hint="ost.correlate(query, live=stream).start(output=..., checkpoint=...) takes a stream",
        )
    if options.batch != BatchOptions() or not options.stream.is_default:
        raise QueryError(
            "INVALID_OPTION",
            "of the options of ost.sql a correlation takes max_partial_matches only",
            hint="leave the others out; ost.correlate(...) has those of a correlation",
        )
    settings = session_settings(live)
    correlation = correlation_of(text, found, double_quoted_identifiers=settings.double_quoted_identifiers)
    return SparkCorrelation(correlation, live, archive, options.limits, settings).matched(CorrelationOptions())


def _types_of(query: SparkQuery) -> Callable[[str], pa.DataType]:
    return lambda name: query.source.arrow(query.source.column_types[name], name)
