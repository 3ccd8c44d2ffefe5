"""Positions of clauses and tables in a statement. Letters are tables. The clause is always the same."""

from __future__ import annotations

import pytest

from ostinato.clause.language.statement_spans import Clause, Statement, read_statement
from ostinato.errors import QueryError

M = "MATCH_RECOGNIZE (PATTERN (A))"


def read(text: str) -> Statement:
    return read_statement(text.replace("%M", M))


def inputs(text: str) -> list[str]:
    statement = read(text)
    return [statement.text[clause.input.start : clause.input.end] for clause in statement.clauses]


def tables(text: str) -> list[str]:
    return [table.name for table in read(text).tables]


def only_clause(text: str) -> Clause:
    (clause,) = read(text).clauses
    return clause


# --- clauses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t %M", ["t"]),
        ("select * from t match_recognize (pattern (A))", ["t"]),
        ("SELECT * FROM t AS x %M AS m", ["t AS x"]),
        ("SELECT * FROM db.t x %M", ["db.t x"]),
        ("SELECT * FROM `a b`.`c.d` %M", ["`a b`.`c.d`"]),
        ("SELECT * FROM (SELECT * FROM t WHERE a IN (1, 2)) s %M", ["(SELECT * FROM t WHERE a IN (1, 2)) s"]),
        ("SELECT * FROM (t) %M", ["(t)"]),
        ("SELECT * FROM (a JOIN b USING (id)) %M", ["(a JOIN b USING (id))"]),
        ("SELECT * FROM (t %M)", ["t"]),
        ("SELECT * FROM range(10) %M", ["range(10)"]),
        ("SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b) %M", ["VALUES (1, 2), (3, 4) AS t(a, b)"]),
        ("SELECT * FROM (VALUES (1, 2), (3, 4)) t(a, b) %M", ["(VALUES (1, 2), (3, 4)) t(a, b)"]),
        ("SELECT * FROM a %M AS m JOIN b %M AS n ON m.x = n.x", ["a", "b"]),
        ("SELECT * FROM a, b %M, c %M", ["b", "c"]),
        ("SELECT * FROM a %M UNION ALL SELECT * FROM b %M", ["a", "b"]),
        ("SELECT (SELECT max(x) FROM a %M) FROM b WHERE EXISTS (SELECT 1 FROM c %M)", ["a", "c"]),
        ("WITH w AS (SELECT * FROM a %M) SELECT * FROM w JOIN b %M", ["a", "b"]),
        ("FROM a %M SELECT x", ["a"]),
        ("WITH w AS (FROM a SELECT x) FROM w %M SELECT x", ["w"]),
        ("INSERT INTO out SELECT * FROM a %M", ["a"]),
    ],
)
def test_the_input_is_the_table_before_the_clause(text: str, expected: list[str]) -> None:
    assert inputs(text) == expected


def test_a_clause_behind_a_clause_is_one_clause() -> None:
    assert inputs("SELECT * FROM t %M AS m %M AS n") == [f"t {M} AS m"]
    assert inputs("SELECT * FROM (SELECT * FROM t %M) %M") == [f"(SELECT * FROM t {M})"]


def test_spans_cover_input_body_and_parentheses() -> None:
    statement = read("SELECT x FROM t /* of */ MATCH_RECOGNIZE ( PATTERN (A) -- end )\n ) AS m WHERE x > 1")
    (clause,) = statement.clauses
    assert statement.text[clause.body.start : clause.body.end] == " PATTERN (A) -- end )\n "
    assert statement.text[: clause.span.start] == "SELECT x FROM "
    assert statement.text[clause.span.end :] == " AS m WHERE x > 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t %M", "t"),
        ("SELECT * FROM t x %M", "x"),
        ("SELECT * FROM t AS `x y` %M", "x y"),
        ("SELECT * FROM db.t %M", "t"),
        ("SELECT * FROM (SELECT 1) %M", None),
        ("SELECT * FROM (SELECT 1) s %M", "s"),
        ("SELECT * FROM (VALUES (1)) t(a) %M", "t"),
        ("SELECT * FROM VALUES (1) AS t(a) %M", "t"),
        ("SELECT * FROM range(3) %M", None),
        ("SELECT * FROM range(3) r %M", "r"),
        ("SELECT * FROM t %M %M", None),
        ("SELECT * FROM t %M AS m %M", "m"),
    ],
)
def test_the_name_that_qualifies_columns(text: str, expected: str | None) -> None:
    assert only_clause(text).input_name == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'FROM t MATCH_RECOGNIZE (' AS x FROM t",
        'SELECT "FROM t MATCH_RECOGNIZE (" AS x FROM t',
        "SELECT x FROM t -- MATCH_RECOGNIZE (",
        "SELECT x /* MATCH_RECOGNIZE ( /* nested */ ( */ FROM t",
        "SELECT `MATCH_RECOGNIZE` (1) FROM t",
        "SELECT match_recognize FROM t",
        r"SELECT 'it\'s MATCH_RECOGNIZE (' FROM t",
        "SELECT 'it''s MATCH_RECOGNIZE (' FROM t",
        r"SELECT r'\' FROM t",
    ],
)
def test_strings_comments_and_names_hold_no_clause(text: str) -> None:
    assert read(text).clauses == ()
    assert tables(text) == ["t"]


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM a, b x JOIN c ON a.i = c.i", ["a", "b", "c"]),
        ("SELECT * FROM a LEFT ANTI JOIN `b c` USING (i)", ["a", "b c"]),
        ("SELECT a, b FROM t WHERE a IN (SELECT a FROM u) GROUP BY a, b ORDER BY a, b", ["t", "u"]),
        ("SELECT * FROM (a JOIN (b CROSS JOIN c) USING (i)) WHERE i > 0", ["a", "b", "c"]),
        ("SELECT * FROM db.a, range(3), VALUES (1), (2)", []),
        ("SELECT extract(year FROM a), trim(BOTH 'x' FROM b), c IS DISTINCT FROM d FROM t", ["t"]),
        ("SELECT b FROM t LATERAL VIEW posexplode(x) e AS a, b WHERE b > 0", ["t"]),
        ("SELECT * FROM t, LATERAL (SELECT * FROM u)", ["t", "u"]),
        ("SELECT * EXCEPT (a) FROM t", ["t"]),
        ("SELECT sum(x) OVER (PARTITION BY a, b ORDER BY c) FROM t WINDOW w AS (ORDER BY d), v AS (ORDER BY e)", ["t"]),
        ("SELECT * FROM a %M JOIN b", ["b"]),
    ],
)
def test_plain_names_where_a_table_may_stand(text: str, expected: list[str]) -> None:
    assert tables(text) == expected


