"""`ost.events`: event queries as values that tables and DataFrames can be asked. Many at once: `workloads.py`.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> rides = pa.table({"ts": [1, 2, 3, 4], "kind": ["Request", "Travel", "Travel", "Pickup"]})
>>> trends = ost.events("PATTERN SEQ(Request, Travel+) RETURN COUNT(*)", type="kind", time="ts")
>>> ost.match(trends, rides).to_pylist()
[{'count(*)': Decimal('3')}]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ostinato.entry import only_our_errors
from ostinato.errors import QueryError, speaking_of
from ostinato.language.event_binding import TypeArgument, bind_event_query
from ostinato.language.event_query import parse_event_query
from ostinato.language.event_to_sql import event_query_to_sql
from ostinato.options import a_text, known_names, one_of, shown, true_or_false, whole_number
from ostinato.planning.typed import DEFAULT_MAX_PARTIAL_MATCHES, MOST_PARTIAL_MATCHES
from ostinato.predicates.types import Settings
from ostinato.query.event_query import BoundEventQuery, EventQuery, GroupColumn
from ostinato.runtimes.arrow_tables import spark_dataframe
from ostinato.runtimes.spark.stream_options import DEFAULT_BUCKETS, MOST_BUCKETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Numbers = Literal["decimal", "text", "log10"]
Sharing = Literal["dynamic", "always", "never"]
DEFAULT_MAX_MATCHES = 10_000_000


@dataclass(frozen=True, slots=True)
class EventOptions:
    """How results are given, and how much a query may use up.

    `numbers`: counts and sums as DECIMAL(38, s) and an error where one doesn't fit, as exact text, or as their log10
    and an error where a sum is negative. `approximate`: doubles with an extended exponent instead of exact integers.
    `sharing`: whether queries share the work for parts that they have in common. `max_matches`: how many matches a task
    may give. `max_partial_matches`: how many partial ones it may try from one time. `buckets`: into how many parts the
    groups of a stream are hashed, fixed for the life of its checkpoint.
    """

    numbers: Numbers = "decimal"
    approximate: bool = False
    sharing: Sharing = "dynamic"
    max_matches: int = DEFAULT_MAX_MATCHES
    max_partial_matches: int = DEFAULT_MAX_PARTIAL_MATCHES
    buckets: int = DEFAULT_BUCKETS

    def __post_init__(self) -> None:
        one_of("numbers", self.numbers, get_args(Numbers))
        true_or_false("approximate", self.approximate)
        one_of("sharing", self.sharing, get_args(Sharing))
        whole_number("max_matches", self.max_matches, most=MOST_PARTIAL_MATCHES)
        whole_number("max_partial_matches", self.max_partial_matches, most=MOST_PARTIAL_MATCHES)
        whole_number("buckets", self.buckets, most=MOST_BUCKETS)


@dataclass(frozen=True, slots=True)
class EventsQuery:
    """An event query to ask: `ost.match(query, table)` in process, `df.transform(query)` on Spark."""

    query: EventQuery
    type: TypeArgument = None
    """The column with the events' types, or a condition for each type, where the text has neither."""
    time: str | None = None
    """The column with the events' times, where the text names none."""
    options: EventOptions = EventOptions()

    @only_our_errors()
    def with_options(self, **changes: Any) -> EventsQuery:
        """The same query with other options: `numbers="text"`, `approximate=True`, `max_matches=...`."""
        return replace(self, options=changed_options(self.options, changes))

    @only_our_errors()
    def to_sql(self, columns: Sequence[str], table: str) -> str:
        """The same question as a SELECT with MATCH_RECOGNIZE, for an input with these columns; QueryError where there
        is none, which is so for windows, NOT and SKIP TILL NEXT MATCH."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise QueryError("INVALID_OPTION", f"columns are a list of names, not {shown(columns)}")
        names = [a_text("a column's name", name) for name in columns]
        a_text("table", table)
        return event_query_to_sql(bind_event_query(self.query, names, type=self.type, time=self.time), table)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """The query's rows as a DataFrame; nothing runs yet."""
        from ostinato.runtimes.spark.events import events_dataframe

        spark_dataframe(df, hint="ost.match(query, table) answers it in this process")
        return events_dataframe(self, df)


@only_our_errors()
def events(query: Any, *, type: TypeArgument = None, time: str | None = None) -> EventsQuery:
    """An event query from its text, from the fluent builder, or from a parsed one.

    `type` and `time` name the columns with the events' types and times where the text has no TYPE and TIME; `type` may
    also be a condition for each type: `{"Slow": "speed < 10", "Fast": "speed >= 10"}`.
    """
    by_type = type.values() if isinstance(type, Mapping) else () if type is None else (type,)
    if not all(isinstance(text, str) for text in (*by_type, "" if time is None else time)):
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


def changed_options(options: EventOptions, changes: Mapping[str, Any], *, also: Sequence[str] = ()) -> EventOptions:
    """Options with some of them changed; INVALID_OPTION for others than these and `also`."""
    known_names(changes, (*also, *EventOptions.__slots__))
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
