"""Labels that become loops of a shared log, and reasons not to share. Letters are types of events."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.event_queries.trends.enumerated import LETTERS, program, windows

from ostinato.event_queries.automaton.trend_automaton import TrendAutomaton
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Extent, Program
from ostinato.event_queries.trends.loops import (
    TOO_MANY_WINDOWS,
    absent_conditions,
    chosen_loops,
    declined,
    fitting,
    possible_loops,
    sharing_queries,
)


def repeated(query: Program) -> str:
    """The types of events that could become loops."""
    return "".join(LETTERS[loop.condition] for loop in possible_loops(query))


def chosen(*patterns: str) -> list[str]:
    """By pattern: the types that become loops if the patterns run together."""
    return [
        "".join(LETTERS[loop.condition] for loop in loops)
        for loops in chosen_loops([program(text) for text in patterns])
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"), [("A B+", "B"), ("A+ B+", "AB"), ("A B C", ""), ("A+", "A"), ("A !C B+ C", "B")]
)
def test_a_loop_is_a_type_that_follows_itself(pattern: str, expected: str) -> None:
    assert repeated(program(pattern)) == expected


def test_other_sources_of_a_loop() -> None:
    (loop,) = possible_loops(program("A B+ C"))
    assert (loop.label, loop.state) == (1, 2)
    assert [step.source for step in loop.others] == [1]


def test_only_one_of_two_adjacent_loops_is_chosen() -> None:
    assert chosen("A+ B+") == ["A"]
    assert chosen("A+ C B+") == ["AB"]


def test_the_more_widely_shared_loop_is_chosen() -> None:
    assert chosen("A+ B+", "C B+") == ["B", "B"]


def test_programs_by_shared_events() -> None:
    shared = sharing_queries([program("A B+"), program("C B+"), program("A+ C")])
    assert {LETTERS[condition]: numbers for condition, numbers in shared.items()} == {"B": [0, 1], "A": [2]}


def test_conditions_of_absent_events() -> None:
    absent = absent_conditions(program("A !C B+"), [0])
    assert {LETTERS[condition] for condition in absent} == {"C"}


# --- declined programs ------------------------------------------------------------------------------------------------

Q1, Q2 = program("A B+"), program("C B+")


def test_two_programs_that_repeat_the_same_events_share() -> None:
    assert declined([Q1, Q2]) is None


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (program("C A+"), "no two queries repeat the same events"),
        (replace(Q2, selection=Selection.NEXT), "only SKIP TILL ANY MATCH can be shared"),
        (replace(Q2, extent=Extent(BoundKind.SPAN, False, 5, 0)), "WITHIN without SLIDE"),
        (replace(Q2, edges=(EdgeTest(1, 1, 0, "<", 0),)), "conditions between adjacent events"),
        (program("C B+", extent=windows(10**6, 1)), TOO_MANY_WINDOWS),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_reasons_to_decline(other: Program, reason: str) -> None:
    answer = declined([Q1, other])
    assert answer is not None
    assert reason in answer


def test_not_over_several_events_is_declined() -> None:
    two_events = program("A B").automaton
    query = program("A !C B+")
    automaton: TrendAutomaton = replace(query.automaton, absences=(two_events,))
    assert declined([replace(query, automaton=automaton), Q2]) == "NOT over more than one event"


def test_programs_with_few_windows_are_preferred() -> None:
    """One table has all open windows. 40,000 windows with three states each are too many."""
    many, few = program("A B+", extent=windows(40_000, 1)), program("C B+", extent=windows(10, 5))
    assert fitting([many, few, Q1]) == (1, 2)
    assert fitting([few, Q1]) == (0, 1)
