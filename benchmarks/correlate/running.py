"""A case and a strategy -> its answer and its time. All strategies must agree before one is timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

import ostinato as ost
from benchmarks.correlate import window_first
from benchmarks.correlate.queries import PairQuery
from benchmarks.correlate.streams import Stream
from benchmarks.experiment import expect

Name = TypeVar("Name", bound=Hashable)
ROUNDS = 5
ENOUGH_SECONDS = 2.0
"""An action that took this long in two or more rounds isn't called again."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A strategy, with or without the result cache."""

    strategy: str
    cache: bool = True

    @property
    def name(self) -> str:
        words = self.strategy.replace("_", " ")
        if self.strategy in ("live_first", "archive_first"):
            return f"{words}, {'cache' if self.cache else 'no cache'}"
        return words


WINDOW_FIRST = Setup(window_first.NAME)
EAGER = Setup("eager")
LIVE, LIVE_CACHED = Setup("live_first", cache=False), Setup("live_first")
ARCHIVE, ARCHIVE_CACHED = Setup("archive_first", cache=False), Setup("archive_first")
AUTO = Setup("auto")
ALL = (LIVE, LIVE_CACHED, ARCHIVE, ARCHIVE_CACHED, EAGER, AUTO)
"""The setups that are measured on all rows. Window-first takes too long for that."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query over a stream."""

    query: PairQuery
    stream: Stream
    region: str
    order_by: str = "ts"

    @property
    def text(self) -> str:
        return self.query.text(self.region, order_by=self.order_by)


@dataclass(frozen=True, slots=True)
class Ran:
    """The measurements of one setup on one case."""

    rows: int
    core_seconds: float
    results: int
    searched: int
    """Rows that both sides searched. A row in several regions counts several times."""

    @property
    def speed(self) -> float:
        """Rows a second."""
        return self.rows / self.core_seconds


@dataclass(frozen=True, slots=True)
class Digest:
    """A checksum of an answer: the number of rows, and a sum over all values that ignores their order."""

    rows: int
    mixed: int


def digest(table: pa.Table) -> Digest:
    """Values of 8 bytes only. Rows are mixed column by column, then added up modulo 2^64.

    >>> digest(pa.table({"a": [1, 2], "b": [3, 4]})) == digest(pa.table({"a": [2, 1], "b": [4, 3]}))
    True
    >>> digest(pa.table({"a": [1, 2], "b": [3, 4]})) == digest(pa.table({"a": [1, 2], "b": [4, 3]}))
    False
    """
    mixed = np.zeros(table.num_rows, np.uint64)
    for column in table.columns:
        mixed = (mixed ^ column.to_numpy().view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return Digest(table.num_rows, int(mixed.sum(dtype=np.uint64)))


@lru_cache(maxsize=4)
def table_of(stream: Stream) -> pa.Table:
    """The table of a stream. The last few are cached, because a figure reads the same one many times."""
    return stream.table()


def answer(case: Case, setup: Setup) -> ost.CorrelationResult:
    """The case's rows correlated with their own past, in process."""
    return correlated(case.text, table_of(case.stream), setup)


def correlated(text: str, rows: pa.Table, setup: Setup) -> ost.CorrelationResult:
    if setup == WINDOW_FIRST:
        return window_first.by_window_first(ost.correlate(text)).run(rows)
    return ost.correlate(text, strategy=setup.strategy, cache=setup.cache).run(rows)


@cache
def measured(case: Case, setups: tuple[Setup, ...] = ALL) -> Mapping[Setup, Ran]:
    """Compares the answers of all setups first, then measures the shortest processor time of each.

    Results are cached, so that the planner's part doesn't measure the cases of the figures again.
    """
    searched, right = {}, None
    for setup in setups:
        given = answer(case, setup)
        right = right or digest(given.table)
        expect(f"{case.query.name}, {case.stream}: {setup.name}", digest(given.table), right)
        searched[setup] = given.statistics.totals.live_rows_searched + given.statistics.totals.archive_rows_searched
    assert right is not None
    seconds = core_seconds({setup: partial(answer, case, setup) for setup in setups})
    return {setup: Ran(case.stream.rows, seconds[setup], right.rows, searched[setup]) for setup in setups}


def core_seconds(actions: Mapping[Name, Callable[[], object]]) -> dict[Name, float]:
    """The shortest of several calls of each action, in turns, by processor time: other work doesn't count."""
    times: dict[Name, list[float]] = {name: [] for name in actions}
    for done in range(ROUNDS):
        for name, action in actions.items():
            if done >= 2 and sum(times[name]) > ENOUGH_SECONDS:
                continue
            started = time.process_time()
            action()
            times[name].append(time.process_time() - started)
    return {name: min(given) for name, given in times.items()}
