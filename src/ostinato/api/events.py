"""`ost.events`: an event query, for tables and DataFrames. `workloads.py` runs many of them together.

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
from typing import TYPE_CHECKING, TypedDict, Unpack

from ostinato.api.event_builder import EventBuilder
from ostinato.api.query import ColumnNames, LocalCall, Query
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, column_names, shown
from ostinato.calls.shown_objects import short_repr
from ostinato.errors import QueryError
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import EventQuery
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.event_queries.language.event_to_sql import event_query_to_sql
from ostinato.event_queries.workload_options import Numbers, Sharing, changed_options
from ostinato.rows.arrow_tables import spark_dataframe

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike


class EventOptionNames(TypedDict, total=False):
    """The options of event queries: see `WorkloadOptions`."""

    numbers: Numbers
    approximate: bool
    sharing: Sharing
    max_matches: int
    max_partial_matches: int
    buckets: int
    match_id: str | None


@dataclass(frozen=True, slots=True, repr=False)
class EventsQuery(EventRequest, Query):
    """An event query. `ost.match(query, table)` runs it in process, `df.transform(query)` on Spark."""

    @only_our_errors()
    def to_sql(self, columns: Sequence[str], table: str) -> str:
        """Translates the query into a SELECT with MATCH_RECOGNIZE over these columns.

        Raises QueryError if there is no such SELECT, for example for windows, NOT and SKIP TILL NEXT MATCH.
        """
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise QueryError("INVALID_OPTION", f"columns are a list of names, not {shown(columns)}")
        names = [a_text("a column's name", name) for name in columns]
        a_text("table", table)
        return event_query_to_sql(self.bound(names), table)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the query's rows as a lazy DataFrame."""
        from ostinato.spark.event_queries.event_dataframes import events_dataframe

        spark_dataframe(df, hint="ost.match(query, table) answers it in this process")
        return events_dataframe(self, df)

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the query over a table."""
        from ostinato.local.local_events import match_events  # takes 0.3 s, which clauses don't need

        return match_events(self, table, call.settings_of_one_thread())

    def __repr__(self) -> str:
        return short_repr(self, self._shown())

    def _shown(self) -> str:
        return render_event_query(self.query)


EventSource = str | EventQuery | EventBuilder | EventsQuery
"""The text of an event query, a parsed one, one built by calls, or one that is to be changed."""


@only_our_errors()
def events(
    query: EventSource,
    *,
    type: TypeArgument = None,
    time: ColumnNames = None,
    keys: ColumnNames = None,
    **options: Unpack[EventOptionNames],
) -> EventsQuery:
    """Creates an event query from its text, from the fluent builder, or from another query.

    `type` and `time` name the columns with the types and times of events, `keys` the columns of GROUP BY. TYPE, TIME
    and GROUP BY in the text override them. `type` may also be a condition for each type:
    `{"Slow": "speed < 10", "Fast": "speed >= 10"}`. The columns in `keys` come first in the rows, unless
    RETURN names them.

    `numbers` is the form of counts and sums: "decimal", "text" or "log10". The other options are `approximate`,
    `max_matches`, `max_partial_matches` and `buckets`. For RETURN MATCHES, `match_id` names a column to add, with an id
    that a match has in every run of the query.

    >>> import ostinato as ost
    >>> import pyarrow as pa
    >>> clicks = pa.table({"ts": [1, 2, 3], "page": ["home", "cart", "pay"], "user": ["u", "u", "u"]})
    >>> query = ost.events("PATTERN SEQ(home, pay) RETURN COUNT(*) AS n", type="page", time="ts", keys="user")
    >>> ost.match(query, clicks).to_pylist()
    [{'user': 'u', 'n': Decimal('1')}]
    """
    types = type.values() if isinstance(type, Mapping) else () if type is None else (type,)
    for text in types:
        a_text("type", text, hint='type="kind", or a condition for each type: {"Slow": "speed < 10"}')
    times, key_names = column_names("time", time), column_names("keys", keys)
    if len(times) > 1:
        raise QueryError("INVALID_OPTION", f"time is one column in an event query, not {shown(time)}", hint='time="ts"')
    request = query if isinstance(query, EventsQuery) else EventsQuery(_parsed(query))
    changed = replace(
        request,
        type=request.type if type is None else type,
        time=times[0] if times else request.time,
        keys=key_names or request.keys,
        options=changed_options(request.options, options, also=("type", "time", "keys")),
    )
    if changed.options.match_id is not None and not changed.returns_matches:
        message = "match_id is for queries that return matches"
        raise QueryError("INVALID_OPTION", message, hint="RETURN MATCHES, or leave match_id out")
    return changed


def _parsed(query: object) -> EventQuery:
    parsed = parse_event_query(query) if isinstance(query, str) else getattr(query, "query", query)
    if not isinstance(parsed, EventQuery):
        raise QueryError(
            "NOT_A_QUERY",
            f"expected the text of an event query, got {query.__class__.__name__}",
            hint="ost.events('PATTERN SEQ(A, B+) RETURN COUNT(*)', type='kind', time='ts')",
        )
    return parsed
