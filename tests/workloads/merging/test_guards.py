"""Two patterns share a state if the conditions of one include those of the other. A guard has the extra conditions."""

from __future__ import annotations

from dataclasses import replace

from tests.workloads.merging.plan_patterns import RISING, sequence

from ostinato.workloads.merging.merged_plan import Guard, MergedPlan, merge
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram

FALLING = (EdgeCheck("<", 0, 0),)


def guarded(*programs: PatternProgram) -> MergedPlan:
    return merge(programs, guards=True)


def guards(plan: MergedPlan) -> list[Guard]:
    return [guard for step in plan.steps for guard in step.guards]


def test_q5_and_q6_share_the_negation() -> None:
    strict, lax = sequence("ABD", edges={1: RISING}), sequence("ABE")
    strict, lax = (
        replace(program, steps=(*program.steps[:2], replace(program.steps[2], absent=(2,))))
        for program in (strict, lax)
    )
    plan = guarded(strict, lax)
    assert len(plan.nodes) - 1 == 4 and [node.patterns for node in plan.nodes] == [0b11, 0b11, 0b11, 0b01, 0b10]
    assert guards(plan) == [Guard(0b01, (), RISING)]
    (step,) = [step for step in plan.steps if step.guards]
    assert step.edges == () and step.all_edges == RISING
    assert len(merge([strict, lax], guards=False).nodes) - 1 == 5


def test_states_after_a_guarded_state_are_shared_too() -> None:
    plan = guarded(sequence("ABCD", edges={1: RISING}), sequence("ABCE"))
    assert len(plan.nodes) - 1 == 5 and len(guards(plan)) == 1


def test_a_pattern_may_have_several_guards() -> None:
    plan = guarded(sequence("ABC", edges={1: RISING}, less=((0, 2),)), sequence("ABC"))
    assert len(plan.nodes) - 1 == 3
    assert guards(plan) == [Guard(0b01, (), RISING), Guard(0b01, (0,))]


def test_equal_guards_are_merged() -> None:
    plan = guarded(sequence("AB"), sequence("ABC", edges={1: RISING}), sequence("ABD", edges={1: RISING}))
    assert guards(plan) == [Guard(0b110, (), RISING)]


def test_the_host_is_the_pattern_with_the_fewest_conditions() -> None:
    both = (*FALLING, *RISING)
    plan = guarded(sequence("AB", edges={1: both}), sequence("AB", edges={1: RISING}), sequence("AB"))
    assert len(plan.nodes) - 1 == 2
    assert sorted((guard.patterns, len(guard.edges)) for guard in guards(plan)) == [(0b001, 2), (0b010, 1)]


def test_conditions_that_only_overlap_stay_apart() -> None:
    plan = guarded(sequence("AB", edges={1: RISING}), sequence("AB", edges={1: FALLING}))
    assert guards(plan) == [] and len(plan.nodes) - 1 == 3


def test_absences_do_not_become_guards() -> None:
    plain = sequence("AB")
    without_c = replace(plain, steps=(plain.steps[0], replace(plain.steps[1], absent=(2,))))
    plan = guarded(plain, without_c)
    assert guards(plan) == [] and len(plan.nodes) - 1 == 3


def test_separate_plans_have_no_guards() -> None:
    assert guards(merge([sequence("AB", edges={1: RISING}), sequence("AB")], guards=True, separate=True)) == []
