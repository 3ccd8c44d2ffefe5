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
from typing import TYPE_CHECKING, Any

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_text, shown
from ostinato.errors import QueryError
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_binding import TypeArgument, bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import EventQuery
from ostinato.event_queries.language.event_to_sql import event_query_to_sql
from ostinato.event_queries.workload_options import changed_options
from ostinato.rows.arrow_tables import spark_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class EventsQuery(EventRequest):
    """An event query. `ost.match(query, table)` runs it in process, `df.transform(query)` on Spark."""

    @only_our_errors()
    def with_options(self, **changes: Any) -> EventsQuery:
        """Returns the query with other options: `numbers="text"`, `approximate=True`, `max_matches=...`."""
        return replace(self, options=changed_options(self.options, changes))

    @only_our_errors()
    def to_sql(self, columns: Sequence[str], table: str) -> str:
        """Translates the query into a SELECT with MATCH_RECOGNIZE over these columns.

        Raises QueryError if there is no such SELECT, for example for windows, NOT and SKIP TILL NEXT MATCH.
        """
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise QueryError("INVALID_OPTION", f"columns are a list of names, not {shown(columns)}")
        names = [a_text("a column's name", name) for name in columns]
        a_text("table", table)
        return event_query_to_sql(bind_event_query(self.query, names, type=self.type, time=self.time), table)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the query's rows as a lazy DataFrame."""
        from ostinato.spark.event_queries.event_dataframes import events_dataframe

        spark_dataframe(df, hint="ost.match(query, table) answers it in this process")
        return events_dataframe(self, df)


@only_our_errors()
def events(query: Any, *, type: TypeArgument = None, time: str | None = None) -> EventsQuery:
    """Creates an event query from its text, from the fluent builder, or from a parsed query.

    `type` and `time` name the columns with the types and times of events. TYPE and TIME in the text override them.
    `type` may also be a condition for each type: `{"Slow": "speed < 10", "Fast": "speed >= 10"}`.
    """
    type_texts = type.values() if isinstance(type, Mapping) else () if type is None else (type,)
    if not all(isinstance(text, str) for text in (*type_texts, "" if time is None else time)):
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
