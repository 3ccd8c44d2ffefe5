"""Laws that the answers of the event query oracle obey for every query. No engine here."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.laws.event_strategies import (
    AGGREGATES_ONLY,
    MATCHES_ONLY,
    Example,
    bind,
    event_examples,
    event_queries,
)

from ostinato.event_queries.automaton.trend_automaton import START, build_trend_automaton
from ostinato.event_queries.language.event_query import (
    AllOf,
    BoundEventQuery,
    EventWindows,
    ReturnAggregates,
    ReturnMatches,
    Selection,
    TimeWindows,
    TrendAggregate,
    TrendFunction,
)
from ostinato.reference.trend_matches import EventSet, TooManyRuns, by_window
from ostinato.reference.trend_oracle import trend_matches, trend_rows
from ostinato.reference.trend_values import adjacent_holds, at_row, run_holds
from ostinato.reference.trend_words import match_readings, prefix_readings

Rows = list[dict[str, Any]]


def match_counts(bound: BoundEventQuery, rows: Rows) -> Counter[tuple[Any, ...]]:
    """The matches as ids and variables. Rejects examples with too many matches for the oracle."""
    try:
        matches = trend_matches(bound, rows)
    except TooManyRuns:
        assume(False)
    return Counter(
        (each.group, each.window, *((rows[row]["id"], variable) for row, variable in each.pairs)) for each in matches
    )


def under(bound: BoundEventQuery, selection: Selection) -> BoundEventQuery:
    return replace(bound, query=replace(bound.query, selection=selection))


@given(event_examples())
def test_every_query_has_an_answer(example: Example) -> None:
    bound = bind(example.text)
    try:
        rows = trend_rows(bound, example.rows)
    except TooManyRuns:
        event("too many runs")
        return
    event("some rows" if rows else "no rows")
    for row in rows:
        assert bound.query.returns != ReturnMatches() or row["events"]
        assert not isinstance(bound.query.returns, ReturnAggregates) or tuple(row) == tuple(n for n, _ in bound.outputs)


@given(event_examples(MATCHES_ONLY), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(example: Example, random: Any) -> None:
    rows = example.rows
    shuffled = random.sample(rows, len(rows))
    assert match_counts(bind(example.text), shuffled) == match_counts(bind(example.text), rows)


@given(event_examples(replace(MATCHES_ONLY, selections=("",)), most_rows=7))
def test_each_wider_selection_adds_matches(example: Example) -> None:
    bound, rows = bind(example.text), example.rows
    strict, following, every = (
        match_counts(under(bound, selection), rows) for selection in (Selection.STRICT, Selection.NEXT, Selection.ANY)
    )
    assert strict <= following <= every
    assert set(every.values()) <= {1}


@given(event_examples(AGGREGATES_ONLY, most_rows=7))
def test_count_is_the_number_of_matches(example: Example) -> None:
    bound, rows = bind(example.text), example.rows
    assume(not isinstance(bound.query.pattern, AllOf))
    counted = replace(bound, outputs=(("n", TrendAggregate(TrendFunction.COUNT)),))
    by_scene = Counter((key[0], key[1]) for key in match_counts(bound, rows).elements())
    numbers = [row["n"] for row in trend_rows(counted, rows)]
    assert sorted(numbers) == sorted(by_scene.values()) or (numbers == [0] and not by_scene)


@given(event_examples(replace(MATCHES_ONLY, negation=False), most_rows=7))
def test_a_window_has_the_matches_of_its_own_events(example: Example) -> None:
    bound, rows = bind(example.text), example.rows
    assume(isinstance(bound.query.bound, TimeWindows | EventWindows))
    unbounded = replace(bound, query=replace(bound.query, bound=None))
    expected: Counter[tuple[Any, ...]] = Counter()
    for scenes in by_window(bound, rows):
        inside = {each.index for scene in scenes for each in scene.events}
        for key in match_counts(unbounded, [row for index, row in enumerate(rows) if index in inside]):
            expected[(key[0], scenes[0].window, *key[2:])] += 1
    assert match_counts(bound, rows) == expected


@given(event_examples(replace(MATCHES_ONLY, selections=("",)), most_rows=5))
def test_growing_runs_event_by_event_loses_no_match(example: Example) -> None:
    """The oracle finds the same matches as a test of all sequences of events with all choices of variables."""
    bound, rows = bind(example.text), example.rows
    assume(not bound.absent_variables)
    for scenes in by_window(bound, rows):
        for scene in scenes:
            expected = {run for run in every_choice(scene) if is_match(scene, run)}
            assert set(scene.matches(bound.query.pattern)) == expected


def every_choice(scene: EventSet) -> list[Any]:
    """Every sequence of pairs of events, in their order, and variables."""
    choices: list[Any] = [()]
    for each in scene.events:
        choices += [(*chosen, (each, variable)) for chosen in choices for variable in scene.bound.variables]
        assume(len(choices) < 20_000)
    return choices


def is_match(scene: EventSet, run: Any) -> bool:
    """The definition of a match, without NOT."""
    bound = scene.bound
    rows = [(each.row, variable) for each, variable in run]
    return (
        bool(run and match_readings(bound.query.pattern, tuple(variable for _, variable in run)))
        and all(one.time_us < other.time_us for (one, _), (other, _) in pairwise(run))
        and all(at_row(bound.qualifies[variable], row) is True for row, variable in rows)
        and all(
            adjacent_holds(condition, one, other)
            for condition in bound.adjacent
            for (one, before), (other, after) in pairwise(rows)
            if (condition.before, condition.after) == (before, after)
        )
        and all(run_holds(condition, rows) for condition in bound.run)
        and scene._in_span(run)
    )


STRICT_ON = replace(MATCHES_ONLY, selections=("STRICT ON (A, B)", "STRICT ON (D)", "STRICT ON (A, C, D)"))


@given(event_examples(STRICT_ON, most_rows=7))
def test_strict_on_allows_no_event_of_its_types_between_two_events(example: Example) -> None:
    """The matches are those of the same query without STRICT ON that have no such event between neighbours."""
    [types] = re.findall(r"STRICT ON \((.*)\)", example.text)
    bound, plain = bind(example.text), bind(re.sub(r"STRICT ON .*", "", example.text))
    tests = [bound.qualifies[f"strict on {kind}"] for kind in types.split(", ")]
    scenes, plain_scenes = (chain.from_iterable(by_window(each, example.rows)) for each in (bound, plain))
    for scene, plain_scene in zip(scenes, plain_scenes, strict=True):
        listed = [each.time_us for each in scene.events if any(at_row(test, each.row) is True for test in tests)]
        expected = {run for run in runs_of(plain_scene) if not any_between(run, listed)}
        assert set(runs_of(scene)) == expected


def runs_of(scene: EventSet) -> list[Any]:
    try:
        return scene.matches(scene.bound.query.pattern)
    except TooManyRuns:
        assume(False)
        raise


def any_between(run: Any, times: list[int]) -> bool:
    return any(one.time_us < time < other.time_us for (one, _), (other, _) in pairwise(run) for time in times)


@given(event_queries(replace(MATCHES_ONLY, negation=False)), st.data())
def test_the_words_of_a_pattern_are_those_of_its_automaton(text: str, data: Any) -> None:
    bound = bind(text)
    automaton = build_trend_automaton(bound.query.pattern)
    steps = {(step.source, automaton.labels[step.label]): step.target for step in automaton.transitions}
    words = st.lists(st.sampled_from(bound.variables), min_size=1, max_size=6)
    for word in data.draw(st.lists(words, min_size=1, max_size=20)):
        states: list[int | None] = [START]
        for variable in word:
            states.append(None if states[-1] is None else steps.get((states[-1], variable)))
        assert bool(prefix_readings(bound.query.pattern, tuple(word))) == (states[-1] is not None)
        assert bool(match_readings(bound.query.pattern, tuple(word))) == (states[-1] in automaton.accepting)


# --- the strategies themselves ----------------------------------------------------------------------------------------


KINDS: tuple[tuple[str, ...], ...] = (
    ("NOT", "SKIP TILL NEXT"),
    ("NOT", "SLIDE"),
    ("NOT", "WITHIN", "EVENTS"),
    (" AND ", "COUNT(*)"),
    ("SAME[k, g]", "GROUP BY g"),
    ("NEXT(", "% 3"),
    ("PREV(", ".y"),
    ("SUM(", "[i].x", "MATCHES"),
    ("STRICT", "EVENTS"),
    ("TYPE A AS",),
    ("AVG(",),
    (" OR ", ")+"),
    ("WITHOUT", "SKIP TILL NEXT"),
    ("WITHOUT", "SUM("),
    ("{2}", "{2,}"),
    (")" + "{1,2}",),
    ("STRICT ON", "GROUP BY g"),
    ("STRICT ON", "[k]"),
    ("/ (COUNT(*) + 1)",),
)


def test_queries_of_every_kind_are_drawn() -> None:
    counts_by_kind: Counter[tuple[str, ...]] = Counter()

    @settings(max_examples=1000, database=None, derandomize=True)
    @given(event_queries())
    def look(text: str) -> None:
        counts_by_kind.update(kind for kind in KINDS if all(word in text for word in kind))

    look()
    assert [kind for kind in KINDS if counts_by_kind[kind] < 2] == [], counts_by_kind


def test_many_examples_have_values() -> None:
    examples_by_outcome: Counter[str] = Counter()

    @settings(max_examples=200, database=None, derandomize=True)
    @given(event_examples())
    def look(example: Example) -> None:
        try:
            rows = trend_rows(bind(example.text), example.rows)
        except TooManyRuns:
            examples_by_outcome["too many"] += 1
            return
        examples_by_outcome["something" if any(value for row in rows for value in row.values()) else "nothing"] += 1

    look()
    assert examples_by_outcome["something"] > 80, examples_by_outcome
    assert examples_by_outcome["too many"] < 10, examples_by_outcome
