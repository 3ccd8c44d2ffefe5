"""Streams of (symbol, ts, price), one row for each time unit, with matches where an experiment needs them.

Prices are sums of steps. A step of zero belongs to no pattern.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.correlate.queries import STEEP

Steps = NDArray[np.float64]
FIRST_PRICE = 1_000_000.0
"""High enough to keep all prices above zero. All steps are multiples of 1/8, so prices are exact."""
SLOW = 0.125
"""A step of a slow rise or fall."""
FOLDER_VARIABLE = "OSTINATO_DATA"
QUOTES = Path("taq", "quotes.parquet")


class Stream(Protocol):
    """The rows of a case. Streams are hashable, so equal cases are measured once."""

    @property
    def rows(self) -> int: ...

    def table(self) -> pa.Table: ...


def priced(steps: Steps) -> pa.Table:
    """The rows of one symbol."""
    rows = len(steps)
    names = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["XOM"]).cast(pa.string())
    return pa.table({"symbol": names, "ts": np.arange(rows), "price": FIRST_PRICE + np.cumsum(steps)})


@dataclass(frozen=True, slots=True)
class Ticks:
    """Q1's stream of Table 5: every `period` rows the price falls twice and then rises above where it was.

    Such a tick holds two live matches, one row apart, and two archive matches. With a period of 50 the next live match
    comes 49 rows later, and a region of 1,000 rows holds at most 39 archive matches, as in the paper.
    """

    rows: int
    period: int = 50

    def table(self) -> pa.Table:
        steps = np.zeros(self.rows)
        for behind, step in ((1, -1.0), (2, -1.0), (3, 3.0)):
            steps[behind :: self.period] = step
        return priced(steps)


@dataclass(frozen=True, slots=True)
class Marks:
    """Q2's stream: a live match every `live_every` rows, an archive match every `archive_every`; both multiples of 10.

    Between them slow rises of `rise` steps and slow falls of `fall` steps take turns, which are candidates of the
    archive's and of the live pattern: the longer, the more a row costs. A pause divides two of them.
    """

    rows: int
    live_every: int
    archive_every: int
    rise: int = 8
    fall: int = 8

    def table(self) -> pa.Table:
        steps = np.resize(slow_turns(self.rise, self.fall), self.rows)
        mark(steps, np.arange(9, self.rows, self.live_every), -STEEP)
        mark(steps, np.arange(4, self.rows, self.archive_every), STEEP)
        return priced(steps)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Q2's stream with hot spots: archive matches, an expensive stretch, live matches; then silence until the next one.

    The stretch consists of long slow rises and long slow falls; `rising` is the share of its rows that rise. A region
    that covers the cluster has all of it inside, and the rest of the stream costs next to nothing.
    """

    rows: int
    rising: float
    every: int = 2_000
    matches: int = 20
    stretch: int = 320
    length: int = 64
    """Length of one slow rise or fall."""

    @property
    def span(self) -> int:
        """Rows from the first archive match to the last live match."""
        return 2 * _APART * self.matches + self.stretch

    def table(self) -> pa.Table:
        steps = np.zeros(self.rows)
        first = np.arange(0, self.rows - self.span, self.every)
        rows_of_marks = _APART * np.arange(self.matches) + 1
        stretch = self.steps_of_stretch()
        for begin in first:
            mark(steps, begin + rows_of_marks, STEEP)
            hot = begin + _APART * self.matches
            steps[hot : hot + len(stretch)] = stretch
            mark(steps, hot + self.stretch + rows_of_marks, -STEEP)
        return priced(steps)

    def steps_of_stretch(self) -> Steps:
        number = self.stretch // self.length
        rises = round(self.rising * number)
        one = np.concatenate(([0.0], np.full(self.length - 1, SLOW)))
        return np.concatenate((np.tile(one, rises), np.tile(-one, number - rises)))


_APART = 4
"""Rows between two matches of a cluster: a mark and the flat rows around it."""


def slow_turns(rise: int, fall: int) -> Steps:
    """A slow rise, a pause, a slow fall, a pause."""
    return np.concatenate((np.full(rise, SLOW), [0.0], np.full(fall, -SLOW), [0.0]))


def mark(steps: Steps, rows: NDArray[np.int64], step: float) -> None:
    """One steep step at each row, with flat rows around it, so that it is exactly one match."""
    for behind, value in ((-1, 0.0), (1, 0.0), (0, step)):
        at = rows + behind
        steps[at[(at >= 0) & (at < len(steps))]] = value


@dataclass(frozen=True, slots=True)
class Quotes:
    """The first bids of a real stock in the folder that OSTINATO_DATA names."""

    rows: int

    def table(self) -> pa.Table:
        path = quotes_file()
        assert path is not None
        quotes = pq.read_table(path, columns=["symbol", "ts", "event_id", "bid"]).sort_by("event_id")
        return quotes.slice(0, self.rows).rename_columns(["symbol", "ts", "event_id", "price"])


def quotes_file() -> Path | None:
    """The file of quotes, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = None if folder is None else Path(folder) / QUOTES
    return path if path is not None and path.is_file() else None
