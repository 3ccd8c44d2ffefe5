"""Queries that can share a Kleene sub-pattern."""

from __future__ import annotations

from tests.event_queries.plan.event_texts import planned

from ostinato.event_queries.plan.event_program import Program
from ostinato.event_queries.trends.sharable import (
    KleeneLoop,
    SharableSet,
    loop_conditions,
    sharable_loops,
    sharable_sets,
)


def programs(*texts: str) -> list[Program]:
    return [query.programs[0] for query in planned(*(f"PATTERN {text}" for text in texts)).queries]


def sets(*texts: str, keys: list[int] | None = None) -> list[tuple[int, ...]]:
    all_programs = programs(*texts)
    return [sharable.programs for sharable in sharable_sets(all_programs, keys or [0] * len(all_programs))]


def test_definition_4_a_loop_that_several_queries_have() -> None:
    all_programs = programs("SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN COUNT(*)", "SEQ(A, C+) RETURN COUNT(*)")
    assert sharable_loops(all_programs) == (KleeneLoop(1, (0, 1)),)  # condition 1 is the condition of B


def test_a_loop_is_a_label_that_may_directly_follow_itself() -> None:
    nested, pairs, again = programs(
        "(SEQ(A, B+))+ RETURN COUNT(*)", "(SEQ(A, B))+ RETURN COUNT(*)", "SEQ(A, B*, A) RETURN COUNT(*)"
    )
    assert loop_conditions(nested) == {1} and loop_conditions(pairs) == frozenset() and loop_conditions(again) == {1}


def test_sub_patterns_with_different_conditions_are_not_shared() -> None:
    slow = "SEQ(A, B+ b) WHERE b.x < 10 RETURN COUNT(*)"
    assert sets(slow, "SEQ(C, B+ b) RETURN COUNT(*)") == []
    assert sets(slow, "SEQ(C, B+ t) WHERE t.x < 10 RETURN COUNT(*)") == [(0, 1)]


def test_definition_5_a_set_has_all_queries_that_pairs_connect() -> None:
    all_programs = programs(
        "SEQ(A, B+) RETURN COUNT(*)",
        "SEQ(C, B+, D+) RETURN COUNT(*)",
        "SEQ(A, D+) RETURN COUNT(*)",
        "SEQ(A, C) RETURN COUNT(*)",
    )
    assert sharable_sets(all_programs, [0] * 4) == (
        SharableSet((0, 1, 2), (KleeneLoop(1, (0, 1)), KleeneLoop(3, (1, 2)))),
    )


def test_grouping_attributes_must_be_the_same() -> None:
    one, other = "SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN COUNT(*)"
    assert sets(one, other, keys=[0, 1]) == []


def test_sums_and_extremes_share_with_counts() -> None:
    count, total = "SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN AVG(B.x)"
    least, most = "SEQ(A, B+) RETURN MIN(B.x)", "SEQ(C, B+) RETURN MAX(B.x)"
    assert sets(count, total) == sets(count, least) == sets(least, most) == [(0, 1)]


def test_windows_of_the_same_measure_share() -> None:
    def within(bound: str) -> str:
        return f"SEQ(A, B+) {bound} RETURN COUNT(*)"

    by_time = within("WITHIN 10 MINUTES SLIDE 5 MINUTES")
    assert sets(by_time, within("WITHIN 15 MINUTES SLIDE 5 MINUTES")) == [(0, 1)]
    assert sets(by_time, within("WITHIN 100 EVENTS TUMBLE")) == []
    assert sets(by_time, within("")) == []


def test_queries_with_different_selections_do_not_share() -> None:
    assert sets("SEQ(A, B+) RETURN COUNT(*)", "SEQ(A, B+) STRICT RETURN COUNT(*)") == []
