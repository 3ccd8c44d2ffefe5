"""Answers of many keys in columns equal those of each key alone; pools and keyed summaries survive bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.summary_strategies import columns, queries, streams

from ostinato.errors import MatchError
from ostinato.kernels.kernel_cache import interpreted
from ostinato.reference import summaries as oracle
from ostinato.summaries.engine import answers as answers_module
from ostinato.summaries.engine.answers import Answering, Answers, kept_by
from ostinato.summaries.engine.keyed import KeyedSummary
from ostinato.summaries.engine.many_answers import AnsweringPool
from ostinato.summaries.engine.quick_counts import count_each
from ostinato.summaries.engine.summary import Answer, CountedEvent, Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

KEYS = st.lists(st.integers(0, 3), min_size=14)


def plain(answering: Answering, answers: Answers, at: int) -> Answer:
    """One answer of the columns as an object of its own."""
    kept, part = answers.kept, slice(answers.kept.first[at], answers.kept.first[at + 1])
    names = answering.summary.automaton.types
    rows = zip(
        kept.number[part].tolist(),
        kept.time[part].tolist(),
        [names[code] for code in kept.code[part]],
        [value if valid else None for value, valid in zip(kept.value[part].tolist(), kept.valid[part], strict=True)],
        answers.contribution[part].tolist(),
        strict=True,
    )
    value = answering.values(answers)[at]
    return Answer(value, int(answers.count[at]), tuple(CountedEvent(*row) for row in rows), int(kept.seen[at]))


@pytest.mark.kernel
@given(queries(tuple(Strategy)), streams(14), KEYS)
def test_columns_say_what_each_key_says(
    query: SummaryQuery, events: list[oracle.SummaryEvent], keys: list[int]
) -> None:
    pool = AnsweringPool(Summary(query))
    pool.advance(keys[: len(events)], columns(pool.summary, events))
    answers = pool.ask_many(range(5))  # 4 had no event
    for key in range(5):
        assert plain(pool.answering, answers, key) == pool.ask(key)
        alone = kept_by([pool.state(key)], float_values=False)
        assert plain(pool.answering, pool.answering.answers(alone), 0) == pool.ask(key)


@given(queries((Strategy.FIFO,)), streams(10))
def test_the_interpreted_kernel_counts_the_same(query: SummaryQuery, events: list[oracle.SummaryEvent]) -> None:
    pool = AnsweringPool(Summary(query))
    pool.advance([0] * len(events), columns(pool.summary, events))
    compiled = pool.ask_many([0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers_module, "count_each", interpreted(count_each))
        assert pool.ask_many([0]).count.tolist() == compiled.count.tolist()
        assert pool.ask_many([0]).contribution.tolist() == compiled.contribution.tolist()


@pytest.mark.parametrize("letters", [60, 600, 1100])
def test_counts_beyond_doubles(letters: int) -> None:
    """Above 2**53, in a summary that is too large for the quick way, and in one with wide numbers."""
    pool = AnsweringPool(Summary(SummaryQuery("ab*c", 5000, 1300)))
    text = "a" + "b" * letters + "c"
    keys = [1] * len(text) + [2] * 2
    time = np.concatenate((np.arange(len(text)), [0, 1]))
    pool.advance(keys, SummaryEvents(time, pool.summary.codes([*text, "a", "c"])))
    answers = pool.ask_many([2, 1, 7])
    assert answers.count.tolist() == [1, 2**letters, 0]
    assert answers.contribution.tolist() == [1, 1, 2**letters, *[2 ** (letters - 1)] * letters, 2**letters]


@pytest.mark.parametrize("aggregate", [SummaryAggregate.SUM, SummaryAggregate.AVG])
def test_sums_of_doubles_are_rounded_once(aggregate: SummaryAggregate) -> None:
    pool = AnsweringPool(Summary(SummaryQuery("ab*c", 99, 9, aggregate), float_values=True))
    values = np.array([1e16, 1.0, 0.1, -1e16])
    pool.advance([0] * 4, SummaryEvents(np.arange(4), pool.summary.codes(list("abbc")), values))
    assert pool.answering.values(pool.ask_many([0])) == [pool.ask(0).value]
    assert pool.answering.values(pool.ask_many([0])) == [2.2 if aggregate is SummaryAggregate.SUM else 0.55]


def test_sums_beyond_64_bits() -> None:
    pool = AnsweringPool(Summary(SummaryQuery("ab*c", 99, 30, SummaryAggregate.SUM)))
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
def test_keyed_summaries_survive_bytes(
    query: SummaryQuery, events: list[oracle.SummaryEvent], keys: list[int], cut: int, keyed_types: set[str] | None
) -> None:
    types = KeyedSummary(query).base.automaton.types
    shared = None if keyed_types is None else frozenset(keyed_types & set(types)) or None
    query = replace(query, partition_by=("k",), keyed_types=shared)
    whole, first, second = (KeyedSummary(query) for _ in range(3))
    keys = keys[: len(events)]
    for keyed in (whole, first):
        keyed.advance(keys[:cut], columns(keyed.base, events[:cut]))
    second.restore(first.to_bytes())
    assert second.to_bytes() == first.to_bytes()
    for keyed in (whole, second):
        keyed.advance(keys[cut:], columns(keyed.base, events[cut:]))
    assert [second.ask(key) for key in range(4)] == [whole.ask(key) for key in range(4)]
    assert second.ask_shared() == whole.ask_shared()
    assert plain(Answering(whole.base), whole.ask_shared_in_columns(), 0) == whole.ask_shared()


def test_wide_summaries_survive_bytes() -> None:
    query = SummaryQuery("ab*c", 5000, 1300, partition_by=("k",))
    first, second = KeyedSummary(query), KeyedSummary(query)
    text = "a" + "b" * 1100
    first.advance([5] * len(text), SummaryEvents(np.arange(len(text)), first.codes(list(text))))
    second.restore(first.to_bytes())
    second.advance([5], SummaryEvents(np.array([2000]), second.codes(["c"])))
    assert second.ask(5).value == 2**1100


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "cut": lambda data: data[:-3],
    "longer": lambda data: data + b"x",
    "another version": lambda data: data[:4] + b"\x09" + data[5:],
    "something else": lambda data: b"OSUM" + data[4:],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("of_pool", [True, False])
def test_bytes_that_are_none(spoil: Callable[[bytes], bytes], of_pool: bool) -> None:
    keyed = KeyedSummary(SummaryQuery("ab", 9, 3, partition_by=("k",)))
    keyed.advance([1, 2], SummaryEvents(np.array([5, 6]), np.array([0, 0])))
    one: Any = keyed.pool if of_pool else keyed
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        one.restore(spoil(one.to_bytes()))


def test_bytes_of_another_query() -> None:
    data = KeyedSummary(SummaryQuery("ab", 9, 3, partition_by=("k",))).to_bytes()
    with pytest.raises(MatchError, match="another query"):
        KeyedSummary(SummaryQuery("ab", 8, 3, partition_by=("k",))).restore(data)
