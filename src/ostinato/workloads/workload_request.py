"""A workload as requested by the user: its queries, their names, their options and the bounds to keep."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.workloads.bound_request import BoundRequest


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Many queries over one input."""

    queries: tuple[EventRequest | ClauseQuery, ...]
    names: tuple[str, ...]
    options: WorkloadOptions
    request: BoundRequest
    """The bounds of the workload."""

    @property
    def events(self) -> dict[str, EventRequest]:
        """The event queries by name."""
        named = zip(self.names, self.queries, strict=True)
        return {name: query for name, query in named if isinstance(query, EventRequest)}

    @property
    def clauses(self) -> dict[str, ClauseQuery]:
        """The MATCH_RECOGNIZE queries by name."""
        named = zip(self.names, self.queries, strict=True)
        return {name: query for name, query in named if isinstance(query, ClauseQuery)}
