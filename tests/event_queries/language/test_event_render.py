"""Text -> query -> text -> the same query, and the builder that gives the same query."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.api.event_builder import (
    EventBuilder,
    event_and,
    event_not,
    event_or,
    event_repeat,
    event_seq,
    event_without,
)
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    Without,
)
from ostinato.event_queries.language.event_render import render_event_pattern, render_event_query

QUERIES = [
    "PATTERN A RETURN COUNT(*)",
    "FROM `my db`.rides TYPE kind TIME `the time` PATTERN SEQ(A a, B+ b) RETURN COUNT(*), SUM(b.x) AS total",
    "TYPE Slow AS speed < 10 AND NOT parked, `very fast` AS speed >= 90 PATTERN Slow+ `where` RETURN MATCHES LIMIT 3",
    "PATTERN SEQ(A, NOT SEQ(C c, D)+, B, (B OR SEQ(E, F))*, `not`?) STRICT RETURN MATCHES",
    "PATTERN SEQ(A, B) AND (A OR C) SKIP TILL NEXT MATCH GROUP BY id, `my key` RETURN id, COUNT(*)",
    "PATTERN A+ a WHERE [x, y] AND a.x BETWEEN 1 AND 2 AND (a.x = 1 OR a.y IN (2, 3)) AND SAME[z] RETURN COUNT(a)",
    "PATTERN A+ a WHERE NEXT(a).x <= a.x AND PREV(a).s.t = a.s.t AND FIRST(a.x) < SUM(a[i].x) RETURN MATCHES",
    "PATTERN A WITHIN 90 SECONDS SLIDE 1.5 SECONDS RETURN WINDOW_START, window_end AS until, MAX(A.x + 1)",
    "PATTERN A WITHIN 1 DAY TUMBLE RETURN COUNT(*)",
    "PATTERN A WITHIN INTERVAL '1 00:00:00.000001' DAY TO SECOND RETURN COUNT(*)",
    "PATTERN A WITHIN 1 EVENT SLIDE 3 EVENTS RETURN COUNT( A ), avg(A.x * (1 + A.y)), min( `A`.x )",
    "PATTERN A WITHIN 10 EVENTS RETURN COUNT(*)",
    "PATTERN A RETURN SUM(A.x) / COUNT(*), -(COUNT(*) + 1.5) * 2 AS z",
    "PATTERN SEQ(A{2} a, (B OR C){1,3}, D{2,}, E{,4} e, F{0,1}) RETURN COUNT(*)",
    "PATTERN SEQ(A, B+ b WITHOUT C c, SEQ(D, E)+ WITHOUT (F OR G g)) STRICT ON (A, `my type`) RETURN MATCHES",
]


@pytest.mark.parametrize("text", QUERIES)
def test_queries(text: str) -> None:
    query = parse_event_query(text)
    rendered = render_event_query(query)
    assert parse_event_query(rendered) == query, rendered
    assert render_event_query(parse_event_query(rendered)) == rendered


def test_the_rendered_text_has_one_clause_per_line() -> None:
    text = """\
