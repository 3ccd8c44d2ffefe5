"""What the kernels of running sums read and write: a program, events, lanes, results and states, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.separate.sums import Bools, Ints

# What the kernel returns.
FINISHED, MORE_COLUMNS, MORE_OUTPUT, MORE_STATE, FAILED, STOPPED = 0, 1, 2, 3, 4, 5
# Places in `progress`.
SEQUENCE, ROW, HEAD, LANES, COUNT_BITS, SLOT_BITS, LOADED, RECORDS, LIMBS, WORDS = range(10)
PROGRESS = 10
# How far trends reach.
UNBOUNDED, SPAN, WINDOWS = 0, 1, 2
# Which event may follow.
ANY, NEXT, STRICT = 0, 1, 2
# Spare lanes behind those of the ring: what waits, a sum of results, what is over in a span.
WAITING, SUMMED, OVER, SPARE = 0, 1, 2, 3
FAR = np.iinfo(np.int64).max
SLACK = 3
"""Limbs that must be free above the largest number."""


class Plan(NamedTuple):
    """A program as arrays."""

    places: int
    states: int
    edge_at: Ints
    """Of each label the edges `edge_at[label]:edge_at[label + 1]`, in an order in which sums can be changed at once."""
    edge_source: Ints
    """A place."""
    edge_state: Ints
    edge_target: Ints
    """A state."""
    at_once: Bools
    """For each label whether its edges have such an order; only where every state has one place."""
    place_at: Ints
    place_of: Ints
    """State s adds to `place_of[place_at[s]:place_at[s + 1]]`."""
    passing: Bools
    """Places that a run leaves: with NEXT when it goes on, with STRICT after one event."""
    starts: Ints
    """The places of START; they hold 1."""
    results: Ints
    reset_at: Ints
    reset_place: Ints
    """The absence a empties `reset_place[reset_at[a]:reset_at[a + 1]]`."""
    labels: int
    start_labels: int
    """Bits of the labels that lead away from START."""
    selection: int
    bound: int
    by_place: bool
    length: int
    slide: int


class Rows(NamedTuple):
    """The events that the program reads."""

    starts: Ints
    time: Ints
    position: Ints
    mask: Ints
    """Bits of the labels that an event qualifies for; above them, of the absences that it is."""
    label: Ints
    """The label, where there is only one and no absence; else -1."""
    linked: Bools
    """STRICT: whether the event follows directly the one read before it."""
    tail: Bools
    """STRICT: for each sequence whether what comes next may follow directly the last event read."""
    until: Ints
    final: bool
    value_bits: int


class Lanes(NamedTuple):
    """A ring of `capacity` lanes, and spare ones. Place p of lane i is `i * places + p`."""

    capacity: int
    low: Ints
    """Where the lane's window starts; it takes events from there up to `high`."""
    high: Ints
    touched: Bools


class Output(NamedTuple):
    """Results: `heads` has (sequence, window, where each number is in `limbs`)."""

    heads: Ints
    limbs: Ints
    real: Ints
    best: Ints
    seen: NDArray[np.uint8]


class Words(NamedTuple):
    """States of all sequences as words: `words[at[s]:at[s + 1]]`."""

    at: Ints
    words: Ints
