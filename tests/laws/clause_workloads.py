"""Random workloads of ALL MATCHES clauses, as texts over the columns of `strategies.py`. No engine here."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from tests.laws.strategies import Draw, clauses, table_of

_GAPPED = (
    "A X* B",
    "A X* B Y* C",
    "A X*? B Y* C",
    "A X* Y* B",
    "A X* (B Y*)+ C",
    "A X+ B",
    "A (X* | Y*) B",
    "A B+ X* C",
    "A (B X*)? C X*",
    "A X* PERMUTE(B, C)",
    "A {- X* -} B",
    "^ A X* B",
    "A X* B $",
)
_ROW_CONDITIONS = (
    "x > 0",
    "x <= 1",
    "s = 'a'",
    "s <> 'b'",
    "f",
    "y < 1.5D",
    "x IS NOT NULL",
    "PREV(x) < x",
    "NEXT(s) = s",
)
_RUN_CONDITIONS = {
    "B": ("B.x > A.x", "B.x + A.x < 4", "B.s = A.s", "B.x > LAST(B.x, 1) OR LAST(B.x, 1) IS NULL", "x > FIRST(x)"),
    "C": (
        "C.x > A.x",
        "C.x > B.x AND C.y >= A.y",
        "SUM(B.x) < C.x",
        "COUNT(B.x) < 2",
        "PREV(A.x) < x",
        "COUNT(*) < 5",
        "MAX(B.y) > 0.0D",
    ),
}
_BOUNDS = ("", "", "MAXLENGTH 4", "WITHIN INTERVAL '3' MINUTE", "WITHIN INTERVAL '3' MINUTE MAXLENGTH 4")
_OUTPUTS = (
    "MEASURES FIRST(id) AS a, LAST(id, 1) AS z, LAST(B.x) AS b, PREV(A.s) AS p, CLASSIFIER(B) AS c ONE ROW PER MATCH",
    "MEASURES MATCH_NUMBER() AS n, FIRST(B.id, 1) AS b, NEXT(LAST(B.s), 2) AS s, CLASSIFIER() AS c ONE ROW PER MATCH",
    "MEASURES LAST(X.id) AS x, A.id + B.id AS ab ONE ROW PER MATCH",
    "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c, COUNT(X.x) AS skipped ALL ROWS PER MATCH",
    "MEASURES array_agg(CLASSIFIER()) AS path ONE ROW PER MATCH",
)


@st.composite
def gapped_clauses(draw: Draw) -> str:
    """Clauses that skip rows. They come from a small set, so that two of them often share states."""
    pattern = draw(st.sampled_from(_GAPPED))
    bound = draw(st.sampled_from(_BOUNDS))
    order = "t, id" if "WITHIN" in bound else draw(st.sampled_from(["id", "t, id", "x DESC, id"]))
    output = draw(st.sampled_from(_OUTPUTS))
    conditions = []
    for name in "ABCXY":
        if name in pattern and draw(st.integers(0, 2)):
            conjuncts = draw(
                st.lists(st.sampled_from(_ROW_CONDITIONS), min_size=1, max_size=1 + (name == "A"), unique=True)
            )
            if name in _RUN_CONDITIONS and draw(st.booleans()):
                run_condition = draw(st.sampled_from(_RUN_CONDITIONS[name]))
                conjuncts += [f"({run_condition})"] if "B" in pattern or "B." not in run_condition else []
            conditions.append(f"{name} AS {' AND '.join(conjuncts)}")
    key = draw(st.sampled_from(["", "PARTITION BY k", "PARTITION BY k"]))
    define = f"DEFINE {', '.join(conditions)}" if conditions else ""
    return f"{key} ORDER BY {order} {output} ALL MATCHES PATTERN ({pattern}) {bound} {define}"


def any_clauses() -> st.SearchStrategy[str]:
    """Clauses of all kinds with ALL MATCHES."""
    return clauses(modes=True).map(lambda text: re.sub("(INCREMENTAL|MAXIMAL) MATCHES", "ALL MATCHES", text))


@st.composite
def long_tables(draw: Draw) -> pa.Table:
    """Tables with enough rows for matches, and a few NULLs. Hypothesis draws only a seed: rows needn't shrink."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(6, 14))
    ids = rng.permutation(count)
    epoch = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        {
            "k": rng.choice(["p", "q"]),
            "g": 1,
            "id": int(number),
            "x": None if rng.random() < 0.1 else int(rng.integers(-1, 4)),
            "y": float(rng.integers(-1, 3)),
            "d": Decimal("1.25"),
            "s": None if rng.random() < 0.1 else str(rng.choice(["a", "b", "c"])),
            "f": bool(rng.random() < 0.7),
            "t": None if rng.random() < 0.1 else epoch + timedelta(minutes=int(rng.integers(0, 7))),
        }
        for number in ids
    ]
    return table_of(rows)


def workloads() -> st.SearchStrategy[list[str]]:
    return st.lists(st.one_of(gapped_clauses(), gapped_clauses(), any_clauses()), min_size=2, max_size=4)
