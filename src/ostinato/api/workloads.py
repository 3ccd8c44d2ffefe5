"""`ost.Workload`: runs many queries over one input together, with or without bounds.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> rides = pa.table({"ts": [1, 2, 3, 4], "kind": ["Request", "Travel", "Travel", "Pickup"]})
>>> trends = ["PATTERN SEQ(Request, Travel+) RETURN COUNT(*)", "PATTERN SEQ(Travel+, Pickup) RETURN COUNT(*)"]
>>> result = ost.Workload(trends, type="kind", time="ts").run(rides)
>>> result["q2"].to_pylist()
[{'count(*)': Decimal('3')}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import pyarrow as pa

from ostinato.api.any_query import QuerySource
from ostinato.api.clause_builder import PatternQuery
from ostinato.api.clauses import MatchRecognizeQuery, match_recognize
from ostinato.api.events import EventOptionNames, EventsQuery, events
from ostinato.api.query import ColumnNames, LocalCall, Query, default_columns
from ostinato.api.results import Result, RunReport, small_table_like
from ostinato.calls.bounds import Duration, LatencyRequest
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.id_columns import NO_IDS, IdColumns
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_path, a_text, shown
from ostinato.calls.shown_objects import shortened
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.event_queries.workload_options import WorkloadOptions, changed_options
from ostinato.explanation.explained_clauses import table_columns
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import Clock
from ostinato.local.local_settings import local_settings, refuse_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, spark_dataframe
from ostinato.rows.loss_report import Report
from ostinato.rows.table_kinds import like
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.report_rows import REPORT_TYPE, report_values
from ostinato.workloads.workload_request import WorkloadRequest
from ostinato.workloads.workload_rows import WorkloadRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.api.plot_object import Plot
    from ostinato.rows.table_kinds import TableLike


T = TypeVar("T")

_NOTHING_BOUNDED = "Nothing was bounded: the run found all matches."
_ON_SPARK = "Spark's tasks count the losses: report.table has a row for each query and task, once it runs."


@dataclass(frozen=True, slots=True, repr=False)
class WorkloadResult(Result[T]):
    """The result of a workload.

    `table` has the rows of all queries: `query`, `group` (a struct of the GROUP BY columns of all queries),
    `window_start`, `window_end`, `aggregates` (a struct of all aggregates by name), and for queries that return matches
    `match_number`, `match_start`, `match_end` and `events`. `table` has the columns of all queries; a column is NULL in
    the rows of queries without it. If queries give a column different types, it is text in `table`.

    `result["q1"]` has the columns and types of one query. On Spark it is a separate job. The job also runs the queries
    that share its shuffle. To read the rows of many queries, write `table` once and read the output.

    `report.table` has a row for each query and engine: the dropped partial matches, the latency, the recall. On Spark
    it has a row for each query and task; on a stream, for each query, micro-batch and bucket.
    """

    queries: Mapping[str, T]
    """The rows of each query."""
    counters: WorkloadRows[Any]
    """The counts of the engines, for `ost.explain(result)`."""

    @property
    def workload(self) -> Workload:
        """The workload of this result."""
        assert isinstance(self.query, Workload)
        return self.query

    @property
    def reports(self) -> tuple[Report, ...]:
        """In process, under a bound: the report of each engine as an object."""
        return self.counters.reports

    @property
    def table_with_report(self) -> T:
        """On Spark, under a bound: the rows and the report of the same run, to be written once. The column `report` is
        NULL in the rows of matches."""
        if self.counters.with_metrics is None:
            hint = "in this process, result.table and result.report.table are of the same run"
            raise QueryError("NO_REPORT", "there is no bounded run on Spark to report of", hint=hint)
        return self.counters.with_metrics  # type: ignore[no-any-return]

    @only_our_errors()
    def plot(self, query: str | None = None) -> Plot:
        """Draws the matches of one query on their rows. Without a name, it draws a time line of the matches for each
        query that returns matches. If none does, it draws the first query."""
        from ostinato.api.plot import plot

        columns = table_columns(self.table).names
        if query is None and "match_start" in columns:
            times = {one.time for one in self.workload.events.values() if one.time is not None}
            x = times.pop() if len(times) == 1 and "events" in columns else None
            return plot(self.table, x=x, start="match_start", end="match_end", keys="query")  # type: ignore[arg-type]
        name = next(iter(self.queries)) if query is None else query
        self[name]  # raises for an unknown name
        one = self.workload.queries[self.workload.names.index(name)]
        return plot(one.clause if isinstance(one, ClauseQuery) else one, self.input)  # type: ignore[arg-type]

    @only_our_errors()
    def finish(self, checkpoint: str | None = None, *, operator: int | None = None) -> DataFrame:
        """Returns the rows of a stopped stream that are only final at end of input, as `ost.finish_stream` does."""
        spark_dataframe(self.table, hint="finish() is for stopped streams; a table was answered to its end")
        from ostinato.spark.checkpoints.finish import finish_stream

        session = self.table.sparkSession  # type: ignore[attr-defined]
        return finish_stream(session, a_path("checkpoint", checkpoint), operator=operator)

    def __getitem__(self, name: str) -> T:
        """The rows of one query, in its own columns."""
        if not isinstance(name, str) or name not in self.queries:
            hint = f"there are {', '.join(self.queries)}"
            raise QueryError("UNKNOWN_QUERY", f"no query is called {shown(name)}", hint=hint)
        return self.queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Workload(WorkloadRequest, Query):
    """Many queries over one input that run together. Common parts of the queries are computed once.

    On Spark all event queries are one job. It shuffles the rows once for each distinct GROUP BY.
    """

    @only_our_errors()
    def __init__(
        self,
        queries: Sequence[QuerySource] | Mapping[str, QuerySource],
        names: Sequence[str] | None = None,
        *,
        type: TypeArgument = None,
        time: ColumnNames = None,
        keys: ColumnNames = None,
        latency_bound: LatencyRequest | None = None,
        memory_bound: str | int | None = None,
        selection_ratio: float | None = None,
        batch_budget: Duration | None = None,
        weights: Mapping[str, float] | None = None,
        clock: Clock | None = None,
        **options: Unpack[EventOptionNames],
    ) -> None:
        """`queries` is a list, or a dict by name, of texts of event queries or of MATCH_RECOGNIZE, of `ost.events(...)`
        or of `ost.pattern(...)`. Queries without names are called q1, q2 and so on. `type`, `time` and `keys` name the
        columns for queries whose text has none.

        With a bound, the workload drops partial matches rather than exceed it. The report counts the dropped ones.
        `BoundRequest` and docs/workloads.md describe the bounds. The other options are those of `ost.events`, for all
        queries: `numbers`, `approximate`, `sharing`, ... `match_id` adds a column to the rows of all queries that
        return matches.
        """
        named_queries = _named(queries, names)
        workload_options = changed_options(WorkloadOptions(), options, also=BoundRequest.__slots__)
        columns = _Columns(type, time, keys)
        parsed = tuple(_read(query, name, columns, workload_options) for name, query in named_queries.items())
        if workload_options.match_id is not None:
            parsed = _with_match_ids(parsed, workload_options.match_id)
        if not any(isinstance(query, EventsQuery) for query in parsed):
            _refuse_number_options(options)
        request = BoundRequest(latency_bound, memory_bound, selection_ratio, batch_budget, weights, clock)
        request.bounds(tuple(named_queries))  # raises for bad amounts, and for names that aren't queries
        object.__setattr__(self, "queries", parsed)
        object.__setattr__(self, "names", tuple(named_queries))
        object.__setattr__(self, "options", workload_options)
        object.__setattr__(self, "request", request)

    @only_our_errors()
    def run(
        self, table: T, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> WorkloadResult[T]:
        """Runs all queries over a table of any kind that `ost.match` takes, or over a Spark DataFrame.

        Tables are matched at once, in this process. Expressions then follow `ansi` and `timezone`, and a run that takes
        longer than `deadline` ("10 seconds") raises DEADLINE_PASSED. On Spark the session sets both rules, and the
        result is lazy.
        """
        if is_spark_dataframe(table):
            refuse_deadline(deadline)
            refuse_settings(ansi, timezone)
            return self._on_spark(table)
        settings = local_settings(ansi, timezone)
        return interruptible(lambda: self._in_this_process(table, settings), deadline)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of all queries as a lazy DataFrame: `run(df).table`."""
        spark_dataframe(df, hint="ost.match(workload, table) answers it in this process")
        return self.run(df).table

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of all queries over a table."""
        from ostinato.local.local_workloads import workload_tables

        return workload_tables(self, table, call.settings_of_one_thread()).rows

    def _in_this_process(self, data: T, settings: Settings) -> WorkloadResult[T]:
        from ostinato.local.local_workloads import workload_tables

        run = workload_tables(self, data, settings)
        losses = pa.chunked_array([report_values(report) for report in run.reports], REPORT_TYPE)
        text = "\n\n".join(map(str, run.reports)) or _NOTHING_BOUNDED
        report = RunReport(text, like(data, pa.Table.from_struct_array(losses)))
        queries = {name: like(data, rows) for name, rows in run.queries.items()}
        return WorkloadResult(self, like(data, run.rows), report, data, queries, run)

    def _on_spark(self, df: Any) -> WorkloadResult[Any]:
        from ostinato.spark.workloads.workload_dataframes import workload_dataframes

        run = workload_dataframes(self, df)
        if run.metrics is None:
            nothing = pa.Table.from_struct_array(pa.array([], REPORT_TYPE))
            report = RunReport(_NOTHING_BOUNDED, small_table_like(df, nothing))
        else:
            report = RunReport(_ON_SPARK, run.metrics)
        return WorkloadResult(self, run.rows, report, df, run.queries, run)

    def __repr__(self) -> str:
        return f"<Workload of {len(self.names)} queries: {shortened(', '.join(self.names), 60)}>"

    def _shown(self) -> str:
        texts = {name: render_event_query(query.query) for name, query in self.events.items()}
        texts |= {name: query.to_sql() for name, query in self.clauses.items()}
        return "\n\n".join(f"{name}:\n{texts[name]}" for name in self.names)


def _named(queries: Any, names: Any) -> dict[str, Any]:
    if isinstance(queries, str):
        raise QueryError("INVALID_OPTION", "a workload takes a list of queries", hint="ost.Workload([text, ...])")
    if isinstance(queries, Mapping):
        names, queries = list(queries), list(queries.values())
    if not isinstance(queries, Iterable) or not (names is None or isinstance(names, Iterable)):
        wrong = names if isinstance(queries, Iterable) else queries
        raise QueryError("INVALID_OPTION", f"a workload takes lists of queries and of names, not {shown(wrong)}")
    queries = list(queries)
    query_names = [f"q{i}" for i in range(1, len(queries) + 1)] if names is None else list(names)
    for name in query_names:
        a_text("the name of a query", name)
    if not queries or len(query_names) != len(queries) or len(set(query_names)) != len(query_names):
        raise QueryError(
            "INVALID_OPTION",
            f"{len(queries)} queries and {len(set(query_names))} different names",
            hint="a workload has at least one query, and each has a name of its own",
        )
    return dict(zip(query_names, queries, strict=True))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns for queries whose text names none."""

    type: TypeArgument
    time: ColumnNames
    keys: ColumnNames


