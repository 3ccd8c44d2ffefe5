"""Wrong queries, each with the line of carets below its text, and the hint where it matters."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import OstinatoWarning, QueryError

COLUMNS = ("id", "price", "kind")

WRONG = """
    ORDER BY id MEASURES count(*) AS n PATTERN (A) DEFINE A AS id > 0, D AS price > 1
                                                                       ^ VARIABLE_NOT_IN_PATTERN
    ORDER BY id MEASURES count(*) AS n PATTERN (A) DEFINE A AS id > 0, A AS price > kind
                                                                       ^ DUPLICATE_DEFINITION
    ORDER BY id MEASURES count(*) AS n PATTERN (A D) SUBSET D = (A) DEFINE D AS id > 0
                                                            ^ DUPLICATE_SUBSET
    ORDER BY id MEASURES count(*) AS n PATTERN (A I) SUBSET U = (A, D) DEFINE I AS id > 0
                                                                    ^ UNKNOWN_VARIABLE
    ORDER BY id MEASURES count(*) AS n PATTERN (A) SUBSET I = (A) DEFINE I AS id > 0
                                                                         ^ VARIABLE_NOT_IN_PATTERN
    ORDER BY id MEASURES id AS d, price AS D PATTERN (A) DEFINE A AS id > 0
                                           ^ DUPLICATE_COLUMN
    PARTITION BY id, kind, id MEASURES price AS p PATTERN (A)
                           ^^ DUPLICATE_COLUMN
    PARTITION BY kind ORDER BY id MEASURES price + 1 AS price ALL ROWS PER MATCH PATTERN (A)
                                                        ^^^^^ DUPLICATE_COLUMN
    PARTITION BY kind ORDER BY id MEASURES price AS kind PATTERN (A)
                                                    ^^^^ DUPLICATE_COLUMN
    ORDER BY id PATTERN (A) DEFINE A AS prize > 0
                                        ^^^^^ UNKNOWN_COLUMN did you mean 'price'?
    ORDER BY id ONE ROW PER MATCH PATTERN (A)
                ^^^^^^^^^^^^^^^^^ NO_OUTPUT_COLUMNS
    ORDER BY id MEASURES count(A) AS n PATTERN (A)
                               ^ UNKNOWN_COLUMN 'A' is a pattern variable: count(A.*) counts its rows
    ORDER BY id MEASURES FIRST(A) AS n PATTERN (A)
                               ^ UNKNOWN_COLUMN name a column of its rows, such as FIRST(A.price)
    ORDER BY id MEASURES id - A AS n PATTERN (A)
                              ^ UNKNOWN_COLUMN 'A' is a pattern variable: name a column of its rows, such as A.price
    ORDER BY id MEASURES price AS a LAST(price) AS b PATTERN (A)
                                   ^ SYNTAX_ERROR a comma is missing between the measures
    PARTITION BY kind price ORDER BY id MEASURES id AS a PATTERN (A)
                     ^ SYNTAX_ERROR a comma is missing between the columns of PARTITION BY
    ORDER BY id DESC price MEASURES id AS a PATTERN (A)
                    ^ SYNTAX_ERROR a comma is missing between the columns of ORDER BY
    ORDER BY id MEASURES id AS a PATTERN (A B) SUBSET U = (A) V = (A, B)
                                                             ^ SYNTAX_ERROR missing between the union variables
    ORDER BY id MEASURES id AS a PATTERN (A B) SUBSET U = (A B)
                                                            ^ SYNTAX_ERROR a comma is missing between the variables
    ORDER BY id MEASURES id AS a PATTERN (A B) DEFINE A AS id > 0 B AS price > 1
                                                                 ^ SYNTAX_ERROR missing between the conditions
    ORDER BY id MEASURES id AS a ALL MATCHES AFTER MATCH SKIP TO NEXT ROW PATTERN (A)
                                 ^^^^^^^^^^^ SKIP_WITH_MODE
    ORDER BY id ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -}) DEFINE A AS '{-' < kind
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ EXCLUSION_WITH_UNMATCHED
    ORDER BY id MEASURES 'SHOW TIMEOUT MATCHES' AS m ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A)
                                                                       ^^^^^^^^^^^^^^^^^^^^ TIMEOUT_WITHOUT_WITHIN
    MEASURES id AS a PATTERN (A) WITHIN 5 DAYS DEFINE A AS 'WITHIN' <> kind
                                 ^^^^^^^^^^^^^ INVALID_WITHIN
""".strip("\n").split("\n")
"""Pairs of lines: the query; carets, the code, and text that the message or the hint has."""


@pytest.mark.parametrize(("query", "expected"), [*zip(WRONG[::2], WRONG[1::2], strict=True)], ids=str.strip)
def test_the_caret_stands_under_the_wrong_words(query: str, expected: str) -> None:
    carets, code, *words = expected.strip().split(" ", 2)
    at = expected.index("^")
    with pytest.raises(QueryError) as caught:
        bind(parse_clause(query), COLUMNS)
    error = caught.value
    assert error.span is not None
    assert (error.code, error.span.start, error.span.end - error.span.start) == (code, at, len(carets)), str(error)
    assert "".join(words) in str(error)


def test_a_wrong_clause_of_a_statement_has_its_caret_in_the_statement() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY id MEASURES id AS d, id AS d PATTERN (A)) AS d"
    with pytest.raises(QueryError) as caught:
        ost.match(text, pa.table({"id": [1]}))
    assert caught.value.code == "DUPLICATE_COLUMN"
    assert caught.value.span is not None
    assert caught.value.text is not None
    assert caught.value.text[: caught.value.span.start].endswith("id AS d, id AS ")


@pytest.mark.parametrize("condition", ["day - day <= 3", "day - PREV(day) <= 3", "day - A.day <= 3", "3 < day - A.day"])
def test_a_difference_of_dates_is_compared_with_an_interval(condition: str) -> None:
    days = pa.table({"day": [date(2024, 1, 1)]})
    with pytest.raises(QueryError, match=r"INTERVAL '3' DAY, or take datediff"):
        ost.match(f"ORDER BY day MEASURES A.day AS d PATTERN (A B) DEFINE B AS {condition}", days)


def test_a_text_in_double_quotes_that_names_a_column_gives_a_warning() -> None:
    clause = parse_clause("""ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS "Price" > '3' AND kind = "x" """)
    with pytest.warns(OstinatoWarning, match='^"Price" is a text here, not the column: write `Price`') as warned:
        bind(clause, COLUMNS)
    assert len(warned) == 1


def test_a_text_in_double_quotes_where_they_enclose_names() -> None:
    text = 'ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS kind = "x"'
    with pytest.raises(QueryError, match="a text is written 'x'"):
        bind(parse_clause(text, double_quoted_identifiers=True), COLUMNS)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("max(v) FILTER (WHERE v)", "FILTER needs a condition, not BIGINT"),
        ("count(*) FILTER (WHERE v)", "count_if or FILTER takes a condition, not BIGINT"),
    ],
)
def test_filter_needs_a_condition(measure: str, message: str) -> None:
    with pytest.raises(ost.QueryError, match=message):
        ost.match(f"ORDER BY v MEASURES {measure} AS m PATTERN (A)", pa.table({"v": [1]}))
