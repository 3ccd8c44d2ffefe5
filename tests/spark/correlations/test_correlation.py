"""Correlations in `ost.sql`: the same rows as in process, wherever they stand; each row shipped and matched once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.correlations.spark_correlations import (
    ARCHIVE,
    LIVE,
    QUERY,
    RECENT,
    comparable,
    in_process,
)
from tests.spark.streams.spark_streams import trades

import ostinato as ost

ON = f"ON live.symbol = archive.symbol AND {RECENT}"
PAIR = f"t {LIVE} AS live JOIN t {ARCHIVE} AS archive {ON}"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return trades(240, symbols=5)


@pytest.fixture(scope="module")
def t(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).cache()


def values(df: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def plan(df: DataFrame) -> str:
    """The physical plan of Spark."""
    return str(df.sparkSession.sql("EXPLAIN SELECT * FROM {df}", df=df).collect()[0][0])


# --- the same rows ----------------------------------------------------------------------------------------------------


def test_table_1_of_the_paper(spark: SparkSession) -> None:
    start = datetime(2024, 1, 1, 2)
    prices = [10, 6, 6, 5, 7, 6, 11, 8, 8, 3, 3]
    stock = spark.createDataFrame(
        [("ACME", start + timedelta(seconds=at), price) for at, price in enumerate(prices)],
        "symbol string, ts timestamp, price int",
    )
    result = ost.sql(
        """
        SELECT second(correlation_start), second(correlation_end), pli, plm, pai, pam
        FROM stock MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY ts MEASURES FIRST(price) AS pli, LAST(price) AS plm
            INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS price < PREV(price)) AS live
        JOIN stock MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY ts MEASURES FIRST(price) AS pai, LAST(price) AS pam
            MAXIMAL MATCHES PATTERN (A B+ C* D)
            DEFINE B AS price < PREV(price), C AS price > PREV(price),
                   D AS price > PREV(price) AND price > A.price) AS archive
        ON live.symbol = archive.symbol AND RECENT(archive, live, INTERVAL '7' SECOND)""",
        stock=stock,
    )
    assert values(result) == [
        (2, 5, 7, 6, 6, 7),
        (2, 7, 11, 8, 6, 7),
        (2, 9, 8, 3, 6, 7),
        (4, 7, 11, 8, 7, 11),
        (4, 9, 8, 3, 7, 11),
    ]


STANDARD = LIVE.replace("INCREMENTAL MATCHES", "").replace("PATTERN", "AFTER MATCH SKIP PAST LAST ROW PATTERN")
NEXT_ROW = ARCHIVE.replace("MAXIMAL MATCHES", "AFTER MATCH SKIP TO NEXT ROW")
FORMS = {
    "ON": QUERY,
    "WHERE": f"SELECT * FROM t {LIVE} live, t {ARCHIVE} archive WHERE live.symbol = archive.symbol AND {RECENT}",
    "archive first": f"SELECT * FROM t {ARCHIVE} archive INNER JOIN t {LIVE} live {ON}",
    "a predicate besides": f"{QUERY} AND live.l > archive.al + 10 AND archive.top <> 3",
    "an equality": f"{QUERY.replace('LAST(id) AS l', 'LAST(price) AS p').replace('A.price + 0', 'A.price')}"
    " AND live.p = archive.top",
    "rows": QUERY.replace("INTERVAL '20' SECOND", "6 ROWS"),
    "a number": QUERY.replace("ts, id", "id").replace("INTERVAL '20' SECOND", "40"),
    "the standard's modes": QUERY.replace(LIVE, STANDARD).replace(ARCHIVE, NEXT_ROW),
    "no keys": QUERY.replace("PARTITION BY symbol", "").replace("live.symbol = archive.symbol AND ", ""),
    "some columns": QUERY.replace("*", "live.*, archive.top, correlation_start AS began, al - l AS apart", 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_same_rows_as_in_process(t: DataFrame, table: pa.Table, form: str) -> None:
    expected = in_process(FORMS[form], table)
    assert len(expected) > 10
    assert comparable(ost.sql(FORMS[form], t=t)) == expected


def test_two_tables(spark: SparkSession, t: DataFrame, table: pa.Table) -> None:
    text = f"SELECT * FROM t {LIVE} AS live JOIN old {ARCHIVE.replace('symbol', 'name')} AS archive ON "
    text += f"live.symbol = archive.name AND {RECENT}"
    old = trades(150, symbols=4, seed=8).rename_columns(["name", "ts", "price", "id"])
    expected = in_process(text, table, old)
    assert len(expected) > 10
    assert comparable(ost.sql(text, t=t, old=spark.createDataFrame(old))) == expected


def test_rows_of_a_key_are_in_order(t: DataFrame) -> None:
    times_only = QUERY.replace("*", "live.symbol, correlation_start, correlation_end", 1)
    result = values(ost.sql(times_only, t=t))
    for symbol in {key for key, *_ in result}:
        times = [time for key, *time in result if key == symbol]
        assert times == sorted(times)


def test_correlate_gives_the_same_rows_as_sql(t: DataFrame, table: pa.Table) -> None:
    expected = in_process(QUERY, table)
    assert comparable(ost.correlate(QUERY).run(t).table) == expected
    assert comparable(ost.correlate(QUERY, strategy="archive_first", recent_rows=2).run(t).table) == expected
    archive_of_others = t.where("symbol IN ('A', 'B')")
    expected_of_two = in_process(QUERY, table, table.filter(pa.compute.is_in(table["symbol"], pa.array(["A", "B"]))))
    assert comparable(ost.correlate(QUERY, archive=archive_of_others).run(t).table) == expected_of_two


# --- where it may stand -----------------------------------------------------------------------------------------------

COUNTED = "SELECT symbol, n FROM ({}) ORDER BY symbol"
PLACES = {
    "sub-query": f"SELECT symbol, count(*) AS n FROM (SELECT live.symbol FROM {PAIR}) GROUP BY symbol",
    "grouped": f"SELECT live.symbol, count(*) AS n FROM {PAIR} WHERE top > 0 GROUP BY live.symbol HAVING count(*) > 0",
    "CTE": f"WITH c AS (SELECT live.symbol AS s FROM {PAIR}) SELECT s AS symbol, count(*) AS n FROM c GROUP BY s",
    "CTE that feeds it": "WITH u AS (SELECT * FROM t WHERE true) SELECT live.symbol, count(*) AS n FROM "
    f"{PAIR.replace('t MATCH', 'u MATCH')} GROUP BY live.symbol",
    "sub-queries feed it": "SELECT live.symbol, count(*) AS n FROM "
    f"{PAIR.replace('t MATCH', '(SELECT * FROM t WHERE true) MATCH')} GROUP BY live.symbol",
    "beside another table": f"SELECT live.symbol, sum(b) AS n FROM (VALUES (1)) AS one(b), {PAIR} GROUP BY live.symbol",
    "before another table": f"SELECT live.symbol, sum(b) AS n FROM {PAIR} "
    "LEFT JOIN (VALUES ('A', 1), ('B', 1), ('C', 1), ('D', 1)) AS one(s, b) ON one.s = live.symbol GROUP BY 1",
    "two at once": f"SELECT symbol, count(*) DIV 2 AS n FROM (SELECT live.symbol FROM {PAIR} UNION ALL "
    f"SELECT archive.symbol FROM {PAIR}) GROUP BY symbol",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_correlation_may_replace_two_tables(t: DataFrame, table: pa.Table, place: str) -> None:
    pairs = ost.correlate(QUERY).run(table).table.column(2).value_counts().to_pylist()
    expected = sorted((pair["values"], pair["counts"]) for pair in pairs)
    assert values(ost.sql(COUNTED.format(PLACES[place]), t=t)) == expected


def test_results_feed_a_further_pattern(t: DataFrame, table: pa.Table) -> None:
    pairs = ost.correlate(QUERY).run(table).table
    wide = pairs.rename_columns([f"{name}{at}" for at, name in enumerate(pairs.column_names)])
    clause = (
        "MATCH_RECOGNIZE (PARTITION BY symbol2 ORDER BY correlation_start0, correlation_end1, f3, l4, af6, al7 "
        "MEASURES count(*) AS n, FIRST(al7) AS x PATTERN (A B+) DEFINE B AS al7 > PREV(al7))"
    )
    expected = comparable(ost.match(f"SELECT * FROM wide {clause}", wide))
    assert len(expected) > 5
    inner = QUERY.replace(
        "*",
        "correlation_start AS correlation_start0, correlation_end AS correlation_end1, live.symbol AS symbol2, "
        "f AS f3, l AS l4, af AS af6, al AS al7",
        1,
    )
    assert comparable(ost.sql(f"SELECT * FROM ({inner}) {clause}", t=t)) == expected


def test_views_of_the_catalog(spark: SparkSession, t: DataFrame, table: pa.Table) -> None:
    t.createOrReplaceTempView("ost_trades")
    try:
        text = QUERY.replace("FROM t ", "FROM ost_trades a ").replace("JOIN t ", "JOIN ost_trades AS b ")
        result = ost.sql(text, spark=spark)
        assert plan(result).count("Exchange") == 1  # the two names mean the same rows
        assert comparable(result) == in_process(QUERY, table)
    finally:
        spark.catalog.dropTempView("ost_trades")


def test_parameters_by_name_and_by_position(t: DataFrame) -> None:
    everything = ost.sql(QUERY, t=t).count()
    named = f"SELECT :x AS x FROM {PAIR} AND archive.top > :low WHERE l > :l"
    placed = named.replace(":x", "?").replace(":low", "?").replace(":l", "?")
    assert 0 < ost.sql(named, t=t, args={"x": "v", "low": 3, "l": 50}).count() < everything
    assert values(ost.sql(placed, t=t, args=["v", 3, 50])) == values(
        ost.sql(named, t=t, args={"x": "v", "low": 3, "l": 50})
    )


def test_names_with_blanks_dots_and_quotes(spark: SparkSession) -> None:
    odd = spark.createDataFrame([(at, "x", price) for at, price in enumerate([3, 2, 3, 1])], ["order", "a b", "c.d"])
    clause = "MATCH_RECOGNIZE (PARTITION BY `a b` ORDER BY `order` MEASURES LAST(`c.d`) AS `{}` {} MATCHES PATTERN "
    fall, rise = "(A B) DEFINE B AS `c.d` < PREV(`c.d`))", "(A B) DEFINE B AS `c.d` > PREV(`c.d`))"
    result = ost.sql(
        f"SELECT * FROM odd {clause.format('e`` {f}', 'INCREMENTAL')}{fall} AS `now {{}}` JOIN "
        f"odd {clause.format('from', 'MAXIMAL')}{rise} AS `select` "
        "ON `select`.`a b` = `now {}`.`a b` AND RECENT(`select`, `now {}`, 3)",
        odd=odd,
    )
    assert result.columns == ["correlation_start", "correlation_end", "a b", "e` {f}", "a b", "from"]
    assert values(result) == [(1, 3, "x", 1, "x", 3)]


def test_empty_inputs(spark: SparkSession, t: DataFrame) -> None:
    nothing = t.where("false")
    assert ost.sql(QUERY, t=nothing).collect() == []
    text = QUERY.replace("JOIN t", "JOIN old")
    assert ost.sql(text, t=t, old=nothing).collect() == []
    assert ost.sql(text, t=nothing, old=t).collect() == []


# --- how Spark runs it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ON", "WHERE", "a predicate besides"])
def test_rows_are_shipped_and_matched_once(t: DataFrame, form: str) -> None:
    shown = plan(ost.sql(FORMS[form], t=t))
    assert shown.count("Exchange") == 1
    assert shown.count("MapInArrow") == 1
    assert "Join" not in shown
    assert "Union" not in shown


def test_two_tables_share_one_shuffle(t: DataFrame) -> None:
    shown = plan(ost.sql(QUERY.replace("JOIN t", "JOIN old"), t=t, old=t.select("*")))
    assert shown.count("Exchange") == 1
    assert shown.count("MapInArrow") == 1
    assert shown.count("Union") == 1


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", ["true", "false"])
def test_an_error_of_a_row_is_raised_before_conditions_drop_it(spark: SparkSession, compiled: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", compiled)
    moments = [datetime(2024, 1, 1), datetime(2024, 1, 2)]
    rows = [("A", *moments, 1.0), ("A", *reversed(moments), 2.0)]
    t = session.createDataFrame(rows, "symbol string, ts timestamp, id timestamp, price double")
    with pytest.raises(Exception, match="INTERVAL_ENDS_FIRST") as caught:
        ost.sql(f"{QUERY} WHERE archive.top > 3", t=t).collect()
    assert "Traceback" not in str(caught.value)
    error = ost.unwrap(caught.value)
    assert error is not None and error.code == "INTERVAL_ENDS_FIRST"


REFUSED = {
    "UNKNOWN_COLUMN": (QUERY.replace("D AS price", "D AS pirce"), "pirce"),
    "UNKNOWN_FUNCTION": (QUERY.replace("A.price + 0", "nope(A.price)"), "nope(A.price)"),
    "CORRELATION_MODE": (QUERY.replace("MAXIMAL", "ALL"), "ALL"),
    "RECENT_MISPLACED": (QUERY.replace(" AND RECENT", " OR RECENT"), "RECENT"),
}


@pytest.mark.parametrize("code", REFUSED)
def test_errors_point_into_the_statement(t: DataFrame, code: str) -> None:
    text, word = REFUSED[code]
    for ask in (lambda: ost.sql(text, t=t), lambda: ost.correlate(text).run(t)):
        with pytest.raises(ost.QueryError) as caught:
            ask()
        assert caught.value.code == code
        assert caught.value.text == text
        span = caught.value.span
        assert span is not None
        assert text[span.start : span.end].startswith(word)


def test_correlations_that_ost_sql_refuses(spark: SparkSession, t: DataFrame) -> None:
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        ost.sql(QUERY, t=t, skew="slice")
    stream = (
        spark.readStream.format("rate").load().selectExpr("'A' AS symbol", "timestamp AS ts", "1 AS price", "1 AS id")
    )
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED"):
        ost.sql(QUERY.replace("JOIN t", "JOIN old"), t=stream, old=t)
    with pytest.raises(ost.QueryError, match="CORRELATION_KEYS"):
        ost.sql(QUERY.replace("JOIN t", "JOIN old"), t=t, old=t.selectExpr("1 AS symbol", "ts", "price", "id"))
    with pytest.raises(ost.QueryError, match="CORRELATION_NOT_SUPPORTED"):
        ost.correlate(f"SELECT * FROM t {LIVE} AS live").run(t)


def test_explain_of_dataframes(t: DataFrame) -> None:
    text = ost.explain(QUERY, t).text
    assert "an archive match starts at most 20 seconds before the live match ends" in text
    assert "live_first" in text
