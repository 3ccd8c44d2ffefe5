"""The page of a run shows pictures, rows, query and explanation, and no text of a user becomes markup."""

from __future__ import annotations

import pyarrow as pa
from tests.report.test_page import Nesting

from ostinato.report.run_page import RunReport, run_page

HOSTILE = "</code><script>alert(1)</script>\"'"


def test_every_part_is_there() -> None:
    result = pa.table({"symbol": ["ACME", None], "price": [1.5, 2.0]})
    page = run_page(RunReport("SELECT 1", result, 7, ("<svg></svg>",), ("No line.",), "1. The query", "Ostinato 1"))
    for words in (
        "<h1>7 rows</h1>",
        "<svg></svg>",
        "<p>No line.</p>",
        "<caption>The first 2 of 7 rows</caption>",
        '<th scope="col">symbol</th>',
        "<td>NULL</td>",
        '<td style="text-align:right">1.5</td>',
        "<b>SELECT</b>",
        "1. The query</pre>",
        "<footer>Ostinato 1</footer>",
    ):
        assert words in page


def test_it_is_well_formed_escaped_and_loads_nothing() -> None:
    result = pa.table({HOSTILE: [HOSTILE, HOSTILE * 20]})
    page = run_page(RunReport(f"SELECT '{HOSTILE}' -- {HOSTILE}", result, 2, (), (HOSTILE,), HOSTILE, HOSTILE))
    reader = Nesting()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.links == []
    assert "script" not in reader.seen


def test_an_empty_result() -> None:
    page = run_page(RunReport("SELECT 1", pa.table({"a": pa.array([], pa.int64())}), 0))
    assert "<h1>0 rows</h1>" in page
    assert "How it runs" not in page
