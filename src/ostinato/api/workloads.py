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
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ostinato.api.events import EventsQuery, events
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_path, a_text, shown
from ostinato.clause.language.clause_builder import PatternQuery
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.workload_options import WorkloadOptions, changed_options
from ostinato.expressions.lexer import tokenize
from ostinato.expressions.types import Settings
from ostinato.local.local_settings import local_settings, refuse_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, spark_dataframe
from ostinato.rows.loss_report import Report
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.workload_request import WorkloadRequest
from ostinato.workloads.workload_rows import WorkloadRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkloadResult(WorkloadRows[T]):
    """The result of a workload: a pyarrow Table in process, a lazy DataFrame on Spark.

    `rows` has the rows of all queries: `query`, `group` (a struct of the GROUP BY columns of all queries),
    `window_start`, `window_end`, `aggregates` (a struct of all aggregates by name), and for queries that return matches
    `match_number`, `match_start`, `match_end` and `events`. `rows` has the columns of all queries; a column is NULL in
    the rows of queries without it. If queries give a column different types, it is text in `rows`.

    `result["q1"]` has the columns and types of one query. On Spark it is a separate job. The job also runs the queries
    that share its shuffle. To read the rows of many queries, write `rows` once and read the output.
    """

    workload: Workload = field(kw_only=True)
    """The workload of this result. `ost.explain(result)` also describes the run."""

    @property
    def report(self) -> Report:
        """The losses of a bounded run in this process. Raises NO_REPORT unless there is exactly one report: `reports`
        has all of them."""
        if len(self.reports) != 1:
            raise QueryError(
                "NO_REPORT",
                f"there are {len(self.reports)} reports" if self.reports else "nothing was bounded in this process",
                hint="result.reports has one for each stream of the workload, result.metrics those of Spark's tasks",
            )
        return self.reports[0]

    def __getattr__(self, name: str) -> Any:
        """Passes other calls on to `rows`: `result.show()`, `result.to_pylist()`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.rows, name)

    @only_our_errors()
    def finish(self, checkpoint: str | None = None, *, operator: int | None = None) -> DataFrame:
        """Returns the rows of a stopped stream that are only final at end of input, as `ost.finish_stream` does."""
        spark_dataframe(self.rows, hint="finish() is for stopped streams; a table was answered to its end")
        from ostinato.spark.checkpoints.finish import finish_stream

        session = self.rows.sparkSession  # type: ignore[attr-defined]
        return finish_stream(session, a_path("checkpoint", checkpoint), operator=operator)

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str) or name not in self.queries:
            hint = f"there are {', '.join(self.queries)}"
            raise QueryError("UNKNOWN_QUERY", f"no query is called {shown(name)}", hint=hint)
        return self.queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True, init=False)
class Workload(WorkloadRequest):
    """Many queries over one input that run together. Common parts of the queries are computed once.

    On Spark all event queries are one job. It shuffles the rows once for each distinct GROUP BY.
    """

    @only_our_errors()
    def __init__(
        self,
        queries: Sequence[Any] | Mapping[str, Any],
        names: Sequence[str] | None = None,
        *,
        type: TypeArgument = None,
        time: str | None = None,
        latency_bound: Any = None,
        memory_bound: Any = None,
        selection_ratio: float | None = None,
        batch_budget: Any = None,
        weights: Mapping[str, float] | None = None,
        clock: Any = None,
        **options: Any,
    ) -> None:
        """`queries` is a list, or a dict by name, of texts of event queries or of MATCH_RECOGNIZE, of `ost.events(...)`
        or of `ost.pattern(...)`. Queries without names are called q1, q2 and so on.

        With a bound, the workload drops partial matches rather than exceed it. The report counts the dropped ones.
        `BoundRequest` and docs/workloads.md describe the bounds. The other options are those of
        `EventsQuery.with_options`, for all queries: `numbers`, `approximate`, `sharing`, ...
        """
        named_queries = _named(queries, names)
        workload_options = changed_options(WorkloadOptions(), options, also=BoundRequest.__slots__)
        parsed = tuple(_read(query, name, type, time, workload_options) for name, query in named_queries.items())
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
        self, data: Any, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> WorkloadResult[Any]:
        """Runs all queries over a pyarrow Table, a pandas DataFrame, record batches, or a Spark DataFrame.

        Tables are matched at once, in this process. Expressions then follow `ansi` and `timezone`, and a run that takes
        longer than `deadline` ("10 seconds") raises DEADLINE_PASSED. On Spark the session sets both rules, and the
        result is lazy.
        """
        if is_spark_dataframe(data):
            refuse_deadline(deadline)
            refuse_settings(ansi, timezone)
            from ostinato.spark.workloads.workload_dataframes import workload_dataframes

            return _result(self, workload_dataframes(self, data))
        settings = local_settings(ansi, timezone)
        return interruptible(lambda: self._run_in_process(data, settings), deadline)

    def _run_in_process(self, data: Any, settings: Settings) -> WorkloadResult[pa.Table]:
        from ostinato.local.local_workloads import workload_tables

        return _result(self, workload_tables(self, data, settings))


def _result(workload: Workload, rows: WorkloadRows[T]) -> WorkloadResult[T]:
    values = {each.name: getattr(rows, each.name) for each in fields(rows)}
    return WorkloadResult(**values, workload=workload)


_CLAUSE_WORDS = frozenset({"MATCH_RECOGNIZE", "PARTITION", "ORDER", "MEASURES", "SELECT", "WITH", "("})


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
    if not queries or len(query_names) != len(queries) or len(set(query_names)) != len(query_names):
        raise QueryError(
            "INVALID_OPTION",
            f"{len(queries)} queries and {len(set(query_names))} different names",
            hint="a workload has at least one query, and each has a name of its own",
        )
    return dict(zip((a_text("the name of a query", name) for name in query_names), queries, strict=True))


def _read(
    query: Any, name: str, type: TypeArgument, time: str | None, options: WorkloadOptions
) -> EventsQuery | ClauseQuery:
    if isinstance(query, PatternQuery | MatchRecognize) or (isinstance(query, str) and _is_clause(query)):
        return as_clause_query(query)
    event_query = events(query, type=type, time=time)
    if event_query.options not in (WorkloadOptions(), options):
        raise QueryError(
            "INVALID_OPTION",
            f"query '{name}' has options of its own, but those of a workload hold for all of its queries",
            hint="ost.Workload([...], numbers=..., approximate=...)",
        )
    return replace(event_query, options=options)


def _refuse_number_options(options: Mapping[str, Any]) -> None:
    """Raises INVALID_OPTION for options that only event queries read."""
    for name in ("numbers", "approximate"):
        if name in options:
            raise QueryError(
                "INVALID_OPTION",
                f"{name} is the form of aggregates of event queries, and this workload has only MATCH_RECOGNIZE",
                hint=f"leave {name} out; MEASURES have the types of their expressions",
            )


def _is_clause(text: str) -> bool:
    """Whether a text is a MATCH_RECOGNIZE query, not an event query."""
    words = [token.upper for token in tokenize(text)]
    return words[0] in _CLAUSE_WORDS or "MATCH_RECOGNIZE" in words or (words[0] == "PATTERN" and "DEFINE" in words)
