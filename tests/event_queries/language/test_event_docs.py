"""docs/event-queries.md: its queries parse, its numbers are right, and its error codes are those of the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.reference.trend_oracle import trend_rows

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "event-queries.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COUNTED = re.findall(r"^\| `([^`]+)` \| ((?:[a-z]\d ?)+) \| (\d+) \|", PAGE, re.MULTILINE)
LANGUAGE = ROOT / "src" / "ostinato" / "event_queries" / "language"
CODE = re.compile(r"[A-Z]+(_[A-Z]+)+")
NOT_A_CODE = frozenset(("MATCH_RECOGNIZE",))


@pytest.mark.parametrize("text", QUERIES)
def test_queries(text: str) -> None:
    query = parse_event_query(text)
    assert parse_event_query(render_event_query(query)) == query


@pytest.mark.parametrize(("pattern", "stream", "matches"), COUNTED)
def test_numbers(pattern: str, stream: str, matches: str) -> None:
    query = parse_event_query(f"TYPE kind TIME at PATTERN {pattern} RETURN COUNT(*) AS n")
    rows = [{"kind": event[0].upper(), "at": int(event[1:])} for event in stream.split()]
    assert trend_rows(bind_event_query(query, ("kind", "at")), rows) == [{"n": int(matches)}]


def test_there_are_queries_and_numbers() -> None:
    assert len(QUERIES) >= 3
    assert len(COUNTED) >= 15


def test_errors() -> None:
    listed = re.findall(
        r"^\| `([A-Z_]+)` \|", PAGE.split("<!-- errors:")[1].split("<!-- end of errors")[0], re.MULTILINE
    )
    assert listed == sorted(set(listed))
    # one of the shared parser, one of the shared lookup of columns, and one put together
    raised = {"UNSUPPORTED_IN_CLAUSE", "UNKNOWN_COLUMN", "INVALID_WITHIN"}
    for path in set(LANGUAGE.glob("*.py")) - {LANGUAGE / "event_to_sql.py"}:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        raised |= {text for text in texts if isinstance(text, str) and CODE.fullmatch(text)}
    assert set(listed) == raised - NOT_A_CODE
