"""The builder gives the same query as the text."""

from __future__ import annotations

from datetime import timedelta

import pytest

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause


def test_every_method_of_the_builder_renders_its_clause() -> None:
    built = (
        ost.pattern("A b+ (C | D){2,}?")
        .partition_by("symbol", "`my key`")
        .order_by("ts DESC NULLS FIRST", "id")
        .define(A="price > 1", B="B.price < A.price")
        .measures(top="LAST(U.price)", n="count(*)")
        .subset(U=("A", "b"))
        .all_rows_per_match(with_unmatched=True)
        .skip_to_first("c")
        .within("10 MINUTES")
        .max_length(7)
    )
    text = """
        PARTITION BY symbol, `my key` ORDER BY ts DESC NULLS FIRST, id
        MEASURES LAST(U.price) AS top, count(*) AS n
        ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO FIRST C
        PATTERN (A B+ (C | D){2,}?) WITHIN INTERVAL '10' MINUTE MAXLENGTH 7
        SUBSET U = (A, B) DEFINE A AS price > 1, B AS B.price < A.price"""
    assert built.query == parse_clause(text)


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (ost.pattern("A").skip_to_next_row(), "AFTER MATCH SKIP TO NEXT ROW"),
        (ost.pattern("A").skip_to_last("A"), "AFTER MATCH SKIP TO LAST A"),
        (ost.pattern("A").skip_to_next_row().skip_past_last_row(), "AFTER MATCH SKIP PAST LAST ROW"),
        (ost.pattern("A").all_matches(), "ALL MATCHES"),
        (ost.pattern("A").incremental_matches(), "INCREMENTAL MATCHES"),
        (ost.pattern("A").maximal_matches(), "MAXIMAL MATCHES"),
    ],
)
def test_skip_rules(built: ost.PatternQuery, words: str) -> None:
    assert built.measures(x="1").query == parse_clause(f"MEASURES 1 AS x {words} PATTERN (A)")


def test_outputs() -> None:
    query = ost.pattern("A").measures(x="1")
    assert query.all_rows_per_match().one_row_per_match() == query
    assert query.all_rows_per_match(omit_empty=True).query == parse_clause(
        "MEASURES 1 AS x ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A)"
    )
    with pytest.raises(ost.QueryError):
        query.all_rows_per_match(omit_empty=True, with_unmatched=True)


def test_within_takes_a_timedelta() -> None:
    query = ost.pattern("A").order_by("ts").measures(x="1")
    assert query.within(timedelta(seconds=1.5)).query.within == timedelta(seconds=1.5)


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: ost.pattern("A{3,1}"), "INVALID_QUANTIFIER"),
        (lambda: ost.pattern("A").define(A="price > 1, B AS TRUE"), "SYNTAX_ERROR"),
        (lambda: ost.pattern("A").define(B="TRUE").measures(x="1").query, "VARIABLE_NOT_IN_PATTERN"),
        (lambda: ost.pattern("A").order_by("ts PATTERN (B)"), "SYNTAX_ERROR"),
        (lambda: ost.pattern("A").within("3 months 1 day"), "INVALID_WITHIN"),
        (lambda: ost.pattern("A").max_length(0), "INVALID_MAXLENGTH"),
    ],
)
def test_wrong_arguments_raise_at_once(build: object, code: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        build()  # type: ignore[operator]
    assert caught.value.code == code
