"""A correlation on batch DataFrames -> a lazy DataFrame of its pairs.

    select -> [union ->] repartition by key -> mapInArrow -> where (raises errors of tasks) -> select (two structs)

The plan uses public operations only, so it is the same on Spark Connect. Spark evaluates the measures and the join's
predicate. `correlation_sql` puts the pairs into the text around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START, Correlation
from ostinato.correlations.language.correlation_parser import CorrelationText, correlation_of
from ostinato.correlations.plan.correlation_plan import TimeColumns, clocks_of, plan_correlation
from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask, SideTask
from ostinato.errors import QueryError, in_statement
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Expr
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.clause.clause_options import DEFAULT_OPTIONS, ClauseOptions
from ostinato.spark.clause.spark_plan import SparkQuery, over_columns
from ostinato.spark.correlations.correlation_columns import PairColumns, ShippedSides
from ostinato.spark.correlations.correlation_sql import ARCHIVE, LIVE
from ostinato.spark.correlations.correlation_tasks import CorrelateKeys
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.spark_input import SparkRefused, raise_early, refused
from ostinato.spark.shipping.worker_check import Checked


class SparkCorrelation:
    """A correlation planned over two DataFrames. If they are the same object, both sides read the same rows."""

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
        self.sides = ShippedSides(self.live, self.archive, self.plan.keys, shared=self.shared)
        self.pairs = PairColumns(
            self.live,
            self.archive,
            self.archive.source.column_types[self.clocks.archive.start],
            self.live.source.column_types[self.clocks.live.end],
        )

    def task(self) -> CorrelationTask:
        """The task of the workers."""
        plan = self.plan
        return CorrelationTask(
            live=self._side(self.live, self.clocks.live, {}),
            archive=self._side(self.archive, self.clocks.archive, self.sides.archive_names),
            region=self.correlation.region,
            keys=plan.keys,
            shared=self.shared,
            equalities=tuple((equality.live_slot, equality.archive_slot) for equality in plan.equalities),
        )

    def _side(self, query: SparkQuery, times: TimeColumns, arriving: dict[str, str]) -> SideTask:
        conditions = tuple(
            (arriving.get(name, name), bit) for name, bit in condition_places(len(query.plan.row_conditions))
        )
        renamed = {name: other for name, other in arriving.items() if name != other}
        keys = tuple(map(query.source.arrow_column, query.bound.partition_by))
        return SideTask(typed=query.typed, time_columns=times, key_types=keys, conditions=conditions, columns=renamed)

    @property
    def archive_keys(self) -> tuple[str, ...]:
        """The archive's partition columns, in the order of the matching live columns."""
        return tuple(archive for _, archive in self.plan.keys)

    # --- batch ---

    def matched(self, options: CorrelationOptions) -> DataFrame:
        """All pairs, in the form for `correlation_sql`. Nothing runs yet."""
        schema = self.pairs.schema_with_error
        options = replace(options, recent_rows=None)  # a batch has all rows: nothing is read back
        task = CorrelateKeys(self.task(), options, self.sides.arriving, self.live.source.arrow_schema(schema))
        return self.measured(self.sides.by_key().mapInArrow(Checked(task), schema).where(RAISES))

    # --- after matching ---

    def measured(self, pairs: DataFrame) -> DataFrame:
        """The pairs with a struct of output columns for each side. Spark evaluates the measures."""
        sides = ((True, self.live, LIVE), (False, self.archive, ARCHIVE))
        columns = [CORRELATION_START, CORRELATION_END]
        for is_live, query, name in sides:
            outputs = self._outputs(query, is_live).items()
            fields = (f"{render_expression(expr)} AS {quote(column)}" for column, expr in outputs)
            columns.append(f"struct({', '.join(fields)}) AS {name}")
        with without_error_log():
            try:
                result = raise_early(pairs.selectExpr(*columns))
            except SparkRefused:
                with in_statement(self.correlation.text, self.correlation.bodies):
                    for is_live, query, _ in sides:
                        self._find_refused(pairs, query, is_live)
                raise
        return result

    def _outputs(self, query: SparkQuery, is_live: bool) -> dict[str, Expr]:
        """The side's output columns over the stored columns of pairs."""
        stored = {name: field.name for name, field in self.pairs.stored[is_live].items()}
        return {name: over_columns(expr, stored) for name, expr in query.outputs().items()}

    def _find_refused(self, pairs: DataFrame, query: SparkQuery, is_live: bool) -> None:
        """Raises a QueryError for the measure that Spark refuses."""
        exprs = self._outputs(query, is_live)
        for measure in query.bound.clause.measures:
            error = refused(pairs, exprs[measure.name], measure.expression, query.bound.clause.text)
            if error is not None:
                raise error from None


def pairs_of(
    text: str, occurrence: CorrelationText, live: DataFrame, archive: DataFrame, options: ClauseOptions
) -> DataFrame:
    """The pairs of a correlation in a text, over batch DataFrames."""
    if live.isStreaming or archive.isStreaming:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "on a stream, ost.sql takes one correlation, of a stream with itself",
            hint="ost.correlate(query, archive=table).start(stream, output=..., checkpoint=...) takes an archive",
        )
    check_only_limits(options)
    settings = session_settings(live)
    correlation = correlation_of(text, occurrence, double_quoted_identifiers=settings.double_quoted_identifiers)
    return SparkCorrelation(correlation, live, archive, options.limits, settings).matched(CorrelationOptions())


def check_only_limits(options: ClauseOptions) -> None:
    """Raises for options of clauses that a correlation doesn't take."""
    if replace(options, limits=Limits()) != DEFAULT_OPTIONS:
        raise QueryError(
            "INVALID_OPTION",
            "of the options of ost.sql a correlation takes max_partial_matches, and on a stream buckets",
            hint="leave the others out; ost.correlate(...) has those of a correlation",
        )


def _types_of(query: SparkQuery) -> Callable[[str], pa.DataType]:
    return lambda name: query.source.arrow(query.source.column_types[name], name)
