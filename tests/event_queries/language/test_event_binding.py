"""Event query + columns -> conditions by kind, and output columns."""

from __future__ import annotations

import pytest

from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import (
    BoundEventQuery,
    GroupColumn,
    TrendAggregate,
    TrendFunction,
    WindowEdge,
)
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, Operator, string_literal

COLUMNS = ("ts", "kind", "x", "y", "id", "Place", "address")


def bound(
    pattern: str, middle: str = "", returns: str = "COUNT(*)", *, case_sensitive: bool = False
) -> BoundEventQuery:
    query = parse_event_query(f"PATTERN {pattern} {middle} RETURN {returns}")
    return bind_event_query(query, COLUMNS, type="kind", time="ts", case_sensitive=case_sensitive)


def local(query: BoundEventQuery) -> dict[str, str]:
    """The conditions of each variable, without the condition of its type."""
    shown = {}
    for variable, condition in query.qualifies.items():
        if isinstance(condition, Operator) and condition.op == "and":
            shown[variable] = " AND ".join(render_expression(part) for part in condition.args[1:])
    return shown


def adjacent(query: BoundEventQuery) -> list[tuple[str, str, str]]:
    return [(each.before, each.after, render_expression(each.condition)) for each in query.adjacent]


def run(query: BoundEventQuery) -> list[tuple[str, str, str | None]]:
    return [("".join(sorted(each.variables)), render_expression(each.condition), each.each) for each in query.run]


# --- types and time ---------------------------------------------------------------------------------------------------


def test_a_type_is_the_text_of_the_type_column() -> None:
    query = bound("SEQ(A, B+ b)")
    assert query.variables == ("A", "b")
    assert query.qualifies == {
        "A": Operator("=", (Column("kind"), string_literal("A"))),
        "b": Operator("=", (Column("kind"), string_literal("B"))),
    }


def test_types_by_condition() -> None:
    query = parse_event_query("TYPE Low AS x < 10, High AS x >= 10 TIME ts PATTERN SEQ(Low, High h) RETURN COUNT(*)")
    qualifies = bind_event_query(query, COLUMNS).qualifies
    assert {name: render_expression(test) for name, test in qualifies.items()} == {
        "Low": "(`x` < 10)",
        "h": "(`x` >= 10)",
    }
    without = parse_event_query("PATTERN SEQ(Low, High h) RETURN COUNT(*)")
    by_argument = bind_event_query(without, COLUMNS, type={"Low": "x < 10", "High": "x >= 10"}, time="ts")
    assert by_argument.qualifies == qualifies


def test_the_text_overrides_the_arguments() -> None:
    query = parse_event_query("TYPE kind TIME ts PATTERN A RETURN COUNT(*)")
    assert bind_event_query(query, COLUMNS, type="id", time="y").time == "ts"


def test_variables_under_not_are_separate() -> None:
    query = bound("SEQ(A, NOT SEQ(C c, D), B)", "WITHIN 1 DAY")
    assert (query.variables, query.absent_variables) == (("A", "B"), ("c", "D"))


# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.x < 10", {"b": "(`x` < 10)"}),
        ("b.x < 10 AND b.y > 1", {"b": "(`x` < 10) AND (`y` > 1)"}),
        ("b.x < 10 OR b.y > 1", {"b": "((`x` < 10) OR (`y` > 1))"}),
        ("b.x < b.y", {"b": "(`x` < `y`)"}),
        ("x < 10", {"a": "(`x` < 10)", "b": "(`x` < 10)"}),
        ("c.x < 10", {"c": "(`x` < 10)"}),
        ("B.x < 10", {"b": "(`x` < 10)"}),
        ("address.city = 'Ulm'", {"a": "(`address`.city = 'Ulm')", "b": "(`address`.city = 'Ulm')"}),
        ("b.address.city = 'Ulm'", {"b": "(`address`.city = 'Ulm')"}),
        ("TRUE", {"a": "TRUE", "b": "TRUE"}),
        ("b.ts < current_date", {"b": "(`ts` < current_date())"}),
        ("exists(array(1, 2), q -> q = b.x)", {"b": "exists(array(1, 2), q -> (q = `x`))"}),
    ],
)
def test_conditions_on_one_variable(condition: str, expected: dict[str, str]) -> None:
    query = bound("SEQ(A a, B+ b, NOT C c)", f"WHERE {condition} WITHIN 1 DAY")
    assert local(query) == expected
    assert (query.adjacent, query.run) == ((), ())


def test_a_type_stands_for_all_its_variables() -> None:
    query = bound("SEQ(A p, A q, NOT A r)", "WHERE A.x < 10 WITHIN 1 DAY", "COUNT(A)")
    assert local(query) == dict.fromkeys("pqr", "(`x` < 10)")
    assert query.outputs == (("count(A)", TrendAggregate(TrendFunction.COUNT, frozenset("pq"))),)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("NEXT(b).x <= b.x", "(`x` <= LAST(`x`, 1))"),
        ("PREV(b).x >= b.x", "(LAST(`x`, 1) >= `x`)"),
        ("NEXT(b.x) <= b.x", "(`x` <= LAST(`x`, 1))"),
        ("NEXT(b).x - b.x < 3 OR b.y = 1", "(((`x` - LAST(`x`, 1)) < 3) OR (LAST(`y`, 1) = 1))"),
        ("NEXT(b).address.city = b.address.city", "(`address`.city = LAST(`address`.city, 1))"),
        ("NEXT(b).x > 0", "(`x` > 0)"),
    ],
)
def test_conditions_between_neighbours(condition: str, expected: str) -> None:
    """LAST(x, 1) is a value of the earlier event, x one of the later event."""
    query = bound("SEQ(A a, B+ b)", f"WHERE {condition}")
    assert [(before, after) for before, after, _ in adjacent(query)] == [("b", "b")]
    assert adjacent(query)[0][2].replace("`", "") == expected.replace("`", "")
    assert (local(query), query.run) == ({}, ())


