"""The SELECT that may stand around a clause in process."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError

CLAUSE = """MATCH_RECOGNIZE (
    ORDER BY id MEASURES A.id AS low, LAST(B.id) AS high PATTERN (A B+) DEFINE B AS B.level > PREV(B.level))"""
TABLE = pa.table({"id": [1, 2, 3, 4, 5], "level": [3, 7, 8, 2, 9]})


def rows(query: str) -> list[dict[str, int]]:
    rows: list[dict[str, int]] = ost.match(query.replace("%M", CLAUSE), TABLE).to_pylist()
    return rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM tides %M",
        "SELECT * FROM tides %M;",
        "SELECT m.* FROM tides %M m",
        "SELECT M.* FROM tides AS t %M AS m ;",
        "SELECT m.low, high FROM tides t %M AS m",
        "SELECT low, m.high FROM tides %M AS m (low, high)",
    ],
)
def test_the_same_rows_however_they_are_asked_for(query: str) -> None:
    assert rows(query) == [{"low": 1, "high": 3}, {"low": 4, "high": 5}]


def test_the_alias_of_the_input_qualifies_keys() -> None:
    query = "SELECT low FROM tides AS t %M".replace("%M", CLAUSE.replace("BY id", "BY t.id"))
    assert rows(query) == [{"low": 1}, {"low": 4}]


def test_columns_renamed_behind_the_clause() -> None:
    assert rows("SELECT m.b - m.a AS rise FROM tides %M AS m (a, b)") == [{"rise": 2}, {"rise": 1}]
    assert rows("SELECT * FROM tides %M AS m (a, b)")[0] == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT other.* FROM tides %M AS m", "UNKNOWN_COLUMN"),
        ("SELECT tides.* FROM tides %M", "UNKNOWN_COLUMN"),
        ("SELECT m.low FROM tides %M AS m (a, b)", "UNKNOWN_COLUMN"),
        ("SELECT m.a FROM tides %M AS m (a)", "INVALID_ARGUMENTS"),
        ("SELECT * FROM tides %M AS m WHERE m.low > 1", "UNSUPPORTED_IN_PROCESS"),
        ("SELECT * FROM (SELECT * FROM tides) %M", "UNSUPPORTED_IN_PROCESS"),
    ],
)
def test_refused(query: str, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        rows(query)
    assert caught.value.code == code
