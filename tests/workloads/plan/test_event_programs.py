"""Event queries as patterns of the shared plan: Table 2, the steps that check conditions, and reasons to decline."""

from __future__ import annotations

import pytest
from tests.event_queries.plan.event_texts import typed
from tests.workloads.plan.sharp_queries import TABLE_2

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Aggregate, Column, Expr, Navigation, rebuild
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram
from ostinato.workloads.plan.event_programs import BoundedPrograms, bounded_programs


def programs(*texts: str) -> BoundedPrograms:
    plan = typed(*(f"PATTERN {text}" for text in texts))
    return bounded_programs(plan, [f"q{number}" for number in range(len(texts))])


def program(text: str) -> PatternProgram:
    result = programs(text)
    assert result.declined == {}
    return result.programs[0]


def shown(condition: RunCondition) -> str:
    """The condition as text, with `variable.column` for the values that it reads."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Navigation):
            where = "/".join(sorted(node.rows)) if node.rows else "here" if node.skip == 0 else "before"
            return Column(f"{where}.{render_expression(node.operand).strip('`')}")
        if isinstance(node, Aggregate):
            return Column(f"{node.name}({'/'.join(sorted(node.rows or ()))})")
        return rebuild(node, change)

    each = f" for each {condition.each}" if condition.each else ""
    return render_expression(change(condition.condition)).replace("`", "") + each


def conditions(program: PatternProgram) -> dict[str, list[str]]:
    """The conditions of steps, as `from>to` by state, and of ends."""
    result = {
        f"{step.source}>{step.target}": [shown(program.run[check]) for check in step.checks]
        for step in program.steps
        if step.checks
    }
    result.update(
        {
            f"end {state}": [shown(program.run[check]) for check in checks]
            for state, checks in program.accepting
            if checks
        }
    )
    return result


# --- Table 2 ----------------------------------------------------------------------------------------------------------


def shared(one: int, other: int) -> MergedPlan:
    """The plan of two queries of Table 2."""
    plan = typed(TABLE_2[f"Q{one}"], TABLE_2[f"Q{other}"])
    result = bounded_programs(plan, (f"Q{one}", f"Q{other}"))
    assert result.declined == {}
    return merge([result.programs[0], result.programs[1]])


@pytest.mark.parametrize(
    ("one", "other", "apart", "together", "both"),
    [(1, 2, 8, 6, 2), (3, 4, 14, 10, 4), (5, 6, 6, 4, 2)],
    ids=["a Kleene closure", "expensive predicates", "a negation"],
)
def test_shared_states_of_the_pairs_of_table_2(one: int, other: int, apart: int, together: int, both: int) -> None:
    plan = shared(one, other)
    assert plan.states_apart == apart and len(plan.nodes) - 1 == together
    assert sum(node.patterns == 0b11 for node in plan.nodes[1:]) == both
    assert plan.names == (f"Q{one}", f"Q{other}")


def test_conditions_of_q3_are_checked_as_soon_as_their_events_are_known() -> None:
    plan = shared(3, 4)
    checks_by_length = {plan.nodes[step.target].length: (len(step.checks), len(step.edges)) for step in plan.steps}
    assert checks_by_length == {1: (0, 0), 2: (0, 1), 3: (0, 0), 4: (1, 0), 5: (0, 0), 6: (1, 0), 7: (0, 0)}


def test_absences_between_events() -> None:
    plan = shared(5, 6)
    absent = [step.absent for step in plan.steps if plan.nodes[step.target].length == 3]
    (condition,) = absent[0]
    assert absent == [(condition,), (condition,)]  # the condition of C, which has one number
    assert condition not in {step.condition for step in plan.steps}


# --- the steps of conditions ------------------------------------------------------------------------------------------


def test_canonical_names_come_from_conditions() -> None:
    result = programs("SEQ(A one, B b, A two) RETURN MATCHES", "SEQ(A x, B y, C z) RETURN MATCHES")
    assert [program.labels for program in result.programs.values()] == [
        ("c0#1", "c1#1", "c0#2"),
        ("c0#1", "c1#1", "c2#1"),
    ]
    assert len(merge([*result.programs.values()]).nodes) - 1 == 4


def test_neighbours_are_compared_on_the_step_between_them() -> None:
    planned = program("SEQ(A a, B b) WHERE a.x < b.x RETURN MATCHES")
    assert planned.steps[1].edges == (EdgeCheck(">", 0, 0),) and conditions(planned) == {}


def test_a_pair_without_numbers_is_a_run_condition() -> None:
    planned = program("SEQ(A a, B b) WHERE a.name < b.name RETURN MATCHES")
    assert conditions(planned) == {"1>2": ["(here.name > before.name)"]}


def test_a_condition_over_several_events_waits_for_the_last() -> None:
    planned = program("SEQ(A a, B b, C c, D d) WHERE a.x + b.x < c.x RETURN MATCHES")
    assert conditions(planned) == {"2>3": ["((c0#1.x + c1#1.x) < c2#1.x)"]}


def test_an_aggregate_waits_until_the_loop_is_over() -> None:
    planned = program("SEQ(A a, B+ b, C c) WHERE SUM(b.x) < a.x RETURN MATCHES")
    assert conditions(planned) == {"2>3": ["(sum(c1#1) < c0#1.x)"]}


def test_an_aggregate_of_the_last_loop_is_checked_at_the_end() -> None:
    planned = program("SEQ(A a, B+ b) WHERE SUM(b.x) < a.x RETURN MATCHES")
    assert conditions(planned) == {"end 2": ["(sum(c1#1) < c0#1.x)"]}


def test_each_event_of_a_loop_is_checked_at_its_step_if_the_other_events_are_earlier() -> None:
    planned = program("SEQ(A a, C c, B+ b, D d) WHERE b.x > a.x RETURN MATCHES")
    assert conditions(planned) == {"2>3": ["(c2#1.x > c0#1.x)"], "3>3": ["(c2#1.x > c0#1.x)"]}


def test_all_events_of_a_loop_are_checked_later_if_another_event_is_later() -> None:
    planned = program("SEQ(A a, B+ b, C c, D d) WHERE b.x > d.x RETURN MATCHES")
    assert conditions(planned) == {"3>4": ["(c1#1.x > c3#1.x) for each c1#1"]}


def test_a_condition_on_a_missing_optional_event_holds() -> None:
    planned = program("SEQ(A a, B? b, C c, D d) WHERE a.x + b.x < d.x RETURN MATCHES")
    (condition,) = planned.run
    assert shown(condition) == "((c1#1.TRUE IS NULL) OR ((c0#1.x + c1#1.x) < c3#1.x))"
    sure = program("SEQ(A a, B b, C c, D d) WHERE a.x + b.x < d.x RETURN MATCHES")
    assert "IS NULL" not in shown(sure.run[0])


def test_unbound_variables_are_not_checked() -> None:
    planned = program("SEQ(A a, (B b OR C c), D d, E e) WHERE a.x + b.x < e.x RETURN MATCHES")
    (step,) = [step for step in planned.steps if step.checks]
    assert planned.labels[step.label] == "c4#1"
    apart = program("SEQ(A a, SEQ(B b, D d) OR SEQ(C c, E e)) WHERE a.x + b.x < d.x RETURN MATCHES")
    assert list(conditions(apart).values()) == [["((c0#1.x + c1#1.x) < c2#1.x)"]]


def test_all_steps_of_strict_but_the_first_are_adjacent() -> None:
    planned = program("SEQ(A, B, C) STRICT RETURN MATCHES")
    assert [step.adjacent for step in planned.steps] == [False, True, True]


@pytest.mark.parametrize(
    ("absent", "conditions"), [("NOT C", 1), ("NOT C+", 1), ("NOT (C OR D)", 2)], ids=["one", "loop", "either"]
)
def test_absences_of_single_events(absent: str, conditions: int) -> None:
    planned = program(f"SEQ(A, {absent}, B) RETURN MATCHES")
    assert [len(step.absent) for step in planned.steps] == [0, conditions]


# --- declined queries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SEQ(A, B) RETURN COUNT(*)", "it returns aggregates"),
        ("A AND B RETURN COUNT(*)", "AND asks"),
        ("SEQ(A, B) RETURN MATCHES LIMIT 3", "with LIMIT"),
        ("SEQ(A, B) SKIP TILL NEXT MATCH RETURN MATCHES", "with SKIP TILL NEXT MATCH"),
        ("SEQ(NOT C, A, B) WITHIN 5 EVENTS RETURN MATCHES", "NOT at the start"),
        ("SEQ(A, B, NOT C) WITHIN 5 EVENTS RETURN MATCHES", "NOT at the end"),
        ("SEQ(A, NOT SEQ(C, D), B) RETURN MATCHES", "NOT of several events"),
        ("SEQ(A a, B b) WHERE upper(a.name) || b.name = 'X' RETURN MATCHES", "'||' on STRING and STRING"),
    ],
)
def test_declined_by_name(text: str, reason: str) -> None:
    result = programs(text, "SEQ(A, B) RETURN MATCHES")
    assert list(result.programs) == [1] and result.programs[1].name == "q1"
    assert result.declined[0].startswith(reason)
