"""Statement with correlations -> a section for each: the join, the strategies, and the state. Not its two clauses."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.query.clause import MatchMode
from ostinato.correlations.language.correlation import Correlation, Region
from ostinato.correlations.language.correlation_parser import correlation_of, find_correlations
from ostinato.correlations.strategies.strategy_planner import TRIAL_ROWS
from ostinato.explanation.text_sections import underlined

_STRATEGIES = {
    "live_first": "finds every live match, and archive matches only in the regions before live matches (Equation 3)",
    "archive_first": "finds every archive match, and live matches only in the regions after those (Equation 4)",
    "eager": "matches both patterns on all rows",
}


def correlations_text(text: str) -> str | None:
    """The correlations of a statement, one section each; None if it has none."""
    correlations = find_correlations(read_statement(text))
    return "\n\n".join(_section(correlation_of(text, one)) for one in correlations) or None


def _section(correlation: Correlation) -> str:
    return underlined("The correlation", [*_understood_lines(correlation), "", *_strategy_lines()])


def _understood_lines(correlation: Correlation) -> Iterator[str]:
    keys = ", ".join(f"{one} = {other}" for one, other in correlation.keys) or "none: all rows have the same key"
    yield f"live      {correlation.live_alias}: {_mode(correlation.live.mode, live=True)}"
    yield f"archive   {correlation.archive_alias}: {_mode(correlation.archive.mode, live=False)}"
    yield f"keys      {keys}"
    yield f"recency   an archive match starts at most {_region(correlation.region)} before the live match ends"
    yield "as of     the archive of a live match is all rows that ended before the match did"
    yield "order     by correlation_start, correlation_end in each key; a result waits until no earlier one can come"


def _mode(mode: MatchMode, *, live: bool) -> str:
    if mode is MatchMode.PREFERRED:
        return "the standard's matches" + (", which don't overlap" if live else ", one from each row")
    return f"{mode.value}, " + ("the longest for each last row" if live else "the longest for each first row")


def _region(region: Region) -> str:
    if region.kind == "rows":
        return f"{region.size:,} rows"
    return f"{region.size / 1_000_000:g} seconds" if region.kind == "time" else f"{region.size:g}"


def _strategy_lines() -> Iterator[str]:
    yield f"strategies: all give the same rows. A trial on up to {TRIAL_ROWS:,} rows of each side finds the cheapest."
    for name, text in _STRATEGIES.items():
        yield f"  {name:<14} {text}"
    yield "  result cache   keeps archive matches with all their ends until no region can reach them"
    yield "  recent buffer  keeps the rows after the last start searched, and of starts whose matches can grow"