def _read(query: QuerySource, name: str, columns: _Columns, options: WorkloadOptions) -> EventsQuery | ClauseQuery:
    if isinstance(query, str) and not is_event_text(query):
        return as_clause_query(query, default_columns(columns.keys, columns.time))
    if isinstance(query, PatternQuery | MatchRecognize | MatchRecognizeQuery):
        return match_recognize(query, keys=columns.keys, time=columns.time).clause_query
    event_query = events(query, type=columns.type, time=columns.time, keys=columns.keys)  # type: ignore[arg-type]
    if event_query.options not in (WorkloadOptions(), options):
        raise QueryError(
            "INVALID_OPTION",
            f"query '{name}' has options of its own, but those of a workload hold for all of its queries",
            hint="ost.Workload([...], numbers=..., approximate=...)",
        )
    return replace(event_query, options=options)


def _with_match_ids(
    queries: Sequence[EventsQuery | ClauseQuery], match_id: str
) -> tuple[EventsQuery | ClauseQuery, ...]:
    """The queries with a column for ids. Event queries read it from their options; a clause may have its own."""
    if not any(isinstance(query, ClauseQuery) or query.returns_matches for query in queries):
        message = "match_id is for queries that return matches, and this workload has only aggregates"
        raise QueryError("INVALID_OPTION", message, hint="leave match_id out")
    return tuple(
        query.with_ids(IdColumns(match_id)) if isinstance(query, ClauseQuery) and query.clause.ids == NO_IDS else query
        for query in queries
    )


def _refuse_number_options(options: Mapping[str, Any]) -> None:
    """Raises INVALID_OPTION for options that only event queries read."""
    for name in ("numbers", "approximate"):
        if name in options:
            raise QueryError(
                "INVALID_OPTION",
                f"{name} is the form of aggregates of event queries, and this workload has only MATCH_RECOGNIZE",
                hint=f"leave {name} out; MEASURES have the types of their expressions",
            )
