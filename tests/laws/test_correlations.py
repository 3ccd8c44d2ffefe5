"""Every strategy of a correlation gives the oracle's results, on random clauses over random small tables.

The laws run correlations in one step and in small steps, and with buffers that are large enough or too small. Rows that
reach an archive table behind the watermark are counted as late, and don't change the results.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.correlate import window_first
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.api.test_correlations import correlation
from tests.examples import examples
from tests.laws.comparison import differing
from tests.laws.correlation_strategies import CorrelationExample, correlations, with_another_archive
from tests.laws.declined import CLAUSES, VALUES, Declined

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.correlations.task.archive_reader import TableReader
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator
from ostinato.errors import OstinatoError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.reference.correlation_oracle import correlate_rows
from ostinato.streams.record_batches import as_batch

Options = dict[str, Any]

STRATEGIES: tuple[Options, ...] = (
    {"strategy": "auto"},
    {"strategy": window_first.NAME},
    {"strategy": "eager"},
    {"strategy": "live_first"},
    {"strategy": "live_first", "cache": False},
    {"strategy": "archive_first"},
    {"strategy": "archive_first", "cache": False},
)
STEPS: tuple[Options, ...] = (
    {},
    {"step_rows": 1},
    {"step_rows": 3},
    {"step_rows": 1, "recent_rows": 1},
    {"step_rows": 2, "recent_rows": 3},
    {"step_rows": 3, "recent_rows": 2, "ordered": False},
)
DECLINED = Declined(CLAUSES | VALUES)
MAY_FAIL = frozenset({*DECLINED.may_decline, "CORRELATION_STRATEGY"})
"""Error codes of single strategies. Strategies evaluate different rows, so a value fails in some of them only."""


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def expected_rows(example: CorrelationExample) -> list[tuple[Any, ...]]:
    """The oracle's results, each as one flat row."""
    correlation = read_correlation(example.text).correlation
    live, archive = example.live, example.history
    results = correlate_rows(
        correlation, live.column_names, live.to_pylist(), archive.column_names, archive.to_pylist()
    )
    return [_flat(row) for row in results]


def _flat(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["correlation_start"], row["correlation_end"], *row["l"].values(), *row["a"].values())


def difference(example: CorrelationExample, expected: Sequence[tuple[Any, ...]], options: Options) -> str | None:
    """Describes how the engine's results differ from the oracle's; None if they are equal."""
    results = correlation(example.text, archive=example.archive, **options).run(example.live).table
    return table_difference(example, results, expected, options)


def table_difference(
    example: CorrelationExample, results: pa.Table, expected: Sequence[tuple[Any, ...]], options: Options
) -> str | None:
    """Describes how a table of results differs from the oracle's; None if they are equal."""
    rows = list(zip(*(column.to_pylist() for column in results.columns), strict=True))
    keys = len(read_correlation(example.text).correlation.keys)
    last: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows if options.get("ordered", True) else ():
        before = last.setdefault(row[2 : 2 + keys], row[:2])
        if before > row[:2]:
            return f"out of order: {before} comes before {row[:2]}"
        last[row[2 : 2 + keys]] = row[:2]
    names = [f"c{i}" for i in range(results.num_columns)]
    return differing(names, rows, [dict(zip(names, row, strict=True)) for row in expected])


def check(example: CorrelationExample, all_options: Sequence[Options]) -> None:
    with DECLINED.example(), DECLINED.oracle():
        expected = expected_rows(example)
    answers = 0
    for options in all_options:
        try:
            wrong = difference(example, expected, options)
        except OstinatoError as error:
            if error.code not in MAY_FAIL:
                raise
            event(f"declined: {error.code}")
            continue
        answers += 1
        tables = f"{example.live.to_pylist()}\n{example.history.to_pylist()}"
        assert wrong is None, f"{options}\n{example.text}\n{tables}\n{wrong}"
    if not answers:
        DECLINED.leave_out("every strategy declines")
    DECLINED.answered(rows=bool(expected))


