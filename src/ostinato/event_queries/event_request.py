"""Event queries as requested by the user, and bound to the columns of one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ostinato.errors import errors_quoting
from ostinato.event_queries.language.event_binding import TypeArgument, bind_event_query, with_keys
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import BoundEventQuery, EventQuery, GroupColumn, ReturnMatches
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.types import Settings


@dataclass(frozen=True, slots=True)
class EventRequest:
    """An event query, the columns for clauses that its text leaves out, and its options."""

    query: EventQuery
    type: TypeArgument = None
    """The column with the events' types, or a condition for each type, if the text has neither."""
    time: str | None = None
    """The column with the events' times, if the text has none."""
    options: WorkloadOptions = WorkloadOptions()
    keys: tuple[str, ...] = ()
    """The columns of GROUP BY, if the text has none."""

    @property
    def returns_matches(self) -> bool:
        """Whether the query lists matches. Others give aggregates over all of them."""
        return isinstance(self.query.returns, ReturnMatches)

    def bound(self, columns: Sequence[str], settings: Settings = Settings()) -> BoundEventQuery:
        """The query as a session with these settings reads it, bound to the columns of its input."""
        query, quotes = self.query, settings.double_quoted_identifiers
        if quotes and query.text is not None:
            query = parse_event_query(query.text, double_quoted_identifiers=True)
        return bind_event_query(
            with_keys(query, self.keys),
            columns,
            case_sensitive=settings.case_sensitive,
            double_quoted_identifiers=quotes,
            type=self.type,
            time=self.time,
        )


def bound_queries(queries: Sequence[EventRequest], columns: Sequence[str], settings: Settings) -> list[BoundEventQuery]:
    """The queries, bound to the columns of one input."""
    bounds = []
    for request in queries:
        with errors_quoting(request.query.text):
            bounds.append(request.bound(columns, settings))
    return bounds


def with_groups(bounds: Sequence[BoundEventQuery]) -> list[BoundEventQuery]:
    """Adds the GROUP BY columns that RETURN doesn't list, as unnamed outputs, so that rows of a workload have them."""
    with_all_columns = []
    for bound in bounds:
        listed = {item.column for _, item in bound.outputs if isinstance(item, GroupColumn)}
        hidden = tuple(("", GroupColumn(name)) for name in bound.group_by if name not in listed)
        with_all_columns.append(replace(bound, outputs=(*hidden, *bound.outputs)) if bound.outputs else bound)
    return with_all_columns
