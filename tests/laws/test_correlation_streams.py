"""A correlation of a stream with its own history: the steps and the end of input give the oracle's results.

Rows arrive in any order, the watermark rises by random steps, and late rows are left out of the oracle's input. Between
two steps only bytes are kept, so every step is a restart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.correlation_strategies import CorrelationExample, correlations, with_another_archive
from tests.laws.test_correlations import DECLINED, MAY_FAIL, expected_rows, table_difference

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.stream import correlation_stream
from ostinato.correlations.stream.correlation_stream import CorrelationStream, StreamClock
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator
from ostinato.errors import OstinatoError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.streams.bucket_state import EMPTY
from ostinato.streams.record_batches import as_batch

Options = dict[str, Any]
OPTIONS: tuple[Options, ...] = (
    {},
    {"strategy": "live_first", "cache": False},
    {"strategy": "archive_first"},
    {"ordered": False, "step_rows": 1},
)
CHANGED_OPTIONS: tuple[tuple[Options, ...], ...] = (
    (
        {},
        {"strategy": "eager"},
        {"strategy": "live_first"},
        {"strategy": "archive_first"},
        {"strategy": "archive_first", "cache": False},
        {"ordered": False},
        {"step_rows": 1},
    ),
    ({"cache": False}, {"strategy": "live_first", "cache": False}, {"cache": False, "ordered": False}),
)
"""Groups of options. A stream may be started again with others of the same group."""
SMALL_BUFFERS: tuple[Options, ...] = (
    {"recent_rows": 1, "strategy": "live_first", "cache": False},
    {"recent_rows": 2},
    {"recent_rows": 1, "strategy": "archive_first"},
)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


class RandomSteps:
    """An own-archive correlation, fed in random steps. Each step takes one of the options."""

    def __init__(self, example: CorrelationExample, chance: random.Random, *options: Options) -> None:
        self.local = LocalCorrelation(example.text, example.live.schema, None, Settings(), Limits())
        rows = self.local.live_rows(example.live)
        times, _ = Correlator(self.local.task).live.times_of(as_batch(rows))
        count = chance.randint(1, 6)
        candidates = sorted(set(times[times != NO_TIME].tolist()) or {0})
        watermarks = sorted(chance.choice(candidates) - chance.choice([0, 1]) for _ in range(count))
        if chance.random() < 0.3:
            step_of_row = np.array([chance.randrange(count) for _ in times], np.int64)
        else:  # nothing is late
            step_of_row = np.minimum(np.searchsorted(watermarks, times), count - 1)
        self.is_late = times == NO_TIME
        for number in range(1, count):
            self.is_late |= (step_of_row == number) & (times <= watermarks[number - 1])
        column = self.local.task.live.time_columns.start
        clock = StreamClock(column)
        streams = [CorrelationStream(self.local.task, CorrelationOptions(**each), clock, "query") for each in options]
        state, tables, self.late_rows = EMPTY, [], 0
        for number in range(count):
            arrived = rows.filter(step_of_row == number)
            step = chance.choice(streams).advance(state, arrived, NO_TIME if number == 0 else watermarks[number - 1])
            moved = chance.choice(streams).advance(step.state, None, watermarks[number])
            tables += [step.results, moved.results]
            state, self.late_rows = moved.state, self.late_rows + step.counts.late_rows
        last = chance.choice(streams).advance(state, None, NO_TIME, finished=True)
        assert last.state == EMPTY
        self.results = self.local.selected_of(pa.concat_tables([*tables, last.results]))


def check(example: CorrelationExample, seed: int, all_options: tuple[Options, ...]) -> None:
    for options in all_options:
        check_changed(example, seed, (options,))


def check_changed(example: CorrelationExample, seed: int, all_options: tuple[Options, ...]) -> None:
    """Each step takes one of the options."""
    options = all_options[0] if len(all_options) == 1 else {"ordered": False}
    with DECLINED.example():
        try:
            stream = RandomSteps(example, random.Random(seed), *all_options)
        except OstinatoError as error:
            if error.code not in MAY_FAIL:
                raise
            DECLINED.leave_out(f"declined: {error.code}")
        with DECLINED.oracle():
            expected = expected_rows(replace(example, live=example.live.filter(~stream.is_late)))
        assert stream.late_rows == stream.is_late.sum()
        wrong = table_difference(example, stream.results, expected, options)
        assert wrong is None, f"{all_options}, seed {seed}\n{example.text}\n{example.live.to_pylist()}\n{wrong}"
        event(f"late rows: {bool(stream.is_late.any())}, results: {bool(expected)}")
        DECLINED.answered(rows=bool(expected))


def dense() -> st.SearchStrategy[CorrelationExample]:
    """Correlations of a table with itself that match almost everywhere. In half of them, a start reads PREV."""
    texts = (
        [("JOIN history", "JOIN stock")],
        [("JOIN history", "JOIN stock"), ("DEFINE B AS x", "DEFINE A AS x <> PREV(x), B AS x")],
    )
    return st.builds(
        lambda example, changes: replace(example, text=_changed(example.text, changes), archive=None),
        with_another_archive(),
        st.sampled_from(texts),
    )


def _changed(text: str, changes: list[tuple[str, str]]) -> str:
    for before, after in changes:
        text = text.replace(before, after)
    return text


def own_archive() -> st.SearchStrategy[CorrelationExample]:
    """Correlations of a table with itself: all kinds, and dense ones."""
    return st.one_of(correlations().filter(lambda example: example.archive is None), dense())


@settings(max_examples=examples(60))
@given(own_archive(), st.integers(0, 2**20), st.sampled_from(OPTIONS))
def test_steps_and_finish_are_the_oracle(example: CorrelationExample, seed: int, options: Options) -> None:
    check(example, seed, (options,))


@settings(max_examples=examples(40))
@given(
    own_archive(), st.integers(0, 2**20), st.sampled_from(CHANGED_OPTIONS), st.sampled_from([{}, {"recent_rows": 2}])
)
def test_options_may_change_between_steps(
    example: CorrelationExample, seed: int, options: tuple[Options, ...], more: Options
) -> None:
    check_changed(example, seed, tuple(each | more for each in options))


@settings(max_examples=examples(60))
@given(dense(), st.integers(0, 2**20), st.sampled_from(SMALL_BUFFERS))
def test_rows_that_the_buffer_drops_are_read_from_the_history(
    example: CorrelationExample, seed: int, options: Options
) -> None:
    """The history is cut in each step, so a row that is cut too early would be missing."""
    with pytest.MonkeyPatch.context() as small:
        small.setattr(correlation_stream, "_SMALL_HISTORY_BYTES", 0)
        small.setattr(correlation_stream, "_HISTORY_GROWTH", 0)
        check(example, seed, (options,))


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(own_archive(), st.integers(0, 2**20))
def test_steps_and_finish_are_the_oracle_with_all_options(example: CorrelationExample, seed: int) -> None:
    check(example, seed, (*OPTIONS, *SMALL_BUFFERS))
