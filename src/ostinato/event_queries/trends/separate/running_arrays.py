"""The arrays that the kernels of running sums read and write: program, events, lanes, results, states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.separate.sums import Bools, Ints

# Status that a kernel returns.
FINISHED, MORE_COLUMNS, MORE_OUTPUT, MORE_STATE, MORE_PAIRS, FAILED, STOPPED = range(7)
# Fields of `progress`.
SEQUENCE, ROW, HEAD, LANES, COUNT_BITS, SLOT_BITS, LOADED, RECORDS, LIMBS, WORDS = range(10)
PROGRESS = 10
"""The number of these fields."""
COLUMNS = 8
"""Limbs that a number has room for at first."""
# How far trends reach.
UNBOUNDED, SPAN, WINDOWS = range(3)
# Which event may follow another.
ANY, NEXT, STRICT = range(3)
# Spare lanes behind the ring: waiting sums, a sum of results, finished trends of a span. SPARE is their number.
WAITING, SUMMED, OVER, SPARE = range(4)
FAR = np.iinfo(np.int64).max
SLACK = 3
"""Limbs that must stay free above the largest number."""


class RunningArrays(NamedTuple):
    """A program as arrays. Each lane has `sums_per_lane` running sums, with these numbers."""

    sums_per_lane: int
    states: int
    edge_at: Ints
    """The edges of a label are `edge_at[label]:edge_at[label + 1]`, ordered so that sums can be changed at once."""
    edge_source: Ints
    """A running sum."""
    edge_state: Ints
    edge_target: Ints
    """A state."""
    at_once: Bools
    """For each label, whether its edges have such an order. Only if every state has a single running sum."""
    sum_at: Ints
    sum_of: Ints
    """State s adds to the running sums `sum_of[sum_at[s]:sum_at[s + 1]]`."""
    passing: Bools
    """Running sums that a run leaves: with NEXT when it is extended, with STRICT after one event."""
    starts: Ints
    """The running sums of START; they hold 1."""
    results: Ints
    reset_at: Ints
    reset_sum: Ints
    """Absence a empties the running sums `reset_sum[reset_at[a]:reset_at[a + 1]]`."""
    labels: int
    start_labels: int
    """One bit for each label that leads away from START."""
    selection: int
    bound: int
    by_place: bool
    length: int
    slide: int


class EventRows(NamedTuple):
    """The events that the program reads."""

    starts: Ints
    time: Ints
    position: Ints
    mask: Ints
    """One bit for each label that the event qualifies for; above them, one bit for each absence it is part of."""
    label: Ints
    """The label, if there is exactly one and no absence; else -1."""
    linked: Bools
    """STRICT: whether the event directly follows the event read before it."""
    tail: Bools
    """STRICT: for each sequence, whether the next event may directly follow the last event read."""
    until: Ints
    final: bool
    value_bits: int


class Lanes(NamedTuple):
    """A ring of `capacity` lanes and some spare lanes. Sum s of lane i has the index `i * sums_per_lane + s`."""

    capacity: int
    low: Ints
    """Start of the lane's window; it takes events from there up to `high`."""
    high: Ints
    touched: Bools


class RunningOutput(NamedTuple):
    """Results. A row of `heads` has the sequence, the window, and the position of each number in `limbs`."""

    heads: Ints
    limbs: Ints
    real: Ints
    best: Ints
    seen: NDArray[np.uint8]


class StoredSums(NamedTuple):
    """Stored states of all sequences. Sequence s has the words `words[starts[s]:starts[s + 1]]`."""

    starts: Ints
    words: Ints
