"""EXPLAIN texts, word for word. Refresh with `pytest tests/golden --update-goldens`, and read the diff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ostinato.api.clause_builder import pattern
from ostinato.api.explain import explain

FOLDER = Path(__file__).parent

TRADES = pa.schema(
    [
        ("symbol", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("price", pa.float64()),
        ("volume", pa.int64()),
        ("venue", pa.string()),
    ]
)

HEAD_AND_SHOULDERS = """
    PARTITION BY symbol ORDER BY ts
    MEASURES FIRST(ts) AS started, LAST(ts) AS ended, MAX(G.price) - AVG(price) AS height
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A B+ C+ D+ E+ F+ G+ H+ I+ J+ K+ L+ M) MAXLENGTH 100
    DEFINE B AS price > PREV(price), C AS price < PREV(price), D AS price > PREV(price),
           E AS price > FIRST(B.price), F AS price > PREV(price), G AS price > LAST(C.price, 1),
           H AS price < PREV(price), I AS price < FIRST(G.price), J AS price > PREV(price),
           K AS price > LAST(I.price) AND price < MAX(G.price), L AS price < PREV(price), M AS price < A.price"""

TWO_CLAUSES = """
    WITH dips AS (
        SELECT * FROM trades MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY ts MEASURES LAST(ts) AS ts, LAST(price) AS low
            PATTERN (DOWN{3}) DEFINE DOWN AS price < PREV(price)))
    SELECT * FROM dips JOIN (SELECT symbol, price FROM quotes) MATCH_RECOGNIZE (
        PARTITION BY symbol MEASURES count(*) AS n PATTERN (CHEAP+) DEFINE CHEAP AS price < 10) AS q USING (symbol)"""

QUERIES: dict[str, tuple[Any, Any]] = {
    "v_shape": (
        pattern("START DOWN+ UP+")
        .partition_by("symbol")
        .order_by("ts")
        .define(DOWN="price < PREV(price) AND volume > 100", UP="price > PREV(price)")
        .measures(bottom="LAST(DOWN.price)", rise="LAST(UP.price) / LAST(DOWN.price) - 1"),
        TRADES,
    ),
    "head_and_shoulders": (HEAD_AND_SHOULDERS, TRADES),
    "fixed_length": (
        """PARTITION BY symbol ORDER BY ts MEASURES A.price AS first, MATCH_NUMBER() AS n
           PATTERN (A B{2} C) WITHIN INTERVAL '10' MINUTE
           DEFINE A AS price > 100, B AS price < A.price, C AS price > A.price * 1.1 AND upper(venue) = 'X'""",
        TRADES,
    ),
    "types_unknown": (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES SUM(B.price) AS s PATTERN (A B*? C) DEFINE C AS price > SUM(B.price))",
        None,
    ),
    "rewritten_pattern": (
        """ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS
           PATTERN ((((A+)*) () (B | (C | B))) PERMUTE(D)) DEFINE A AS volume = 1, B AS volume = 2, C AS volume = 3""",
        TRADES,
    ),
    "anchors_and_exclusion": (
        """ORDER BY ts ALL ROWS PER MATCH OMIT EMPTY MATCHES AFTER MATCH SKIP TO LAST B
           PATTERN (^ A {- B+ -} C?? $) SUBSET U = (A, B) DEFINE B AS price > AVG(U.price), C AS CLASSIFIER(U) = 'B'""",
        TRADES,
    ),
    "general_conditions": (
        """PARTITION BY symbol ORDER BY ts MEASURES LAST(ts) AS t ALL MATCHES PATTERN (A+ B) MAXLENGTH 5
           DEFINE A AS sum(A.volume) < 9 AND listagg(venue) <> 'X', B AS concat(FIRST(A.venue), venue) = 'XY'""",
        TRADES,
    ),
    "incremental_permute": (
        """ORDER BY ts MEASURES COUNT(*) AS n INCREMENTAL MATCHES PATTERN (PERMUTE(A, B, C))
           DEFINE A AS venue = 'a', B AS venue = 'b', C AS venue = 'c'""",
        TRADES,
    ),
    "cut_into_ranges": (
        """ORDER BY ts MEASURES MATCH_NUMBER() AS n, LAST(price) AS p AFTER MATCH SKIP TO NEXT ROW
           PATTERN (A UP+) WITHIN INTERVAL '90' SECOND DEFINE UP AS price > PREV(price)""",
        TRADES,
    ),
    "not_sliced": (
        """ORDER BY ts MEASURES LAST(price) AS p PATTERN (A UP+)
           DEFINE UP AS price > A.price + MATCH_NUMBER()""",
        TRADES,
    ),
    "two_clauses": (TWO_CLAUSES, {"trades": TRADES}),
}


@pytest.mark.parametrize("name", QUERIES)
def test_golden(name: str, update_goldens: bool) -> None:
    query, table = QUERIES[name]
    text = explain(query, table).text + "\n"
    golden = FOLDER / f"{name}.txt"
    if update_goldens:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "if that is meant: pytest tests/golden --update-goldens"


def test_no_golden_without_a_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_no_name_of_ours_is_shown(name: str) -> None:
    explanation = explain(*QUERIES[name])
    assert "__ost" not in explanation.text
    assert "__ost" not in explanation.svg