def test_common_tables_hide_names_only_where_they_are_known() -> None:
    assert tables("WITH a AS (SELECT * FROM a) SELECT * FROM a JOIN b") == ["a", "b"]
    assert tables("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM A) JOIN a") == ["a"]
    assert tables("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a") == []


def test_an_alias_is_distinguished_from_the_next_keyword() -> None:
    def aliased(text: str) -> list[bool]:
        return [table.aliased for table in read(text).tables]

    assert aliased("SELECT * FROM a x, b AS y, c JOIN d LEFT JOIN e ON true") == [True, True, False, False, False]
    assert aliased("SELECT * FROM a WHERE true") == aliased("SELECT * FROM a UNION SELECT * FROM a")[:1] == [False]


def test_a_clause_knows_the_common_tables_around_it() -> None:
    clause = only_clause(
        "WITH RECURSIVE a(n) AS (SELECT 1), b AS (SELECT 2) "
        "SELECT * FROM (WITH a AS (SELECT 3) SELECT * FROM a %M) WHERE EXISTS (WITH d AS (SELECT 4) SELECT * FROM d)"
    )
    assert [(table.name, table.recursive) for table in clause.tables] == [("a", True), ("b", True), ("a", False)]
    assert clause.in_subquery
    assert not only_clause("WITH a AS (SELECT 1) SELECT * FROM a %M").in_subquery


@pytest.mark.parametrize(
    "text", ["SELECT * FROM t %M", "select * from (t JOIN u) %M m -- end", "SELECT * FROM t %M AS `x y`"]
)
def test_a_clause_alone(text: str) -> None:
    assert read(text).is_clause_alone


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM t %M",
        "SELECT DISTINCT * FROM t %M",
        "WITH c AS (SELECT 1) SELECT * FROM c %M",
        "SELECT * FROM t %M AS m(a)",
        "SELECT * FROM t %M WHERE",
        "SELECT * FROM t %M AS",
        "SELECT * FROM t %M LIMIT 1",
        "SELECT * FROM t %M, u",
        "SELECT * FROM t %M;",
        "SELECT * FROM t",
    ],
)
def test_statements_that_are_more_than_a_clause(text: str) -> None:
    assert not read(text).is_clause_alone


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("SELECT * FROM t %M)", "SYNTAX_ERROR", ")"),
        ("SELECT * FROM (t %M", "SYNTAX_ERROR", "("),
        ("SELECT %M", "SYNTAX_ERROR", "MATCH_RECOGNIZE"),
        ("SELECT * FROM t WHERE x %M", "SYNTAX_ERROR", "MATCH_RECOGNIZE"),
        ("SELECT * FROM a JOIN b ON a.x = b.x %M", "SYNTAX_ERROR", "MATCH_RECOGNIZE"),
        ("SELECT * FROM %M", "SYNTAX_ERROR", "MATCH_RECOGNIZE"),
        ("SELECT * FROM t %M, 'open", "SYNTAX_ERROR", "'"),
        ("SELECT * FROM t %M /* open", "SYNTAX_ERROR", "/*"),
        ("SELECT * FROM o, LATERAL (SELECT o.x) s %M", "CORRELATED_INPUT", "("),
    ],
)
def test_syntax_errors_are_underlined(text: str, code: str, under: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(text)
    error = caught.value
    assert error.code == code
    assert error.text is not None
    assert error.span is not None
    assert error.text[error.span.start : error.span.end] == under


@pytest.mark.parametrize(
    "text", ["SELECT * FROM", "FROM", "SELECT * FROM t JOIN", "SELECT * FROM t,", "SELECT * FROM LATERAL"]
)
def test_a_table_that_is_missing_at_the_end_is_left_to_spark(text: str) -> None:
    assert read_statement(text).clauses == ()
