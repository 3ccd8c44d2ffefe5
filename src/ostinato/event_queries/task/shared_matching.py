"""How queries that return matches are matched together: the interface that the workloads' shared matcher fills in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ostinato.event_queries.enumeration.event_matches import EventMatches
from ostinato.event_queries.task.match_columns import Scene

if TYPE_CHECKING:
    from ostinato.workloads.shedding.report import Report


@dataclass(frozen=True, slots=True)
class SharedMatches:
    """The matches of the queries that were matched together, and under a bound a report of what was given up."""

    matches: Mapping[int, EventMatches]
    report: Report | None


NOTHING_SHARED = SharedMatches({}, None)


class SharedMatching(Protocol):
    """Matches several queries of a stream together."""

    def find(self, stream: int, scene: Scene, statistics: Counter[str]) -> SharedMatches:
        """Matches by query. A query that isn't among them has to be enumerated by itself."""
