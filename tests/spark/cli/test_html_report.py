"""`ostinato run --html`, with Spark: a page with the matches, drawn from the rows that Spark returned."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ostinato.cli import main

QUERY = """
SELECT * FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom
    PATTERN (S DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
) ORDER BY symbol"""


@pytest.fixture
def page(spark, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ts, prices, volumes = [1, 2, 3, 4, 5], [10.0, 8.0, 7.5, 9.0, 9.5], [1, 2, 3, 4, 5]
    trades = pa.table({"symbol": ["<A>"] * 5, "ts": ts, "price": prices, "volume": volumes})
    pq.write_table(trades, "trades.parquet")
    return tmp_path / "report.html"


def run(query: str, *argv: str) -> int:
    return main(["run", "-e", query, "--input", "trades=trades.parquet", "--html", "report.html", *argv])


def test_a_page(page, capsys) -> None:
    assert run(QUERY) == 0
    printed = capsys.readouterr()
    assert "wrote report.html" in printed.err
    assert "bottom" in printed.out  # the rows are printed as always
    text = page.read_text(encoding="utf-8")
    assert "&lt;A&gt;: 1 match between 1 and 5" in text
    assert "DOWN · 7.5 · 3" in text
    assert "The query as understood" in text
    assert "<A>" not in text
    assert run(QUERY, "--y", "volume") == 0
    assert "DOWN · 3 · 3" in page.read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_drawn(page, capsys) -> None:
    assert run(QUERY.replace("ORDER BY ts", "ORDER BY symbol")) == 0
    assert "can&#x27;t be drawn: PLOT_COLUMN" in page.read_text(encoding="utf-8")
    assert run(QUERY, "--y", "nope") == 1
    assert "UNKNOWN_COLUMN" in capsys.readouterr().err


def test_a_query_without_a_clause(page) -> None:
    assert run("SELECT 1 AS one") == 0
    assert "<h1>1 row</h1>" in page.read_text(encoding="utf-8")
