"""`ost.events`: event queries as values that tables and DataFrames can be asked. Many at once: `workloads.py`.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> rides = pa.table({"ts": [1, 2, 3, 4], "kind": ["Request", "Travel", "Travel", "Pickup"]})
>>> trends = ost.events("PATTERN SEQ(Request, Travel+) RETURN COUNT(*)", type="kind", time="ts")
>>> ost.match(trends, rides).to_pylist()
[{'count(*)': Decimal('3')}]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ostinato.errors import QueryError, speaking_of
from ostinato.language.event_binding import TypeArgument, bind_event_query
from ostinato.language.event_query import parse_event_query
from ostinato.language.event_to_sql import event_query_to_sql
from ostinato.planning.typed import DEFAULT_MAX_PARTIAL_MATCHES
from ostinato.predicates.types import Settings
from ostinato.query.event_query import BoundEventQuery, EventQuery, GroupColumn
from ostinato.runtimes.spark.stream_options import DEFAULT_BUCKETS

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


def changed_options(options: EventOptions, changes: Mapping[str, Any], *, also: Sequence[str] = ()) -> EventOptions:
    """Options with some of them changed; INVALID_OPTION for others than these and `also`."""
    known = EventOptions.__slots__
    for name in changes:
        if name not in known:
            every = ", ".join((*also, *known))
            raise QueryError("INVALID_OPTION", f"there is no option '{name}'", hint=f"there are {every}")
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
