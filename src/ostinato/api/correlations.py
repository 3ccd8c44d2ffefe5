"""`ost.correlate`: joins live matches with earlier archive matches, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from ostinato.api.query import LocalCall, Query
from ostinato.api.results import Result, RunReport, small_table_like
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import whole_number
from ostinato.calls.shown_objects import short_repr
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.task.correlation_task import (
    DEFAULT_OPTIONS,
    CorrelationOptions,
    StrategyChoice,
)
from ostinato.correlations.task.run_counts import run_table
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.local.local_settings import local_settings, refuse_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, is_table, spark_dataframe
from ostinato.rows.table_kinds import like
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, MOST_BUCKETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ostinato.api.plot_object import Plot
    from ostinato.local.correlation_runs import CorrelationRows, CorrelationStatistics
    from ostinato.rows.table_kinds import TableLike

    Archive = TableLike | DataFrame | str | Callable[[SparkSession], DataFrame]
    """A table, a DataFrame, the path of Parquet files, or a function that reads the DataFrame anew for each batch."""
    from ostinato.spark.correlations.own_archive_stream import OwnArchiveTerms

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class CorrelationResult(Result[T]):
    """The result of a correlation. In this process, rows are ordered by correlation_start and correlation_end within
    each key. `report.table` has one row: the strategy, the reason, and the counts of the run."""

    statistics: CorrelationStatistics | None = None
    """The counts and costs of a run in this process. None on Spark, where each task has its own."""

    @only_our_errors()
    def plot(self) -> Plot:
        """Draws each pair of matches as a band. The query must select correlation_start and correlation_end."""
        from ostinato.api.plot import plot

        return plot(self.table)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, repr=False)
class CorrelationQuery(Query):
    """One correlation or several. `run` answers a table or a DataFrame, batch or streaming. `start` starts a stream."""

    texts: Mapping[str, str]
    archive: Any
    options: CorrelationOptions
    limits: Limits
    delay: str | int | None = None
    buckets: int = DEFAULT_BUCKETS
    single: bool = True
    """Whether there is one query, not several by name."""

    @only_our_errors()
    def run(
        self, live: T, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> CorrelationResult[T]:
        """Runs the correlation over the live rows: a table of any kind that `ost.match` takes, or a DataFrame.

        Tables are matched at once, in this process. Expressions then follow `ansi` and `timezone`, and a run that takes
        longer than `deadline` ("10 seconds") raises DEADLINE_PASSED. On Spark the session sets both rules, and the
        result is lazy.
        """
        self._check_single("run_all(live) runs several correlations together")
        (result,) = self.run_all(live, ansi=ansi, timezone=timezone, deadline=deadline).values()
        return result

    @only_our_errors()
    def run_all(
        self, live: T, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> dict[str, CorrelationResult[T]]:
        """Runs several correlations together, and returns their results by name."""
        if is_spark_dataframe(live):
            refuse_deadline(deadline)
            refuse_settings(ansi, timezone)
            return {name: self._on_spark(name, live) for name in self.texts}
        settings = local_settings(ansi, timezone)
        rows = interruptible(lambda: self._rows(live, settings), deadline)
        return {name: self._result(name, live, one) for name, one in rows.items()}

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of the correlation over a DataFrame, batch or streaming: `run(df).table`."""
        spark_dataframe(df, hint="ost.match(correlation, table) answers it in this process")
        return self.run(df).table

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the correlation over a table."""
        self._check_single("run_all(live) runs several correlations together")
        (rows,) = self._rows(table, call.settings_of_one_thread()).values()
        return rows.table

    @only_our_errors()
    def start(
        self,
        live: DataFrame,
        *,
        output: str | Callable[[DataFrame, int], None],
        checkpoint: str,
        trigger: Mapping[str, Any] | str | None = None,
        write_archive: bool = False,
    ) -> StreamingQuery:
        """Starts the correlation on a streaming DataFrame.

        `output` is a folder, in which each batch overwrites its own sub-folder, or a function of a DataFrame and the
        batch number, which writes the DataFrame once. `trigger` takes Spark's arguments, or an interval between
        batches. With `write_archive` the stream's rows are also written to the path `archive`.
        """
        spark_dataframe(live, hint="start() needs a streaming DataFrame; tables are answered by run()")
        self._check_single("start each by itself")
        (text,) = self.texts.values()
        if self.archive is None:
            from ostinato.spark.correlations.own_archive_stream import start_own_archive

            if write_archive:
                hint = "archive='path', write_archive=True"
                raise QueryError("INVALID_OPTION", "write_archive needs a path to write to", hint=hint)
            terms = self._own_archive_terms()
            return start_own_archive(text, live, terms, output=output, checkpoint=checkpoint, trigger=trigger)
        from ostinato.spark.correlations.correlation_stream import StreamTerms, start_correlation

        with_archive = StreamTerms(
            archive=self.archive,
            delay=self.delay,
            buckets=self.buckets,
            options=self.options,
            limits=self.limits,
            write_archive=write_archive,
        )
        return start_correlation(text, live, with_archive, output=output, checkpoint=checkpoint, trigger=trigger)

    def _own_archive_terms(self) -> OwnArchiveTerms:
        from ostinato.spark.correlations.own_archive_stream import OwnArchiveTerms

        return OwnArchiveTerms(self.options, self.limits, self.buckets, self.delay)

    @only_our_errors()
    def finish(self, spark: SparkSession, checkpoint: str) -> DataFrame:
        """Returns the results that a stopped stream gives at end of input."""
        from ostinato.spark.checkpoints.finish import finish_stream
        from ostinato.spark.correlations.correlation_finish import finish_correlation
        from ostinato.spark.session.session_settings import check_spark

        if self.archive is None:
            return finish_stream(spark, checkpoint)
        check_spark(spark)
        return finish_correlation(spark, checkpoint, archive=self.archive)

    def _check_single(self, hint: str) -> None:
        if not self.single:
            raise QueryError("INVALID_ARGUMENTS", f"there are {len(self.texts)} correlations here, not one", hint=hint)

    def _on_spark(self, name: str, live: Any) -> CorrelationResult[Any]:
        from ostinato.spark.correlations.correlation_query import correlate_dataframes

        if is_table(self.archive) and not is_spark_dataframe(self.archive):
            hint = "spark.createDataFrame(table) makes a DataFrame of it"
            raise QueryError("NOT_A_TABLE", "the live rows are a Spark DataFrame, and the archive is not", hint=hint)
        if live.isStreaming:
            rows = self._on_stream(name, live)
        else:
            rows = correlate_dataframes(self.texts[name], live, self.archive, self.options, self.limits)
        text = f"strategy {self.options.strategy!r}: each task of Spark decides for its own keys, and keeps no counts"
        ran = run_table(name, self.options.strategy, self.options.cache, None, None)
        report = RunReport(text, small_table_like(live, ran))
        return CorrelationResult(self._alone(name), rows, report, live)

    def _on_stream(self, name: str, live: DataFrame) -> DataFrame:
        from ostinato.spark.correlations.own_archive_stream import correlate_stream

        if self.archive is not None:
            raise QueryError(
                "STREAM_NOT_SUPPORTED",
                "the rows of an archive are read batch by batch, which a lazy DataFrame can't do",
                hint="start(live, output=..., checkpoint=...) runs it; without archive= the stream is its own archive",
            )
        return correlate_stream(self.texts[name], live, self._own_archive_terms())

    def _rows(self, live: Any, settings: Settings) -> dict[str, CorrelationRows]:
        from ostinato.local.correlation_runs import CorrelationRun  # loads kernels

        return CorrelationRun(self.options, self.limits, settings).results(self.texts, live, self.archive)

    def _result(self, name: str, live: T, rows: CorrelationRows) -> CorrelationResult[T]:
        ran = rows.statistics
        report = RunReport(ran.text(), like(live, ran.table(name)))
        return CorrelationResult(self._alone(name), like(live, rows.table), report, live, ran)

    def _alone(self, name: str) -> CorrelationQuery:
        """The query of one name."""
        return self if self.single else replace(self, texts={name: self.texts[name]}, single=True)

    def _shown(self) -> str:
        return "\n\n".join(self.texts.values())

    def __repr__(self) -> str:
        return short_repr(self, "; ".join(self.texts.values()))


@only_our_errors()
def correlate(
    query: str | Sequence[str] | Mapping[str, str],
    *,
    archive: Archive | None = None,
    strategy: StrategyChoice = DEFAULT_OPTIONS.strategy,
    cache: bool = DEFAULT_OPTIONS.cache,
    recent_rows: int | None = None,
    delay: str | int | None = None,
    ordered: bool = DEFAULT_OPTIONS.ordered,
    max_partial_matches: int = Limits().max_partial_matches,
    step_rows: int = DEFAULT_OPTIONS.step_rows,
    buckets: int = DEFAULT_BUCKETS,
) -> CorrelationQuery:
    """Creates a query that joins each live match with archive matches from the time shortly before it (DejaVu, 2011).

    `query` is the text of a join of two MATCH_RECOGNIZE clauses with `RECENT(archive, live, distance)`. `run(live)`
    answers it. A list of such texts, or a dict by name, is answered together by `run_all(live)`. A live clause that
    they share is matched once. `archive` is a table of any kind that `ost.match` takes, or a Spark DataFrame. Without
    it, the live rows are their own archive. `strategy` is "auto", "eager", "live_first" or "archive_first". Without
    `cache` overlapping regions are searched again for each match. None of these options changes the rows.

    `recent_rows` limits the rows of a key in memory; other rows of a region are read again when they are needed. With
    `ordered=False`, a result comes as soon as it is final, whatever its order. For streams only: `delay` is the
    watermark delay of a stream without a watermark, and `buckets` the number of buckets of keys. A stream without
    `archive` answers as a clause does: `stream.transform(correlate(query))`. `start` also takes an archive.

    >>> import pyarrow as pa
    >>> side = "MATCH_RECOGNIZE (ORDER BY t MEASURES X.t AS at AFTER MATCH SKIP {} PATTERN (X) DEFINE X AS kind = '{}')"
    >>> live, earlier = side.format("PAST LAST ROW", "alarm"), side.format("TO NEXT ROW", "repair")
    >>> join = f"SELECT live.at, archive.at AS repaired FROM e {live} AS live JOIN e {earlier} AS archive "
    >>> events = pa.table({"t": [1, 2, 9], "kind": ["repair", "alarm", "alarm"]})
    >>> correlate(join + "ON RECENT(archive, live, 5)").run(events).table.to_pylist()
    [{'at': 2, 'repaired': 1}]
    """
    return CorrelationQuery(
        texts=_by_name(query),
        archive=archive,
        options=CorrelationOptions(strategy, cache, recent_rows, ordered, step_rows),
        limits=Limits(max_partial_matches),
        delay=delay,
        buckets=whole_number("buckets", buckets, most=MOST_BUCKETS),
        single=isinstance(query, str),
    )


def _by_name(query: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(query, str):
        return {"query": query}
    if isinstance(query, Mapping):
        texts = dict(query)
    elif isinstance(query, Sequence):
        texts = {f"query{i + 1}": text for i, text in enumerate(query)}
    else:
        raise QueryError("NOT_A_QUERY", f"expected the text of a correlation, got {type(query).__name__}")
    wrong = [type(text).__name__ for text in texts.values() if not isinstance(text, str)]
    if wrong or not texts:
        raise QueryError("NOT_A_QUERY", f"expected the texts of correlations, got {wrong[0] if wrong else 'none'}")
    return texts
