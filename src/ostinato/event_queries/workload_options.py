"""Options of a workload: the form of results, sharing, and limits. An event query alone is a workload of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ostinato.calls.options import a_text, known_names, one_of, true_or_false, whole_number
from ostinato.clause.plan.typed_plan import DEFAULT_MAX_PARTIAL_MATCHES, MOST_PARTIAL_MATCHES
from ostinato.event_queries.enumeration.match_limits import DEFAULT_MAX_MATCHES, MatchLimits
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, MOST_BUCKETS

Numbers = Literal["decimal", "text", "log10"]
Sharing = Literal["dynamic", "always", "never"]


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The form of results, sharing, and limits.

    - `numbers`: counts and sums as DECIMAL(38, s) with an error if one doesn't fit, as exact text, or as their log10
      with an error if a sum is negative. Clauses don't read it.
    - `approximate`: doubles with an extended exponent instead of exact integers. Clauses don't read it.
    - `sharing`: whether queries share work.
    - `max_matches`: the most matches that a task may return.
    - `max_partial_matches`: the most partial matches that it may try from one start time.
    - `buckets`: the number of parts into which the groups of a stream are hashed. Changing it needs a new checkpoint.
    - `match_id`: the name of a column to add to the rows of queries that return matches, with the id of the match.
    """

    numbers: Numbers = "decimal"
    approximate: bool = False
    sharing: Sharing = "dynamic"
    max_matches: int = DEFAULT_MAX_MATCHES
    max_partial_matches: int = DEFAULT_MAX_PARTIAL_MATCHES
    buckets: int = DEFAULT_BUCKETS
    match_id: str | None = None

    def __post_init__(self) -> None:
        one_of("numbers", self.numbers, get_args(Numbers))
        true_or_false("approximate", self.approximate)
        one_of("sharing", self.sharing, get_args(Sharing))
        whole_number("max_matches", self.max_matches, most=MOST_PARTIAL_MATCHES)
        whole_number("max_partial_matches", self.max_partial_matches, most=MOST_PARTIAL_MATCHES)
        whole_number("buckets", self.buckets, most=MOST_BUCKETS)
        if self.match_id is not None:
            a_text("match_id", self.match_id, hint="the name of a column to add")

    def limits(self, limit: int | None = None) -> MatchLimits:
        """The limits of a search, with the query's LIMIT."""
        return MatchLimits(limit, self.max_matches, self.max_partial_matches)


def changed_options(
    options: WorkloadOptions, changes: Mapping[str, Any], *, also: Sequence[str] = ()
) -> WorkloadOptions:
    """The options with some of them changed; raises INVALID_OPTION for names other than these and `also`."""
    known_names(changes, (*also, *WorkloadOptions.__slots__))
    return replace(options, **changes)
