"""`ost.sql`: row patterns in windows, on the input of their block."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost
from ostinato.errors import QueryError

FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS v < PREV(v)"
W = f"PARTITION BY k ORDER BY id MEASURES LAST(v) AS low {FRAME}"
VALUES = [(1, "a", 5), (2, "a", 4), (3, "a", 6), (4, "b", 7), (5, "b", 3)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    t = spark.createDataFrame(VALUES, "id int, k string, v int").coalesce(1)
    u = spark.createDataFrame([("a", 1), ("b", 2)], "k string, id int").coalesce(1)
    return {"t": t, "u": u}


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def test_measures_functions_and_other_windows(tables: dict[str, DataFrame]) -> None:
    query = f"""SELECT id, low OVER w, count(*) OVER w AS n, sum(t.v * 2) OVER w AS s, row_number() OVER x AS r
        FROM t WHERE id <> 3 WINDOW x AS (PARTITION BY k ORDER BY id), w AS ({W}) ORDER BY low OVER w NULLS FIRST, id"""
    df = ost.sql(query, **tables)
    assert df.columns == ["id", "low", "n", "s", "r"]
    assert rows(df) == [(2, None, 0, None, 2), (5, None, 0, None, 2), (4, 3, 2, 20, 1), (1, 4, 2, 18, 1)]


def test_a_join_of_tables_with_equal_columns(tables: dict[str, DataFrame]) -> None:
    query = f"""SELECT *, u.id + max(t.id + u.id) OVER (PARTITION BY t.k ORDER BY t.id {FRAME}) AS x
        FROM t LEFT JOIN u ON t.k = u.k WHERE t.id > ? AND v > 3 ORDER BY t.id LIMIT ?"""
    df = ost.sql(query.replace("B+", "B??  B"), args=[1, 3], **tables)
    assert df.columns == ["id", "k", "v", "k", "id", "x"]
    assert rows(df) == [(2, "a", 4, "a", 1, None), (3, "a", 6, "a", 1, None), (4, "b", 7, "b", 2, None)]


def test_common_tables_unions_and_clauses(tables: dict[str, DataFrame]) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(id) AS id, LAST(k) AS k, LAST(v) AS v PATTERN (A))"
    query = f"""WITH c AS (SELECT id, k, low OVER w AS v FROM t WINDOW w AS ({W}))
        SELECT 1 AS part, id, low OVER w FROM (SELECT * FROM c WHERE v IS NOT NULL) q
            WINDOW w AS ({W.replace("k ", "1 ")})
        UNION ALL
        SELECT 2, id, count(*) OVER ({W}) FROM t {clause} AS m WHERE id < 3
        UNION ALL SELECT :part, (SELECT max(x) FROM (SELECT low OVER w AS x FROM t WINDOW w AS ({W} + :step))), 0
        ORDER BY 1, 2"""
    expected = [(1, 1, 3), (1, 4, None), (2, 1, 2), (2, 2, 0), (3, 4, 0)]
    assert rows(ost.sql(query, args={"part": 3, "step": 0}, **tables)) == expected


def test_parameters_by_position(tables: dict[str, DataFrame]) -> None:
    window = W.replace("LAST(v)", "LAST(v) * ?").replace("B+", "B??  B")
    query = f"""SELECT id + ? AS i, struct(low OVER w).low, sum(v) OVER x AS s, count(*) OVER ({W} - ?) AS n,
        first_value(v) OVER y AS f FROM t WHERE id > ?
        WINDOW unused AS ({W} + ?), x AS (PARTITION BY k ORDER BY id + ?), w AS ({window} + ?),
            y AS (ORDER BY id {FRAME} AND id < (SELECT max(id) + ? FROM u)) ORDER BY id LIMIT ?"""
    df = ost.sql(query, args=[10, 1, 0, 99, 1, 100, 0, 1, 2], **tables)
    assert rows(df) == [(11, 400, 5, 0, 5), (12, None, 9, 0, None)]


def test_sub_queries(tables: dict[str, DataFrame]) -> None:
    window = W.replace("LAST(v)", "LAST(v) + (SELECT max(n) FROM c)").replace(
        "PREV(v)", "PREV(v) AND k IN (SELECT k FROM u WHERE id < 2)"
    )
    query = f"WITH c AS (SELECT count(*) AS n FROM u) SELECT t.id, low OVER w FROM t WINDOW w AS ({window}) ORDER BY id"
    assert rows(ost.sql(query, **tables)) == [(1, 6), (2, None), (3, None), (4, None), (5, None)]
    with pytest.raises(QueryError, match="CORRELATED_SUBQUERY") as caught:
        ost.sql(f"SELECT sum(v) OVER ({FRAME} AND (SELECT v > 1)) FROM t", **tables)
    assert caught.value.span is not None


def test_groups(tables: dict[str, DataFrame]) -> None:
    frame = FRAME.replace("v < PREV(v)", "LAST(sum(v)) < PREV(sum(v))")
    query = f"""SELECT upper(k), id % 3 AS part, sum(v) AS s, rank() OVER (ORDER BY sum(v)) AS r, low OVER w + sum(v),
            max(sum(v)) OVER w AS top, (SELECT max(n) FROM (SELECT count(*) OVER ({W}) AS n FROM t)) AS most
        FROM t WHERE v > 0 GROUP BY k, 2 HAVING count(*) < 3
        WINDOW w AS (PARTITION BY k ORDER BY id % 3 MEASURES LAST(sum(v)) AS low {frame}) ORDER BY upper(k), part"""
    df = ost.sql(query, **tables)
    assert df.columns == ["upper(k)", "part", "s", "r", "low + sum(v)", "top", "most"]
    expected = [("A", 0, 6, 4, 10, 6), ("A", 1, 5, 3, None, None), ("A", 2, 4, 2, None, None)]
    expected += [("B", 1, 7, 5, 10, 7), ("B", 2, 3, 1, None, None)]
    assert rows(df) == [(*row, 2) for row in expected]


def test_refused(spark: SparkSession, tables: dict[str, DataFrame]) -> None:
    statement = f"SELECT low OVER w FROM t WINDOW w AS ({W})"
    with pytest.raises(QueryError, match="WINDOW_ON_STREAM"):
        ost.sql(
            statement, t=spark.readStream.format("rate").load().selectExpr("value AS id", "value AS k", "value AS v")
        )
    with pytest.raises(QueryError, match="INVALID_OPTION: a statement with row patterns in windows"):
        ost.sql(statement, match_id="m", **tables)
    with pytest.raises(QueryError, match="CORRELATED_INPUT"):
        ost.sql(f"SELECT (SELECT low OVER ({W}) FROM t WHERE t.id = o.ident) FROM u o", **tables)
