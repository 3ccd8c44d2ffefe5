"""A correlation -> text: the join, the strategies that can run it, and the state it keeps. Not its two clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.query.clause import MatchMode
from ostinato.correlations.language.correlation import Correlation, Region
from ostinato.correlations.language.correlation_parser import correlation_of, find_correlations

_STRATEGIES = {
    "live_first": "every live match; of the archive only the regions behind live matches, each start once (Equation 3)",
    "archive_first": "every archive match; live matches only in the regions ahead of those (Equation 4)",
    "eager": "both patterns in all rows",
}


@runtime_checkable
class AsksCorrelation(Protocol):
    """An `ost.correlate(...)`."""

    @property
    def texts(self) -> Mapping[str, str]: ...
    @property
    def live(self) -> Any: ...
    @property
    def options(self) -> Any: ...


def correlations_text(text: str) -> str | None:
    """The correlations of a statement, one section each; None where it holds none."""
    correlations = find_correlations(read_statement(text))
    return "\n\n".join(_section(correlation_of(text, one)) for one in correlations) or None


def _section(correlation: Correlation) -> str:
    lines = [*_understood(correlation), "", *_ways()]
    title = "The correlation"
    return "\n".join([title, "-" * len(title), *lines])


def _understood(correlation: Correlation) -> Iterator[str]:
    keys = ", ".join(f"{one} = {other}" for one, other in correlation.keys) or "none: all rows are of one key"
    yield f"live      {correlation.live_alias}: {_mode(correlation.live.mode, live=True)}"
    yield f"archive   {correlation.archive_alias}: {_mode(correlation.archive.mode, live=False)}"
    yield f"keys      {keys}"
    yield f"recency   an archive match starts at most {_region(correlation.region)} before the live match ends"
    yield "as of     the archive of a live match is what had ended before it did"
    yield "order     of each key by correlation_start, correlation_end; a result waits until no earlier one can come"


def _mode(mode: MatchMode, *, live: bool) -> str:
    if mode is MatchMode.PREFERRED:
        return "the standard's matches, " + ("none overlaps another" if live else "one from each row")
    return f"{mode.value}, " + ("the longest for each last row" if live else "the longest for each first row")


def _region(region: Region) -> str:
    if region.kind == "rows":
        return f"{region.size:,} rows"
    return f"{region.size / 1_000_000:g} seconds" if region.kind == "time" else f"{region.size:g}"


def _ways() -> Iterator[str]:
    yield "strategies; all give the same rows, the planner measures the first 2,000 and takes the cheapest:"
    for name, what in _STRATEGIES.items():
        yield f"  {name:<14} {what}"
    yield "  result cache   archive matches with all their ends stay until no region can reach them"
    yield "  recent buffer  rows behind the last start that was searched, and those of starts that may still grow"
