"""Summaries of many keys equal those of each key alone. Shared events belong to all keys, and count once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.summary_strategies import columns, expressions, queries, streams, windows

from ostinato.errors import MatchError
from ostinato.reference import summary_oracle as oracle
from ostinato.summaries.engine.keyed import KeyedSummary
from ostinato.summaries.engine.pool import SummaryPool
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryQuery
from ostinato.summaries.language.type_automaton import compile_expression, with_one_of


@pytest.mark.kernel
@given(queries(tuple(Strategy)), streams(14), st.lists(st.integers(0, 3), min_size=14), st.integers(0, 14))
def test_a_pool_has_the_summary_of_each_key_alone(
    query: SummaryQuery, events: list[oracle.SummaryEvent], keys: list[int], cut: int
) -> None:
    summary = Summary(query)
    pool = SummaryPool(summary)
    keys = keys[: len(events)]
    for batch in (slice(0, cut), slice(cut, None)):
        pool.advance(keys[batch], columns(summary, events[batch]))
    assert len(pool) == len(set(keys))
    for key in range(4):
        events_of_key = [event for event, of_key in zip(events, keys, strict=True) if of_key == key]
        state = summary.advance(columns(summary, events_of_key), summary.new_state())
        assert pool.state(key).to_bytes() == state.to_bytes()


@pytest.mark.kernel
def test_a_summary_with_counts_beyond_doubles_becomes_wide() -> None:
    summary = Summary(SummaryQuery("ab*c", 5000, 1300))
    pool = SummaryPool(summary)
    letters = "a" + "b" * 1100 + "cb"
    for first in range(0, 1103, 300):
        letters_of_batch = letters[first : first + 300]
        time = np.repeat(np.arange(first, first + len(letters_of_batch)), 2)
        names = [letter for letter in letters_of_batch for _ in "xy"]
        keys = ["large" if row % 2 else "small" for row in range(len(names))]
        codes = summary.codes([n if k == "large" or n != "b" else "?" for n, k in zip(names, keys, strict=True)])
        pool.advance(keys, SummaryEvents(time, codes))
    assert pool.ask_many(["large", "small"]).count.tolist() == [2**1100, 1]
    assert (pool.state("large").is_wide, pool.state("small").is_wide) == (True, False)


def test_times_of_a_key_must_not_fall() -> None:
    pool = SummaryPool(Summary(SummaryQuery("ab", 9, 3)))
    pool.advance(["x", "y"], SummaryEvents(np.array([5, 1]), np.array([0, 0])))
    with pytest.raises(MatchError, match="SUMMARY_TIME_ORDER"):
        pool.advance(["y", "x"], SummaryEvents(np.array([2, 4]), np.array([1, 1])))


def total(keyed: KeyedSummary) -> int:
    return int(keyed.ask_shared().count[0]) + sum(keyed.ask_many(list(keyed.pool)).count.tolist())


@pytest.mark.kernel
@given(expressions, windows, streams(9), st.lists(st.integers(0, 2), min_size=9), st.sets(st.integers(0, 9)), st.data())
def test_keys_of_some_types_only(
    expression: str,
    window: int,
    events: list[oracle.SummaryEvent],
    keys: list[int],
    cuts: set[int],
    data: st.DataObject,
) -> None:
    types = compile_expression(expression).types
    keyed_types = data.draw(st.sets(st.sampled_from(types), min_size=1).map(frozenset))
    query = SummaryQuery(expression, window, 12, partition_by=("id",), keyed_types=keyed_types)
    keyed = KeyedSummary(query)
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(events)], strict=True):
        keyed.advance(keys[first:end], columns(keyed.base, events[first:end]))
    agreeing = [
        positions
        for positions in oracle.matches(query, events)
        if len({keys[p] for p in positions if events[p].type in keyed_types}) <= 1
    ]
    assert total(keyed) == len(agreeing)


def test_a_new_key_has_earlier_shared_events() -> None:
    keyed = KeyedSummary(SummaryQuery("A(BC)?", 100, 9, partition_by=("id",), keyed_types=frozenset("BC")))
    keyed.advance([None, "x", "y", "x"], SummaryEvents(np.arange(4), keyed.codes(list("ABBC"))))
    keyed.advance(["z", "z"], SummaryEvents(np.arange(4, 6), keyed.codes(list("BC"))))
    assert keyed.ask_shared().count.tolist() == [1], "A by itself belongs to no key"
    assert keyed.ask_many(["x", "y", "z"]).count.tolist() == [1, 0, 1]
    assert keyed.ask_many(["z"]).events.number.tolist() == [0, 4, 5]


def test_words_with_one_of_some_types() -> None:
    inner = with_one_of(compile_expression("a+b?"), frozenset("b"))
    assert inner.dump().splitlines() == ["0: a->1", "1: a->1 b->2", "2: final"]
