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


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


class RandomSteps:
    """An own-archive correlation, fed in random steps."""

    def __init__(self, example: CorrelationExample, chance: random.Random, options: Options) -> None:
        self.local = LocalCorrelation(example.text, example.live.schema, None, Settings(), Limits())
        rows = self.local.live_rows(example.live)
        times, _ = Correlator(self.local.task).live.times_of(as_batch(rows))
        count = chance.randint(1, 4)
        step_of_row = np.array([chance.randrange(count) for _ in times], np.int64)
        candidates = sorted(set(times[times != NO_TIME].tolist()) or {0})
        watermarks = sorted(chance.choice(candidates) - chance.choice([0, 1]) for _ in range(count))
        self.is_late = times == NO_TIME
        for number in range(1, count):
            self.is_late |= (step_of_row == number) & (times <= watermarks[number - 1])
        column = self.local.task.live.time_columns.start
        stream = CorrelationStream(self.local.task, CorrelationOptions(**options), StreamClock(column), "query")
        state, tables, self.late_rows = EMPTY, [], 0
        for number in range(count):
            arrived = rows.filter(step_of_row == number)
            step = stream.advance(state, arrived, NO_TIME if number == 0 else watermarks[number - 1])
            moved = stream.advance(step.state, None, watermarks[number])
            tables += [step.results, moved.results]
            state, self.late_rows = moved.state, self.late_rows + step.counts.late_rows
        last = stream.advance(state, None, NO_TIME, finished=True)
        assert last.state == EMPTY
        self.results = self.local.selected_of(pa.concat_tables([*tables, last.results]))


def check(example: CorrelationExample, seed: int, all_options: tuple[Options, ...]) -> None:
    for options in all_options:
        with DECLINED.example():
            try:
                stream = RandomSteps(example, random.Random(seed), options)
            except OstinatoError as error:
                if error.code not in MAY_FAIL:
                    raise
                DECLINED.leave_out(f"declined: {error.code}")
            with DECLINED.oracle():
                expected = expected_rows(replace(example, live=example.live.filter(~stream.is_late)))
            assert stream.late_rows == stream.is_late.sum()
            wrong = table_difference(example, stream.results, expected, options)
            assert wrong is None, f"{options}, seed {seed}\n{example.text}\n{example.live.to_pylist()}\n{wrong}"
            event(f"late rows: {bool(stream.is_late.any())}, results: {bool(expected)}")
            DECLINED.answered(rows=bool(expected))


def own_archive() -> st.SearchStrategy[CorrelationExample]:
    """Correlations of a table with itself: all kinds, and some that match almost everywhere."""
    all_kinds = correlations().filter(lambda example: example.archive is None)
    dense = with_another_archive().map(
        lambda example: replace(example, text=example.text.replace("JOIN history", "JOIN stock"), archive=None)
    )
    return st.one_of(all_kinds, dense)


@settings(max_examples=examples(60))
@given(own_archive(), st.integers(0, 2**20), st.sampled_from(OPTIONS))
def test_steps_and_finish_are_the_oracle(example: CorrelationExample, seed: int, options: Options) -> None:
    check(example, seed, (options,))


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(own_archive(), st.integers(0, 2**20))
def test_steps_and_finish_are_the_oracle_with_all_options(example: CorrelationExample, seed: int) -> None:
    check(example, seed, OPTIONS)