@given(correlations(), st.sampled_from(STEPS))
def test_every_strategy_gives_the_results_of_the_oracle(example: CorrelationExample, steps: Options) -> None:
    check(example, [strategy | steps for strategy in STRATEGIES])


@pytest.mark.slow
@settings(max_examples=examples(16))
@given(correlations())
def test_every_strategy_deeply(example: CorrelationExample) -> None:
    check(example, [strategy | steps for strategy in STRATEGIES for steps in STEPS])


# --- an archive that grows behind the watermark -----------------------------------------------------------------------

SMALL_BUFFERS: tuple[Options, ...] = (
    {},
    {"recent_rows": 1, "strategy": "live_first", "cache": False},
    {"recent_rows": 2, "strategy": "archive_first"},
)


class GrowingArchive:
    """Runs a stream with another table as archive, like `spark/correlations/correlation_batch.py`.

    Some rows reach the archive a few steps after the watermark has passed them. The correlator reads back only
    rows that weren't late.
    """

    def __init__(self, example: CorrelationExample, chance: random.Random) -> None:
        self.local = LocalCorrelation(example.text, example.live.schema, example.history.schema, Settings(), Limits())
        self.live, self.archive = self.local.live_rows(example.live), self.local.archive_rows(example.history)
        correlator = Correlator(self.local.task)
        live_time, self.time = (
            side.times_of(as_batch(rows))[0]
            for side, rows in ((correlator.live, self.live), (correlator.archive, self.archive))
        )
        live_times = np.unique(live_time[live_time != NO_TIME])
        self.watermarks = sorted(chance.sample(live_times.tolist(), min(len(live_times), 4)))
        self.live_step = np.searchsorted(self.watermarks, live_time)
        in_time = np.searchsorted(self.watermarks, self.time)
        delay = np.array([chance.choice([0, 0, 1, 2]) for _ in self.time], np.int64)
        self.step = np.minimum(in_time + delay, len(self.watermarks))
        self.is_late = (self.step > in_time) & (self.time != NO_TIME)
        self.step[self.time == NO_TIME] = 0

    def run(self, options: Options) -> tuple[pa.Table, int]:
        """The results, and the number of late archive rows."""
        correlator, state, tables, late = Correlator(self.local.task, CorrelationOptions(**options)), b"", [], 0
        for number in range(len(self.watermarks) + 1):
            finished = number == len(self.watermarks)
            arrived = self.live.filter(self.live_step == number), self.archive.filter(self.step == number)
            watermark = 0 if finished else self.watermarks[number]
            step = correlator.advance(state, *arrived, watermark, finished=finished)
            if step.wanted.num_rows:
                rows_on_time = self.archive.filter((self.step < number) & ~self.is_late)
                history = TableReader(self.local.task, rows_on_time).read(step.wanted)
                step = correlator.advance(state, *arrived, watermark, finished=finished, history=history)
            state, late = step.state, late + step.counts.late_archive_rows
            tables.append(step.results)
        return self.local.selected_of(pa.concat_tables(tables)), late


@settings(max_examples=15)
@given(with_another_archive(), st.integers(0, 2**20))
def test_rows_that_reach_the_archive_too_late_are_counted_and_change_nothing(
    example: CorrelationExample, seed: int
) -> None:
    stream = GrowingArchive(example, random.Random(seed))
    expected = expected_rows(replace(example, archive=example.history.filter(~stream.is_late)))
    event(f"late rows: {bool(stream.is_late.any())}, results: {bool(expected)}")
    for options in SMALL_BUFFERS:
        results, late = stream.run(options)
        assert late == stream.is_late.sum(), options
        wrong = table_difference(example, results, expected, options)
        assert wrong is None, (
            f"{options}\n{example.text}\n{example.live.to_pylist()}\n{example.history.to_pylist()}\n{wrong}"
        )


