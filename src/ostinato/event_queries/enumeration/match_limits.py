"""The limits of a search for matches. No kernels here: planning reads them too."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.plan.typed_plan import DEFAULT_MAX_PARTIAL_MATCHES

DEFAULT_MAX_MATCHES = 10_000_000


@dataclass(frozen=True, slots=True)
class MatchLimits:
    """Limits of a search."""

    limit: int | None = None
    """LIMIT: only the first this many matches of each sequence and window."""
    most_matches: int = DEFAULT_MAX_MATCHES
    max_partial_matches: int = DEFAULT_MAX_PARTIAL_MATCHES


DEFAULT_LIMITS = MatchLimits()
