"""`ost.explain` of statements with row patterns in windows."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError

FRAME = "ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING SEEK PATTERN (A B+) DEFINE B AS t.v < PREV(v)"
W = f"PARTITION BY upper(t.k) ORDER BY id MEASURES LAST(v) AS low {FRAME}"


def test_the_window_as_understood() -> None:
    text = ost.explain(f"SELECT low OVER w, count(*) OVER w FROM t WINDOW w AS ({W})").text
    first = text.split("2. The pattern")[0]
    assert "MEASURES LAST(v) AS `low OVER w`," in first
    assert "ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING" in first
    assert "SEEK PATTERN (A B+)" in first
    assert "ONE ROW PER MATCH" not in text
    assert "MAXLENGTH" not in text
    assert "frame            from the current row to 3 rows after it" in text
    assert "match            the first one in the frame (SEEK); the search of a row passes over" in text
    assert "Row patterns in windows are refused there." in text


def test_the_hidden_variable_of_seek_has_words() -> None:
    window = W.replace("DEFINE", "DEFINE A AS count(*) < 9 AND PREV(CLASSIFIER()) IS NULL,")
    explained = ost.explain(f"SELECT low OVER ({window}) FROM t")
    assert "(rows before)*? (A B+)" in explained.text
    assert "PREV(CLASSIFIER())" in explained.text.split("4. When")[1]
    assert "__ost_" not in explained.text
    assert "__ost_" not in explained._repr_html_()


def test_sub_queries() -> None:
    text = ost.explain(f"SELECT low OVER ({W} AND v < (SELECT max(x) FROM c)) FROM t").text
    assert "DEFINE B AS v < PREV(v) AND v < (SELECT max(x) FROM c)" in text
    assert "sub-queries      (SELECT max(x) FROM c): ost.sql evaluates each once, before matching" in text


def test_several_windows_groups_and_clauses() -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(v) AS v PATTERN (A))"
    grouped = W.replace("t.v", "LAST(sum(v))").replace("PREV(v)", "PREV(sum(v))")
    text = ost.explain(
        f"""SELECT low OVER ({W}) FROM t WHERE v > 1 UNION ALL SELECT v FROM t {clause}
        UNION ALL SELECT low OVER ({grouped}) FROM t GROUP BY k, id, v"""
    ).text
    assert "MATCH_RECOGNIZE 1 of 3, on t" in text
    assert "Window 2 of 3, on FROM t WHERE v > 1" in text
    assert "Window 3 of 3, on FROM t GROUP BY k, id, v" in text
    assert "`sum(v)` < PREV(`sum(v)`)" in text


def test_nothing_to_explain() -> None:
    with pytest.raises(QueryError, match="NO_CLAUSE"):
        ost.explain("SELECT rank() OVER (ORDER BY id) FROM t", pa.table({"id": [1]}))