FROM rides
TYPE kind
TIME ts
PATTERN SEQ(Request r, Travel+ t, NOT Pickup p)
SKIP TILL NEXT MATCH
WHERE SAME[driver, rider] AND (t.speed < 10) AND (next(t).speed <= t.speed)
GROUP BY district
WITHIN 30 MINUTES SLIDE 5 MINUTES
RETURN district, count(*), sum(t.duration) AS `total`"""
    assert render_event_query(parse_event_query(text)) == text


NAMES = st.sampled_from(["A", "B", "a", "Or", "strict", "two words", "a`b", "_1", "SEQ", "Ü"])
ONE = st.builds(OneEvent, NAMES, NAMES)


def _larger(inner: st.SearchStrategy[EventPattern]) -> st.SearchStrategy[EventPattern]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(InOrder),
        several.map(AnyOf),
        several.map(AllOf),
        st.builds(Repeated, inner, st.builds(Quantifier, st.integers(0, 3), st.none() | st.integers(3, 5))),
        st.builds(Without, inner, inner.map(Absent)).filter(lambda part: not isinstance(part.absent.body, Absent)),
        inner.map(Absent).map(lambda part: part.body if isinstance(part.body, Absent) else part),
    )


@given(st.recursive(ONE, _larger, max_leaves=8))
def test_patterns(pattern: EventPattern) -> None:
    assert parse_event_pattern(render_event_pattern(pattern)) == pattern, render_event_pattern(pattern)


# --- the builder ------------------------------------------------------------------------------------------------------


def test_every_method_of_the_builder_renders_its_clause() -> None:
    built = (
        event_seq("Request r", "Travel+ t", event_not("Pickup p"))
        .from_("rides")
        .type("kind")
        .time("ts")
        .skip_till_next_match()
        .same("driver", "rider")
        .where("t.speed < 10", "r.x = 1 OR r.x = 2")
        .where("NEXT(t).speed <= t.speed")
        .group_by("district")
        .within("30 MINUTES", slide=timedelta(minutes=5))
        .returns("district", "COUNT(*)", total="SUM(t.duration)")
    )
    text = """
        FROM rides TYPE kind TIME ts
        PATTERN SEQ(Request r, Travel+ t, NOT Pickup p) SKIP TILL NEXT MATCH
        WHERE SAME[driver, rider] AND t.speed < 10 AND (r.x = 1 OR r.x = 2) AND NEXT(t).speed <= t.speed
        GROUP BY district WITHIN 30 MINUTES SLIDE 5 MINUTES
        RETURN district, COUNT(*), SUM(t.duration) AS total"""
    assert built.query == parse_event_query(text)


@pytest.mark.parametrize(
    ("built", "pattern"),
    [
        (event_seq("A", "B+ b"), "SEQ(A, B+ b)"),
        (event_seq("A", event_repeat(event_seq("B", "C"))), "SEQ(A, SEQ(B, C)+)"),
        (event_seq("A", event_or("B", event_seq("C", "D"))), "SEQ(A, B OR SEQ(C, D))"),
        (event_seq("A", event_not(event_seq("C", "D")), "B"), "SEQ(A, NOT SEQ(C, D), B)"),
        (event_seq("A", event_not(event_or("C", "D")), "B"), "SEQ(A, NOT (C OR D), B)"),
        (event_seq("A", event_not("C OR D"), "B"), "SEQ(A, NOT (C OR D), B)"),
        (event_repeat("A a", "?"), "A? a"),
        (event_repeat(event_seq("A", "B"), "{2,3}"), "SEQ(A, B){2,3}"),
        (event_seq("A", event_without("B+ b", "C c", "D")), "SEQ(A, B+ b WITHOUT (C c OR D))"),
        (event_without(event_seq("A", "B"), "C"), "SEQ(A, B) WITHOUT C"),
        (event_and("A", event_seq("B", "C")), "A AND SEQ(B, C)"),
    ],
)
def test_patterns_by_calls(built: EventBuilder, pattern: str) -> None:
    assert built.returns("COUNT(*)").query == parse_event_query(f"PATTERN {pattern} RETURN COUNT(*)")


@pytest.mark.parametrize(
    ("built", "words"),
    [
        (event_seq("A").strict(), "STRICT"),
        (event_seq("A").strict("A", "my type"), "STRICT ON (A, `my type`)"),
        (event_seq("A").strict().skip_till_any_match(), ""),
        (event_seq("A").within(100), "WITHIN 100 EVENTS"),
        (event_seq("A").within(100, slide=10), "WITHIN 100 EVENTS SLIDE 10 EVENTS"),
        (event_seq("A").within("1 DAY", tumble=True), "WITHIN 1 DAY TUMBLE"),
        (event_seq("A").within(timedelta(hours=1)), "WITHIN 1 HOUR"),
    ],
)
def test_clauses_by_calls(built: EventBuilder, words: str) -> None:
    assert built.returns_matches(5).query == parse_event_query(f"PATTERN SEQ(A) {words} RETURN MATCHES LIMIT 5")


def test_types_by_condition() -> None:
    built = (
        event_seq("Slow", "`very fast`").type(**{"Slow": "speed < 10", "very fast": "speed >= 10"}).returns("COUNT(*)")
    )
    text = "TYPE Slow AS speed < 10, `very fast` AS speed >= 10 PATTERN SEQ(Slow, `very fast`) RETURN COUNT(*)"
    assert built.query == parse_event_query(text)


def test_invalid_calls_of_the_builder_raise() -> None:
    with pytest.raises(QueryError, match="INVALID_ARGUMENTS"):
        event_seq("A").type()
    with pytest.raises(QueryError, match="INVALID_ARGUMENTS"):
        event_seq("A").within(3, slide=1, tumble=True)
    with pytest.raises(QueryError, match="INVALID_ARGUMENTS"):
        event_seq("A", event_seq("B").where("B.x > 1"))  # otherwise the condition would be lost
    with pytest.raises(QueryError, match="SYNTAX_ERROR"):
        _ = event_seq("A").query
