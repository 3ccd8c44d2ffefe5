"""A workload of clauses as its workers get it: typed plans, bounds and limits. No kernels here."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.plan.typed_clauses import TypedClauses, TypedStream


@dataclass(frozen=True, slots=True)
class ClausesTask:
    """The definition of a task. Values only: it is sent to workers."""

    typed: TypedClauses
    names: tuple[str, ...]
    request: BoundRequest
    limits: MatchLimits
    buckets: int = 1
    """Number of buckets of keys, which share the budget of a micro-batch."""

    def bounds(self, stream: TypedStream) -> Bounds | None:
        """The bounds of a stream's clauses; None where they have none."""
        if self.request.is_empty:
            return None
        bounds = self.request.bounds(self.names).of([clause.clause for clause in stream.stream.clauses])
        return None if bounds.is_none else bounds.split(len(self.typed.streams), self.buckets)
