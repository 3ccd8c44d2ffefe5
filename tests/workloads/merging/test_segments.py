"""Equal chains inside patterns: the conditions for a shared segment, and the joins of patterns with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workloads.merging.plan_patterns import RISING, sequence, words_of_plan, words_of_program

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import BoundKind, Extent
from ostinato.expressions.syntax import Anchor, Column, Navigation, Operator
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, MergedPlan, PlanStep, merge
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram, PatternStep
from ostinato.workloads.merging.renamed_conditions import events_read


def joins(plan: MergedPlan) -> list[PlanStep]:
    return [step for step in plan.steps if step.segment != NO_SEGMENT]


def test_an_equal_chain_at_another_offset_is_matched_once() -> None:
    plan = merge([sequence("ABCX", edges={2: RISING}), sequence("DEBCY", edges={3: RISING})])
    first, second = joins(plan)
    assert first.segment == second.segment
    assert plan.nodes[first.segment].patterns == 0b11 and plan.nodes[first.segment].length == 2
    assert [plan.nodes[join.source].length for join in (first, second)] == [1, 2]
    assert [plan.nodes[join.target].length for join in (first, second)] == [3, 4]
    assert [step.edges for step in plan.steps if step.target == first.segment] == [RISING]
    assert sum(len(step.edges) for step in plan.steps) == 1  # checked once


def test_a_chain_at_the_start_of_a_pattern_is_the_segment_itself() -> None:
    plan = merge([sequence("BCX", edges={1: RISING}), sequence("ABCY", edges={2: RISING})])
    (join,) = joins(plan)
    # six states instead of seven: B, BC, BCX, A, A+BC, A+BC+Y
    assert plan.states_apart == 7 and len(plan.nodes) - 1 == 6
    assert plan.nodes[join.segment].patterns == 0b11


def test_a_chain_without_conditions_between_its_events_is_no_segment() -> None:
    assert joins(merge([sequence("ABCX"), sequence("DBCY")])) == []


def test_offsets_can_be_switched_off() -> None:
    assert joins(merge([sequence("ABC", edges={2: RISING}), sequence("DBC", edges={2: RISING})], offsets=False)) == []


def test_a_chain_that_a_shared_prefix_contains_is_no_segment() -> None:
    plan = merge([sequence("ABCX", edges={2: RISING}), sequence("ABCY", edges={2: RISING})])
    assert joins(plan) == [] and len(plan.nodes) - 1 == 5


def test_one_pattern_alone_has_no_segments() -> None:
    assert joins(merge([sequence("ABCDBC", edges={2: RISING, 5: RISING})])) == []


def test_chains_with_other_conditions_or_windows_are_not_shared() -> None:
    falling = (EdgeCheck("<", 0, 0),)
    assert joins(merge([sequence("ABC", edges={2: RISING}), sequence("DBC", edges={2: falling})])) == []
    hour = Extent(BoundKind.SPAN, False, 3600)
    assert joins(merge([sequence("ABC", edges={2: RISING}), sequence("DBC", edges={2: RISING}, extent=hour)])) == []


def test_conditions_on_events_before_the_chain_are_checked_at_the_join() -> None:
    plan = merge([sequence("ABCX", less=((0, 2), (1, 2))), sequence("DBCY", less=((1, 2),))])
    first, second = joins(plan)
    assert first.segment == second.segment
    by_label = {plan.labels[plan.nodes[step.source].label]: step.checks for step in (first, second)}
    reads = {name: [variables(plan, number) for number in checks] for name, checks in by_label.items()}
    assert reads == {"c0#1": [{"c0#1", "c2#1"}], "c3#1": []}
    (inside,) = [step for step in plan.steps if step.target == first.segment]
    assert [variables(plan, number) for number in inside.checks] == [{"c1#1", "c2#1"}]


def variables(plan: MergedPlan, number: int) -> set[str]:
    return {name for read in events_read(plan.run[number].condition) for name in read.rows or ()}


def test_variables_are_renamed_so_that_chains_agree() -> None:
    plan = merge([sequence("BBC", less=((1, 2),)), sequence("ABC", less=((1, 2),))])
    first, second = joins(plan)
    assert first.segment == second.segment and len(plan.run) == 1
    assert variables(plan, 0) == {"c1#2", "c2#1"}
    assert plan.pattern_labels == tuple(
        tuple({"c1#1": first, "c1#2": 1, "c2#1": 2, "c0#1": second}[name] for name in plan.labels)
        for first, second in ((0, -1), (-1, 0))
    )


def test_a_pattern_whose_names_collide_joins_no_segment() -> None:
    # The first pattern has another B before the chain, the second has one after it. So no variable names fit both.
    plan = merge([sequence("BBCX", less=((1, 2),)), sequence("ABCB", less=((1, 2),))])
    assert joins(plan) == []


def test_the_longest_common_chain_becomes_the_segment() -> None:
    rising = dict.fromkeys((2, 3), RISING)
    plan = merge([sequence("ABCDX", edges=rising), sequence("EBCDY", edges=rising)])
    assert [plan.nodes[join.segment].length for join in joins(plan)] == [3, 3]


def test_two_segments_in_one_pattern() -> None:
    rising = {2: RISING, 4: RISING}
    plan = merge(
        [
            sequence("ABCDEX", edges=rising, less=((1, 3),)),
            sequence("FBCG", edges={2: RISING}),
            sequence("HDEI", edges={2: RISING}),
        ]
    )
    segment_joins = joins(plan)
    assert len(segment_joins) == 4 and len({join.segment for join in segment_joins}) == 2
    (crossing,) = [join for join in segment_joins if join.checks]
    assert [variables(plan, number) for number in crossing.checks] == [{"c1#1", "c3#1"}]


def with_step(program: PatternProgram, step: PatternStep) -> PatternProgram:
    """The program with `step` instead of its step between the same states."""
    others = tuple(old for old in program.steps if (old.source, old.target) != (step.source, step.target))
    return replace(program, steps=(*others, step))


def test_loops_absences_and_strict_steps_are_in_no_segment() -> None:
    plain, other = sequence("ABCX", edges={2: RISING}), sequence("DBCY", edges={2: RISING})
    inner = next(step for step in plain.steps if step.source == 2 and step.target == 3)
    assert len(joins(merge([plain, other]))) == 2
    for changed in (replace(inner, absent=(9,)), replace(inner, adjacent=True)):
        assert joins(merge([with_step(plain, changed), with_step(other, changed)])) == []
    loop = PatternStep(2, 1, 2)
    assert joins(merge([replace(p, steps=(*p.steps, loop)) for p in (plain, other)])) == []
    ends_inside = replace(plain, accepting=((2, ()), (4, ())))
    assert joins(merge([ends_inside, other])) == []


def test_a_condition_on_the_event_before_the_chain_prevents_the_segment() -> None:
    sides = tuple(Navigation(Column("x"), None, Anchor.LAST, skip) for skip in (1, 0))
    pair = RunCondition(Operator("<", sides), frozenset())

    def with_pair(program: PatternProgram, position: int) -> PatternProgram:
        step = replace(program.steps[position], checks=(len(program.run),))
        return with_step(replace(program, run=(*program.run, pair)), step)

    inside = [with_pair(sequence("ABCX"), 2), with_pair(sequence("DBCY"), 2)]
    assert len(joins(merge(inside))) == 2  # B and C are in the chain, so no earlier event is needed
    entering = [with_pair(sequence(letters, edges={2: RISING}), 1) for letters in ("ABCX", "DBCY")]
    assert joins(merge(entering)) == []


@st.composite
def around_a_chain(draw: st.DrawFn) -> PatternProgram:
    """A sequence that contains CDE with a condition between D and E, and random conditions between any two events."""
    prefix, suffix = draw(st.text("ABC", max_size=3)), draw(st.text("ABC", max_size=2))
    letters = f"{prefix}CDE{suffix}"
    position = st.integers(0, len(letters) - 1)
    pairs = draw(st.lists(st.tuples(position, position), max_size=3))
    less = tuple(dict.fromkeys((min(pair), max(pair)) for pair in pairs if len(set(pair)) == 2))
    return sequence(letters, edges={len(prefix) + 2: RISING}, less=less)


@settings(max_examples=150, deadline=None)
@given(st.lists(around_a_chain(), min_size=2, max_size=5), st.booleans())
def test_patterns_that_join_segments_accept_their_words(patterns: list[PatternProgram], guards: bool) -> None:
    plan = merge(patterns, guards=guards)
    for number, program in enumerate(patterns):
        longest = len(program.labels)
        expected = Counter(words_of_program(program, longest))
        assert Counter(words_of_plan(plan, number, program, longest)) == expected
