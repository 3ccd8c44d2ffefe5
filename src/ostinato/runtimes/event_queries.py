"""`ost.events` and `ost.Workload`: event queries as values that tables and DataFrames can be asked.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> rides = pa.table({"ts": [1, 2, 3, 4], "kind": ["Request", "Travel", "Travel", "Pickup"]})
>>> trends = ost.events("PATTERN SEQ(Request, Travel+) RETURN COUNT(*)", type="kind", time="ts")
>>> ost.match(trends, rides).to_pylist()
[{'count(*)': Decimal('3')}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

from ostinato.errors import QueryError, speaking_of
from ostinato.language.event_binding import TypeArgument, bind_event_query
from ostinato.language.event_query import parse_event_query
from ostinato.language.event_to_sql import event_query_to_sql
from ostinato.planning.typed import DEFAULT_MAX_PARTIAL_MATCHES
from ostinato.predicates.types import Settings
from ostinato.query.event_query import BoundEventQuery, EventQuery, GroupColumn
from ostinato.runtimes.spark.stream_options import DEFAULT_BUCKETS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Numbers = Literal["decimal", "text", "log10"]
Sharing = Literal["dynamic", "always", "never"]
DEFAULT_MAX_MATCHES = 10_000_000


@dataclass(frozen=True, slots=True)
class EventOptions:
    """How results are given, and how much a query may use up.

    `numbers`: counts and sums as DECIMAL(38, s) and an error where one doesn't fit, as exact text, or as the log10 of
    their size. `approximate`: doubles with an extended exponent instead of exact integers. `sharing`: whether queries
    share the work for parts that they have in common. `max_matches`: how many matches a task may give.
    `max_partial_matches`: how many partial ones it may try from one time. `buckets`: into how many parts the groups of
    a stream are hashed, fixed for the life of its checkpoint.
    """

    numbers: Numbers = "decimal"
    approximate: bool = False
    sharing: Sharing = "dynamic"
    max_matches: int = DEFAULT_MAX_MATCHES
    max_partial_matches: int = DEFAULT_MAX_PARTIAL_MATCHES
    buckets: int = DEFAULT_BUCKETS

    def __post_init__(self) -> None:
        for name, value, known in (("numbers", self.numbers, Numbers), ("sharing", self.sharing, Sharing)):
            if value not in get_args(known):
                raise QueryError(
                    "INVALID_OPTION",
                    f"{name} can't be {value!r}",
                    hint=f"it is one of {', '.join(map(repr, get_args(known)))}",
                )
        if not isinstance(self.approximate, bool):
            raise QueryError("INVALID_OPTION", f"approximate is True or False, not {self.approximate!r}")
        for name in ("max_matches", "max_partial_matches", "buckets"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise QueryError("INVALID_OPTION", f"{name} is a whole number from 1 on, not {value!r}")


@dataclass(frozen=True, slots=True)
class EventsQuery:
    """An event query to ask: `ost.match(query, table)` in process, `df.transform(query)` on Spark."""

    query: EventQuery
    type: TypeArgument = None
    """The column with the events' types, or a condition for each type, where the text has neither."""
    time: str | None = None
    """The column with the events' times, where the text names none."""
    options: EventOptions = EventOptions()

    def with_options(self, **changes: Any) -> EventsQuery:
        """The same query with other options: `numbers="text"`, `approximate=True`, `max_matches=...`."""
        return replace(self, options=changed_options(self.options, changes))

    def to_sql(self, columns: Sequence[str], table: str) -> str:
        """The same question as a SELECT with MATCH_RECOGNIZE, for an input with these columns; QueryError where there
        is none, which is so for windows, NOT and SKIP TILL NEXT MATCH."""
        return event_query_to_sql(bind_event_query(self.query, columns, type=self.type, time=self.time), table)

    def __call__(self, df: DataFrame) -> DataFrame:
        """The query's rows as a DataFrame; nothing runs yet."""
        from ostinato.runtimes.spark.events import events_dataframe

        return events_dataframe(self, df)


def events(query: Any, *, type: TypeArgument = None, time: str | None = None) -> EventsQuery:
    """An event query from its text, from the fluent builder, or from a parsed one.

    `type` and `time` name the columns with the events' types and times where the text has no TYPE and TIME; `type` may
    also be a condition for each type: `{"Slow": "speed < 10", "Fast": "speed >= 10"}`.
    """
    if not (type is None or isinstance(type, str | Mapping)) or not (time is None or isinstance(time, str)):
        raise QueryError("INVALID_OPTION", "type= is a column or a condition for each type, time= is a column")
    if isinstance(query, EventsQuery):
        return replace(query, type=type or query.type, time=time or query.time)
    parsed = parse_event_query(query) if isinstance(query, str) else getattr(query, "query", query)
    if not isinstance(parsed, EventQuery):
        raise QueryError(
            "NOT_A_QUERY",
            f"expected the text of an event query, got {query.__class__.__name__}",
            hint="ost.events('PATTERN SEQ(A, B+) RETURN COUNT(*)', type='kind', time='ts')",
        )
    return EventsQuery(parsed, type, time)


