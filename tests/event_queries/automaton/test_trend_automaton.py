"""Event patterns as automata over variables. In dumps, a line is a state, `!` is an absence, `.` is accepting."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ostinato.errors import QueryError
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton, both, build_trend_automaton
from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.event_queries.language.event_query import (
    ANY_NUMBER,
    AT_MOST_ONE,
    ONE_OR_MORE,
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    Without,
)

A, B, C, D = (OneEvent(letter, letter) for letter in "ABCD")


def seq(*elements: EventPattern) -> InOrder:
    return InOrder(elements)


def plus(body: EventPattern) -> Repeated:
    return Repeated(body, ONE_OR_MORE)


def maybe(body: EventPattern) -> Repeated:
    return Repeated(body, AT_MOST_ONE)


def star(body: EventPattern) -> Repeated:
    return Repeated(body, ANY_NUMBER)


def dump(pattern: EventPattern) -> list[str]:
    return build_trend_automaton(pattern).dump().split("\n")


def code(pattern: EventPattern) -> str:
    with pytest.raises(QueryError) as caught:
        build_trend_automaton(pattern)
    return caught.value.code


def test_a_kleene_plus_loops() -> None:
    assert dump(seq(A, plus(B))) == ["start -> A 1", "1 -> B 2", "2. -> B 2"]
    assert dump(plus(seq(A, plus(B)))) == ["start -> A 1", "1 -> B 2", "2. -> A 1, B 2"]


def test_paths_with_the_same_word_are_one_state() -> None:
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


def test_an_absence_belongs_to_the_steps_that_cross_it() -> None:
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


def test_equal_absences_are_stored_once() -> None:
    automaton = build_trend_automaton(seq(A, Absent(seq(C, plus(D))), B, Absent(seq(C, plus(D))), A))
    assert len(automaton.absences) == 1
    assert automaton.absences[0].labels == ("C", "D")


def test_paths_with_one_word_and_different_absences_are_declined() -> None:
    assert code(AnyOf((seq(A, Absent(C), B), seq(A, B)))) == "AMBIGUOUS_NEGATION"
    assert code(AnyOf((seq(A, B, Absent(C)), seq(A, B)))) == "AMBIGUOUS_NEGATION"
    assert code(plus(seq(plus(A), Absent(C)))) == "AMBIGUOUS_NEGATION"
    other = OneEvent("B", "other")
    assert len(dump(AnyOf((seq(A, Absent(C), B), seq(A, other))))) == 5


def test_neighbours_of_not_must_not_be_optional() -> None:
    assert code(seq(A, Absent(C), maybe(B))) == "NEGATION_NEXT_TO_OPTIONAL"
    assert code(seq(A, star(B), Absent(C), D)) == "NEGATION_NEXT_TO_OPTIONAL"
    assert code(seq(Absent(C))) == "NEGATION_MISPLACED"
    assert code(plus(Absent(C))) == "NEGATION_MISPLACED"
    assert code(seq(A, AllOf((A, B)))) == "CONJUNCTION_NOT_SUPPORTED"


def test_patterns_with_too_many_states_raise() -> None:
    anything = AnyOf((A, B))
    assert code(seq(star(anything), A, *[anything] * 13)) == "PATTERN_TOO_LARGE"
    assert build_trend_automaton(seq(*[A] * 4_000)).states == 4_001


def test_the_intersection_of_two_patterns() -> None:
    one, other = build_trend_automaton(seq(plus(A), B)), build_trend_automaton(seq(A, plus(AnyOf((A, B)))))
    assert words(both(one, other), 4) == words(one, 4) & words(other, 4)
    assert both(build_trend_automaton(seq(A, B)), build_trend_automaton(seq(B, A))).transitions == ()
    assert both(build_trend_automaton(A), build_trend_automaton(B)) == TrendAutomaton((), 1, (), frozenset())


# --- against the definition -------------------------------------------------------------------------------------------

Path = tuple[tuple[str, frozenset[EventPattern]], ...]
"""A path through a pattern: each variable with the patterns that must be absent before it. The last entry is "" with
the patterns that must be absent after the match."""


def paths(pattern: EventPattern, longest: int) -> set[Path]:
    """All paths of at most `longest` events, by the definition of patterns."""
    nothing: frozenset[EventPattern] = frozenset()
    match pattern:
        case OneEvent(variable=name):
            return {((name, nothing), ("", nothing))}
        case AnyOf(elements):
            return set[Path]().union(*(paths(element, longest) for element in elements))
        case InOrder(elements):
            result: set[Path] = {(("", nothing),)}
            for element in elements:
                if isinstance(element, Absent):
                    result = {(*path[:-1], ("", path[-1][1] | {element.body})) for path in result}
                else:
                    result = _after(result, paths(element, longest), longest)
            return result
        case Repeated(body, times):
            once, rounds, result = paths(body, longest), {(("", nothing),)}, set[Path]()
            for number in range((longest + times.at_least if times.at_most is None else times.at_most) + 1):
                result |= rounds if number >= times.at_least else set()
                rounds = _after(rounds, once, longest)
            return result
        case Without(body, absent):
            return {
                (path[0], *((name, gone | {absent.body}) for name, gone in path[1:-1]), *path[1:][-1:])
                for path in paths(body, longest)
            }
    raise AssertionError(pattern)


def _after(left: set[Path], right: set[Path], longest: int) -> set[Path]:
    return {
        (*one[:-1], (two[0][0], one[-1][1] | two[0][1]), *two[1:])
        for one, two in product(left, right)
        if len(one) + len(two) - 2 <= longest
    }


def words(automaton: TrendAutomaton, longest: int) -> set[tuple[str, ...]]:
    return {tuple(name for name, _ in path[:-1]) for path in walks(automaton, (), longest)}


def walks(automaton: TrendAutomaton, bodies: tuple[EventPattern, ...], longest: int) -> set[Path]:
    """All paths of at most `longest` events through the automaton."""

    def named(absences: tuple[int, ...]) -> frozenset[EventPattern]:
        return frozenset(bodies[absence] for absence in absences)

    result: set[Path] = set()
    waiting: list[tuple[int, Path]] = [(START, ())]
    while waiting:
        state, path = waiting.pop()
        if state in automaton.accepting:
            ends = tuple(absence for accepting, absence in automaton.end_absences if accepting == state)
            result.add((*path, ("", named(ends))))
        if len(path) < longest:
            waiting.extend(
                (step.target, (*path, (automaton.labels[step.label], named(step.absences))))
                for step in automaton.transitions
                if step.source == state
            )
    return result


def absent_bodies(pattern: EventPattern) -> tuple[EventPattern, ...]:
    bodies: dict[EventPattern, None] = {}

    def look(element: EventPattern) -> None:
        match element:
            case Absent(body):
                bodies[body] = None
            case InOrder(elements) | AnyOf(elements):
                for inner in elements:
                    look(inner)
            case Repeated(body=body):
                look(body)
            case Without(body, absent):
                look(body)
                look(absent)
            case _:
                pass

    look(pattern)
    return tuple(bodies)


BOUNDS = ((1, None), (0, None), (0, 1), (1, 1), (2, 2), (1, 2), (0, 3), (2, None))
QUANTIFIERS = [Quantifier(*bounds) for bounds in BOUNDS]


def patterns(negated: bool) -> st.SearchStrategy[EventPattern]:
    events: st.SearchStrategy[EventPattern] = st.sampled_from([A, B, C])

    def wider(inner: st.SearchStrategy[EventPattern]) -> st.SearchStrategy[EventPattern]:
        element = inner | st.builds(Absent, st.sampled_from([D, seq(D, D)])) if negated else inner
        sequences = st.lists(element, min_size=1, max_size=3).map(lambda elements: InOrder(tuple(elements)))
        options = st.lists(inner, min_size=1, max_size=2).map(lambda elements: AnyOf(tuple(elements)))
        larger = sequences | options | st.builds(Repeated, inner, st.sampled_from(QUANTIFIERS))
        return larger | st.builds(Without, inner, st.just(Absent(D))) if negated else larger

    return st.recursive(events, wider, max_leaves=6)


@given(patterns(negated=False))
@settings(max_examples=examples(150), deadline=None)
def test_the_automaton_accepts_the_words_of_the_pattern(pattern: EventPattern) -> None:
    automaton = build_trend_automaton(pattern)
    by_definition = {tuple(name for name, _ in path[:-1]) for path in paths(pattern, 4)} - {()}
    assert words(automaton, 4) == by_definition
    check_shape(automaton)


@given(patterns(negated=True))
@settings(max_examples=examples(200), deadline=None)
def test_every_word_has_the_absences_of_its_path(pattern: EventPattern) -> None:
    try:
        automaton = build_trend_automaton(pattern)
    except QueryError as error:
        assert error.code in ("AMBIGUOUS_NEGATION", "NEGATION_NEXT_TO_OPTIONAL", "NEGATION_MISPLACED")
        return
    by_definition = {path for path in paths(pattern, 4) if len(path) > 1}
    assert walks(automaton, absent_bodies(pattern), 4) == by_definition
    check_shape(automaton)


@given(patterns(negated=False), patterns(negated=False))
@settings(max_examples=examples(100), deadline=None)
def test_an_intersection_accepts_the_words_of_both(left: EventPattern, right: EventPattern) -> None:
    one, other = build_trend_automaton(left), build_trend_automaton(right)
    shared = both(one, other)
    assert words(shared, 4) == words(one, 4) & words(other, 4)
    check_shape(shared)


def check_shape(automaton: TrendAutomaton) -> None:
    """Checks the automaton: deterministic, no step to START, one label per state, and no unused states."""
    steps = automaton.transitions
    assert len({(step.source, step.label) for step in steps}) == len(steps)
    assert START not in automaton.accepting and all(step.target != START for step in steps)
    assert len({(step.target, step.label) for step in steps}) == len({step.target for step in steps})
    assert {START, *(step.target for step in steps)} == set(range(automaton.states))


@pytest.mark.parametrize(
    "text",
    ["((A{1000}){1000}){1000}", "(A{0,60}){0,60}", "(A{0,30} OR SEQ(A, A)){0,60}", "SEQ(A, NOT (B{1000}){1000}, A)"],
)
def test_large_numbers_of_repetitions_are_refused_at_once(text: str) -> None:
    with pytest.raises(QueryError, match="PATTERN_TOO_LARGE"):
        build_trend_automaton(parse_event_pattern(text))


def test_counted_repetitions_are_copies() -> None:
    assert dump(Repeated(A, Quantifier(2, 3))) == ["start -> A 1", "1 -> A 2", "2. -> A 3", "3. ->"]
    assert dump(Repeated(A, Quantifier(2, None))) == ["start -> A 1", "1 -> A 2", "2. -> A 2"]


def test_without_is_an_absence_inside_only() -> None:
    pattern = seq(A, Without(plus(B), Absent(D)), C)
    assert dump(pattern)[:4] == ["start -> A 1", "1 -> B 2", "2 -> !0 B 2, C 3", "3. ->"]
