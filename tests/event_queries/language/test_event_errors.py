"""Errors of event queries: the code, the text above the caret, and a hint."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query

COLUMNS = ("ts", "kind", "speed", "x", "id", "district")


def refused(text: str, *, columns: tuple[str, ...] = COLUMNS, case_sensitive: bool = False) -> QueryError:
    with pytest.raises(QueryError) as caught:
        bind_event_query(parse_event_query(text), columns, type="kind", time="ts", case_sensitive=case_sensitive)
    return caught.value


def pointed_at(error: QueryError) -> str:
    assert error.text is not None
    assert error.span is not None
    return error.text[error.span.start : error.span.end]


PATTERNS = [
    ("NOT C", "NEGATION_MISPLACED", "NOT C"),
    ("SEQ(NOT C)", "NEGATION_MISPLACED", "NOT C"),
    ("SEQ(NOT C, NOT D)", "NEGATION_MISPLACED", "NOT C"),
    ("SEQ(A, (NOT C)+, B)", "NEGATION_MISPLACED", "NOT C"),
    ("SEQ(A, B OR NOT C)", "NEGATION_MISPLACED", "NOT C"),
    ("SEQ(A, NOT NOT C, B)", "NEGATION_MISPLACED", "NOT"),
    ("SEQ(A, NOT SEQ(C, NOT D, E), B)", "NEGATION_MISPLACED", "NOT D"),
    ("SEQ(A, NOT C, B?)", "NEGATION_NEXT_TO_OPTIONAL", "B?"),
    ("SEQ(A*, NOT C, B)", "NEGATION_NEXT_TO_OPTIONAL", "A*"),
    ("SEQ(SEQ(A, NOT C), SEQ(B?, D*))", "NEGATION_NEXT_TO_OPTIONAL", "SEQ(B?, D*)"),
    ("SEQ(A?, (SEQ(NOT C, B))+)", "NEGATION_NEXT_TO_OPTIONAL", "A?"),
    ("SEQ(A, B, NOT C)", "NEGATION_NEEDS_WITHIN", "NOT C"),
    ("(SEQ(A, NOT C))+", "NEGATION_NEEDS_WITHIN", "NOT C"),
    ("SEQ(A, NOT B, SEQ(C, NOT D d))", "NEGATION_NEEDS_WITHIN", "NOT D d"),
    ("SEQ(A, NOT A, B)", "VARIABLE_UNDER_NOT", "A"),
    ("SEQ(A c, NOT A c, B)", "VARIABLE_UNDER_NOT", "A c"),
    ("SEQ(A a, B a)", "VARIABLE_TYPE_CONFLICT", "B a"),
    ("SEQ(A, B AND C)", "CONJUNCTION_NOT_SUPPORTED", "B AND C"),
    ("A AND B OR C", "CONJUNCTION_NOT_SUPPORTED", "A AND B"),
    ("(A AND B)+", "CONJUNCTION_NOT_SUPPORTED", "A AND B"),
    ("A AND B AND C", "CONJUNCTION_NOT_SUPPORTED", "A AND B AND C"),
    ("A AND SEQ(B, NOT C, D)", "CONJUNCTION_NOT_SUPPORTED", "NOT C"),
    ("SEQ(A a+, B)", "SYNTAX_ERROR", "+"),
    ("A++", "SYNTAX_ERROR", "+"),
    ("A a{2}", "SYNTAX_ERROR", "{"),
    ("A{2}+", "SYNTAX_ERROR", "+"),
    ("A+{2}", "SYNTAX_ERROR", "{"),
    ("A{}", "INVALID_QUANTIFIER", "{}"),
    ("A{0}", "INVALID_QUANTIFIER", "{0}"),
    ("A{3,1}", "INVALID_QUANTIFIER", "{3,1}"),
    ("A{1001}", "INVALID_QUANTIFIER", "{1001}"),
    ("A{1,99999999999999999999}", "INVALID_QUANTIFIER", "99999999999999999999"),
    ("SEQ(A, B+ WITHOUT SEQ(C, D))", "NEGATION_MISPLACED", "WITHOUT SEQ(C, D)"),
    ("SEQ(A, B+ WITHOUT C+)", "NEGATION_MISPLACED", "WITHOUT C+"),
    ("SEQ(A, B WITHOUT C)", "NEGATION_MISPLACED", "WITHOUT C"),
    ("SEQ(A, NOT B+ WITHOUT C, D)", "NEGATION_MISPLACED", "WITHOUT C"),
    ("B+ b WITHOUT B b", "VARIABLE_UNDER_NOT", "B b"),
    ("A AND B+ WITHOUT C", "CONJUNCTION_NOT_SUPPORTED", "WITHOUT C"),
    ("A AND B STRICT ON (C)", "CONJUNCTION_NOT_SUPPORTED", "(C)"),
    ("A STRICT ON C", "SYNTAX_ERROR", "C"),
    ("A STRICT ON ()", "SYNTAX_ERROR", ")"),
    ("SEQ()", "SYNTAX_ERROR", ")"),
    ("SEQ(A B C)", "SYNTAX_ERROR", "C"),
    ("(A)+ a", "SYNTAX_ERROR", "a"),
    ("SEQ(A, OR)", "SYNTAX_ERROR", "OR"),
    ("A+ a[i]", "SYNTAX_ERROR", "i"),
    ("(" * 60 + "A" + ")" * 60, "TOO_DEEP", "("),
]


@pytest.mark.parametrize(("pattern", "code", "caret"), PATTERNS)
def test_patterns(pattern: str, code: str, caret: str) -> None:
    error = refused(f"PATTERN {pattern} RETURN COUNT(*)")
    assert (error.code, pointed_at(error)) == (code, caret)


@pytest.mark.parametrize(
    "pattern",
    [
        "A?",
        "A*",
        "SEQ(A?, B*)",
        "(SEQ(A, NOT C, B))+",
        "SEQ(A, NOT C, B, NOT C, D)",
        "SEQ(NOT C, A)",
        "SEQ(NOT C, NOT D, A)",
        "SEQ(A, NOT C*, B)",
        "SEQ(SEQ(A, B?), NOT C, D)",
        "SEQ(A, NOT (B OR C), D)",
        "(A AND B)",
        "A AND SEQ(A, B)",
    ],
)
def test_valid_patterns_raise_no_error(pattern: str) -> None:
    parse_event_query(f"PATTERN {pattern} RETURN COUNT(*)")


CONDITIONS = [
    ("t.sped < 10", "UNKNOWN_COLUMN", "t.sped"),
    ("sped < 10", "UNKNOWN_COLUMN", "sped"),
    ("tt.speed < 10", "UNKNOWN_VARIABLE", "tt.speed"),
    ("T.speed < 10", "UNKNOWN_VARIABLE", "T.speed"),
    ("rides.speed < 10", "QUALIFIED_BY_TABLE", "rides.speed"),
    ("t < 10", "UNKNOWN_COLUMN", "t"),
    ("speed < t.speed", "MIXED_VARIABLES", "speed"),
    ("SUM(t.x) < speed", "MIXED_VARIABLES", "speed"),
    ("SUM(t.x + r.x) < 10", "MIXED_VARIABLES", "SUM(t.x + r.x)"),
    ("SUM(x) < 10", "UNQUALIFIED_COLUMN", "SUM(x)"),
    ("NEXT(t).x < r.x", "NOT_ADJACENT", "NEXT(t).x < r.x"),
    ("NEXT(t).x < x", "NOT_ADJACENT", "NEXT(t).x < x"),
    ("NEXT(t).x < PREV(t).x", "NOT_ADJACENT", "NEXT(t).x < PREV(t).x"),
    ("NEXT(t).x < SUM(t.x)", "NOT_ADJACENT", "NEXT(t).x < SUM(t.x)"),
    ("NEXT(t) > 1", "INVALID_NAVIGATION", "NEXT(t)"),
    ("NEXT(t.x, 2) > 1", "INVALID_NAVIGATION", "NEXT(t.x, 2)"),
    ("FIRST(NEXT(t).x) > 1", "INVALID_NAVIGATION", "NEXT(t).x"),
    ("NEXT(x) > 1", "UNQUALIFIED_COLUMN", "NEXT(x)"),
    ("SUM(MAX(t.x)) > 1", "NESTED_AGGREGATE", "MAX(t.x)"),
    ("COUNT(*) > 1", "INVALID_ARGUMENTS", "COUNT(*)"),
    ("COUNT(DISTINCT t.x) > 1", "UNSUPPORTED_FUNCTION", "COUNT(DISTINCT t.x)"),
    ("stddev(t.x) > 1", "UNSUPPORTED_FUNCTION", "stddev(t.x)"),
    ("median(t.x) > 1", "UNSUPPORTED_FUNCTION", "median(t.x)"),
    ("lag(t.x) > 1", "UNSUPPORTED_FUNCTION", "lag(t.x)"),
    ("CLASSIFIER() = 't'", "UNSUPPORTED_FUNCTION", "CLASSIFIER()"),
    ("rand() < t.x", "NONDETERMINISTIC_FUNCTION", "rand()"),
    ("p.x < t.x", "VARIABLE_UNDER_NOT", "p.x"),
    ("SUM(p.x) < 1", "VARIABLE_UNDER_NOT", "SUM(p.x)"),
    ("t.x < u.x", "SEVERAL_KLEENE_VARIABLES", "t.x < u.x"),
    ("t.x < LAST(t.x)", "SEVERAL_KLEENE_VARIABLES", "LAST(t.x)"),
    ("SUM(Travel.x) < 1", "SEVERAL_VARIABLES", "SUM(Travel.x)"),
    ("t[i-1].x < 1", "SYNTAX_ERROR", "i"),
    ("SAME[id] OR t.x < 1", "SAME_NOT_ALONE", "OR"),
    ("t.x < 1 OR SAME[id]", "SAME_NOT_ALONE", "SAME[id]"),
    ("(SAME[id] AND t.x < 1)", "SAME_NOT_ALONE", "SAME[id]"),
    ("SAME[t.id]", "KEY_NOT_A_COLUMN", "t."),
    ("SAME[idd]", "UNKNOWN_COLUMN", "SAME[idd]"),
]


@pytest.mark.parametrize(("condition", "code", "caret"), CONDITIONS)
def test_conditions(condition: str, code: str, caret: str) -> None:
    pattern = "SEQ(Request r, Travel+ t, Travel+ u, NOT Pickup p)"
    error = refused(f"FROM rides PATTERN {pattern} WHERE {condition} WITHIN 1 DAY RETURN MATCHES")
    assert (error.code, pointed_at(error)) == (code, caret)


CLAUSES = [
    ("WITHIN 0 MINUTES", "INVALID_WITHIN", "0 MINUTES"),
    ("WITHIN -5 MINUTES", "INVALID_WITHIN", "-5 MINUTES"),
    ("WITHIN INTERVAL '-5' MINUTE", "INVALID_WITHIN", "INTERVAL '-5' MINUTE"),
    ("WITHIN 3 MONTHS", "INVALID_WITHIN", "3 MONTHS"),
    ("WITHIN 3 PARSECS", "INVALID_WITHIN", "3 PARSECS"),
    ("WITHIN 0 EVENTS", "INVALID_WITHIN", "0 EVENTS"),
    ("WITHIN -1 EVENTS", "INVALID_WITHIN", "-1 EVENTS"),
    ("WITHIN 1.5 EVENTS", "INVALID_WITHIN", "1.5 EVENTS"),
    ("WITHIN 1 DAY SLIDE 0 HOURS", "INVALID_SLIDE", "0 HOURS"),
    ("WITHIN 1 DAY SLIDE 1 MONTH", "INVALID_SLIDE", "1 MONTH"),
    ("WITHIN 1 DAY SLIDE 100 EVENTS", "INVALID_SLIDE", "100 EVENTS"),
    ("WITHIN 100 EVENTS SLIDE 1 HOUR", "INVALID_SLIDE", "1 HOUR"),
    ("WITHIN 100", "SYNTAX_ERROR", "RETURN"),
    ("WITHIN", "SYNTAX_ERROR", "RETURN"),
    ("WITHIN 1 DAY 3 EVENTS", "INVALID_WITHIN", "1 DAY 3 EVENTS"),
    ("GROUP BY distrct", "UNKNOWN_COLUMN", "distrct"),
    ("GROUP BY upper(district)", "KEY_NOT_A_COLUMN", "upper("),
    ("SKIP TO NEXT ROW", "SYNTAX_ERROR", "SKIP"),
    ("WITHIN 1 DAY WHERE x < 1", "SYNTAX_ERROR", "WHERE"),
]


@pytest.mark.parametrize(("clause", "code", "caret"), CLAUSES)
def test_clauses(clause: str, code: str, caret: str) -> None:
    error = refused(f"PATTERN SEQ(A, B+ b) {clause} RETURN COUNT(*)")
    assert (error.code, pointed_at(error)) == (code, caret)


RETURNS = [
    ("x, COUNT(*)", "COLUMN_NOT_GROUPED", "x"),
    ("b.x", "COLUMN_NOT_GROUPED", "b.x"),
    ("b", "COLUMN_NOT_GROUPED", "b"),
    ("nothing", "UNKNOWN_COLUMN", "nothing"),
    ("WINDOW_START, COUNT(*)", "NO_WINDOWS", "WINDOW_START"),
    ("SUM(b.x) % COUNT(b)", "INVALID_RETURN", "SUM(b.x) % COUNT(b)"),
    ("SUM(b.x) / x", "INVALID_RETURN", "x"),
    ("COUNT(*) + district", "INVALID_RETURN", "district"),
    ("2 * abs(SUM(b.x))", "INVALID_RETURN", "abs(SUM(b.x))"),
    ("1 + 2", "INVALID_RETURN", "1 + 2"),
    ("COUNT(*) + MAX(c.x)", "VARIABLE_UNDER_NOT", "MAX(c.x)"),
    ("1", "INVALID_RETURN", "1"),
    ("upper(district)", "INVALID_RETURN", "upper(district)"),
    ("median(b.x)", "UNSUPPORTED_FUNCTION", "median(b.x)"),
    ("COUNT(DISTINCT b.x)", "UNSUPPORTED_FUNCTION", "COUNT(DISTINCT b.x)"),
    ("SUM(b)", "INVALID_ARGUMENTS", "SUM(b)"),
    ("SUM(*)", "INVALID_ARGUMENTS", "SUM(*)"),
    ("COUNT()", "INVALID_ARGUMENTS", "COUNT()"),
    ("COUNT(1)", "UNQUALIFIED_COLUMN", "COUNT(1)"),
    ("SUM(x)", "UNQUALIFIED_COLUMN", "SUM(x)"),
    ("SUM(A.x + b.x)", "MIXED_VARIABLES", "SUM(A.x + b.x)"),
    ("SUM(FIRST(b.x))", "INVALID_NAVIGATION", "FIRST(b.x)"),
    ("COUNT(c)", "VARIABLE_UNDER_NOT", "COUNT(c)"),
    ("MAX(c.x)", "VARIABLE_UNDER_NOT", "MAX(c.x)"),
    ("MATCHES LIMIT 0", "INVALID_LIMIT", "0"),
    ("MATCHES LIMIT x", "INVALID_LIMIT", "x"),
    ("*", "SYNTAX_ERROR", "*"),
]


@pytest.mark.parametrize(("returns", "code", "caret"), RETURNS)
def test_returns(returns: str, code: str, caret: str) -> None:
    error = refused(f"PATTERN SEQ(A, NOT C c, B+ b) GROUP BY district RETURN {returns}")
    assert (error.code, pointed_at(error)) == (code, caret)


@pytest.mark.parametrize("returns", ["MATCHES", "SUM(A.x)", "COUNT(A)", "COUNT(*), MAX(B.x)", "COUNT(*) * COUNT(A)"])
def test_a_pair_is_only_counted(returns: str) -> None:
    assert refused(f"PATTERN A AND B RETURN {returns}").code == "CONJUNCTION_NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PATTERN A GROUP BY id RETURN id, COUNT(*) AS ID", "DUPLICATE_COLUMN"),
        ("PATTERN A RETURN COUNT(*), COUNT(*)", "DUPLICATE_COLUMN"),
        ("PATTERN A WITHIN 1 DAY TUMBLE RETURN COUNT(*) AS window_start", "DUPLICATE_COLUMN"),
        ("TYPE B AS x > 1 PATTERN A RETURN COUNT(*)", "UNKNOWN_TYPE"),
        ("TYPE A AS x > 1 PATTERN A STRICT ON (B) RETURN COUNT(*)", "UNKNOWN_TYPE"),
        ("TYPE A AS x > 1, A AS x > 2 PATTERN A RETURN COUNT(*)", "DUPLICATE_TYPE"),
        ("TYPE A AS A.x > 1 PATTERN A RETURN COUNT(*)", "TYPE_NOT_LOCAL"),
        ("TYPE A AS SUM(A.x) > 1 PATTERN A RETURN COUNT(*)", "TYPE_NOT_LOCAL"),
        ("TYPE knd PATTERN A RETURN COUNT(*)", "UNKNOWN_COLUMN"),
        ("TIME tss PATTERN A RETURN COUNT(*)", "UNKNOWN_COLUMN"),
        ("TIME ts TIME ts PATTERN A RETURN COUNT(*)", "SYNTAX_ERROR"),
        ("PATTERN A", "SYNTAX_ERROR"),
        ("RETURN COUNT(*) PATTERN A", "SYNTAX_ERROR"),
        ("PATTERN A RETURN COUNT(*) LIMIT 3", "SYNTAX_ERROR"),
    ],
)
def test_queries(text: str, code: str) -> None:
    assert refused(text).code == code


def test_a_group_may_not_have_the_name_of_a_match_column() -> None:
    text = "PATTERN A GROUP BY events RETURN MATCHES"
    assert refused(text, columns=(*COLUMNS, "events")).code == "DUPLICATE_COLUMN"


def test_a_query_without_type_or_time_raises() -> None:
    query = parse_event_query("PATTERN A RETURN COUNT(*)")
    for kind, time, code in (("kind", None, "TIME_COLUMN_MISSING"), (None, "ts", "TYPE_COLUMN_MISSING")):
        with pytest.raises(QueryError) as caught:
            bind_event_query(query, COLUMNS, type=kind, time=time)
        assert caught.value.code == code
        assert caught.value.hint is not None


def test_columns_that_differ_only_in_case_are_ambiguous() -> None:
    text = "PATTERN A WHERE X > 1 RETURN COUNT(*)"
    assert refused(text, columns=(*COLUMNS, "X")).code == "AMBIGUOUS_COLUMN"
    assert refused(text, case_sensitive=True).code == "UNKNOWN_COLUMN"


def test_an_error_shows_the_text() -> None:
    error = refused("PATTERN SEQ(Request r, Travel+ t)\nWHERE t.sped < 10\nRETURN COUNT(*)")
    assert str(error).splitlines() == [
        "UNKNOWN_COLUMN: the input has no column 'sped'",
        "  2 | WHERE t.sped < 10",
        "    |       ^^^^^^",
        "hint: did you mean 'speed'?",
    ]


def test_a_condition_of_an_argument_has_no_caret_in_the_query() -> None:
    query = parse_event_query("PATTERN A RETURN COUNT(*)")
    with pytest.raises(QueryError) as caught:
        bind_event_query(query, COLUMNS, type={"A": "sped < 1"}, time="ts")
    assert (caught.value.code, caught.value.span) == ("UNKNOWN_COLUMN", None)


@pytest.mark.parametrize(
    ("within", "code"),
    [
        ("WITHIN 9223372036854 SECONDS", "INVALID_WITHIN"),
        ("WITHIN 1 HOUR SLIDE 1 MICROSECOND", "INVALID_SLIDE"),
        ("WITHIN 1000000 EVENTS SLIDE 1 EVENT", "INVALID_SLIDE"),
    ],
)
def test_lengths_out_of_range_raise(within: str, code: str) -> None:
    with pytest.raises(QueryError, match=code):
        parse_event_query(f"TYPE kind TIME ts PATTERN A {within} RETURN COUNT(*)")


def test_a_group_with_the_name_of_a_window_column_raises() -> None:
    query = parse_event_query("PATTERN A GROUP BY window_start WITHIN 1 MINUTE TUMBLE RETURN window_start, COUNT(*)")
    with pytest.raises(QueryError, match="AMBIGUOUS_COLUMN"):
        bind_event_query(query, ("kind", "ts", "window_start"), type="kind", time="ts")
