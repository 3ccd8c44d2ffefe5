"""Every strategy of a correlation gives what the oracle gives, on random clauses over random small tables.

At once and in steps of few rows, with a buffer for everything and with one that is too small. Rows that reach another
table as archive behind the watermark are counted, and change nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.correlate import window_first
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.api.test_correlations import correlation
from tests.examples import examples
from tests.laws.comparison import differing
from tests.laws.correlation_strategies import Asked, correlations, with_another_archive

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.local.table_archive import TableReader
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
DECLINED = frozenset({"UNSUPPORTED_ACROSS_ROWS", "CORRELATION_STRATEGY"})
"""Codes by which an engine says that it doesn't take an expression, or a strategy that it doesn't take the query."""


def expected_rows(asked: Asked) -> list[tuple[Any, ...]]:
    """The oracle's results, each as one flat row."""
    correlation = read_correlation(asked.text).correlation
    live, archive = asked.live, asked.history
    found = correlate_rows(correlation, live.column_names, live.to_pylist(), archive.column_names, archive.to_pylist())
    return [_flat(row) for row in found]


def _flat(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["correlation_start"], row["correlation_end"], *row["l"].values(), *row["a"].values())


def difference(asked: Asked, expected: Sequence[tuple[Any, ...]], options: Options) -> str | None:
    """What the engine gives otherwise than the oracle; None when nothing."""
    found = correlation(asked.text, live=asked.live, archive=asked.archive, **options).run().table
    return table_difference(asked, found, expected, options)


def table_difference(
    asked: Asked, found: pa.Table, expected: Sequence[tuple[Any, ...]], options: Options
) -> str | None:
    """The same for a table that was found."""
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    keys = len(read_correlation(asked.text).correlation.keys)
    last: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows if options.get("ordered", True) else ():
        before = last.setdefault(row[2 : 2 + keys], row[:2])
        if before > row[:2]:
            return f"out of order: {before} stands before {row[:2]}"
        last[row[2 : 2 + keys]] = row[:2]
    names = [f"c{i}" for i in range(found.num_columns)]
    return differing(names, rows, [dict(zip(names, row, strict=True)) for row in expected])


def check(asked: Asked, all_options: Sequence[Options]) -> None:
    try:
        expected = expected_rows(asked)
    except (NotImplementedError, MatchError):  # the oracle never guesses
        event("the oracle declines")
        assume(False)
    for options in all_options:
        try:
            found = difference(asked, expected, options)
        except MatchError:
            event("a value is out of range")  # which rows are looked at differs between strategies
            continue
        except QueryError as error:
            if error.code not in DECLINED:
                raise
            event(f"declined: {error.code}")
            continue
        tables = f"{asked.live.to_pylist()}\n{asked.history.to_pylist()}"
        assert found is None, f"{options}\n{asked.text}\n{tables}\n{found}"


@given(correlations(), st.sampled_from(STEPS))
def test_every_strategy_gives_the_results_of_the_oracle(asked: Asked, steps: Options) -> None:
    check(asked, [strategy | steps for strategy in STRATEGIES])


@pytest.mark.slow
@settings(max_examples=examples(16))
@given(correlations())
def test_every_strategy_deeply(asked: Asked) -> None:
    check(asked, [strategy | steps for strategy in STRATEGIES for steps in STEPS])


# --- an archive that grows behind the watermark -----------------------------------------------------------------------

SMALL_BUFFERS: tuple[Options, ...] = (
    {},
    {"recent_rows": 1, "strategy": "live_first", "cache": False},
    {"recent_rows": 2, "strategy": "archive_first"},
)


class GrowingArchive:
    """A stream with another table as archive, as `spark/correlations/correlation_batch.py` runs it. Some rows reach the
    table a few steps after the watermark has passed them. Rows are read back from those that were taken in."""

    def __init__(self, asked: Asked, chance: random.Random) -> None:
        self.asked = LocalCorrelation(asked.text, asked.live.schema, asked.history.schema, Settings(), Limits())
        self.live, self.archive = self.asked.live_rows(asked.live), self.asked.archive_rows(asked.history)
        desk = Correlator(self.asked.task)
        live_time, self.time = (
            side.times_of(as_batch(rows))[0] for side, rows in ((desk.live, self.live), (desk.archive, self.archive))
        )
        every = np.unique(live_time[live_time != NO_TIME])
        self.watermarks = sorted(chance.sample(every.tolist(), min(len(every), 4)))
        self.live_step = np.searchsorted(self.watermarks, live_time)
        in_time = np.searchsorted(self.watermarks, self.time)
        delay = np.array([chance.choice([0, 0, 1, 2]) for _ in self.time], np.int64)
        self.step = np.minimum(in_time + delay, len(self.watermarks))
        self.is_late = (self.step > in_time) & (self.time != NO_TIME)
        self.step[self.time == NO_TIME] = 0

    def run(self, options: Options) -> tuple[pa.Table, int]:
        """The results, and how many rows of the archive were late."""
        correlator, state, tables, late = Correlator(self.asked.task, CorrelationOptions(**options)), b"", [], 0
        for number in range(len(self.watermarks) + 1):
            finished = number == len(self.watermarks)
            arrived = self.live.filter(self.live_step == number), self.archive.filter(self.step == number)
            watermark = 0 if finished else self.watermarks[number]
            step = correlator.advance(state, *arrived, watermark, finished=finished)
            if step.wanted.num_rows:
                taken_in = self.archive.filter((self.step < number) & ~self.is_late)
                history = TableReader(self.asked.task, taken_in).read(step.wanted)
                step = correlator.advance(state, *arrived, watermark, finished=finished, history=history)
            state, late = step.state, late + step.counts.late_archive_rows
            tables.append(step.results)
        return self.asked.selected_of(pa.concat_tables(tables)), late


@settings(max_examples=15)
@given(with_another_archive(), st.integers(0, 2**20))
def test_rows_that_reach_the_archive_too_late_are_counted_and_change_nothing(asked: Asked, seed: int) -> None:
    stream = GrowingArchive(asked, random.Random(seed))
    expected = expected_rows(replace(asked, archive=asked.history.filter(~stream.is_late)))
    event(f"late rows: {bool(stream.is_late.any())}, results: {bool(expected)}")
    for options in SMALL_BUFFERS:
        found, late = stream.run(options)
        assert late == stream.is_late.sum(), options
        wrong = table_difference(asked, found, expected, options)
        assert wrong is None, f"{options}\n{asked.text}\n{asked.live.to_pylist()}\n{asked.history.to_pylist()}\n{wrong}"


def test_most_examples_say_something() -> None:
    """A test of the generator: many correlations have results."""
    seen = {"results": 0, "none": 0}

    @settings(max_examples=100, database=None)
    @given(correlations())
    def look(asked: Asked) -> None:
        seen["results" if expected_rows(asked) else "none"] += 1

    look()
    assert seen["results"] >= 15, seen