def changed_options(options: EventOptions, changes: Mapping[str, Any]) -> EventOptions:
    """Options with some of them changed; INVALID_OPTION for one that isn't known."""
    known = EventOptions.__slots__
    for name in changes:
        if name not in known:
            raise QueryError("INVALID_OPTION", f"there is no option '{name}'", hint=f"there are {', '.join(known)}")
    return replace(options, **changes)


def bound_queries(queries: Sequence[EventsQuery], columns: Sequence[str], settings: Settings) -> list[BoundEventQuery]:
    """The queries tied to the columns of one input."""
    found = []
    for asked in queries:
        with speaking_of(asked.query.text):
            found.append(
                bind_event_query(
                    asked.query, columns, case_sensitive=settings.case_sensitive, type=asked.type, time=asked.time
                )
            )
    return found


def with_groups(bounds: Sequence[BoundEventQuery]) -> list[BoundEventQuery]:
    """GROUP BY columns that RETURN doesn't list as outputs without a name: the rows of a workload say their group."""
    found = []
    for bound in bounds:
        listed = {item.column for _, item in bound.outputs if isinstance(item, GroupColumn)}
        hidden = tuple(("", GroupColumn(name)) for name in bound.group_by if name not in listed)
        found.append(replace(bound, outputs=(*hidden, *bound.outputs)) if bound.outputs else bound)
    return found


# --- workloads --------------------------------------------------------------------------------------------------------

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkloadResult(Generic[T]):
    """What a workload found: a pyarrow Table in process, a lazy DataFrame on Spark.

    `rows` has the rows of all queries: `query`, `group` (a struct of the GROUP BY columns of all queries),
    `window_start`, `window_end`, `aggregates` (a struct of all aggregates by name), and for queries that return matches
    `match_number`, `match_start`, `match_end` and `events`. A column is there if a query has it, NULL for the others.
    A column that queries give in different types is text there.

    `result["q1"]` has the columns and types of one query alone. On Spark it is a job of its own, which runs the queries
    that share its shuffle, too: to look at many of them, write `rows` once and read that.
    """

    rows: T
    queries: Mapping[str, T]
    statistics: Mapping[str, int] = field(default_factory=dict)
    """What the engines did, where the work was done in this process: bursts shared, split, merged and so on."""
    workload: Workload | None = None
    """What was asked; `ost.explain` of a result tells what its run did."""

    def __getattr__(self, name: str) -> Any:
        """What `rows` can do: `result.show()`, `result.to_pylist()`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.rows, name)

    def __getitem__(self, name: str) -> T:
        if name not in self.queries:
            raise QueryError(
                "UNKNOWN_QUERY", f"no query is called '{name}'", hint=f"there are {', '.join(self.queries)}"
            )
        return self.queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """Many event queries over one input, answered together: what they have in common is computed once.

    On Spark all of them are one job in which rows are shuffled once for each distinct GROUP BY.
    """

    queries: tuple[EventsQuery, ...]
    names: tuple[str, ...]
    options: EventOptions

    def __init__(
        self,
        queries: Sequence[Any] | Mapping[str, Any],
        names: Sequence[str] | None = None,
        *,
        type: TypeArgument = None,
        time: str | None = None,
        **options: Any,
    ) -> None:
        """`queries` are texts or `ost.events(...)`, perhaps by name; without names they are q1, q2 and so on.

        The options are those of `EventsQuery.with_options`, for all queries: `numbers`, `approximate`, `sharing`, ...
        """
        if isinstance(queries, str):
            raise QueryError("INVALID_OPTION", "a workload takes a list of queries", hint="ost.Workload([text, ...])")
        if isinstance(queries, Mapping):
            names, queries = list(queries), list(queries.values())
        asked = tuple(events(query, type=type, time=time) for query in queries)
        called = tuple(names) if names is not None else tuple(f"q{i}" for i in range(1, len(asked) + 1))
        if not asked or len(called) != len(asked) or len(set(called)) != len(called):
            raise QueryError(
                "INVALID_OPTION",
                f"{len(asked)} queries and {len(set(called))} different names",
                hint="a workload has at least one query, and each has a name of its own",
            )
        chosen = changed_options(EventOptions(), options)
        for name, query in zip(called, asked, strict=True):
            if query.options not in (EventOptions(), chosen):
                raise QueryError(
                    "INVALID_OPTION",
                    f"query '{name}' has options of its own, but those of a workload hold for all of its queries",
                    hint="ost.Workload([...], numbers=..., approximate=...)",
                )
        object.__setattr__(self, "queries", tuple(replace(query, options=chosen) for query in asked))
        object.__setattr__(self, "names", called)
        object.__setattr__(self, "options", chosen)

    def run(self, data: Any) -> WorkloadResult[Any]:
        """All queries over a pyarrow Table, a pandas DataFrame or record batches (at once), or a Spark DataFrame."""
        if data.__class__.__module__.split(".")[0] == "pyspark":
            from ostinato.runtimes.spark.events import workload_dataframes

            return workload_dataframes(self, data)
        return self._run_in_process(data)

    def _run_in_process(self, data: Any) -> WorkloadResult[pa.Table]:
        from ostinato.runtimes.local_events import workload_tables

        return workload_tables(self, data)
