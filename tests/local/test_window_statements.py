"""`ost.match` of a SELECT with row patterns in windows."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError

FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS v < PREV(v)"
W = f"PARTITION BY k ORDER BY id MEASURES LAST(v) AS low {FRAME}"
TABLE = pa.table({"id": [1, 2, 3, 4, 5], "k": list("aaabb"), "v": [5, 4, 6, 7, 3]})


def rows(text: str, **options: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in ost.match(text, TABLE, **options).to_pylist()]  # type: ignore[arg-type]


def test_values_stand_beside_the_columns() -> None:
    text = (
        f"SELECT *, low OVER w, count(*) OVER w AS n, low OVER w + t.id, sum(v * 2) OVER w s FROM t WINDOW w AS ({W})"
    )
    assert ost.match(text, TABLE).column_names == ["id", "k", "v", "low", "n", "low + t.id", "s"]
    assert rows(text)[0] == (1, "a", 5, 4, 2, 5, 18)
    assert [row[3:] for row in rows(text)[1:4]] == [(None, 0, None, None), (None, 0, None, None), (3, 2, 7, 20)]


def test_several_windows_computed_keys_and_parameters() -> None:
    text = f"""SELECT a.id, first_value(v) OVER (PARTITION BY upper(a.k) ORDER BY -a.id {FRAME} + :step) AS f,
        count(*) OVER ({W}) AS n, low OVER ({W}) IS NULL FROM t AS a"""
    assert rows(text, args={"step": 0}) == [
        (1, None, 2, False),
        (2, None, 0, True),
        (3, 6, 0, True),
        (4, None, 2, False),
        (5, None, 0, True),
    ]


def test_a_window_that_nothing_calls() -> None:
    assert rows(f"SELECT t.*, v + 1 AS w FROM t WINDOW w AS ({W})")[4] == (5, "b", 3, 4)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("SELECT low OVER w FROM t WHERE v > 1 %W", "UNSUPPORTED_IN_PROCESS", "WHERE"),
        ("SELECT low OVER w FROM t %W ORDER BY 1", "UNSUPPORTED_IN_PROCESS", "ORDER"),
        ("SELECT low OVER w FROM t %W UNION ALL SELECT 1", "UNSUPPORTED_IN_PROCESS", "SELECT"),
        ("SELECT low OVER w FROM t JOIN u ON true %W", "UNSUPPORTED_IN_PROCESS", "FROM t JOIN u ON true"),
        ("SELECT DISTINCT low OVER w FROM t %W", "UNSUPPORTED_IN_PROCESS", "DISTINCT"),
        ("SELECT low OVER w, rank() OVER (ORDER BY id) FROM t %W", "UNSUPPORTED_IN_CLAUSE", "OVER"),
        ("SELECT low OVER w, u.* FROM t %W", "UNKNOWN_COLUMN", "u"),
        ("SELECT low OVER w, price FROM t %W", "UNKNOWN_COLUMN", "price"),
        ("SELECT lov OVER w FROM t %W", "UNKNOWN_MEASURE", "lov"),
    ],
)
def test_refused_with_a_caret(text: str, code: str, words: str) -> None:
    text = text.replace("%W", f"WINDOW w AS ({W})")
    with pytest.raises(QueryError) as caught:
        ost.match(text, TABLE)
    error = caught.value
    assert error.code == code, str(error)
    assert error.span is not None
    assert text[error.span.start : error.span.end] == words


def test_options_of_other_queries_are_refused() -> None:
    text = f"SELECT low OVER ({W}) FROM t"
    for options in ({"keys": "k"}, {"match_id": "m"}, {"workers": 2}, {"args": [1]}, {"on_error": "skip"}):
        with pytest.raises(QueryError, match="INVALID_OPTION"):
            rows(text, **options)  # type: ignore[arg-type]
