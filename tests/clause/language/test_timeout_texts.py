"""SHOW TIMEOUT MATCHES: its position in a clause, the clauses that it needs or excludes, and the builder."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.query.clause import Output

WITHIN = "WITHIN INTERVAL '10' MINUTE"


def clause(rows: str, within: str = WITHIN, mode: str = "") -> str:
    return f"ORDER BY ts MEASURES count(*) AS n {rows} {mode} PATTERN (A B) {within}"


@pytest.mark.parametrize(
    ("rows", "output"),
    [
        ("ONE ROW PER MATCH", Output.ONE_ROW),
        ("ALL ROWS PER MATCH", Output.ALL_ROWS),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", Output.ALL_ROWS),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", Output.ALL_ROWS_OMIT_EMPTY),
    ],
)
def test_the_words_follow_rows_per_match(rows: str, output: Output) -> None:
    without, with_timeouts = parse_clause(clause(rows)), parse_clause(clause(f"{rows} show timeout matches"))
    assert (without.output, without.show_timeouts) == (output, False)
    assert (with_timeouts.output, with_timeouts.show_timeouts) == (output, True)
    assert parse_clause(render_clause(with_timeouts)) == with_timeouts
    assert "SHOW TIMEOUT MATCHES" not in render_clause(without)


@pytest.mark.parametrize(
    "rows",
    [
        "SHOW TIMEOUT MATCHES",
        "ONE ROW PER MATCH SHOW TIMEOUT",
        "ONE ROW PER MATCH SHOW TIMEOUT MATCHES SHOW TIMEOUT MATCHES",
        "ALL ROWS PER MATCH SHOW TIMEOUT MATCHES SHOW EMPTY MATCHES",
        "ONE ROW PER MATCH OMIT TIMEOUT MATCHES",
    ],
)
def test_the_words_are_errors_elsewhere(rows: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        parse_clause(clause(rows))
    assert caught.value.code == "SYNTAX_ERROR"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (clause("ONE ROW PER MATCH SHOW TIMEOUT MATCHES", within=""), "TIMEOUT_WITHOUT_WITHIN"),
        (clause("ONE ROW PER MATCH SHOW TIMEOUT MATCHES", within="MAXLENGTH 3"), "TIMEOUT_WITHOUT_WITHIN"),
        (clause("ONE ROW PER MATCH SHOW TIMEOUT MATCHES", mode="ALL MATCHES"), "TIMEOUT_WITH_MODE"),
        (clause("ALL ROWS PER MATCH SHOW TIMEOUT MATCHES", mode="INCREMENTAL MATCHES"), "TIMEOUT_WITH_MODE"),
        (clause("ONE ROW PER MATCH SHOW TIMEOUT MATCHES", mode="MAXIMAL MATCHES"), "TIMEOUT_WITH_MODE"),
        (clause("ALL ROWS PER MATCH WITH UNMATCHED ROWS SHOW TIMEOUT MATCHES"), "TIMEOUT_WITH_UNMATCHED"),
    ],
)
def test_clauses_that_timeouts_need_or_exclude(text: str, code: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        parse_clause(text)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == "SHOW TIMEOUT MATCHES"


def test_the_builder_gives_the_same_query() -> None:
    query = ost.pattern("A B").order_by("ts").measures(n="count(*)").show_timeouts()
    assert query.within("10 MINUTES").query == parse_clause(clause("ONE ROW PER MATCH SHOW TIMEOUT MATCHES"))
    assert query.within("10 MINUTES").all_rows_per_match(omit_empty=True).query == parse_clause(
        clause("ALL ROWS PER MATCH OMIT EMPTY MATCHES SHOW TIMEOUT MATCHES")
    )
    with pytest.raises(ost.QueryError, match="TIMEOUT_WITHOUT_WITHIN"):
        _ = query.query


def test_timeout_may_be_a_name() -> None:
    query = parse_clause("ORDER BY ts MEASURES timeout AS show PATTERN (TIMEOUT MATCHES) DEFINE TIMEOUT AS show > 1")
    assert not query.show_timeouts
