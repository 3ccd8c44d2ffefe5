"""Forms of other engines that no page of docs/compatibility/ lists name what to write, too."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.foreign_syntax import explain_around
from ostinato.errors import QueryError, Span


def refusal(text: str) -> QueryError:
    with pytest.raises(QueryError) as refused:
        parse_clause(text)
    return refused.value


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("A, B", "A B"),
        ("A -> B", "A B"),
        ("[A B]", "(A | B)"),
        ("A . B", "ANY_ROW"),
        ("!A B", "OTHER*"),
        ("A & B", "PERMUTE(A, B)"),
        ("A B WITHIN INTERVAL '1' HOUR", "behind the pattern"),
        ("A B WITHIN 10 MINUTES", "behind the pattern"),
    ],
)
def test_patterns(pattern: str, hint: str) -> None:
    assert hint in (refusal(f"ORDER BY t MEASURES A.x AS x PATTERN ({pattern})").hint or "")


@pytest.mark.parametrize(
    ("clause", "caret", "hint"),
    [
        ("ALL ROWS PER MATCH SHOW UNMATCHED ROWS PATTERN (A)", "SHOW UNMATCHED", "WITH UNMATCHED ROWS"),
        ("ONE ROW PER MATCH WITH TIMEOUT ROWS PATTERN (A)", "WITH TIMEOUT ROWS", "SHOW TIMEOUT MATCHES"),
        ("ONE ROW PER MATCH OMIT EMPTY MATCHES PATTERN (A)", "MATCH OMIT EMPTY", "ALL ROWS PER MATCH"),
        ("AFTER MATCH SKIP TO CURRENT ROW PATTERN (A)", "TO CURRENT ROW", "ALL MATCHES"),
        ("AFTER MATCH SKIP PAST LAST A PATTERN (A)", "SKIP PAST", "SKIP PAST LAST ROW"),
        ("MEASURES RUNNING A.x AS x PATTERN (A)", "RUNNING A.x", "LAST(A.x)"),
        ("MEASURES MAP['a', 1] AS x PATTERN (A)", "MAP[", "write map("),
        ("MEASURES N'x' AS x PATTERN (A)", "N'x'", "leave the N out"),
        ("PATTERN (A) DEFINE A = x > 1", "=", "DEFINE variable AS condition"),
    ],
)
def test_clauses(clause: str, caret: str, hint: str) -> None:
    error = refusal(f"ORDER BY t {clause}")
    assert hint in (error.hint or "")
    assert error.text is not None
    assert error.span is not None
    assert error.text[error.span.start : error.span.end] == caret


@pytest.mark.parametrize(
    "clause",
    [
        "MEASURES CAST(x AS INTERVAL DAY TO SECOND) AS y PATTERN (A) DEFINE A AS x x",
        "MEASURES mod, x AS y PATTERN (A)",
        "MEASURES x AS running, y PATTERN (A)",
        "PATTERN (A ** B)",
    ],
)
def test_other_errors_keep_their_words(clause: str) -> None:
    error = refusal(f"ORDER BY t {clause}")
    assert not any(word in (error.hint or "") for word in ("date_trunc", "mod(", "LAST(x)", "power"))


@pytest.mark.parametrize(
    ("text", "near", "hint"),
    [
        ("SELECT TOP 5 * FROM t", "5", "LIMIT"),
        ("SELECT * FROM t OFFSET 5 ROWS", "ROWS", "OFFSET 10"),
        ("SELECT a FROM t, u WHERE t.a = u.a (+)", ")", "LEFT JOIN"),
        ('SELECT a AS "b" FROM t', '"b"', "`name`"),
    ],
)
def test_around_a_clause(text: str, near: str, hint: str) -> None:
    at = text.rindex(near)
    error = QueryError("SYNTAX_ERROR", "refused by Spark", text=text, span=Span(at, at + 1))
    explain_around(error)
    assert hint in (error.hint or "")


def test_a_form_is_named_in_the_whole_statement() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x MEASURES A.x ** 2 AS y PATTERN (A))"
    with pytest.raises(ost.QueryError, match="power"):
        ost.match(text, pa.table({"x": [1]}))


def test_a_form_is_named_in_a_window() -> None:
    window = "ORDER BY x ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A) DEFINE A AS x ** 2 > 1"
    with pytest.raises(ost.QueryError, match="power"):
        ost.match(f"SELECT count(*) OVER ({window}) AS n FROM t", pa.table({"x": [1]}))
