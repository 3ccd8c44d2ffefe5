"""The interface for matching several RETURN MATCHES queries together. `workloads/` implements it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ostinato.rows.loss_report import Report

if TYPE_CHECKING:
    from ostinato.event_queries.enumeration.event_matches import EventMatches
    from ostinato.event_queries.task.match_columns import Scene


@dataclass(frozen=True, slots=True)
class SharedQueryMatches:
    """The matches of queries that were matched together and, under a latency bound, a report on dropped state."""

    matches: Mapping[int, EventMatches]
    report: Report | None


NOTHING_SHARED = SharedQueryMatches({}, None)


class SharedMatching(Protocol):
    """Matches several queries of a stream together."""

    def find(self, stream: int, scene: Scene, statistics: Counter[str]) -> SharedQueryMatches:
        """The matches of each query. A query that is missing has to be enumerated by itself."""
