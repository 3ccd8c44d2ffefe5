"""`ost.sql`: MATCH_RECOGNIZE wherever a table may stand, the text around it unchanged, nothing left behind."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost
from ostinato.errors import OstinatoWarning

FALLS = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l "
    "PATTERN (A B) DEFINE B AS value < PREV(value))"
)
"""Over TRADES: (a, 1, 2) and (b, 3, 4)."""
EACH = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(id) AS l PATTERN (A))"
"""One match for each row."""
LENGTH = "MATCH_RECOGNIZE (ORDER BY f MEASURES count(*) AS n PATTERN (A+))"
TRADES = [(1, "a", 5), (2, "a", 4), (3, "b", 7), (4, "b", 3)]


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TRADES, "id int, k string, value int").coalesce(1)


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


PLACES = {
    "FROM": ("SELECT * FROM t %FALLS AS m WHERE m.f > 1", [("b", 3, 4)]),
    "alone, table's own name": (
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY t.k ORDER BY t.id PATTERN (A B))",
        [("a",), ("b",)],
    ),
    "column aliases": ("SELECT a, b FROM t %FALLS AS m(k, a, b)", [(1, 2), (3, 4)]),
    "sub-query": ("SELECT l FROM (SELECT * FROM t WHERE id > 2) s %EACH", [(3,), (4,)]),
    "both sides of a join": ("SELECT m.f, n.l FROM t %FALLS AS m JOIN t %EACH AS n ON n.l = m.f", [(1, 1), (3, 3)]),
    "a join in parentheses": (
        "SELECT * FROM (t JOIN (SELECT 1 AS id UNION ALL SELECT 3) USING (id)) %EACH",
        [(1,), (3,)],
    ),
    "clause behind a clause": ("SELECT n FROM t %FALLS AS m %LENGTH AS x", [(2,)]),
    "VALUES with column names": ("SELECT * FROM (VALUES (1, 5), (2, 6)) t(id, value) %EACH", [(1,), (2,)]),
    "bare VALUES": ("SELECT * FROM VALUES (1, 5), (2, 6) AS t(id, value) %EACH AS m", [(1,), (2,)]),
    "table function": ("SELECT * FROM range(2) %EACH", [(0,), (1,)]),
    "FROM first": ("FROM t %FALLS SELECT f + 1 AS g", [(2,), (4,)]),
    "CTE that feeds": (
        "WITH c AS (SELECT * FROM t WHERE id > 2), d AS (SELECT * FROM c) SELECT * FROM d %EACH",
        [(3,), (4,)],
    ),
    "CTE named like its table": ("WITH t AS (SELECT * FROM t WHERE id > 2) SELECT * FROM t %EACH", [(3,), (4,)]),
    "CTE hidden by another": (
        "WITH c AS (SELECT 1 AS id) SELECT * FROM (WITH c AS (SELECT id + 1 AS id FROM c) SELECT * FROM c %EACH)",
        [(2,)],
    ),
    "CTE with a clause, used twice": (
        "WITH m AS (SELECT * FROM t %FALLS) SELECT a.f, b.l FROM m a JOIN m b ON a.k = b.k",
        [(1, 2), (3, 4)],
    ),
    "CTE with a clause feeds another": ("WITH m AS (SELECT * FROM t %FALLS) SELECT * FROM m %LENGTH", [(2,)]),
    "recursive CTE beside and below": (
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) "
        "SELECT c.n, m.l FROM c JOIN (SELECT n AS id FROM c) %EACH AS m ON m.l = c.n WHERE c.n > 1",
        [(2, 2), (3, 3)],
    ),
    "UNION and ORDER BY": (
        "SELECT f FROM t %FALLS UNION ALL SELECT l + 10 FROM t %EACH WHERE l > 3 ORDER BY 1",
        [(1,), (14,), (3,)],
    ),
    "scalar sub-query": ("SELECT (SELECT max(l) FROM t %EACH) AS x", [(4,)]),
    "correlated outside of the input": (
        "SELECT id FROM t o WHERE EXISTS (SELECT 1 FROM t %FALLS AS m WHERE m.l = o.id)",
        [(2,), (4,)],
    ),
    "LATERAL VIEW beside": (
        "SELECT l, b FROM (SELECT * FROM t %EACH) LATERAL VIEW posexplode(array(7)) e AS t, b WHERE l < 2",
        [(1, 7)],
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_clause_may_replace_any_table(t: DataFrame, place: str) -> None:
    query, expected = PLACES[place]
    query = query.replace("%FALLS", FALLS).replace("%EACH", EACH).replace("%LENGTH", LENGTH)
    assert rows(ost.sql(query, t=t)) == expected


def test_text_around_the_clause_is_unchanged(spark: SparkSession, t: DataFrame, monkeypatch: Any) -> None:
    statements: list[str] = []
    ask = SparkSession.sql

    def spy(self: SparkSession, text: str, *args: Any, **named: Any) -> DataFrame:
        statements.append(text)
        return ask(self, text, *args, **named)

    monkeypatch.setattr(SparkSession, "sql", spy)
    before = (
        "SELECT  'it''s {} {x} MATCH_RECOGNIZE (' AS s, \"}{\" AS u,/* { MATCH_RECOGNIZE ( */ `l` AS `a {b}`\nFROM "
    )
    behind = " AS m -- { MATCH_RECOGNIZE (\nWHERE  L>3"
    result = ost.sql(f"{before}t {EACH}{behind}", t=t)
    doubled = [text.replace("{", "{{").replace("}", "}}") for text in (before, behind)]
    assert statements[-1] == f"{doubled[0]}{{ost_mr0}}{doubled[1]}"
    assert result.columns == ["s", "u", "a {b}"]
    assert rows(result) == [("it's {} {x} MATCH_RECOGNIZE (", "}{", 4)]
    plain = "SELECT '{}' AS b"
    assert rows(ost.sql(plain, spark=spark)) == [("{}",)]
    assert statements[-1] == plain


def test_tables_by_name(spark: SparkSession, t: DataFrame) -> None:
    assert rows(ost.sql(f"SELECT l FROM Trades {EACH} WHERE l < 2", TRADES=t)) == [(1,)]
    odd = {"my t.x": t, "my_t_x": t.where("id = 3")}
    assert rows(ost.sql(f"SELECT m.l, my_t_x.id FROM `My t.x` {EACH} m, my_t_x WHERE l = 2", **odd)) == [(2, 3)]
    assert rows(ost.sql("SELECT * FROM `a b`, a_b", **{"a b": spark.range(1), "a_b": spark.range(5, 6)})) == [(0, 5)]


def test_tables_of_the_catalog(spark: SparkSession, t: DataFrame) -> None:
    t.createOrReplaceTempView("ost_view")
    spark.range(1).createOrReplaceGlobalTempView("ost_ones")
    try:
        query = f"SELECT m.l, n.l FROM ost_view AS v {EACH} m JOIN global_temp.ost_ones {EACH} n ON m.l = n.l + 1"
        assert rows(ost.sql(query, spark=spark)) == [(1, 0)]
        assert rows(ost.sql(f"SELECT f FROM `ost_view` {FALLS}", spark=spark)) == [(1,), (3,)]
    finally:
        spark.catalog.dropGlobalTempView("ost_ones")
        spark.catalog.dropTempView("ost_view")


def test_nothing_is_left_in_the_catalog(spark: SparkSession, t: DataFrame) -> None:
    before = {table.name for table in spark.catalog.listTables()}
    ost.sql(f"WITH c AS (SELECT * FROM t) SELECT * FROM c {EACH} m JOIN t ON m.l = t.id", t=t).collect()
    with pytest.raises(ost.QueryError):
        ost.sql(f"SELECT nope FROM t {EACH}", t=t)
    assert {table.name for table in spark.catalog.listTables()} == before


def test_parameters_by_name_and_by_position(t: DataFrame) -> None:
    named = f"SELECT :a AS a, l FROM (SELECT * FROM t WHERE id > :low) {EACH} WHERE l < :high"
    assert rows(ost.sql(named, t=t, args={"a": "x", "low": 2, "high": 4})) == [("x", 3)]
    each = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(id) AS l PATTERN (A B??))"  # no values in there
    placed = (
        "WITH c AS (SELECT * FROM t WHERE id > ?), d AS (SELECT ? AS u) "
        f"SELECT ? AS a, u, l FROM d, (SELECT * FROM c WHERE id < ?) {each} WHERE l <> ?"
    )
    assert rows(ost.sql(placed, t=t, args=[1, "u", "a", 4, 3])) == [("a", "u", 2)]
    with pytest.raises(ost.QueryError, match="unbound parameter"):
        ost.sql(placed, t=t, args=[1, "u", "a"])


def test_parameters_inside_a_clause(t: DataFrame) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES id AS l, {} AS s PATTERN (A B??) DEFINE A AS k = {} AND id > {})"
    text = "it's \\ ${spark.app.name}"
    named = f"SELECT * FROM t {clause.format(':s', ':k', ':low')} WHERE l < :high"
    assert rows(ost.sql(named, t=t, args={"s": text, "k": "b", "low": 2, "high": 4})) == [(3, text)]
    placed = f"SELECT ?, l, s FROM (SELECT * FROM t WHERE id > ?) {clause.format('?', '?', '?')} WHERE l < ?"
    assert rows(ost.sql(placed, t=t, args=["x", 1, text, "b", 2, 4])) == [("x", 3, text)]
    with pytest.raises(ost.QueryError, match="UNKNOWN_PARAMETER: :low has no value"):
        ost.sql(named, t=t, args={"s": text, "k": "b", "high": 4})


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM t o WHERE EXISTS (SELECT 1 FROM (SELECT * FROM t i WHERE i.id = o.id) {EACH})",
        f"SELECT * FROM t o, LATERAL (SELECT * FROM (SELECT o.id AS id) {EACH})",
        f"SELECT * FROM t o, LATERAL (SELECT o.id AS id) s {EACH}",
        f"WITH RECURSIVE c AS (SELECT id FROM t UNION ALL SELECT id FROM c {EACH}) SELECT * FROM c",
        f"WITH RECURSIVE c AS (SELECT id FROM t UNION ALL (WITH d AS (TABLE c) SELECT id FROM d {EACH})) TABLE c",
    ],
)
def test_correlated_input_is_refused(t: DataFrame, query: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.sql(query, t=t)
    assert caught.value.code == "CORRELATED_INPUT"
    assert "^" in str(caught.value)


@pytest.mark.parametrize("source", ["c", "(SELECT * FROM c)", "(WITH d AS (SELECT * FROM c) SELECT * FROM d)"])
def test_a_clause_in_the_recursive_term_of_its_own_input(spark: SparkSession, source: str) -> None:
    with pytest.raises(ost.QueryError, match="recursive table") as caught:
        ost.sql(
            f"""WITH RECURSIVE c AS (SELECT 1 AS id UNION ALL
                SELECT * FROM {source} MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(id) AS id PATTERN (A)))
            SELECT * FROM c""",
            spark=spark,
        )
    assert caught.value.code == "CORRELATED_INPUT"


def test_an_incomplete_statement_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.sql("SELECT * FROM", spark=spark)
    assert caught.value.code == "ANALYSIS_ERROR"  # for Spark, FROM names the column


def test_names_with_blanks_dots_keywords_and_quotes(spark: SparkSession) -> None:
    odd = spark.createDataFrame([(1, "x", 5, 0), (2, "x", 4, 0)], ["order", "a b", "c.d", "e`f{}"])
    result = ost.sql(
        "SELECT * FROM odd MATCH_RECOGNIZE (PARTITION BY `a b` ORDER BY `order` "
        "MEASURES `select`.`c.d` AS `from.here`, LAST(`e``f{}`) AS `x{}` ALL ROWS PER MATCH "
        "PATTERN (`select` B+) DEFINE B AS `c.d` < PREV(`c.d`)) AS `m n`",
        odd=odd,
    )
    assert result.columns == ["a b", "order", "from.here", "x{}", "c.d", "e`f{}"]
    assert rows(result) == [("x", 1, 5, 0, 5, 0), ("x", 2, 5, 0, 4, 0)]


# --- laziness, streams, order -----------------------------------------------------------------------------------------


def test_nothing_runs_before_an_action(spark: SparkSession) -> None:
    fails = spark.sql("SELECT id, raise_error('ran') AS v FROM range(3)").selectExpr("id", "CAST(v AS INT) AS v")
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    result = ost.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES sum(v) AS s PATTERN (A+)) m", t=fails)
    assert result.columns == ["s"]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) == jobs
    with pytest.raises(Exception, match="ran"):
        result.collect()


def test_no_order_by_warns(t: DataFrame) -> None:
    with pytest.warns(OstinatoWarning, match="without ORDER BY"):
        ost.sql("SELECT * FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A+))", t=t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ost.sql(f"SELECT * FROM t {EACH}", t=t)


# --- sessions with settings of their own ------------------------------------------------------------------------------


def session_with(spark: SparkSession, **settings: str) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    for name, value in settings.items():
        session.conf.set(f"spark.sql.{name.replace('__', '.')}", value)
    return session


def test_double_quotes_follow_the_session(spark: SparkSession) -> None:
    query = 'SELECT * FROM range(1) MATCH_RECOGNIZE (ORDER BY id MEASURES "id" AS x, CLASSIFIER() AS "c" PATTERN ("a"))'
    assert rows(ost.sql(query, spark=spark)) == [("id", "a")]
    quoted = session_with(spark, ansi__doubleQuotedIdentifiers="true")
    assert rows(ost.sql(query, spark=quoted)) == [(0, "a")]
    one = quoted.sql("SELECT 1 AS id, 'A' AS kind")
    assert rows(ost.sql('SELECT "m"."x" FROM "one" ' + query[query.index("MATCH_") :] + ' AS "m"', one=one)) == [(1,)]
    event = ost.events(
        'PATTERN SEQ(A a) WHERE "id" = 1 RETURN COUNT(*) AS n', type={"A": """"kind" = 'A'"""}, time="id"
    )
    assert [int(row[0]) for row in rows(one.transform(event))] == [1]
    quoted.conf.set("spark.sql.ansi.enabled", "false")  # Spark reads the setting only with the other one
    assert rows(ost.sql(query, spark=quoted)) == [("id", "a")]


def test_case_follows_the_session(spark: SparkSession) -> None:
    strict = session_with(spark, caseSensitive="true")
    two = strict.sql("SELECT 1 AS id, 'small' AS v, 'large' AS V")
    clause = "PARTITION BY V ORDER BY id MEASURES LAST(v) AS small, LAST(V) AS large PATTERN (A) DEFINE A AS v > V"
    result = two.transform(ost.match_recognize(clause))
    assert result.columns == ["V", "small", "large"]
    assert rows(result) == [("large", "small", "large")]
    shown = two.transform(ost.match_recognize("ORDER BY id MEASURES LAST(v) AS x ALL ROWS PER MATCH PATTERN (A)"))
    assert shown.columns == ["id", "x", "v", "V"]
    assert rows(shown) == [(1, "small", "small", "large")]
    with pytest.raises(ost.QueryError, match="UNKNOWN_COLUMN"):
        two.transform(ost.match_recognize("ORDER BY ID MEASURES LAST(v) AS x PATTERN (A)"))
    clause = "MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(v) AS x PATTERN (A))"
    tables = {"t": two, "T": strict.sql("SELECT 2 AS id, 'other' AS v")}
    assert rows(ost.sql(f"SELECT x FROM T {clause}", **tables)) == [("other",)]
    assert rows(ost.sql(f"SELECT x, id FROM t {clause} JOIN T", **tables)) == [("small", 2)]
    lax = spark.sql("SELECT 1 AS id, 'small' AS Value")
    result = lax.transform(ost.match_recognize("order by ID measures last(vAlUe) as x pattern (a)"))
    assert rows(result) == [("small",)]
    with pytest.raises(ost.QueryError, match="AMBIGUOUS_COLUMN"):
        spark.sql("SELECT 1 AS id, 2 AS v, 3 AS V").transform(
            ost.match_recognize("ORDER BY id MEASURES LAST(v) AS x PATTERN (A)")
        )


def test_ansi_follows_the_session(spark: SparkSession) -> None:
    clause = "ORDER BY id MEASURES sum(big) AS s PATTERN (A+) DEFINE A AS CAST(x AS INT) IS NULL"
    text = "SELECT id, 9223372036854775807 AS big, concat('x', id) AS x FROM range(2)"
    lax = session_with(spark, ansi__enabled="false")
    assert rows(lax.sql(text).transform(ost.match_recognize(clause))) == [(-2,)]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        spark.sql(text).transform(ost.match_recognize(clause)).collect()
    measure = ost.match_recognize("ORDER BY id MEASURES sum(big) AS s PATTERN (A+)")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        spark.sql(text).transform(measure).collect()