class QuietBucket:
    """Runs a bucket whose watermark also moves in steps without rows, like `spark/correlations/correlation_buckets.py`.

    Rows come in two steps and wait there until the watermark has passed them. Steps without rows may be left out up
    to the watermark at which the state changes.
    """

    def __init__(self, example: CorrelationExample, chance: random.Random) -> None:
        self.local = LocalCorrelation(example.text, example.live.schema, example.history.schema, Settings(), Limits())
        self.live, self.archive = self.local.live_rows(example.live), self.local.archive_rows(example.history)
        correlator = Correlator(self.local.task)
        times = [
            side.times_of(as_batch(rows))[0]
            for side, rows in ((correlator.live, self.live), (correlator.archive, self.archive))
        ]
        timed = [time[time != NO_TIME] for time in times]
        first, last = (int(edge(np.concatenate([*timed, [0]]))) for edge in (np.min, np.max))
        self.watermarks = [first - 1, *sorted(chance.randint(first - 1, last + 40) for _ in range(12))]
        self.second_step = chance.randrange(len(self.watermarks))
        self.is_second = [
            np.array([chance.random() < 0.5 for _ in time], np.bool_) & (time > self.watermarks[self.second_step - 1])
            for time in times
        ]

    def run(self, options: Options, *, leaves_out: bool) -> list[pa.Table]:
        """The results of each step."""
        correlator, state, tables = Correlator(self.local.task, CorrelationOptions(**options)), None, []
        wakes_at: int | None = None
        nothing = self.live.slice(0, 0), self.archive.slice(0, 0)
        for number, watermark in enumerate([*self.watermarks, 0]):
            rows, finished = nothing, number == len(self.watermarks)
            if number == 0:
                rows = self._arriving(~self.is_second[0], ~self.is_second[1])
            if number == self.second_step and not finished:
                second = self._arriving(*self.is_second)
                rows = tuple(pa.concat_tables(pair) for pair in zip(rows, second, strict=True))
            is_idle = leaves_out and number and not finished and not any(table.num_rows for table in rows)
            if is_idle and (wakes_at is None or watermark < wakes_at):
                tables.append(tables[0].slice(0, 0))
                continue
            step = correlator.advance(state, *rows, watermark, finished=finished)
            state, wakes_at = step.state, step.wakes_at
            tables.append(self.local.selected_of(step.results))
        return tables

    def _arriving(self, live: np.ndarray[Any, np.dtype[np.bool_]], archive: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
        return self.live.filter(pa.array(live)), self.archive.filter(pa.array(archive))


@settings(max_examples=examples(15))
@given(with_another_archive(), st.integers(0, 2**20))
def test_steps_without_rows_are_left_out_until_the_state_changes(example: CorrelationExample, seed: int) -> None:
    """Each result comes in the same step as if no step were left out."""
    bucket = QuietBucket(example, random.Random(seed))
    expected = expected_rows(example)
    for options in ({"strategy": "eager"}, {"strategy": "archive_first", "cache": False}):
        every, some = (bucket.run(options, leaves_out=leaves_out) for leaves_out in (False, True))
        event(f"results before the end: {any(results.num_rows for results in every[:-1])}")
        assert [results.to_pylist() for results in some] == [results.to_pylist() for results in every], options
        wrong = table_difference(example, pa.concat_tables(some), expected, options)
        assert wrong is None, (
            f"{options}\n{example.text}\n{example.live.to_pylist()}\n{example.history.to_pylist()}\n{wrong}"
        )


def test_many_examples_have_results() -> None:
    """Tests the strategies: at least 15 of 100 correlations have results."""
    examples_by_outcome = {"results": 0, "none": 0}

    @settings(max_examples=100, database=None)
    @given(correlations())
    def look(example: CorrelationExample) -> None:
        examples_by_outcome["results" if expected_rows(example) else "none"] += 1

    look()
    assert examples_by_outcome["results"] >= 15, examples_by_outcome
