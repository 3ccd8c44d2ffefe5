"""Text of event queries -> EventQuery. Letters for types, small letters for variables."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.event_queries.language.event_query import (
    ANY_NUMBER,
    AT_MOST_ONE,
    ONE_OR_MORE,
    Absent,
    AllOf,
    AnyOf,
    Bound,
    EventPattern,
    EventQuery,
    EventSpan,
    EventWindows,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    ReturnAggregates,
    ReturnMatches,
    Same,
    Selection,
    StrictOn,
    TimeSpan,
    TimeWindows,
    TypeColumn,
    TypeDefinition,
    Without,
)
from ostinato.event_queries.language.event_render import render_event_pattern
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Name

A, B, C = (OneEvent(letter, letter) for letter in "ABC")


def plus(body: EventPattern) -> EventPattern:
    return Repeated(body, ONE_OR_MORE)


def ask(middle: str, returns: str = "COUNT(*)") -> EventQuery:
    return parse_event_query(f"PATTERN SEQ(A a, B+ b) {middle} RETURN {returns}")


# --- pattern ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", A),
        ("A a", OneEvent("A", "a")),
        ("A+ a", plus(OneEvent("A", "a"))),
        ("A+ a[]", plus(OneEvent("A", "a"))),
        ("A*", Repeated(A, ANY_NUMBER)),
        ("A?", Repeated(A, AT_MOST_ONE)),
        ("A{2}", Repeated(A, Quantifier(2, 2))),
        ("A{2,3} a", Repeated(OneEvent("A", "a"), Quantifier(2, 3))),
        ("(A){2,}", Repeated(A, Quantifier(2, None))),
        ("SEQ(A, B){,3}", Repeated(InOrder((A, B)), Quantifier(0, 3))),
        ("A{1,}", plus(A)),
        ("A{0,1}", Repeated(A, AT_MOST_ONE)),
        ("A+ WITHOUT C", Without(plus(A), Absent(C))),
        ("A+ a without C c OR B", AnyOf((Without(plus(OneEvent("A", "a")), Absent(OneEvent("C", "c"))), B))),
        ("SEQ(A, B) WITHOUT (B b OR C)", Without(InOrder((A, B)), Absent(AnyOf((OneEvent("B", "b"), C))))),
        ("A+ WITHOUT B WITHOUT C", Without(Without(plus(A), Absent(B)), Absent(C))),
        ("SEQ(A)", InOrder((A,))),
        ("seq(A, B, A)", InOrder((A, B, A))),
        ("(SEQ(A, B+))+", plus(InOrder((A, plus(B))))),
        ("SEQ(A, B+)+", plus(InOrder((A, plus(B))))),
        ("(A+)?", Repeated(plus(A), AT_MOST_ONE)),
        ("(A)", A),
        ("A OR B or C", AnyOf((A, B, C))),
        ("(A OR B) OR C", AnyOf((AnyOf((A, B)), C))),
        ("A AND B OR C", AnyOf((AllOf((A, B)), C))),
        ("SEQ(A OR B, C)", InOrder((AnyOf((A, B)), C))),
        ("SEQ(A, NOT C, B)", InOrder((A, Absent(C), B))),
        ("SEQ(A, NOT C+ c, B)", InOrder((A, Absent(plus(OneEvent("C", "c"))), B))),
        ("SEQ(A, NOT SEQ(B, C), A)", InOrder((A, Absent(InOrder((B, C))), A))),
        ("SEQ(A, NEG(C) c, B)", InOrder((A, Absent(OneEvent("C", "c")), B))),
        ("SEQ(A, NEG(C), B)", InOrder((A, Absent(C), B))),
        ("SEQ(A, NEG(SEQ(B, C)), A)", InOrder((A, Absent(InOrder((B, C))), A))),
        ("`ride request` r", OneEvent("ride request", "r")),
        ('"Skip" `where`', OneEvent("Skip", "where")),
        ("Seq s", OneEvent("Seq", "s")),
    ],
)
def test_patterns(text: str, expected: EventPattern) -> None:
    assert parse_event_pattern(text) == expected
    assert parse_event_pattern(render_event_pattern(expected)) == expected


def test_a_pattern_ends_where_the_next_clause_starts() -> None:
    assert parse_event_query("PATTERN A WHERE x > 1 RETURN COUNT(*)").pattern == A
    assert parse_event_query("PATTERN A+ STRICT RETURN COUNT(*)").pattern == plus(A)


def test_strict_on_lists_types() -> None:
    query = parse_event_query("PATTERN A+ STRICT ON (A, `my type`, A) WHERE x > 1 RETURN COUNT(*)")
    assert (query.selection, query.strict_on) == (Selection.STRICT, StrictOn(("A", "my type")))


# --- clauses ----------------------------------------------------------------------------------------------------------


def test_a_query_with_all_clauses() -> None:
    query = parse_event_query("""
        FROM rides TYPE kind TIME ts
        PATTERN SEQ(Request r, Travel+ t, NOT Pickup p)
        WHERE   SAME[driver, rider] AND t.speed < 10 AND NEXT(t).speed <= t.speed
        GROUP BY district
        WITHIN  30 MINUTES SLIDE 5 MINUTES
        RETURN  district, COUNT(*), COUNT(t), SUM(t.duration) AS total, AVG( t.speed )""")
    assert query.pattern == parse_event_pattern("SEQ(Request r, Travel+ t, NOT Pickup p)")
    assert (query.source, query.types, query.time) == ("rides", TypeColumn(Name("kind")), Name("ts"))
    assert query.same == (Same((Name("driver"), Name("rider"))),)
    assert query.where == (parse_expression("t.speed < 10"), parse_expression("NEXT(t).speed <= t.speed"))
    assert query.group_by == (Name("district"),)
    assert query.bound == TimeWindows(timedelta(minutes=30), timedelta(minutes=5))
    assert query.selection is Selection.ANY
    assert isinstance(query.returns, ReturnAggregates)
    names = [item.name for item in query.returns.items]
    assert names == ["district", "count(*)", "count(t)", "total", "avg(t.speed)"]


def test_clauses_of_the_head_have_any_order_and_are_optional() -> None:
    text = "PATTERN A RETURN COUNT(*)"
    expected = parse_event_query(f"FROM t TYPE kind TIME ts {text}")
    assert parse_event_query(f"TIME ts FROM t TYPE kind {text}") == expected
    without = parse_event_query(text)
    assert (without.source, without.types, without.time) == (None, None, None)


def test_types_by_condition() -> None:
    query = parse_event_query(
        "TYPE Slow AS speed < 10, `very fast` AS speed >= 90 TIME ts PATTERN Slow+ RETURN COUNT(*)"
    )
    slow = TypeDefinition("Slow", parse_expression("speed < 10"))
    assert query.types == (slow, TypeDefinition("very fast", parse_expression("speed >= 90")))


def test_tables_keep_their_quotes() -> None:
    assert parse_event_query("FROM `my db`.rides PATTERN A RETURN COUNT(*)").source == "`my db`.rides"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Selection.ANY),
        ("STRICT", Selection.STRICT),
        ("skip till next match", Selection.NEXT),
        ("SKIP TILL ANY MATCH", Selection.ANY),
    ],
)
def test_selection(text: str, expected: Selection) -> None:
    assert ask(text).selection is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 MINUTES", TimeSpan(timedelta(minutes=30))),
        ("1 HOUR 30 MINUTES", TimeSpan(timedelta(minutes=90))),
        ("INTERVAL '30' MINUTE", TimeSpan(timedelta(minutes=30))),
        ("INTERVAL '1 02:00:00' DAY TO SECOND", TimeSpan(timedelta(hours=26))),
        ("1.5 SECONDS", TimeSpan(timedelta(milliseconds=1500))),
        ("1000 EVENTS", EventSpan(1000)),
        ("1 EVENT", EventSpan(1)),
        ("1000 -- so many\n events", EventSpan(1000)),
        ("30 /* half */\n  minutes", TimeSpan(timedelta(minutes=30))),
        ("30 MINUTES TUMBLE", TimeWindows(timedelta(minutes=30), timedelta(minutes=30))),
        ("30 MINUTES SLIDE INTERVAL 5 MINUTES", TimeWindows(timedelta(minutes=30), timedelta(minutes=5))),
        ("5 MINUTES SLIDE 1 HOUR", TimeWindows(timedelta(minutes=5), timedelta(hours=1))),
        ("1000 EVENTS SLIDE 100 EVENTS", EventWindows(1000, 100)),
        ("1000 EVENTS TUMBLE", EventWindows(1000, 1000)),
    ],
)
def test_within(text: str, expected: Bound) -> None:
    assert ask(f"WITHIN {text}").bound == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCHES", ReturnMatches()),
        ("MATCHES LIMIT 7", ReturnMatches(7)),
    ],
)
def test_return_matches(text: str, expected: ReturnMatches) -> None:
    assert ask("", text).returns == expected


def test_a_column_may_be_called_matches() -> None:
    query = parse_event_query("PATTERN A GROUP BY matches RETURN matches, COUNT(*)")
    assert isinstance(query.returns, ReturnAggregates)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("COUNT(*)", "count(*)"),
        ("Sum( b.x )", "sum(b.x)"),
        ("SUM(b.x  +\n b.y)", "sum(b.x + b.y)"),
        ("MAX(b[i].x)", "max(b[i].x)"),
        ("WINDOW_START", "window_start"),
        ("District", "District"),
        ("COUNT(*) AS n", "n"),
        ("COUNT(*) AS `the number`", "the number"),
    ],
)
def test_names_of_output_columns(text: str, name: str) -> None:
    returns = ask("", text).returns
    assert isinstance(returns, ReturnAggregates)
    assert [item.name for item in returns.items] == [name]


# --- WHERE ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same", "where"),
    [
        ("SAME[x]", [("x",)], []),
        ("[x, y]", [("x", "y")], []),
        ("a.x > 1 AND [x] AND SAME[y] AND b.x > 2", [("x",), ("y",)], ["a.x > 1", "b.x > 2"]),
        ("a.x > 1 OR b.x > 2", [], ["a.x > 1 OR b.x > 2"]),
        ("a.x > 1 AND a.y > 2 OR b.x > 2 AND b.y > 3", [], ["a.x > 1 AND a.y > 2 OR b.x > 2 AND b.y > 3"]),
        ("(a.x > 1 AND (b.x > 2 AND b.y > 3))", [], ["a.x > 1", "b.x > 2", "b.y > 3"]),
        ("(a.x > 1 OR b.x > 2) AND a.x BETWEEN 1 AND 2", [], ["a.x > 1 OR b.x > 2", "a.x BETWEEN 1 AND 2"]),
        ("NOT a.x > 1 AND a.x IS NOT NULL", [], ["NOT a.x > 1", "a.x IS NOT NULL"]),
    ],
)
def test_same_and_other_conditions_are_separated(text: str, same: list[tuple[str, ...]], where: list[str]) -> None:
    query = ask(f"WHERE {text}")
    assert [tuple(name.text for name in part.columns) for part in query.same] == same
    assert list(query.where) == [parse_expression(part) for part in where]


@pytest.mark.parametrize("written", ["b[].x", "b[i].x", "b[j].x"])
def test_brackets_after_a_variable_have_no_effect(written: str) -> None:
    assert ask(f"WHERE {written} < 1 AND SUM({written}) < a.x", f"SUM({written}) AS s") == ask(
        "WHERE b.x < 1 AND SUM(b.x) < a.x", "SUM(b.x) AS s"
    )
    assert ask("WHERE NEXT(b[i]).x < b[i].x") == ask("WHERE NEXT(b).x < b.x")


def test_brackets_after_a_column_are_its_elements() -> None:
    assert ask("WHERE prices[0] < 1 AND b.prices[i] > 1").where == (
        parse_expression("prices[0] < 1"),
        parse_expression("b.prices[i] > 1"),
    )
