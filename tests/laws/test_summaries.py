"""Summaries equal their definition for every expression, stream, window and division into batches."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks.summary.single_answers import ask
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.summary_strategies import columns, expressions, queries, selections, streams, windows
from tests.summaries.state_counters import StateCounters

from ostinato.event_queries.language.event_query import Selection
from ostinato.reference import summary_oracle as oracle
from ostinato.summaries.engine.bridges import WeightedEvents, contributions
from ostinato.summaries.engine.counter_moves import CountProgram, count_program, sum_program
from ostinato.summaries.engine.kernel_tables import COUNT, FIRST, FIRST_OLD_CELL, LAST_OLD_CELL, NOW, STALE
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery
from ostinato.summaries.language.type_automaton import NO_STATE, START, TypeAutomaton, compile_expression

BENEFIT = (Strategy.CAPPED, Strategy.PUBLISHED, Strategy.PRESENT)


def accepts(automaton: TypeAutomaton, word: tuple[str, ...]) -> bool:
    state = START
    for letter in word:
        state = automaton.next_state[state][automaton.types.index(letter)]
        if state == NO_STATE:
            return False
    return automaton.final[state]


@given(expressions)
def test_the_automaton_accepts_the_expression(expression: str) -> None:
    automaton = compile_expression(expression)
    words = oracle.language(SummaryQuery(expression, 1, 1))
    for length in range(1, 6):
        for word in product(automaton.types, repeat=length):
            remaining = words
            for letter in word:
                remaining = oracle.after(remaining, letter)
            assert accepts(automaton, word) == oracle.has_empty(remaining)


@given(expressions)
def test_the_automaton_is_minimal_and_never_enters_its_start_again(expression: str) -> None:
    automaton = compile_expression(expression)
    assert all(to != START for row in automaton.next_state for to in row)
    suffixes = [word for length in range(6) for word in product(automaton.types, repeat=length)]
    inner = range(1, len(automaton.final))

    def future(state: int) -> frozenset[tuple[str, ...]]:
        moved = replace(automaton, next_state=(automaton.next_state[state], *automaton.next_state[1:]))
        return frozenset(w for w in suffixes if (accepts(moved, w) if w else automaton.final[state]))

    futures = [future(state) for state in inner]
    assert all(futures), "a state that leads nowhere"
    if len(automaton.final) <= 6:  # suffixes that long tell states apart
        assert len(set(futures)) == len(futures)


def relevant_events(
    automaton: TypeAutomaton, events: list[oracle.SummaryEvent]
) -> tuple[WeightedEvents, list[oracle.SummaryEvent]]:
    relevant = [event for event in events if event.type in automaton.types]
    types = [automaton.types.index(event.type) for event in relevant]
    return WeightedEvents(
        [event.time_us for event in relevant], types, [event.value or 0 for event in relevant]
    ), relevant


@given(expressions, windows, selections, streams())
def test_bridges_count_the_matches_of_the_oracle(
    expression: str, window: int, selection: Selection, events: list[oracle.SummaryEvent]
) -> None:
    query = SummaryQuery(expression, window, 1, selection=selection)
    automaton = compile_expression(expression)
    weighted, relevant = relevant_events(automaton, events)
    program = count_program(automaton, selection)
    counted = contributions(program, weighted, window)
    assert counted.total == len(oracle.matches(query, relevant))
    assert counted.of_event == oracle.contributions(query, relevant)
    summed = oracle.aggregate(replace(query, aggregate=SummaryAggregate.SUM), relevant)
    assert contributions(sum_program(program), weighted, window).total == (summed or 0)


@given(expressions, windows, selections, streams(12), st.lists(st.integers(0, 11), max_size=6), st.booleans())
def test_insert_and_remove_equal_new_counters(
    expression: str,
    window: int,
    selection: Selection,
    events: list[oracle.SummaryEvent],
    victims: list[int],
    sums: bool,
) -> None:
    automaton = compile_expression(expression)
    program = count_program(automaton, selection)
    program = sum_program(program) if sums else program
    counters = StateCounters(program, window)
    for number, event in enumerate(events):
        if event.type in automaton.types:
            counters.insert(event.time_us, automaton.types.index(event.type), event.value or 0)
        else:
            counters.expire(event.time_us)
        if number in victims and len(counters):
            counters.remove(victims.index(number) % len(counters))
    new_counters = StateCounters(program, window)
    for row in zip(counters.times, counters.types, counters.weights, strict=True):
        new_counters.insert(*row)
    new_counters.expire(events[-1].time_us if events else 0)
    counters.expire(events[-1].time_us if events else 0)
    assert counters == new_counters


@pytest.mark.kernel
@given(queries((*BENEFIT, Strategy.FIFO)), streams(12))
def test_the_kept_events_are_those_of_the_definition(query: SummaryQuery, events: list[oracle.SummaryEvent]) -> None:
    summary = Summary(query)
    answer = ask(summary, summary.advance(columns(summary, events), summary.new_state()))
    kept_numbers = [event.number for event in answer.kept]
    assert kept_numbers == oracle.kept_events(query, events)
    value = oracle.aggregate(query, [events[number] for number in kept_numbers])
    assert answer.value == (float(value) if value is not None and query.aggregate is SummaryAggregate.AVG else value)
    assert [event.contribution for event in answer.kept] == oracle.contributions(
        query, [events[n] for n in kept_numbers]
    )


@pytest.mark.kernel
@given(
    queries(tuple(Strategy)),
    streams(14),
    st.sets(st.integers(0, 14)),
    st.booleans(),
    st.booleans(),
)
def test_batches_may_be_cut_anywhere(
    query: SummaryQuery, events: list[oracle.SummaryEvent], cuts: set[int], learns: bool, wide: bool
) -> None:
    if learns:
        query = replace(query, probabilities=None, tick_us=None, half_life_events=5)
    summary = Summary(query)
    in_one_batch = summary.advance(columns(summary, events), summary.new_state())
    state = summary.new_state()
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(events)], strict=True):
        state = summary.advance(columns(summary, events[first:end]), state)
        state = summary.state_from_bytes(state.to_bytes())
    assert state.to_bytes() == in_one_batch.to_bytes()
    if wide:
        wide_state = summary.advance(columns(summary, events), summary.new_state().widened())
        assert wide_state.to_bytes() == in_one_batch.widened().to_bytes()


@given(expressions, windows, streams())
def test_the_answer_is_exact_if_all_events_fit(expression: str, window: int, events: list[oracle.SummaryEvent]) -> None:
    query = SummaryQuery(expression, window, 10)
    summary = Summary(query)
    answer = ask(summary, summary.advance(columns(summary, events), summary.new_state()))
    assert answer.value == len(oracle.matches(query, events))


def exact_counters(program: CountProgram, summary: Summary, state: SummaryState) -> StateCounters:
    arrays = state.columns
    counters = StateCounters(program, summary.query.window_us)
    for row in range(arrays.marks[COUNT]):
        counters.insert(int(arrays.time[row]), int(arrays.type[row]), int(arrays.weight[row]))
    return counters


@pytest.mark.slow
@pytest.mark.kernel
@settings(max_examples=examples(37))
@given(
    st.sampled_from(["a(b*c)*d(e|f)g*", "a*g(a|b)*g*a", "(e|b|f)+ceaf", "a(b|g)*a"]),
    st.sampled_from([1, 7, 20, 60]),
    st.sampled_from([3, 20, 40]),
    st.sampled_from(BENEFIT),
    st.booleans(),
    selections,
    st.integers(0, 2**32),
)
def test_compiled_counters_equal_recomputed_ones(
    expression: str, window: int, size: int, strategy: Strategy, sums: bool, selection: Selection, seed: int
) -> None:
    """Compares doubles with exact integers on streams of 300 events."""
    rng = np.random.default_rng(seed)
    aggregate = SummaryAggregate.SUM if sums else SummaryAggregate.COUNT
    summary = Summary(SummaryQuery(expression, window, size, aggregate, selection, strategy))
    rows = 300
    time = np.cumsum(rng.choice([0, 1, 1, 3], rows)) - 50
    letters = rng.choice(list("abcdefg"), rows).tolist()
    events = SummaryEvents(time, summary.codes(letters), rng.integers(0, 5, rows))
    state = summary.new_state()
    for first in range(0, rows, 30):
        rows_of_batch = slice(first, first + 30)
        state = summary.advance(
            SummaryEvents(time[rows_of_batch], events.codes[rows_of_batch], events.values[rows_of_batch]), state
        )  # type: ignore[index]
        exact = exact_counters(summary.program, summary, state)
        arrays, count = state.columns, len(state)
        if arrays.marks[FIRST_OLD_CELL] > arrays.marks[LAST_OLD_CELL]:  # no old cell waits for a recount
            present = (arrays.own + arrays.carried + arrays.fresh)[:count]
            np.testing.assert_allclose(present, [float(exact.present(e)) for e in range(count)], rtol=1e-12)
        exact.expire(int(arrays.marks[NOW]))
        if not arrays.marks[STALE] and exact.first == arrays.marks[FIRST]:
            active = np.array(exact.active_local, float).reshape(count, -1)[exact.first :]
            np.testing.assert_allclose(arrays.active[exact.first : count], active, rtol=1e-12)
