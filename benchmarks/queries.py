"""The twelve queries of the RIP paper's appendix as MATCH_RECOGNIZE clauses over (ts, price), with known answers.

Where the appendix contradicts the paper or itself: Q1 has the `>=` of Section 2 (B, F, G, J), Q9's D is about D.price,
and the last line of Q5, which belongs to Q9, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

MAX_LENGTH = 100
"""The paper bounds every match of variable length; ALL MATCHES here too."""


class Shape(Enum):
    """What decides how fast a query should be."""

    ROW_ONLY = "fixed length, row-only conditions"
    FIXED = "fixed length, conditions over other rows"
    VARIABLE = "variable length"


class Mode(Enum):
    """Which matches are asked for; the value is the clause that says so."""

    PREFERRED = "AFTER MATCH SKIP TO NEXT ROW"
    ALL = "ALL MATCHES"


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """A query without its tables: pattern and conditions."""

    name: str
    pattern: str
    define: str
    shape: Shape

    def clause(self, mode: Mode, *, partition_by: str | None = None, max_length: int | None = None) -> str:
        """The text between the parentheses of MATCH_RECOGNIZE.

        >>> print(Q["Q12"].clause(Mode.PREFERRED))
        ORDER BY ts
        MEASURES FIRST(price) AS first_price, LAST(price) AS last_price
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B C)
        DEFINE A AS A.price < 90, B AS B.price > 110, C AS C.price < 90
        """
        if mode is Mode.ALL:
            max_length = max_length or MAX_LENGTH
        lines = [
            f"PARTITION BY {partition_by}" if partition_by else "",
            "ORDER BY ts",
            "MEASURES FIRST(price) AS first_price, LAST(price) AS last_price",
            mode.value,
            f"PATTERN ({self.pattern}){f' MAXLENGTH {max_length}' if max_length else ''}",
            f"DEFINE {self.define}",
        ]
        return "\n".join(line for line in lines if line)


def _define(conditions: str) -> str:
    """One condition a line -> the list behind DEFINE."""
    return ", ".join(" ".join(line.split()) for line in conditions.strip().splitlines())


_HEAD_AND_SHOULDERS = """
    B AS B.price >= PREV(B.price)
    C AS C.price > PREV(C.price)
    D AS D.price <= PREV(D.price)
    E AS E.price < PREV(E.price) AND E.price > A.price
    F AS F.price >= PREV(F.price)
    G AS G.price >= PREV(G.price) AND G.price > C.price
    H AS H.price <= PREV(H.price)
    I AS I.price < PREV(I.price) AND I.price > A.price
    J AS J.price >= PREV(J.price)
    K AS K.price > PREV(K.price) AND K.price < G.price
    L AS L.price <= PREV(L.price)
    M AS M.price <= PREV(M.price) AND M.price < E.price AND M.price < I.price
"""

_HEAD_AND_SHOULDERS_FIXED = """
    B AS B.price > PREV(B.price)
    C AS C.price > PREV(C.price)
    D AS D.price < PREV(D.price)
    E AS E.price < PREV(E.price) AND E.price > A.price
    F AS F.price > PREV(F.price)
    G AS G.price > PREV(G.price) AND G.price > C.price
    H AS H.price < PREV(H.price)
    I AS I.price < PREV(I.price) AND I.price > A.price
    J AS J.price > PREV(J.price)
    K AS K.price > PREV(K.price) AND K.price < G.price
    L AS L.price < PREV(L.price)
    M AS M.price < PREV(M.price) AND M.price < E.price AND M.price < I.price
"""

_TWO_PEAKS = """
    B AS B.price > PREV(B.price) AND B.price > A.price
    C AS C.price < PREV(C.price) AND C.price > A.price
    D AS D.price > PREV(D.price) AND D.price > A.price
    E AS E.price < PREV(E.price) AND E.price > A.price
    F AS F.price < A.price
"""

_RISE = """
    A AS A.price < 70
    B AS B.price > PREV(B.price) AND B.price > A.price
    C AS C.price > PREV(C.price) AND C.price > 130
"""

_DIP = """
    A AS A.price < 70
    B AS B.price > A.price
    C AS C.price < B.price AND C.price < A.price
"""

_BANDS = """
    A AS A.price < 80
    B AS B.price > 80 AND B.price < 120
    C AS C.price < 80
    D AS D.price > 80 AND D.price < 120
    E AS E.price > 120
    F AS F.price > 130
