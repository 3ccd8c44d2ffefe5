"""Patterns of events as automata over variables: one line a state, `!` before what must be absent, `.` accepting."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ostinato.errors import QueryError
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton, both, build_trend_automaton
from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
)

A, B, C, D = (OneEvent(letter, letter) for letter in "ABCD")


def seq(*parts: EventPattern) -> InOrder:
    return InOrder(parts)


def plus(body: EventPattern) -> Repeated:
    return Repeated(body, Quantifier.ONE_OR_MORE)


def maybe(body: EventPattern) -> Repeated:
    return Repeated(body, Quantifier.AT_MOST_ONE)


def star(body: EventPattern) -> Repeated:
    return Repeated(body, Quantifier.ANY_NUMBER)


def dump(pattern: EventPattern) -> list[str]:
    return build_trend_automaton(pattern).dump().split("\n")


def code(pattern: EventPattern) -> str:
    with pytest.raises(QueryError) as caught:
        build_trend_automaton(pattern)
    return caught.value.code


def test_a_kleene_plus_loops() -> None:
    assert dump(seq(A, plus(B))) == ["start -> A 1", "1 -> B 2", "2. -> B 2"]
    assert dump(plus(seq(A, plus(B)))) == ["start -> A 1", "1 -> B 2", "2. -> A 1, B 2"]


def test_ways_that_spell_the_same_word_are_one_state() -> None:
    assert dump(seq(plus(A), plus(A))) == ["start -> A 1", "1 -> A 2", "2. -> A 2"]
    x, y = OneEvent("A", "x"), OneEvent("A", "y")
    assert dump(seq(plus(x), plus(y))) == ["start -> x 1", "1 -> x 1, y 2", "2. -> y 2"]


def test_start_is_never_entered_nor_accepting() -> None:
    assert dump(star(A)) == ["start -> A 1", "1. -> A 1"]
    assert dump(seq(maybe(A), maybe(B))) == ["start -> A 1, B 2", "1. -> B 2", "2. ->"]


def test_every_state_is_entered_by_one_label() -> None:
    automaton = build_trend_automaton(seq(AnyOf((A, B)), C))
    assert automaton.dump().split("\n") == ["start -> A 1, B 2", "1 -> C 3", "2 -> C 3", "3. ->"]
    assert automaton.entry_labels() == (-1, 0, 1, 2)


def test_states_with_the_same_future_are_merged() -> None:
    assert dump(AnyOf((seq(A, C), seq(A, C, C), seq(B, C), seq(B, C, C)))) == [
        "start -> A 1, B 2",
        "1 -> C 3",
        "2 -> C 3",
        "3. -> C 4",
        "4. ->",
    ]


def test_an_absence_is_on_the_steps_that_cross_it() -> None:
    assert dump(seq(A, Absent(C), plus(B))) == [
        "start -> A 1",
        "1 -> !0 B 2",
        "2. -> B 2",
        "absent 0: start -> C 1; 1. ->",
    ]
    assert dump(plus(seq(A, Absent(C), B)))[:3] == ["start -> A 1", "1 -> !0 B 2", "2. -> A 1"]


def test_absences_at_the_start_and_at_the_end() -> None:
    assert dump(seq(Absent(C), A, B, Absent(D)))[:3] == ["start -> !0 A 1", "1 -> B 2", "2. !1 ->"]
    assert dump(plus(seq(Absent(C), A)))[:2] == ["start -> !0 A 1", "1. -> !0 A 1"]
    assert dump(plus(seq(A, Absent(C))))[:2] == ["start -> A 1", "1. !0 -> !0 A 1"]
    assert dump(seq(A, Absent(C), Absent(D), B))[1] == "1 -> !0 !1 B 2"


def test_the_same_absence_twice_is_one() -> None:
    automaton = build_trend_automaton(seq(A, Absent(seq(C, plus(D))), B, Absent(seq(C, plus(D))), A))
    assert len(automaton.absences) == 1
    assert automaton.absences[0].labels == ("C", "D")


def test_absences_that_two_ways_disagree_about_are_declined() -> None:
    assert code(AnyOf((seq(A, Absent(C), B), seq(A, B)))) == "AMBIGUOUS_NEGATION"
    assert code(AnyOf((seq(A, B, Absent(C)), seq(A, B)))) == "AMBIGUOUS_NEGATION"
    assert code(plus(seq(plus(A), Absent(C)))) == "AMBIGUOUS_NEGATION"
    other = OneEvent("B", "other")
    assert len(dump(AnyOf((seq(A, Absent(C), B), seq(A, other))))) == 5


def test_what_stands_next_to_a_not_must_occur() -> None:
    assert code(seq(A, Absent(C), maybe(B))) == "NEGATION_NEXT_TO_OPTIONAL"
    assert code(seq(A, star(B), Absent(C), D)) == "NEGATION_NEXT_TO_OPTIONAL"
    assert code(seq(Absent(C))) == "NEGATION_MISPLACED"
    assert code(plus(Absent(C))) == "NEGATION_MISPLACED"
    assert code(seq(A, AllOf((A, B)))) == "CONJUNCTION_NOT_SUPPORTED"


def test_patterns_that_need_too_many_states() -> None:
    anything = AnyOf((A, B))
    assert code(seq(star(anything), A, *[anything] * 13)) == "PATTERN_TOO_LARGE"
    assert build_trend_automaton(seq(*[A] * 4_000)).states == 4_001


def test_what_two_patterns_share() -> None:
    one, other = build_trend_automaton(seq(plus(A), B)), build_trend_automaton(seq(A, plus(AnyOf((A, B)))))
    assert words(both(one, other), 4) == words(one, 4) & words(other, 4)
    assert both(build_trend_automaton(seq(A, B)), build_trend_automaton(seq(B, A))).transitions == ()
    assert both(build_trend_automaton(A), build_trend_automaton(B)) == TrendAutomaton((), 1, (), frozenset())


# --- against the definition -------------------------------------------------------------------------------------------

Way = tuple[tuple[str, frozenset[EventPattern]], ...]
"""A way through a pattern: each variable with what must be absent before it; at the end "" with what must be behind."""


def ways(pattern: EventPattern, longest: int) -> set[Way]:
    """All ways of at most so many events, by definition. Each ends with ("", absences behind)."""
    nothing: frozenset[EventPattern] = frozenset()
    match pattern:
        case OneEvent(variable=name):
            return {((name, nothing), ("", nothing))}
        case AnyOf(parts):
            return set[Way]().union(*(ways(part, longest) for part in parts))
        case InOrder(parts):
            found: set[Way] = {(("", nothing),)}
            for part in parts:
                if isinstance(part, Absent):
                    found = {(*way[:-1], ("", way[-1][1] | {part.body})) for way in found}
                else:
                    found = _after(found, ways(part, longest), longest)
            return found
        case Repeated(body, times):
            once = ways(body, longest)
            found = {(("", nothing),)} if times is not Quantifier.ONE_OR_MORE else set(once)
            if times is Quantifier.AT_MOST_ONE:
                return found | once
            for _ in range(longest):
                found |= _after(found, once, longest)
            return found
    raise AssertionError(pattern)


def _after(left: set[Way], right: set[Way], longest: int) -> set[Way]:
    return {
        (*one[:-1], (two[0][0], one[-1][1] | two[0][1]), *two[1:])
        for one, two in product(left, right)
        if len(one) + len(two) - 2 <= longest
    }


def words(automaton: TrendAutomaton, longest: int) -> set[tuple[str, ...]]:
    return {tuple(name for name, _ in way[:-1]) for way in walks(automaton, (), longest)}


def walks(automaton: TrendAutomaton, bodies: tuple[EventPattern, ...], longest: int) -> set[Way]:
    """The same, read from the automaton."""

    def named(absences: tuple[int, ...]) -> frozenset[EventPattern]:
        return frozenset(bodies[absence] for absence in absences)

    found: set[Way] = set()
    waiting: list[tuple[int, Way]] = [(START, ())]
    while waiting:
        state, way = waiting.pop()
        if state in automaton.accepting:
            ends = tuple(absence for at, absence in automaton.end_absences if at == state)
            found.add((*way, ("", named(ends))))
        if len(way) < longest:
            waiting.extend(
                (step.target, (*way, (automaton.labels[step.label], named(step.absences))))
                for step in automaton.transitions
                if step.source == state
            )
    return found


def absent_bodies(pattern: EventPattern) -> tuple[EventPattern, ...]:
    found: dict[EventPattern, None] = {}

    def look(part: EventPattern) -> None:
        match part:
            case Absent(body):
                found[body] = None
            case InOrder(parts) | AnyOf(parts):
                for inner in parts:
                    look(inner)
            case Repeated(body=body):
                look(body)
            case _:
                pass

    look(pattern)
    return tuple(found)


def patterns(negated: bool) -> st.SearchStrategy[EventPattern]:
    parts: st.SearchStrategy[EventPattern] = st.sampled_from([A, B, C])

    def wider(inner: st.SearchStrategy[EventPattern]) -> st.SearchStrategy[EventPattern]:
        element = inner | st.builds(Absent, st.sampled_from([D, seq(D, D)])) if negated else inner
        sequences = st.lists(element, min_size=1, max_size=3).map(lambda found: InOrder(tuple(found)))
        options = st.lists(inner, min_size=1, max_size=2).map(lambda found: AnyOf(tuple(found)))
        return sequences | options | st.builds(Repeated, inner, st.sampled_from(Quantifier))

    return st.recursive(parts, wider, max_leaves=6)


@given(patterns(negated=False))
@settings(max_examples=examples(150), deadline=None)
def test_the_automaton_accepts_the_words_of_the_pattern(pattern: EventPattern) -> None:
    automaton = build_trend_automaton(pattern)
    by_definition = {tuple(name for name, _ in way[:-1]) for way in ways(pattern, 4)} - {()}
    assert words(automaton, 4) == by_definition
    check_shape(automaton)


@given(patterns(negated=True))
@settings(max_examples=examples(200), deadline=None)
def test_every_word_has_the_absences_of_its_way(pattern: EventPattern) -> None:
    try:
        automaton = build_trend_automaton(pattern)
    except QueryError as error:
        assert error.code in ("AMBIGUOUS_NEGATION", "NEGATION_NEXT_TO_OPTIONAL", "NEGATION_MISPLACED")
        return
    by_definition = {way for way in ways(pattern, 4) if len(way) > 1}
    assert walks(automaton, absent_bodies(pattern), 4) == by_definition
    check_shape(automaton)


@given(patterns(negated=False), patterns(negated=False))
@settings(max_examples=examples(100), deadline=None)
def test_an_intersection_accepts_what_both_accept(left: EventPattern, right: EventPattern) -> None:
    one, other = build_trend_automaton(left), build_trend_automaton(right)
    shared = both(one, other)
    assert words(shared, 4) == words(one, 4) & words(other, 4)
    check_shape(shared)


def check_shape(automaton: TrendAutomaton) -> None:
    """Deterministic, START by itself, one label into each state, all states numbered and used."""
    steps = automaton.transitions
    assert len({(step.source, step.label) for step in steps}) == len(steps)
    assert START not in automaton.accepting and all(step.target != START for step in steps)
    assert len({(step.target, step.label) for step in steps}) == len({step.target for step in steps})
    assert {START, *(step.target for step in steps)} == set(range(automaton.states))
