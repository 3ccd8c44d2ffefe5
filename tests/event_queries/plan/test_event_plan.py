"""The plan of a workload. Queries share the numbers of conditions, values and edges. Each query has a program."""

from __future__ import annotations

import pickle

import pytest
from tests.event_queries.plan.event_texts import planned

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import GroupColumn, WindowEdge
from ostinato.event_queries.plan.event_plan import EventsPlan, Stream, plan_events
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Extent, Slot, SlotKind
from ostinato.event_queries.plan.output_slots import AverageOutput, CountOutput, SlotOutput
from ostinato.expressions.render import render_expression


def refused(*texts: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        planned(*texts)
    return caught.value


def edges(plan: EventsPlan) -> list[str]:
    """The edges of the first program as text."""
    program = plan.queries[0].programs[0]
    return [_edge(plan, edge, program.automaton.labels) for edge in program.edges]


def _edge(plan: EventsPlan, edge: EdgeTest, labels: tuple[str, ...]) -> str:
    where = f"{labels[edge.before]}->{labels[edge.after]}"
    if edge.op is None:
        return f"{where} pair {edge.pair_test}"
    after, before = (render_expression(plan.values[i]) for i in (edge.after_value, edge.before_value))
    return f"{where} {after} {edge.op} {before}"


def test_queries_share_the_numbers_of_conditions_and_values() -> None:
    plan = planned(
        "PATTERN SEQ(A, B+) WHERE B.x > 1 RETURN COUNT(*), SUM(B.x)",
        "PATTERN SEQ(C, B+) WHERE B.x > 1 RETURN COUNT(*), MAX(B.x)",
    )
    assert [render_expression(condition) for condition in plan.conditions] == [
        "(`kind` = 'A')",
        "((`kind` = 'B') AND (`x` > 1))",
        "(`kind` = 'C')",
    ]
    assert [query.programs[0].qualifies for query in plan.queries] == [(0, 1), (2, 1)]
    assert [render_expression(value) for value in plan.values] == ["`x`"]
    assert [(item.name, item.is_computed) for item in plan.inputs] == [("x", False)]
    assert plan.keys == ("ts",)


def test_equal_slots_are_stored_once_and_an_average_has_two() -> None:
    plan = planned(
        "PATTERN SEQ(A, B+ b) GROUP BY district WITHIN 10 MINUTES TUMBLE "
        "RETURN district, COUNT(*) AS n, COUNT(b), AVG(b.x), SUM(b.x), COUNT(b.x), MIN(b.x + 1)"
    )
    labels = frozenset((1,))
    assert plan.queries[0].programs[0].slots == (
        Slot(SlotKind.COUNT, labels),
        Slot(SlotKind.SUM, labels, 0),
        Slot(SlotKind.COUNT, labels, 0),
        Slot(SlotKind.MIN, labels, 1),
    )
    assert plan.queries[0].outputs == (
        ("window_start", WindowEdge.START),
        ("window_end", WindowEdge.END),
        ("district", GroupColumn("district")),
        ("n", CountOutput()),
        ("count(b)", SlotOutput(0)),
        ("avg(b.x)", AverageOutput(1, 2)),
        ("sum(b.x)", SlotOutput(1)),
        ("count(b.x)", SlotOutput(2)),
        ("min(b.x + 1)", SlotOutput(3)),
    )
    assert [(item.name, item.is_computed) for item in plan.inputs] == [("x", False), ("__ost_d1", True)]


def test_a_comparison_of_adjacent_events_compares_numbered_values() -> None:
    assert edges(planned("PATTERN SEQ(A, B+ b) WHERE NEXT(b).x <= b.x RETURN COUNT(*)")) == ["b->b `x` <= `x`"]
    assert edges(planned("PATTERN SEQ(A, B+ b) WHERE b.x + 1 < NEXT(b).f RETURN COUNT(*)")) == ["b->b `f` > (`x` + 1)"]
    assert edges(planned("PATTERN B+ b WHERE PREV(b).x < b.x * 2 RETURN COUNT(*)")) == ["b->b (`x` * 2) > `x`"]


def test_conditions_on_one_of_two_adjacent_events_are_comparisons_with_one() -> None:
    assert edges(planned("PATTERN B+ b WHERE NEXT(b).x > 5 RETURN COUNT(*)")) == [
        "b->b CASE WHEN (`x` > 5) THEN 1 ELSE 0 END = 1"
    ]


def test_other_conditions_are_pair_tests() -> None:
    plan = planned("PATTERN B+ b WHERE NEXT(b).x < b.x AND (NEXT(b).f + b.f) % 3 <> 0 RETURN COUNT(*)")
    assert edges(plan) == ["b->b pair 0"]
    assert [item.name for item in plan.inputs] == ["x", "f"]


def test_single_variables_next_to_each_other_are_adjacent_in_either_order() -> None:
    assert edges(planned("PATTERN SEQ(A a, B b) WHERE a.x < b.x RETURN COUNT(*)")) == ["a->b `x` > `x`"]
    assert edges(planned("PATTERN SEQ(B b, A a) WHERE a.x < b.x RETURN COUNT(*)")) == ["b->a `x` < `x`"]
    either = "PATTERN (SEQ(A a, B b, C) OR SEQ(B b, A a, C)) WHERE a.x < b.f RETURN COUNT(*)"
    assert edges(planned(either)) == ["a->b `f` > `x`", "b->a `x` < `f`"]
    optional = "PATTERN SEQ(A a, B? b, C+ c) WHERE a.x < b.x RETURN COUNT(*)"
    assert edges(planned(optional)) == ["a->b `x` > `x`"]


def test_conditions_that_no_match_checks_are_dropped() -> None:
    assert edges(planned("PATTERN (SEQ(A a, C) OR SEQ(B b, C)) WHERE a.x < b.x RETURN COUNT(*)")) == []


@pytest.mark.parametrize(
    "pattern",
    ["SEQ(A a, C, B b)", "SEQ(A a, C?, B b)", "SEQ(A+ a, B b)", "SEQ(A a, B b, A a)"],
)
def test_aggregates_decline_conditions_on_events_that_are_not_adjacent(pattern: str) -> None:
    error = refused(f"PATTERN {pattern} WHERE a.x < b.x RETURN COUNT(*)")
    assert error.code == "AGGREGATE_NEEDS_ADJACENT"
    assert "^" in str(error) and error.hint is not None and "RETURN MATCHES" in error.hint
    plan = planned(f"PATTERN {pattern} WHERE a.x < b.x RETURN MATCHES LIMIT 5")
    assert [sorted(run.variables) for run in plan.queries[0].run] == [["a", "b"]]
    assert plan.queries[0].returns_matches and plan.queries[0].limit == 5


def test_match_queries_ship_all_columns() -> None:
    plan = planned("PATTERN SEQ(A a, C, B b) WHERE a.x + 1 < b.x RETURN MATCHES")
    assert {item.name for item in plan.inputs} >= {"kind", "ts", "x", "f", "district"}
    assert not any(item.is_computed for item in plan.inputs)


def test_conditions_under_not_are_edges_of_the_absence() -> None:
    plan = planned("PATTERN SEQ(A, NOT SEQ(C c, D+ d), B) WHERE NEXT(d).x > d.x AND c.x > 1 RETURN COUNT(*)")
    program = plan.queries[0].programs[0]
    assert program.edges == () and [edge.op for edge in program.absent_edges[0]] == [">"]
    assert program.absent_qualifies == ((2, 3),)


def test_bounds_in_microseconds_or_numbers_of_events() -> None:
    def extent(bound: str) -> Extent:
        return planned(f"PATTERN SEQ(A, B) {bound} RETURN COUNT(*)").queries[0].programs[0].extent

    assert extent("") == Extent()
    assert extent("WITHIN 2 SECONDS") == Extent(BoundKind.SPAN, False, 2_000_000)
    assert extent("WITHIN 1000 EVENTS") == Extent(BoundKind.SPAN, True, 999)
    assert extent("WITHIN 30 MINUTES SLIDE 5 MINUTES") == Extent(BoundKind.WINDOWS, False, 1_800_000_000, 300_000_000)
    assert extent("WITHIN 100 EVENTS TUMBLE") == Extent(BoundKind.WINDOWS, True, 100, 100)


def test_a_conjunction_has_a_program_for_each_pattern_and_for_both() -> None:
    plan = planned("PATTERN A+ AND SEQ(A, A) RETURN COUNT(*)")
    query = plan.queries[0]
    assert query.is_conjunction and len(query.programs) == 3
    assert query.programs[2].automaton.dump().split("\n") == ["start -> A 1", "1 -> A 2", "2. ->"]
    assert len(planned("PATTERN A+ AND B+ RETURN COUNT(*)").queries[0].programs) == 2
    assert refused("PATTERN A+ AND SEQ(A, A) SKIP TILL NEXT MATCH RETURN COUNT(*)").code == "CONJUNCTION_NOT_SUPPORTED"


def test_queries_over_the_same_sequences_are_one_stream() -> None:
    plan = planned(
        "PATTERN A+ WHERE SAME[driver, name] GROUP BY district RETURN COUNT(*)",
        "PATTERN B+ WHERE SAME[name, driver] GROUP BY district RETURN COUNT(*)",
        "PATTERN B+ GROUP BY district RETURN COUNT(*)",
    )
    assert plan.streams == (Stream(("district",), ("driver", "name"), "ts"), Stream(("district",), (), "ts"))
    assert [plan.queries_of(stream) for stream in range(2)] == [(0, 1), (2,)]
    assert plan.keys == ("district", "driver", "name", "ts")


def test_strict_and_bounds_in_events_need_all_rows() -> None:
    assert not planned("PATTERN A+ WITHIN 1 HOUR TUMBLE RETURN COUNT(*)").needs_all_rows(0)
    assert planned("PATTERN A+ STRICT RETURN COUNT(*)").needs_all_rows(0)
    assert planned("PATTERN A+ WITHIN 10 EVENTS RETURN COUNT(*)").needs_all_rows(0)


def test_plans_can_be_pickled() -> None:
    plan = planned("PATTERN SEQ(A, NOT C, B+ b) WHERE NEXT(b).x > b.x WITHIN 1 HOUR RETURN COUNT(*), AVG(b.x)")
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_too_many_conditions_raise() -> None:
    texts = [f"PATTERN A+ WHERE A.x > {i} RETURN COUNT(*)" for i in range(1_001)]
    assert refused(*texts).code == "TOO_MANY_CONDITIONS"


def test_a_column_may_not_have_the_name_of_the_variable_field() -> None:
    with pytest.raises(QueryError, match="RESERVED_NAME"):
        query = parse_event_query("TYPE kind TIME ts PATTERN A RETURN MATCHES")
        plan_events([bind_event_query(query, ("kind", "ts", "Variable"))])