"""

_SWINGS = "\n".join(
    f"{name} AS {name}.price < 70"
    if name in "AEIM"
    else f"{name} AS {name}.price > 130"
    if name in "CGK"
    else f"{name} AS {name}.price > 70 AND {name}.price < 130"
    for name in "ABCDEFGHIJKLM"
)

_NARROWING = """
    D AS D.price < 100
    E AS E.price > 100
    F AS F.price < 100 AND F.price > 60
    G AS G.price > 100 AND G.price < 140
    H AS H.price < 100 AND H.price > 70
    I AS I.price > 100 AND I.price < 130
    J AS J.price < 100 AND J.price > 80
    K AS K.price > 100 AND K.price < 120
    L AS L.price < 120 AND L.price > 80
    M AS M.price > 80 AND M.price < 120
"""

_STAIRS = """
    A AS A.price < 80
    B AS B.price < 90 AND B.price > 60
    C AS C.price < 100 AND C.price > 70
    D AS D.price < 110 AND D.price > 80
    E AS E.price < 120 AND E.price > 90
    F AS F.price < 130 AND F.price > 100
"""

_THIRTEEN = "A B C D E F G H I J K L M"

QUERIES = (
    PatternQuery("Q1", "A B* C D* E F* G H* I J* K L* M", _define(_HEAD_AND_SHOULDERS), Shape.VARIABLE),
    PatternQuery(
        "Q2",
        "A B+ C",
        "A AS A.price < 70, B AS B.price > 80 AND B.price < 120, C AS C.price > 130",
        Shape.VARIABLE,
    ),
    PatternQuery("Q3", "A B+ C+ D+ E+ F", _define(_TWO_PEAKS), Shape.VARIABLE),
    PatternQuery("Q4", "A B* C", _define(_RISE), Shape.VARIABLE),
    PatternQuery("Q5", _THIRTEEN, _define(_HEAD_AND_SHOULDERS_FIXED), Shape.FIXED),
    PatternQuery("Q6", "A B C D E F", _define(_TWO_PEAKS), Shape.FIXED),
    PatternQuery("Q7", "A B C", _define(_DIP), Shape.FIXED),
    PatternQuery("Q8", "A B* C+ D+ E+ F", _define(_BANDS), Shape.VARIABLE),
    PatternQuery("Q9", "A B+ C D+ E F+ G H+ I J+ K L+ M", _define(_SWINGS), Shape.VARIABLE),
    PatternQuery("Q10", _THIRTEEN, _define(_NARROWING), Shape.ROW_ONLY),
    PatternQuery("Q11", "A B C D E F", _define(_STAIRS), Shape.ROW_ONLY),
    PatternQuery("Q12", "A B C", "A AS A.price < 90, B AS B.price > 110, C AS C.price < 90", Shape.ROW_ONLY),
)
Q = {query.name: query for query in QUERIES}


def prices(count: int) -> NDArray[np.float64]:
    """Prices uniform in 50..150; the first `count` of one fixed sequence."""
    return np.random.default_rng(42).uniform(50, 150, max(count, 1_200_000))[:count]


_BY_ORACLE = {
    # in the first 20,000 rows: preferred match, all matches
    "Q1": (477, 553),
    "Q2": (510, 510),
    "Q3": (578, 578),
    "Q4": (1_594, 1_757),
    "Q5": (0, 0),
    "Q6": (141, 141),
    "Q7": (343, 343),
    "Q8": (197, 260),
    "Q9": (4, 4),
    "Q10": (0, 0),
    "Q11": (14, 14),
    "Q12": (1_358, 1_358),
}

KNOWN_COUNTS: dict[tuple[str, Mode, int], int] = {
    **{
        (name, mode, 20_000): count
        for name, counts in _BY_ORACLE.items()
        for mode, count in zip(Mode, counts, strict=True)
    },
    ("Q12", Mode.PREFERRED, 1_000_000): 63_673,
    ("Q7", Mode.PREFERRED, 1_000_000): 17_307,
    ("Q2", Mode.PREFERRED, 1_000_000): 26_627,
    ("Q4", Mode.PREFERRED, 1_000_000): 80_428,
    ("Q3", Mode.PREFERRED, 1_000_000): 29_153,
    ("Q1", Mode.PREFERRED, 1_000_000): 23_297,
    ("Q1", Mode.ALL, 1_000_000): 27_387,
}
"""Matches in the first rows of `prices`: by the oracle in 20,000 rows, by matchers of other projects in a million."""
