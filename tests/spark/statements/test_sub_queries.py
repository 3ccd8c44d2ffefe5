"""Sub-queries in MEASURES and DEFINE: each is evaluated once, and its values keep their types."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost

EACH = "MATCH_RECOGNIZE (ORDER BY id MEASURES id AS i{} PATTERN (A) DEFINE A AS {})"


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    rows = [(1, "a", 5), (2, "b", 7), (3, None, 9)]
    return {
        "t": spark.createDataFrame(rows, "id int, k string, x int").coalesce(1),
        "limits": spark.createDataFrame([(6, "b"), (7, "it's"), (7, "b")], "low int, name string").coalesce(1),
    }


def ids(tables: dict[str, DataFrame], condition: str, around: str = "{}", **options: Any) -> list[int]:
    query = around.format("SELECT i FROM t " + EACH.format("", condition))
    return sorted(row.i for row in ost.sql(query, **tables, **options).collect())


def test_values_and_lists(tables: dict[str, DataFrame]) -> None:
    assert ids(tables, "x > (SELECT min(low) FROM limits)") == [2, 3]
    assert ids(tables, "k IN (SELECT name FROM limits)") == [2]
    with_null = "k NOT IN (SELECT name FROM limits UNION ALL SELECT NULL)"
    assert ids(tables, f"x = 9 OR {with_null}") == [3]
    assert ids(tables, "k NOT IN (SELECT name FROM limits WHERE low > 9)") == [1, 2, 3]  # an empty list holds no NULL
    assert ids(tables, "coalesce((SELECT low FROM limits WHERE low > 9), x) = 5") == [1]  # no row is NULL
    outer = "WITH low AS (SELECT max(low) AS low FROM limits WHERE low < ?) {} WHERE i > ?"
    condition = "x > (SELECT low FROM low) AND x < ? AND id IN (SELECT * FROM VALUES (2), (?))"
    assert ids(tables, condition, outer, args=[7, 10, 3, 2]) == [3]


def test_types(spark: SparkSession, tables: dict[str, DataFrame]) -> None:
    values = {
        "ts": "TIMESTAMP '2024-03-31 02:30:00.000001'",
        "ntz": "TIMESTAMP_NTZ '2024-03-31 02:30:00'",
        "day": "DATE '2024-03-31'",
        "number": "-1.50BD",
        "long": "5000000000",
        "tiny": "- 7Y",
        "float": "CAST(0.1 AS FLOAT)",
        "double": "CAST('Infinity' AS DOUBLE)",
        "text": "'${spark.app.name} \\\\ it\\'s'",
        "length": "INTERVAL '1 02:03:04' DAY TO SECOND",
        "bytes": "X'00FF'",
        "nothing": "CAST(NULL AS DECIMAL(10, 2))",
    }
    measures = "".join(f", (SELECT {value}) AS {name}" for name, value in values.items())
    found = ost.sql(f"SELECT * FROM t {EACH.format(measures, 'id = 1')}", **tables).drop("i")
    wanted = spark.sql("SELECT " + ", ".join(f"{value} AS {name}" for name, value in values.items()))
    assert found.collect() == wanted.collect()
    assert found.dtypes == wanted.dtypes


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("x > (SELECT low FROM limits)", "SUBQUERY_ROWS"),
        ("x > (SELECT low, name FROM limits)", "SUBQUERY_COLUMNS"),
        ("x > (SELECT max(low) FROM limits WHERE name = k)", "CORRELATED_SUBQUERY"),
        ("x IN (SELECT id FROM range(10001))", "TOO_MANY_VALUES"),
        ("size((SELECT array(1))) = 1", "UNSUPPORTED_TYPE"),
        ("EXISTS (SELECT 1)", "UNSUPPORTED_IN_CLAUSE"),
    ],
)
def test_refusals_have_a_caret(tables: dict[str, DataFrame], condition: str, code: str) -> None:
    with pytest.raises(ost.QueryError) as refused:
        ids(tables, condition)
    assert refused.value.code == code
    assert "^" in str(refused.value)


def test_a_stream_is_no_list(spark: SparkSession, tables: dict[str, DataFrame]) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED: a sub-query reads tables that don't stream"):
        ids({**tables, "limits": stream}, "x IN (SELECT value FROM limits)")
