"""The paper's two queries as text: a fall in the live rows, a tick (Q1) or a rise (Q2) in the archive.

The paper prints neither pattern. Q1's are those that give its Table 1. Q2's steps are steep, so that slow rises and
falls cost a search without being matches.
"""

from __future__ import annotations

from dataclasses import dataclass

STEEP = 10
"""Smallest fall or rise of Q2's price over a match."""


@dataclass(frozen=True, slots=True)
class PairQuery:
    """A live and an archive clause without keys, order and mode."""

    name: str
    live: str
    archive: str

    def text(self, region: str, *, order_by: str = "ts") -> str:
        """`region` is the distance of RECENT: 500, 500 ROWS, INTERVAL '7' SECOND."""
        live = _clause(order_by, "INCREMENTAL", self.live)
        archive = _clause(order_by, "MAXIMAL", self.archive)
        return (
            "SELECT correlation_start, correlation_end, live.price AS live_price, archive.price AS archive_price\n"
            f"FROM stock {live} AS live\nJOIN stock {archive} AS archive\n"
            f"ON live.symbol = archive.symbol AND RECENT(archive, live, {region})"
        )


def _clause(order_by: str, mode: str, pattern: str) -> str:
    return (
        f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order_by} MEASURES LAST(price) AS price "
        f"{mode} MATCHES {pattern})"
    )


Q1 = PairQuery(
    "Q1",
    live="PATTERN (A B+) DEFINE B AS price < PREV(price)",
    archive=(
        "PATTERN (A B+ C* D) DEFINE B AS price < PREV(price), C AS price > PREV(price), "
        "D AS price > PREV(price) AND price > A.price"
    ),
)
Q2 = PairQuery(
    "Q2",
    live=(f"PATTERN (A B* C) DEFINE B AS price < PREV(price), C AS price < PREV(price) AND price <= A.price - {STEEP}"),
    archive=(
        f"PATTERN (A B* C) DEFINE B AS price > PREV(price), C AS price > PREV(price) AND price >= A.price + {STEEP}"
    ),
)
