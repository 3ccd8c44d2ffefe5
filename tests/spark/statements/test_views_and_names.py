"""Temporary views with a clause, and tables by IDENTIFIER, with TABLESAMPLE or with the name of an option."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost

EACH = "MATCH_RECOGNIZE (ORDER BY t.id MEASURES t.id AS i PATTERN (A))"


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1,), (2,), (3,)], "id int").coalesce(1)


@pytest.fixture
def view(spark: SparkSession) -> Iterator[str]:
    yield "ost_view"
    spark.catalog.dropTempView("ost_view")


def values(df: DataFrame) -> list[int]:
    return sorted(row[0] for row in df.collect())


def test_a_temporary_view_can_be_read(spark: SparkSession, t: DataFrame, view: str) -> None:
    text = f"CREATE TEMP VIEW {view} (j) AS WITH t AS (SELECT * FROM u) SELECT i FROM t {EACH} WHERE i < ?"
    made = ost.sql(text, u=t, args=[3])
    assert (made.columns, made.collect()) == ([], [])
    assert values(spark.sql(f"SELECT j FROM {view}")) == [1, 2]
    assert values(ost.sql(f"SELECT i FROM {view} AS v {EACH.replace('t.id', 'v.j')}", spark=spark)) == [1, 2]
    with pytest.raises(ost.QueryError, match="already exists"):
        ost.sql(text, u=t, args=[3])
    ost.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT id + 1 AS j FROM t", t=t)
    assert values(spark.table(view)) == [2, 3, 4]


@pytest.mark.parametrize(
    "text", ["CREATE VIEW v AS %", "CREATE TEMP VIEW v COMMENT 'c' AS %", "CREATE OR REPLACE VIEW v AS %"]
)
def test_other_views_are_refused(t: DataFrame, text: str) -> None:
    with pytest.raises(ost.QueryError, match="VIEW_NOT_SUPPORTED") as refused:
        ost.sql(text.replace("%", f"SELECT i FROM t {EACH}"), t=t)
    assert "TEMP VIEW" in str(refused.value)


def test_the_columns_of_a_view_are_counted(t: DataFrame) -> None:
    with pytest.raises(ost.QueryError, match="INVALID_ARGUMENTS: the view names 2 columns"):
        ost.sql(f"CREATE TEMP VIEW v (a, b) AS SELECT i FROM t {EACH}", t=t)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM IDENTIFIER('t') {EACH}",
        f"SELECT * FROM IDENTIFIER('T') AS t {EACH}",
        "SELECT id FROM IDENTIFIER('t')",
        f"SELECT * FROM t TABLESAMPLE (100 PERCENT) REPEATABLE (3) {EACH}",
        f"SELECT * FROM t TABLESAMPLE (3 ROWS) AS t {EACH}",
        f"SELECT i FROM t {EACH} TABLESAMPLE (100 PERCENT) AS m",
        "SELECT t.id FROM t TABLESAMPLE (100 PERCENT)",
        "SELECT s.id FROM t TABLESAMPLE (100 PERCENT) AS s",
    ],
)
def test_other_ways_to_name_a_table(t: DataFrame, query: str) -> None:
    assert values(ost.sql(query, t=t)) == [1, 2, 3]


def test_tables_with_the_names_of_options(t: DataFrame) -> None:
    query = f"SELECT m.i FROM sort AS t {EACH} AS m JOIN late ON late.id = m.i JOIN u USING (id)"
    tables = {"sort": t, "late": t.where("id > 1")}
    assert values(ost.sql(query, tables=tables, u=t)) == [2, 3]
    assert values(ost.sql(f"SELECT i FROM sort {EACH.replace('t.id', 'sort.id')}", tables=tables)) == [1, 2, 3]
    refused = {"NOT_A_TABLE": {"sort": 1}, "INVALID_OPTION": t, "INVALID_OPTION: the table 'u' is given": {"u": t}}
    for message, wrong in refused.items():
        with pytest.raises(ost.QueryError, match=message):
            ost.sql(query, tables=wrong, u=t)  # type: ignore[arg-type]
