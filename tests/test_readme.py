"""The README's query gives the README's row on the demo's data."""

from __future__ import annotations

import re
from pathlib import Path

import ostinato as ost
from ostinato.report.sample_events import make_trades

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "images" / "fall-and-rise.svg").read_text(encoding="utf-8")


def shown_as(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def test_the_query_gives_the_row_that_is_shown() -> None:
    query = re.search(r"```sql\n(.*?)```", README, re.DOTALL)
    shown = re.search(r"^(\| symbol .*)\n\|[-|]+\n(\| .*)$", README, re.MULTILINE)
    assert query is not None
    assert shown is not None
    names, values = ([cell.strip() for cell in line.strip("|").split("|")] for line in shown.groups())
    found = ost.match(query[1], make_trades(200_000, seed=7))
    assert found.column_names == names
    assert tuple(values) in {tuple(map(shown_as, row.values())) for row in found.to_pylist()}
    assert f"<title>{values[0]}, " in PICTURE


def test_it_is_short() -> None:
    assert README.count("\n") < 150
