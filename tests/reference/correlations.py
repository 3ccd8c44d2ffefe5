"""DejaVu's running example, and a short way to ask the oracle: prices for rows, minutes for times."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.correlations.language.correlation import Correlation
from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.reference.correlation_oracle import correlate_rows

FALL = "MEASURES A.p AS pli, LAST(B.p) AS plm INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS p < PREV(p)"
TICK = """MEASURES A.p AS pai, D.p AS pam MAXIMAL MATCHES PATTERN (A B+ C* D)
    DEFINE B AS p < PREV(p), C AS p > PREV(p), D AS p > PREV(p) AND p > A.p"""
TABLE_1 = (10, 6, 6, 5, 7, 6, 11, 8, 8, 3, 3)
"""The prices at 02:00 to 02:10."""


def correlation(live: str, archive: str, distance: str = "7", more: str = "", order: str = "t") -> Correlation:
    """Two clauses over the same table, ordered by t."""
    text = f"""SELECT * FROM x MATCH_RECOGNIZE (ORDER BY {order} {live}) AS live
        JOIN x MATCH_RECOGNIZE (ORDER BY {order} {archive}) AS archive ON RECENT(archive, live, {distance}) {more}"""
    return read_correlation(text).correlation


def at_minutes(prices: Sequence[int]) -> list[dict[str, object]]:
    return [{"t": minute, "p": price} for minute, price in enumerate(prices)]


def starts_and_ends(asked: Correlation, rows: Sequence[dict[str, object]]) -> list[tuple[object, object]]:
    """The correlation of one table with itself, its results by their times."""
    columns = list(rows[0])
    found = correlate_rows(asked, columns, rows, columns, rows)
    return [(row["correlation_start"], row["correlation_end"]) for row in found]