def test_neighbours_of_a_type_are_any_two_of_its_variables() -> None:
    query = bound("SEQ(A+ p, A+ q)", "WHERE NEXT(A).x > A.x")
    assert [pair[:2] for pair in adjacent(query)] == [("p", "p"), ("p", "q"), ("q", "p"), ("q", "q")]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x < c.x", ("ac", "(a.x < c.x)", None)),
        ("a.x < b.x", ("ab", "(a.x < b.x)", "b")),
        ("a.x < b[i].x AND TRUE", ("ab", "(a.x < b.x)", "b")),
        ("a.x + c.x < 10 OR a.y = 1", ("ac", "(((a.x + c.x) < 10) OR (a.y = 1))", None)),
        ("SUM(b[i].x) < c.x", ("bc", "(sum(b.x) < c.x)", None)),
        ("SUM(b.x * b.y) < 10", ("b", "(sum((b.x * b.y)) < 10)", None)),
        ("COUNT(b) > 3", ("b", "(count(b.*) > 3)", None)),
        ("COUNT(b.x) > 3", ("b", "(count(b.x) > 3)", None)),
        ("mean(b.x) > sqrt(a.x)", ("ab", "(avg(b.x) > sqrt(a.x))", None)),
        ("FIRST(b.x) < LAST(b.x)", ("b", "(FIRST(b.x) < b.x)", None)),
        ("FIRST(b).x < a.x", ("ab", "(FIRST(b.x) < a.x)", None)),
        ("b.x > AVG(b.x)", ("b", "(b.x > avg(b.x))", "b")),
        ("FIRST(b.x) < b.x", ("b", "(FIRST(b.x) < b.x)", "b")),
    ],
)
def test_conditions_over_a_match(condition: str, expected: tuple[str, str, str | None]) -> None:
    query = bound("SEQ(A a, B+ b, C c)", f"WHERE {condition}", "MATCHES")
    assert run(query) == [expected]
    assert query.adjacent == ()


def test_a_variable_that_occurs_twice_is_several_events() -> None:
    assert run(bound("SEQ(A a, B b, A a)", "WHERE a.x < b.x", "MATCHES"))[0][2] == "a"
    assert run(bound("SEQ(A a, B b) OR SEQ(B b, A a)", "WHERE a.x < b.x", "MATCHES"))[0][2] is None
    assert run(bound("SEQ(A? a, B b)", "WHERE a.x < b.x", "MATCHES"))[0][2] is None
    assert run(bound("(SEQ(A a, B? b))?", "WHERE a.x < b.x", "MATCHES"))[0][2] is None


def test_a_type_in_a_condition_over_several_variables() -> None:
    query = bound("SEQ(A p, A q, B b)", "WHERE A.x < b.x", "MATCHES")
    assert run(query) == [("bp", "(p.x < b.x)", None), ("bq", "(q.x < b.x)", None)]


# --- names of columns -------------------------------------------------------------------------------------------------


def test_names_of_columns_ignore_case() -> None:
    query = bound("A", "WHERE [ID] AND X < 1 GROUP BY place", "place, PLACE AS p, COUNT(*)")
    assert (query.same, query.group_by) == (("id",), ("Place",))
    assert local(query) == {"A": "(`x` < 1)"}
    assert query.outputs[:2] == (("Place", GroupColumn("Place")), ("p", GroupColumn("Place")))


def test_several_same_lists_are_merged() -> None:
    assert bound("A", "WHERE [id, x] AND SAME[X, y]").same == ("id", "x", "y")


# --- RETURN -----------------------------------------------------------------------------------------------------------


def test_aggregates() -> None:
    b = frozenset("b")
    query = bound("SEQ(A a, B+ b)", "", "COUNT(*), COUNT(b), COUNT(b.*) AS c, COUNT(b.x), SUM(b.x + 1), MEAN(b.y) AS m")
    assert query.outputs == (
        ("count(*)", TrendAggregate(TrendFunction.COUNT)),
        ("count(b)", TrendAggregate(TrendFunction.COUNT, b)),
        ("c", TrendAggregate(TrendFunction.COUNT, b)),
        ("count(b.x)", TrendAggregate(TrendFunction.COUNT, b, Column("x"))),
        ("sum(b.x + 1)", bound("B+ b", "", "SUM(b.x + 1)").outputs[0][1]),
        ("m", TrendAggregate(TrendFunction.AVG, b, Column("y"))),
    )


@pytest.mark.parametrize(
    ("returns", "names"),
    [
        ("COUNT(*)", ["window_start", "window_end", "count(*)"]),
        ("COUNT(*), WINDOW_END", ["window_start", "count(*)", "window_end"]),
        ("window_start AS since, COUNT(*)", ["window_end", "since", "count(*)"]),
        ("id, window_start, window_end", ["id", "window_start", "window_end"]),
    ],
)
def test_edges_of_windows(returns: str, names: list[str]) -> None:
    query = bound("A", "GROUP BY id WITHIN 1 DAY TUMBLE", returns)
    assert [name for name, _ in query.outputs] == names
    assert {WindowEdge.START, WindowEdge.END} <= {item for _, item in query.outputs}


def test_return_matches_has_no_outputs() -> None:
    assert bound("A", "GROUP BY id WITHIN 1 DAY TUMBLE", "MATCHES LIMIT 3").outputs == ()
