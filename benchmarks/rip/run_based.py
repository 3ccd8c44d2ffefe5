"""SEQ, RB and RB+: whole runs stay on one unit. Prices in, matches and counted evaluations out.

A unit is a thread. Events lie in one array that all units read, so that replicating them costs nothing here: what RB
pays for is that each of its units goes through all events.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.rip.kernels import ENTERED, FINISHED, LAST, MATCHES, MORE_RUNS, ROW, RUNS, SWAPPED, advance_runs
from benchmarks.rip.linear_query import LinearQuery

Prices = NDArray[np.float64]
Runs = NDArray[np.int32]
"""Rows as `kernels` describes them."""

SLICE_ROWS = 20_000
"""n. The paper has 5,000; events take less time here, so handing out a slice weighs more (part "slice size")."""
ROOM = 1_024


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a variant found. `matches`: for each state the event with which it was entered; then the last event."""

    matches: Runs
    evaluations: NDArray[np.int64]
    """Predicate evaluations of each state, M_i of the paper."""

    def in_order(self) -> Runs:
        """The matches by their events, whatever the order in which they were found."""
        return self.matches[np.lexsort(self.matches.T[::-1])]


def outcome(query: LinearQuery, found: Sequence[Runs], evaluations: Sequence[NDArray[np.int64]]) -> Outcome:
    """What several units found, as one."""
    columns = [*range(ENTERED, ENTERED + len(query.variables)), LAST]
    return Outcome(np.concatenate(found)[:, columns], np.sum(evaluations, axis=0))


class RunUnit:
    """A processing unit: room for its runs and matches, used again for each slice."""

    def __init__(self, query: LinearQuery, price: Prices) -> None:
        self._query = query
        self._price = price
        self._runs, self._spare, self._found = (room_for(query, ROOM) for _ in range(3))
        self._progress = counters(4)
        self.evaluations = counters(len(query.variables))

    @property
    def match_count(self) -> int:
        return int(self._progress[MATCHES])

    def matches(self, begin: int = 0, end: int | None = None) -> Runs:
        """Those found so far, or some of them."""
        return self._found[begin : self.match_count if end is None else end]

    def forget_matches(self) -> None:
        """The unit finds matches anew, in the room that it has."""
        self._progress[MATCHES] = 0

    def search(self, first: int, end: int, stop: int, stride: int = 1, unit: int = 0) -> None:
        """All matches that begin with an event from `first` to `end`, with events before `stop`."""
        self._progress[ROW], self._progress[RUNS] = first, 0
        self.go_on(first, end, stop, stride, unit)

    def go_on(self, first: int, end: int, stop: int, stride: int = 1, unit: int = 0) -> None:
        """The same with the runs that are open, from the event after the last."""
        states, longest, price = self._query.states, self._query.max_length, self._price
        while True:
            runs, spare = self._runs, self._spare
            status = advance_runs(
                states, longest, price, first, end, stop, stride, unit,
                runs, spare, self._found, self.evaluations, self._progress,
            )  # fmt: skip
            if self._progress[SWAPPED]:
                self._runs, self._spare = spare, runs
                self._progress[SWAPPED] = 0
            if status == FINISHED:
                return
            if status == MORE_RUNS:
                self._runs, self._spare = doubled(self._runs), doubled(self._spare)
            else:
                self._found = doubled(self._found)


def room_for(query: LinearQuery, runs: int) -> Runs:
    return np.zeros((runs, ENTERED + len(query.variables)), np.int32)


def counters(count: int) -> NDArray[np.int64]:
    """Zeros in cache lines of their own: units that count in one line slow each other down."""
    apart = 16
    return np.zeros(count + 2 * apart, np.int64)[apart : apart + count]


def doubled(runs: Runs) -> Runs:
    return np.concatenate([runs, np.zeros_like(runs)])


def in_threads(work: Callable[[int], None], units: int) -> None:
    """`work(unit)` on a thread for each unit; the first failure is raised again. One unit needs no thread."""
    failures: list[BaseException] = []

    def guarded(unit: int) -> None:
        try:
            work(unit)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(unit,)) for unit in range(1, units)]
    for thread in threads:
        thread.start()
    guarded(0)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# --- the variants -----------------------------------------------------------------------------------------------------


def sequential(query: LinearQuery, price: Prices) -> Outcome:
    """SEQ: one unit, every event begins a run."""
    unit = RunUnit(query, price)
    unit.search(0, len(price), len(price))
    return outcome(query, [unit.matches()], [unit.evaluations])


def round_robin(query: LinearQuery, price: Prices, units: int) -> Outcome:
    """RB: event i begins its run on unit i mod X, and every unit sees every event."""
    count = len(price)
    pool = [RunUnit(query, price) for _ in range(units)]
    in_threads(lambda unit: pool[unit].search(0, count, count, stride=units, unit=unit), units)
    return outcome(query, [unit.matches() for unit in pool], [unit.evaluations for unit in pool])


@dataclass(frozen=True, slots=True)
class Slice:
    """The events that begin runs, and where reading ends: the shared part lies between."""

    first: int
    end: int
    stop: int


def slices_of(count: int, slice_rows: int, shared_rows: int) -> list[Slice]:
    """Slice i owns events [i(n-s), (i+1)(n-s)) and reads n."""
    if slice_rows <= shared_rows:
        raise ValueError(f"a slice of {slice_rows} rows is no larger than the part of {shared_rows} that it shares")
    owned = slice_rows - shared_rows
    return [Slice(at, min(at + owned, count), min(at + slice_rows, count)) for at in range(0, count, owned)]


def sliced(
    query: LinearQuery, price: Prices, units: int, slice_rows: int = SLICE_ROWS, shared_rows: int | None = None
) -> Outcome:
    """RB+: an idle unit takes the next slice; the matches come back in the order of the slices."""
    slices = slices_of(len(price), slice_rows, query.shared_rows if shared_rows is None else shared_rows)
    pool = [RunUnit(query, price) for _ in range(units)]
    found: list[tuple[int, int, int]] = [(0, 0, 0)] * len(slices)
    next_slice = itertools.count()

    def work(unit: int) -> None:
        mine = pool[unit]
        while (number := next(next_slice)) < len(slices):
            begin, part = mine.match_count, slices[number]
            mine.search(part.first, part.end, part.stop)
            found[number] = (unit, begin, mine.match_count)

    in_threads(work, units)
    parts = [pool[unit].matches(begin, end) for unit, begin, end in found if end > begin]
    return outcome(query, parts or [pool[0].matches()], [unit.evaluations for unit in pool])


def slice_seconds(
    query: LinearQuery, price: Prices, slice_rows: int = SLICE_ROWS, rounds: int = 1
) -> NDArray[np.float64]:
    """[round, slice]: how long each slice takes a unit that has a core to itself: the processor's time.

    A round before them isn't timed. It makes the unit's arrays as large as they will be: a slice in which the array of
    all matches doubled would show what that costs, not what the slice does.
    """
    unit, slices = RunUnit(query, price), slices_of(len(price), slice_rows, query.shared_rows)
    times = np.zeros((rounds + 1, len(slices)))
    for taken in times:
        unit.forget_matches()
        for number, part in enumerate(slices):
            started = time.thread_time()
            unit.search(part.first, part.end, part.stop)
            taken[number] = time.thread_time() - started
    return times[1:]
