"""SB and SB+: a unit for each state; partial matches flow from state to state in transfer batches.

A link between two states has a few buffers that go round: full ones forward, empty ones back. So a state that is
slower than the one before it holds that one up, and no buffer is made twice. All units read the events from one array.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from queue import SimpleQueue

from benchmarks.rip.kernels import (
    BUFFER_SWAPPED,
    FINISHED,
    FORWARDED,
    MORE_RUNS,
    ROW,
    SENT,
    TRIED,
    advance_state,
)
from benchmarks.rip.linear_query import LinearQuery
from benchmarks.rip.run_based import ROOM, Outcome, Prices, Runs, counters, doubled, in_threads, outcome, room_for

TRANSFER_ROWS = 20_000
"""Events a transfer batch. The paper found 5,000 to 10,000 best; here it is somewhat more (figure 12)."""
BUFFERS_PER_LINK = 4


@dataclass(slots=True)
class Transfer:
    """The partial matches whose last event lies in one batch of events; `runs` may have more room."""

    runs: Runs
    count: int = 0


class PipelineStopped(Exception):
    """Another state failed; its failure is the one to show."""


class Link:
    """Between two states: full transfers one way, empty ones back. None: the other end is gone."""

    def __init__(self, query: LinearQuery) -> None:
        self._full: SimpleQueue[Transfer | None] = SimpleQueue()
        self._empty: SimpleQueue[Transfer | None] = SimpleQueue()
        for _ in range(BUFFERS_PER_LINK):
            self._empty.put(Transfer(room_for(query, ROOM)))

    def to_fill(self) -> Transfer:
        return _arrived(self._empty.get())

    def send(self, transfer: Transfer) -> None:
        self._full.put(transfer)

    def receive(self) -> Transfer:
        return _arrived(self._full.get())

    def give_back(self, transfer: Transfer) -> None:
        self._empty.put(transfer)

    def close(self) -> None:
        """Whoever waits at either end stops waiting; what was sent before still arrives."""
        self._full.put(None)
        self._empty.put(None)


def _arrived(transfer: Transfer | None) -> Transfer:
    if transfer is None:
        raise PipelineStopped
    return transfer


class StateUnit:
    """The unit of one state: its internal buffer, and its count of evaluations."""

    def __init__(self, query: LinearQuery, price: Prices, state: int) -> None:
        self._query = query
        self._price = price
        self._state = state
        self._buffer, self._spare = room_for(query, ROOM), room_for(query, ROOM)
        self._progress = counters(6)
        self.evaluations = counters(len(query.variables))

    def advance(self, first: int, end: int, incoming: Transfer, outgoing: Transfer) -> None:
        """The events of one batch, with what arrived for them; fills `outgoing`."""
        progress = self._progress
        progress[ROW] = first
        progress[SENT] = progress[TRIED] = progress[FORWARDED] = 0
        while True:
            buffer, spare = self._buffer, self._spare
            status = advance_state(
                self._query.states, self._query.max_length, self._price, self._state, end,
                incoming.runs, incoming.count, buffer, spare, outgoing.runs, self.evaluations, progress,
            )  # fmt: skip
            if progress[BUFFER_SWAPPED]:
                self._buffer, self._spare = spare, buffer
                progress[BUFFER_SWAPPED] = 0
            if status == FINISHED:
                break
            if status == MORE_RUNS:
                self._buffer, self._spare = doubled(self._buffer), doubled(self._spare)
            else:
                outgoing.runs = doubled(outgoing.runs)
        outgoing.count = int(progress[SENT])


def _batches(count: int, transfer_rows: int) -> list[tuple[int, int]]:
    return [(at, min(at + transfer_rows, count)) for at in range(0, count, transfer_rows)]


class _Pipeline:
    """The units of all states and the links between them. `first_units`: how many share the first state's work."""

    def __init__(self, query: LinearQuery, price: Prices, transfer_rows: int, first_units: int) -> None:
        self._query = query
        self._batches = _batches(len(price), transfer_rows)
        self._first_units = first_units
        states = len(query.variables)
        self._state_of_unit = [0] * first_units + list(range(1, states))
        self.units = [StateUnit(query, price, state) for state in self._state_of_unit]
        # Each of the first units has a link of its own, so that the second state takes their batches in turns.
        self._links = [Link(query) for _ in self._state_of_unit[:-1]]
        self.found: list[Runs] = []

    def work(self, number: int) -> None:
        """All batches of one unit; leaves no neighbour waiting, whatever happens."""
        state = self._state_of_unit[number]
        sources = [] if state == 0 else self._links[: self._first_units] if state == 1 else [self._links[number - 1]]
        target = self._links[number] if number < len(self._links) else None
        try:
            if state == 0:
                self._first_state(number, target)
            else:
                self._later_state(number, sources, target)
        finally:
            for link in (*sources, *([target] if target else [])):
                link.close()

    def _first_state(self, number: int, target: Link | None) -> None:
        nothing = Transfer(room_for(self._query, 1))
        for first, end in self._batches[number :: self._first_units]:
            outgoing = target.to_fill() if target else Transfer(room_for(self._query, ROOM))
            self.units[number].advance(first, end, nothing, outgoing)
            self._send(outgoing, target)

    def _later_state(self, number: int, sources: list[Link], target: Link | None) -> None:
        last = Transfer(room_for(self._query, ROOM))
        for batch, (first, end) in enumerate(self._batches):
            source = sources[batch % len(sources)]
            incoming = source.receive()
            outgoing = target.to_fill() if target else last
            self.units[number].advance(first, end, incoming, outgoing)
            source.give_back(incoming)
            self._send(outgoing, target)

    def _send(self, outgoing: Transfer, target: Link | None) -> None:
        if target:
            target.send(outgoing)
        elif outgoing.count:
            self.found.append(outgoing.runs[: outgoing.count].copy())


def pipelined(
    query: LinearQuery, price: Prices, transfer_rows: int = TRANSFER_ROWS, *, first_units: int = 1
) -> Outcome:
    """SB: a thread for each state. SB+: `first_units=2`, the first state is there twice."""
    pipeline = _Pipeline(query, price, transfer_rows, first_units)
    in_threads(pipeline.work, len(pipeline.units))
    found = pipeline.found or [room_for(query, 0)]
    return outcome(query, found, [unit.evaluations for unit in pipeline.units])


def state_seconds(query: LinearQuery, price: Prices, transfer_rows: int = TRANSFER_ROWS) -> list[float]:
    """C_i: the time that each state's work takes, all states on one thread, batch after batch."""
    units = [StateUnit(query, price, state) for state in range(len(query.variables))]
    transfers = [Transfer(room_for(query, ROOM)) for _ in range(len(units) + 1)]
    times = [0.0] * len(units)
    for first, end in _batches(len(price), transfer_rows):
        for state, unit in enumerate(units):
            started = time.perf_counter()
            unit.advance(first, end, transfers[state], transfers[state + 1])
            times[state] += time.perf_counter() - started
    return times
