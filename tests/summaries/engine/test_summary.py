"""The summary driver: kept events, answers, refused queries and events, and stored states."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.summary.single_answers import CountedEvent, ask
from tests.summaries.letters import after, events, numbers

from ostinato.errors import MatchError, QueryError
from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.engine.kernel_tables import SEEN
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import (
    LARGEST_TIME_US,
    Strategy,
    SummaryAggregate,
    SummaryQuery,
    UnknownTypes,
)

QUERY = SummaryQuery("AB*C", 10, 5)


def refused(**changes: object) -> str:
    with pytest.raises(QueryError) as caught:
        Summary(replace(QUERY, **changes))  # type: ignore[arg-type]
    return caught.value.code


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_has_the_kept_events_and_their_contributions() -> None:
    summary = Summary(SummaryQuery("AB*C", 10, 5, SummaryAggregate.SUM))
    answer = ask(summary, after(summary, "AxBC", values=[1, 9, 2, 4]))
    assert (answer.value, answer.count, answer.seen) == (1 + 4 + 1 + 2 + 4, 2, 4)
    assert answer.kept == (
        CountedEvent(0, 1, "A", 1, 2),
        CountedEvent(2, 3, "B", 2, 1),
        CountedEvent(3, 4, "C", 4, 2),
    )


def test_a_new_summary_has_an_answer() -> None:
    for aggregate, value in zip(SummaryAggregate, (0, None, None), strict=True):
        summary = Summary(replace(QUERY, aggregate=aggregate))
        answer = ask(summary, summary.new_state())
        assert (answer.value, answer.count, answer.kept) == (value, 0, ())


def test_matches_outside_the_window_still_count() -> None:
    summary = Summary(QUERY)
    state = after(summary, "ACAAAAAA", times=[1, 2, 100, 200, 300, 400, 500, 600])
    assert ask(summary, state).value == 1
    assert numbers(summary, state)[:2] == [1, 2]


def test_counts_are_exact_beyond_any_machine_word() -> None:
    summary = Summary(SummaryQuery("ab*c", 10_000, 700))
    assert ask(summary, after(summary, "a" + "b" * 600 + "c")).value == 2**600


def test_doubles_that_overflow_become_wide_numbers() -> None:
    summary = Summary(SummaryQuery("ab*c", 10_000, 1200))
    state = after(summary, "a" + "b" * 1100 + "cc")
    assert state.is_wide
    assert ask(summary, state).value == 2 * 2**1100
    restored = summary.state_from_bytes(state.to_bytes())
    assert restored.is_wide
    later = events(summary, "bcb", times=[2000, 2001, 2002])
    assert summary.advance(later, restored).to_bytes() == summary.advance(later, state).to_bytes()


def test_sums_of_doubles_are_rounded_once() -> None:
    summary = Summary(SummaryQuery("ab", 10, 5, SummaryAggregate.SUM), float_values=True)
    assert ask(summary, after(summary, "aab", values=[0.1, 0.2, 1e-30])).value == math.fsum([0.1, 0.2, 2e-30])


def test_negative_values_are_summed_with_sign_and_ranked_by_size() -> None:
    query = SummaryQuery("ab", 100, 3, SummaryAggregate.SUM, strategy=Strategy.PRESENT)
    summary = Summary(query)
    state = after(summary, "aabb", values=[-50, 2, 1, 3])
    assert numbers(summary, state) == [1, 3, 4]
    assert ask(summary, state).value == (-50 + 1) + (-50 + 3)


def test_null_adds_nothing() -> None:
    summary = Summary(SummaryQuery("ab", 100, 3, SummaryAggregate.SUM))
    batch = replace(events(summary, "ab", values=[7, 5]), valid=np.array([True, False]))
    answer = ask(summary, summary.advance(batch, summary.new_state()))
    assert answer.value == 7
    assert [event.value for event in answer.kept] == [7, None]


# --- strategies -------------------------------------------------------------------------------------------------------


def test_random_draws_by_seed_and_position_in_the_stream() -> None:
    letters = "ABC" * 20
    numbers_by_seed = {}
    for seed in (1, 2):
        summary = Summary(replace(QUERY, strategy=Strategy.RANDOM, seed=seed))
        numbers_by_seed[seed] = numbers(summary, after(summary, letters))
        assert numbers_by_seed[seed] == numbers(summary, after(summary, letters))
        assert numbers_by_seed[seed][-1] == 60
    assert numbers_by_seed[1] != numbers_by_seed[2]


def test_random_may_drop_any_event() -> None:
    dropped: set[int] = set()
    for seed in range(40):
        summary = Summary(replace(QUERY, strategy=Strategy.RANDOM, seed=seed))
        dropped |= {1, 2, 3, 4, 5} - set(numbers(summary, after(summary, "ABCABC")))
    assert dropped == {1, 2, 3, 4, 5}


def test_of_equal_benefits_the_oldest_is_dropped_and_a_new_event_must_be_better() -> None:
    summary = Summary(SummaryQuery("ab", 10, 2, strategy=Strategy.PRESENT))
    assert numbers(summary, after(summary, "aaa")) == [1, 2]
    assert numbers(summary, after(summary, "aab")) == [2, 3]


def test_learnt_probabilities_come_close_to_those_of_the_stream() -> None:
    summary = Summary(SummaryQuery("ab", 100, 3, half_life_events=500))
    rng = np.random.default_rng(5)
    letters = "".join(rng.choice(list("abx"), 4096, p=[0.2, 0.3, 0.5]))
    state = after(summary, letters, times=list(range(0, 8192, 2)))
    assert state.columns.probabilities == pytest.approx([0.2, 0.3], abs=0.05)
    assert state.columns.tick[0] == pytest.approx(2.0)
    changed = summary.advance(events(summary, "a" * 4096, times=list(range(9000, 13096))), state)
    assert changed.columns.probabilities[0] > 0.95


def test_the_published_rule_keeps_fewer_matches_than_the_capped_one() -> None:
    weights = 1 / np.arange(1, 8)
    probabilities = weights / weights.sum()
    letters = "".join(np.random.default_rng(3).choice(list("abcdefg"), 5000, p=probabilities))
    probabilities_by_type = tuple(zip("abcdefg", probabilities.tolist(), strict=True))
    query = SummaryQuery("a(b*c)*d(e|f)g*", 500, 100, probabilities=probabilities_by_type, tick_us=1)
    counts = {}
    for strategy in (Strategy.PUBLISHED, Strategy.CAPPED, Strategy.FIFO):
        summary = Summary(replace(query, strategy=strategy))
        counts[strategy] = ask(summary, after(summary, letters)).count
    assert counts[Strategy.PUBLISHED] < counts[Strategy.FIFO] < counts[Strategy.CAPPED]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_invalid_queries_are_refused() -> None:
    assert refused(size=0) == "SUMMARY_SIZE"
    assert refused(window_us=-1) == "SUMMARY_WINDOW"
    assert refused(selection=Selection.STRICT) == "SUMMARY_SELECTION"
    assert refused(tick_us=0.0) == "SUMMARY_TICK"
    assert refused(half_life_events=0) == "SUMMARY_HALF_LIFE"
    assert refused(keyed_types=frozenset("A")) == "SUMMARY_KEYS"
    assert refused(keyed_types=frozenset("X"), partition_by=("id",)) == "SUMMARY_UNKNOWN_TYPE"
    for probabilities in ([("A", 0.5)], [("A", 0.5), ("A", 0.5)], [("A", 1.5), ("B", -0.5)], [("A", 0.5), ("B", 0.5)]):
        assert refused(probabilities=tuple(probabilities)) == "SUMMARY_PROBABILITIES"


def test_unknown_types_are_skipped_or_refused() -> None:
    skipping = Summary(QUERY)
    assert ask(skipping, after(skipping, "AxCy")).value == 1
    refusing = Summary(replace(QUERY, unknown_types=UnknownTypes.REFUSE, types=("x",)))
    assert ask(refusing, after(refusing, "AxC")).value == 1
    with pytest.raises(MatchError, match="unknown type 'y'"):
        after(refusing, "AxCy")


def test_times_must_not_fall() -> None:
    summary = Summary(QUERY)
    with pytest.raises(MatchError, match="SUMMARY_TIME_ORDER"):
        after(summary, "ABC", times=[1, 3, 2])
    state = after(summary, "A", times=[5])
    with pytest.raises(MatchError, match="SUMMARY_TIME_ORDER"):
        summary.advance(events(summary, "B", times=[4]), state)


def test_times_and_windows_may_be_as_large_as_they_can() -> None:
    edge = LARGEST_TIME_US - 1
    summary = Summary(SummaryQuery("ab", edge, 2, seed=-(2**70)))
    state = after(summary, "aabbab", times=[-edge, -edge, -edge, 0, edge, edge])
    assert ask(summary, state).value == 1
    with pytest.raises(MatchError, match="SUMMARY_TIME_ORDER"):
        after(summary, "a", times=[edge + 1])


def test_values_must_be_finite() -> None:
    summary = Summary(replace(QUERY, aggregate=SummaryAggregate.SUM), float_values=True)
    with pytest.raises(MatchError, match="SUMMARY_VALUE"):
        after(summary, "AC", values=[1.0, math.nan])


# --- state ------------------------------------------------------------------------------------------------------------


def test_advance_does_not_change_its_input_state() -> None:
    summary = Summary(QUERY)
    state = after(summary, "ABCABC")
    before = state.to_bytes()
    summary.advance(events(summary, "ABC", times=[7, 8, 9]), state)
    assert state.to_bytes() == before


def test_states_of_other_summaries_are_refused() -> None:
    summary = Summary(QUERY)
    data = after(summary, "ABCABC").to_bytes()
    assert len(summary.state_from_bytes(data)) == 5
    for bad in (b"", data[:-1], data + b"x", b"NOPE" + data[4:], data[:4] + b"\x09\x00" + data[6:]):
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            summary.state_from_bytes(bad)
    with pytest.raises(MatchError, match="another query"):
        Summary(replace(QUERY, window_us=11)).state_from_bytes(data)


def test_an_empty_batch_changes_nothing() -> None:
    summary = Summary(QUERY)
    state = after(summary, "ABC")
    empty = SummaryEvents(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert summary.advance(empty, state).to_bytes() == state.to_bytes()
    assert state.columns.marks[SEEN] == 3
