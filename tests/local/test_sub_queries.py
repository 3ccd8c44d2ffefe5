"""Sub-queries inside a clause: explained and refused without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost

TABLE = pa.table({"id": [1, 2], "x": [5, 7]})
CLAUSE = "ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS {}"


@pytest.mark.parametrize("condition", ["x > (SELECT max(y) FROM t)", "x IN (SELECT y FROM t)", "x = (VALUES (1))"])
def test_in_process_they_are_refused_with_a_way_out(condition: str) -> None:
    with pytest.raises(ost.QueryError, match="UNSUPPORTED_IN_CLAUSE") as refused:
        ost.match(CLAUSE.format(condition), TABLE)
    assert "ost.sql" in str(refused.value)
    assert "args=" in str(refused.value)


def test_explain_shows_them() -> None:
    condition = "x > (SELECT max(y) FROM t) AND x NOT IN (SELECT y  FROM u WHERE z IN (1, 2))"
    text = ost.explain(f"SELECT * FROM s MATCH_RECOGNIZE ({CLAUSE.format(condition)})", TABLE).text
    assert "A AS x > (SELECT max(y) FROM t) AND x NOT IN (SELECT y" in text
    assert "sub-queries      (SELECT max(y) FROM t), (SELECT y FROM u WHERE z IN (1, 2)): ost.sql evaluates" in text


def test_names_like_their_keywords_stay_columns() -> None:
    table = pa.table({"id": [1], "values": [4]})
    found = ost.match("MEASURES (values) AS v PATTERN (A) DEFINE A AS (values) IN (4)", table)
    assert found.to_pylist() == [{"v": 4}]
