"""Answers of many keys in columns equal those of each key alone. Pools and keyed summaries are restored from bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.summary.single_answers import CountedEvent, SingleAnswer, ask
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.summary_strategies import columns, queries, streams

from ostinato.errors import MatchError
from ostinato.kernels.kernel_cache import interpreted
from ostinato.reference import summary_oracle as oracle
from ostinato.summaries.engine import answers as answers_module
from ostinato.summaries.engine.answers import Answering, Answers, events_of_states
from ostinato.summaries.engine.keyed import KeyedSummary
from ostinato.summaries.engine.pool import SummaryPool
from ostinato.summaries.engine.pool_bytes import pool_to_bytes, restore_pool
from ostinato.summaries.engine.quick_counts import count_each
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

KEYS = st.lists(st.integers(0, 3), min_size=14)


def plain(answering: Answering, answers: Answers, at: int) -> SingleAnswer:
    """One answer of the columns as an object."""
    events = answers.events
    rows = slice(events.first[at], events.first[at + 1])
    names = answering.summary.automaton.types
    columns = zip(
        events.number[rows].tolist(),
        events.time[rows].tolist(),
        [names[code] for code in events.code[rows]],
        [
            value if valid else None
            for value, valid in zip(events.value[rows].tolist(), events.valid[rows], strict=True)
        ],
        answers.contribution[rows].tolist(),
        strict=True,
    )
    value = answering.values(answers)[at]
    return SingleAnswer(
        value, int(answers.count[at]), tuple(CountedEvent(*row) for row in columns), int(events.seen[at])
    )


@pytest.mark.kernel
@given(queries(tuple(Strategy)), streams(14), KEYS)
def test_columns_have_the_answers_of_each_key(
    query: SummaryQuery, events: list[oracle.SummaryEvent], keys: list[int]
) -> None:
    pool = SummaryPool(Summary(query))
    pool.advance(keys[: len(events)], columns(pool.summary, events))
    answers = pool.ask_many(range(5))  # key 4 has no events
    for key in range(5):
        expected = ask(pool.summary, pool.state(key))
        assert plain(pool.answering, answers, key) == expected
        alone = events_of_states([pool.state(key)], float_values=False)
        assert plain(pool.answering, pool.answering.answers(alone), 0) == expected


@given(queries((Strategy.FIFO,)), streams(10))
def test_the_interpreted_kernel_counts_the_same(query: SummaryQuery, events: list[oracle.SummaryEvent]) -> None:
    pool = SummaryPool(Summary(query))
    pool.advance([0] * len(events), columns(pool.summary, events))
    compiled = pool.ask_many([0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers_module, "count_each", interpreted(count_each))
        assert pool.ask_many([0]).count.tolist() == compiled.count.tolist()
        assert pool.ask_many([0]).contribution.tolist() == compiled.contribution.tolist()


@pytest.mark.parametrize("letters", [60, 600, 1100])
def test_counts_beyond_doubles(letters: int) -> None:
    """Counts above 2**53, in a summary that is too large for the fast method, and in one with wide numbers."""
    pool = SummaryPool(Summary(SummaryQuery("ab*c", 5000, 1300)))
    text = "a" + "b" * letters + "c"
    keys = [1] * len(text) + [2] * 2
    time = np.concatenate((np.arange(len(text)), [0, 1]))
    pool.advance(keys, SummaryEvents(time, pool.summary.codes([*text, "a", "c"])))
    answers = pool.ask_many([2, 1, 7])
    assert answers.count.tolist() == [1, 2**letters, 0]
    assert answers.contribution.tolist() == [1, 1, 2**letters, *[2 ** (letters - 1)] * letters, 2**letters]


@pytest.mark.parametrize("aggregate", [SummaryAggregate.SUM, SummaryAggregate.AVG])
def test_sums_of_doubles_are_rounded_once(aggregate: SummaryAggregate) -> None:
    pool = SummaryPool(Summary(SummaryQuery("ab*c", 99, 9, aggregate), float_values=True))
    values = np.array([1e16, 1.0, 0.1, -1e16])
    pool.advance([0] * 4, SummaryEvents(np.arange(4), pool.summary.codes(list("abbc")), values))
    assert pool.answering.values(pool.ask_many([0])) == [ask(pool.summary, pool.state(0)).value]
    assert pool.answering.values(pool.ask_many([0])) == [2.2 if aggregate is SummaryAggregate.SUM else 0.55]


def test_sums_beyond_64_bits() -> None:
    pool = SummaryPool(Summary(SummaryQuery("ab*c", 99, 30, SummaryAggregate.SUM)))
    values = np.full(12, 2**62)
    pool.advance([0] * 12, SummaryEvents(np.arange(12), pool.summary.codes(list("a" + "b" * 10 + "c")), values))
    assert pool.answering.values(pool.ask_many([0])) == [2**62 * (2 * 2**10 + 10 * 2**9)]


# --- bytes ------------------------------------------------------------------------------------------------------------


@given(
    queries((Strategy.CAPPED, Strategy.FIFO)),
    streams(14),
    KEYS,
    st.integers(0, 14),
    st.sampled_from([None, {"A"}, {"A", "B"}]),
)
def test_keyed_summaries_are_restored_from_bytes(
    query: SummaryQuery, events: list[oracle.SummaryEvent], keys: list[int], cut: int, keyed_types: set[str] | None
) -> None:
    types = KeyedSummary(query).base.automaton.types
    used_types = None if keyed_types is None else frozenset(keyed_types & set(types)) or None
    query = replace(query, partition_by=("k",), keyed_types=used_types)
    unstored, first, second = (KeyedSummary(query) for _ in range(3))
    keys = keys[: len(events)]
    for keyed in (unstored, first):
        keyed.advance(keys[:cut], columns(keyed.base, events[:cut]))
    second.restore(first.to_bytes())
    assert second.to_bytes() == first.to_bytes()
    for keyed in (unstored, second):
        keyed.advance(keys[cut:], columns(keyed.base, events[cut:]))
    for key in range(4):
        restored, expected = (ask(keyed.pool.summary, keyed.pool.state(key)) for keyed in (second, unstored))
        assert restored == expected
    shared = [plain(Answering(keyed.base), keyed.ask_shared(), 0) for keyed in (second, unstored)]
    assert shared[0] == shared[1]


def test_wide_summaries_are_restored_from_bytes() -> None:
    query = SummaryQuery("ab*c", 5000, 1300, partition_by=("k",))
    first, second = KeyedSummary(query), KeyedSummary(query)
    text = "a" + "b" * 1100
    first.advance([5] * len(text), SummaryEvents(np.arange(len(text)), first.codes(list(text))))
    second.restore(first.to_bytes())
    second.advance([5], SummaryEvents(np.array([2000]), second.codes(["c"])))
    assert second.ask_many([5]).count.tolist() == [2**1100]


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "cut": lambda data: data[:-3],
    "longer": lambda data: data + b"x",
    "another version": lambda data: data[:4] + b"\x09" + data[5:],
    "something else": lambda data: b"OSUM" + data[4:],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("of_pool", [True, False])
def test_invalid_bytes_are_refused(spoil: Callable[[bytes], bytes], of_pool: bool) -> None:
    keyed = KeyedSummary(SummaryQuery("ab", 9, 3, partition_by=("k",)))
    keyed.advance([1, 2], SummaryEvents(np.array([5, 6]), np.array([0, 0])))
    data = spoil(pool_to_bytes(keyed.pool) if of_pool else keyed.to_bytes())
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        if of_pool:
            restore_pool(keyed.pool, data)
        else:
            keyed.restore(data)


def test_bytes_of_another_query_are_refused() -> None:
    data = KeyedSummary(SummaryQuery("ab", 9, 3, partition_by=("k",))).to_bytes()
    with pytest.raises(MatchError, match="another query"):
        KeyedSummary(SummaryQuery("ab", 8, 3, partition_by=("k",))).restore(data)
