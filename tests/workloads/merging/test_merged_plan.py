"""The shared plan: nodes that patterns share, the patterns of each node, and unshared nodes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workloads.merging.plan_patterns import RISING, sequence, smaller, words_of_plan, words_of_program

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import BoundKind, Extent
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, merge
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram, PatternStep, canonical_names

FIGURE_2 = (sequence("ABCD"), sequence("ABEF"), sequence("ABEG"))


def patterns_by_word(plan: MergedPlan) -> dict[str, int]:
    """The bit set of each node of a plan without loops and segments, by the letters that lead to it."""
    words = {ROOT: ""}
    for step in sorted(plan.steps, key=lambda step: plan.nodes[step.target].length):
        words[step.target] = words[step.source] + chr(ord("A") + step.condition)
    return {word: plan.nodes[node].patterns for node, word in words.items() if node != ROOT}


def test_figure_2_seven_states_instead_of_twelve() -> None:
    plan = merge(FIGURE_2)
    assert plan.states_apart == 12 and len(plan.nodes) - 1 == 7
    assert plan.nodes[ROOT].patterns == 0b111 and plan.nodes[ROOT].length == 0
    assert patterns_by_word(plan) == {
        "A": 0b111,
        "AB": 0b111,
        "ABC": 0b001,
        "ABE": 0b110,
        "ABCD": 0b001,
        "ABEF": 0b010,
        "ABEG": 0b100,
    }


def test_clusters_of_figure_3_and_those_without_overload() -> None:
    clusters = merge(FIGURE_2).clusters()
    assert {bits: len(nodes) for bits, nodes in clusters.items()} == {0b111: 2, 0b001: 2, 0b110: 1, 0b010: 1, 0b100: 1}
    overloaded = 0b110  # P2 and P3
    assert [bits for bits in clusters if not bits & overloaded] == [0b001]


def test_separate_plans_share_only_the_empty_match() -> None:
    plan = merge(FIGURE_2, separate=True)
    assert len(plan.nodes) - 1 == plan.states_apart == 12
    assert all(node.patterns.bit_count() == 1 for node in plan.nodes[1:])
    assert sum(step.source == ROOT for step in plan.steps) == 3


def test_a_bounded_pattern_shares_only_with_bounded_ones() -> None:
    first, second, third = FIGURE_2
    plan = merge([first, replace(second, bounded=True), replace(third, bounded=True)])
    assert {bits: len(nodes) for bits, nodes in plan.clusters().items()} == {0b001: 4, 0b110: 3, 0b010: 1, 0b100: 1}
    assert plan.bounded == (False, True, True)


def test_identical_patterns_are_one_with_two_ends() -> None:
    plan = merge([sequence("AB"), sequence("AB")])
    assert len(plan.nodes) == 3 and {node.patterns for node in plan.nodes} == {0b11}
    assert [(end.node, end.pattern) for end in plan.ends] == [(2, 0), (2, 1)]


def test_a_pattern_may_end_inside_another() -> None:
    plan = merge([sequence("AB"), sequence("ABC")])
    assert patterns_by_word(plan) == {"A": 0b11, "AB": 0b11, "ABC": 0b10}


def test_plans_of_one_pattern_and_of_no_patterns() -> None:
    assert len(merge([sequence("A")]).nodes) == 2
    empty = merge([])
    assert len(empty.nodes) == 1 and empty.steps == () and empty.clusters() == {}


def test_other_windows_conditions_or_absences_are_other_states() -> None:
    hour = Extent(BoundKind.SPAN, False, 3600)
    assert len(merge([sequence("AB"), sequence("AB", extent=hour)]).nodes) - 1 == 4
    assert len(merge([sequence("AB"), sequence("AB", edges={1: RISING})], guards=False).nodes) - 1 == 3
    assert len(merge([sequence("AB"), sequence("AB", less=((0, 1),))], guards=False).nodes) - 1 == 3
    plain = sequence("AB")
    without_c = replace(plain, steps=(plain.steps[0], replace(plain.steps[1], absent=(2,))))
    assert len(merge([plain, without_c]).nodes) - 1 == 3
    assert len(merge([without_c, without_c]).nodes) - 1 == 2


def test_conditions_are_compared_as_sets() -> None:
    one, other = sequence("ABC", less=((0, 2), (1, 2))), sequence("ABC", less=((1, 2), (0, 2)))
    plan = merge([one, other])
    assert len(plan.nodes) == 4 and len(plan.run) == 2
    assert plan.steps[-1].checks == (0, 1)


def test_loops_are_shared_too() -> None:
    def with_loop(letters: str) -> PatternProgram:
        plain = sequence(letters)
        return replace(plain, steps=(*plain.steps, PatternStep(2, 1, 2)))

    plan = merge([with_loop("ABC"), with_loop("ABD"), sequence("ABD")])
    # A; B+ of two patterns; the single B of the third; three last events.
    assert len(plan.nodes) - 1 == 6
    assert sorted(node.patterns for node in plan.nodes) == [0b001, 0b010, 0b011, 0b100, 0b100, 0b111, 0b111]


def test_states_that_lead_nowhere_are_left_out() -> None:
    plain = sequence("AB")
    dead_end = replace(plain, states=5, steps=(*plain.steps, PatternStep(1, 1, 3), PatternStep(4, 0, 2)))
    assert merge([dead_end]) == merge([plain])


def test_patterns_of_several_streams_have_no_common_plan() -> None:
    with pytest.raises(ValueError, match="several streams"):
        merge([sequence("AB"), replace(sequence("AB"), stream=1)])


def test_the_labels_of_a_match_are_the_patterns_own() -> None:
    plan = merge([sequence("AB"), sequence("CAB")])
    assert plan.labels == ("c0#1", "c1#1", "c2#1")
    assert plan.pattern_labels == ((0, 1, -1), (1, 2, 0))


def test_hundreds_of_patterns_have_bit_sets_of_any_width() -> None:
    plan = merge([sequence("A" + chr(ord("B") + number)) for number in range(300)])
    assert plan.nodes[1].patterns == (1 << 300) - 1
    assert len(plan.nodes) == 302 and len(plan.clusters()) == 301


def test_a_thousand_patterns() -> None:
    draw = random.Random(7)
    patterns = [sequence("".join(draw.choices("ABCDEFGHIJ", k=6)), edges={3: RISING}) for _ in range(1_000)]
    plan = merge(patterns, guards=True)
    assert len(plan.nodes) < plan.states_apart == 6_000
    for number in range(0, 1_000, 50):
        longest = len(patterns[number].labels)
        assert words_of_plan(plan, number, patterns[number], longest) == words_of_program(patterns[number], longest)


# --- merging doesn't change the words of a pattern --------------------------------------------------------------------

_EDGES = st.sampled_from([(), (), RISING, (EdgeCheck("<", 1, 1),), (EdgeCheck("<", 1, 1), *RISING)])


@st.composite
def programs(draw: st.DrawFn) -> PatternProgram:
    """Sequences with loops, optional events, and conditions on any step."""
    qualifies = tuple(draw(st.lists(st.integers(0, 2), min_size=1, max_size=5)))
    count = len(qualifies)
    labels = canonical_names(qualifies)
    loops = draw(st.sets(st.integers(1, count), max_size=1))
    optional = draw(st.sets(st.integers(1, count), max_size=1)) if count > 1 else set()
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=2))
    less = [(min(pair), max(pair)) for pair in pairs if len(set(pair)) == 2]
    run: dict[RunCondition, int] = {}
    links = [(state, state + 1) for state in range(count)]
    links += [(state, state) for state in sorted(loops)]
    links += [(state - 1, state + 1) for state in sorted(optional) if state < count]
    steps = []
    for source, target in links:
        conditions = [smaller(labels[one], labels[other]) for one, other in less if other == target - 1]
        steps.append(
            PatternStep(
                source,
                target - 1,
                target,
                absent=draw(st.sampled_from([(), (), (), (3,)])) if source else (),
                checks=tuple(dict.fromkeys(run.setdefault(condition, len(run)) for condition in conditions)),
                edges=draw(_EDGES) if source else (),
            )
        )
    ends = {count} | ({count - 1} if count in optional else set())
    return PatternProgram("p", labels, qualifies, count + 1, tuple(steps), tuple((end, ()) for end in ends), tuple(run))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(programs(), min_size=1, max_size=5),
    st.sampled_from(
        [
            {"offsets": False},
            {"offsets": True},
            {"guards": True},
            {"guards": True, "offsets": False},
            {"separate": True},
        ]
    ),
)
def test_each_pattern_accepts_the_words_of_its_program(
    patterns: list[PatternProgram], options: dict[str, bool]
) -> None:
    plan = merge(patterns, **options)
    for number, program in enumerate(patterns):
        expected = Counter(words_of_program(program, longest=6))
        assert Counter(words_of_plan(plan, number, program, longest=6)) == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(programs(), min_size=1, max_size=4))
def test_merging_adds_no_states_and_equal_patterns_are_merged(patterns: list[PatternProgram]) -> None:
    plan = merge(patterns, offsets=False)
    assert len(plan.nodes) - 1 <= plan.states_apart
    for step in plan.steps:
        assert step.segment == NO_SEGMENT
        assert plan.nodes[step.target].patterns & ~plan.nodes[step.source].patterns == 0
    assert all(node.patterns for node in plan.nodes)
    twice = merge([*patterns, *patterns], offsets=False)
    assert len(twice.nodes) == len(plan.nodes) and len(twice.steps) == len(plan.steps)
