"""Spark Connect: the same calls, rows and errors as on a classic session. Needs a process of its own."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.cases import Case, load_cases

import ostinato as ost

FALLS = (
    "PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l PATTERN (A B) DEFINE B AS value < PREV(value)"
)


def representative() -> list[Case]:
    """The first, a middle and the last case of each file that Spark can run. Cases with letters run in process."""
    by_file: dict[str, list[Case]] = {}
    for case in load_cases():
        if not case.arrival_order and [column.name for column in case.columns] != ["id", "kind"]:
            by_file.setdefault(case.file, []).append(case)
    chosen = [cases[at] for cases in by_file.values() for at in sorted({0, len(cases) // 2, len(cases) - 1})]
    return chosen[:40]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in representative()])
def test_case(connect: Any, case: Case) -> None:
    schema = ", ".join(f"`{column.name}` {column.type_text}" for column in case.columns)
    name = case.input_name or "input"
    tables = {name: connect.createDataFrame([tuple(row) for row in case.rows], schema)}
    query = f"SELECT * FROM {name} MATCH_RECOGNIZE ({case.clause}\n)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.error is not None:
            with pytest.raises(Exception) as caught:
                ost.sql(query, **tables).collect()
            ours = ost.unwrap(caught.value)
            assert ours is not None, str(caught.value)
            assert ours.code == case.error, str(ours)
            return
        result = ost.sql(query, **tables)
    assert replace(case, ordered=False).difference(result.columns, [tuple(row) for row in result.collect()]) is None


@pytest.fixture(scope="module")
def trades(connect: Any) -> Any:
    return connect.createDataFrame([(1, "a", 5), (2, "a", 4), (3, "b", 7), (4, "b", 3)], "id int, k string, value int")


def rows(df: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def test_statements(connect: Any, trades: Any) -> None:
    joined = (
        "WITH c AS (SELECT * FROM t WHERE id > :low), m AS (SELECT '{}' AS s, * FROM c "
        f"MATCH_RECOGNIZE ({FALLS})) SELECT m.s, m.f, t.value FROM m JOIN t ON t.id = m.l"
    )
    assert rows(ost.sql(joined, T=trades, args={"low": 0})) == [("{}", 1, 4), ("{}", 3, 3)]
    placed = f"SELECT ? AS x, f FROM (SELECT * FROM t WHERE id > ?) MATCH_RECOGNIZE ({FALLS}) WHERE f < ?"
    assert rows(ost.sql(placed, t=trades, args=["x", 2, 9])) == [("x", 3)]
    trades.createOrReplaceTempView("ost_view")
    try:
        view = f"SELECT f FROM ost_view MATCH_RECOGNIZE ({FALLS}) UNION ALL SELECT id FROM ost_view WHERE id = 4"
        assert rows(ost.sql(view, spark=connect)) == [(1,), (3,), (4,)]
    finally:
        connect.catalog.dropTempView("ost_view")
    assert connect.catalog.listTables() == []


def test_transform_and_builder(trades: Any) -> None:
    for sort in ("worker", "spark", "auto"):
        assert rows(trades.transform(ost.match_recognize(FALLS, sort=sort))) == [("a", 1, 2), ("b", 3, 4)]
    query = (
        ost.pattern("A B")
        .partition_by("k")
        .order_by("id")
        .define(B="value < PREV(value)")
        .measures(f="FIRST(id)", l="LAST(id)")
    )
    assert rows(trades.transform(ost.match_recognize(query))) == [("a", 1, 2), ("b", 3, 4)]


def test_nothing_runs_before_an_action(connect: Any) -> None:
    fails = connect.range(3).selectExpr("id", "CAST(raise_error('ran') AS INT) AS v")
    result = fails.transform(ost.match_recognize("ORDER BY id MEASURES sum(v) AS s PATTERN (A+)"))
    assert result.columns == ["s"]
    with pytest.raises(PySparkException, match="ran"):
        result.collect()


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("ORDER BY id MEASURES LAST(nope) AS x PATTERN (A)", "UNKNOWN_COLUMN"),
        ("ORDER BY id MEASURES nofn(LAST(id)) AS x PATTERN (A)", "UNKNOWN_FUNCTION"),
        ("ORDER BY id MEASURES 1 AS x PATTERN (A) DEFINE A AS id > array(1)", "TYPE_MISMATCH"),
        ("ORDER BY id MEASURES 1 AS x PATTERN (A) DEFINE A AS id + 1", "NOT_A_CONDITION"),
    ],
)
def test_errors_come_early(trades: Any, clause: str, code: str) -> None:
    for ask in (
        lambda: trades.transform(ost.match_recognize(clause)),
        lambda: ost.sql(f"SELECT x FROM t MATCH_RECOGNIZE ({clause})", t=trades),
    ):
        with pytest.raises(ost.QueryError) as caught:
            ask()
        assert caught.value.code == code
        assert "^" in str(caught.value)


def test_statements_that_are_none(connect: Any, trades: Any) -> None:
    for query, code in (
        ("hello world", "SYNTAX_ERROR"),
        (f"SELECT nope FROM t MATCH_RECOGNIZE ({FALLS})", "UNKNOWN_COLUMN"),
        (f"SELECT * FROM nope MATCH_RECOGNIZE ({FALLS})", "ANALYSIS_ERROR"),
        (f"SELECT 1 FROM t o WHERE EXISTS (SELECT 1 FROM (SELECT o.id) MATCH_RECOGNIZE ({FALLS}))", "CORRELATED_INPUT"),
    ):
        with pytest.raises(ost.QueryError) as caught:
            ost.sql(query, spark=connect, t=trades)
        assert caught.value.code == code, query


def test_run_time_errors_unwrap(trades: Any) -> None:
    clause = "PARTITION BY k ORDER BY id MEASURES 1 AS x AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS false"
    with pytest.raises(PySparkException) as caught:
        trades.where("k = 'b'").transform(ost.match_recognize(clause)).collect()
    assert "SKIP_TARGET_MISSING: " in str(caught.value).split("\n", maxsplit=1)[0]
    ours = ost.unwrap(caught.value)
    assert isinstance(ours, ost.MatchError)
    assert ours.code == "SKIP_TARGET_MISSING"
    assert "k = 'b'" in ours.message


def test_settings_of_the_session_count(connect: Any) -> None:
    overflow = connect.sql("SELECT id, 9223372036854775807 AS big FROM range(2)")
    with pytest.raises(PySparkException) as caught:
        overflow.transform(ost.match_recognize("ORDER BY id MEASURES sum(big) AS s PATTERN (A+)")).collect()
    ours = ost.unwrap(caught.value)
    assert ours is not None
    assert ours.code == "ARITHMETIC_OVERFLOW"


def test_explain_of_a_dataframe(trades: Any) -> None:
    schema = pa.schema([("id", pa.int32()), ("k", pa.string()), ("value", pa.int32())])
    assert ost.explain(FALLS, trades).text == ost.explain(FALLS, schema).text
