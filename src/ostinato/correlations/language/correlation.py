"""A correlation: live matches joined with archive matches from shortly before them (DejaVu, 2011).

`RECENT(archive, live, distance)` makes a join of two MATCH_RECOGNIZE tables a correlation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import Span
from ostinato.expressions.syntax import Expr

CORRELATION_START = "correlation_start"
"""The result's column with the time at which the archive match starts."""
CORRELATION_END = "correlation_end"
"""The result's column with the time at which the live match ends."""


@dataclass(frozen=True, slots=True)
class Region:
    """Largest distance from the start of an archive match to the end of a live match: P of the paper's Definition 8.

    `size` counts microseconds of time, units of a number that orders the rows, or rows of the archive.
    """

    kind: Literal["time", "number", "rows"]
    size: int | float


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation query. `text` is its source, for carets in errors; equality ignores it."""

    live: MatchRecognize
    archive: MatchRecognize
    region: Region
    live_alias: str
    archive_alias: str
    keys: tuple[tuple[str, str], ...] = ()
    """The PARTITION BY columns that the join equates, as (live column, archive column)."""
    condition: Expr | None = None
    """The rest of the join predicate: neither RECENT nor the keys, references as written (`live.price`)."""
    live_first_in_from: bool = True
    """Whether the live clause is the first of the two in FROM."""
    text: str | None = field(default=None, compare=False, repr=False)
    bodies: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    """The spans of the two clauses in the text. The clauses have texts of their own."""
    recent: Span | None = field(default=None, compare=False, repr=False)
    """The span of RECENT ( ... )."""
