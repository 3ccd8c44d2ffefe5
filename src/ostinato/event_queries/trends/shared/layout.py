"""What the shared kernel works from, as arrays: queries, loops, actions, logs, windows. No events here.

Numbers live in cells, several for each lane (a query in one open window). A cell is the count (and the slots) of a
state; of a guard, the part of a state that no NOT has cut off yet; or `ahead` of a loop (see `loops.py`). Exact counts
don't store the state of a loop: it is `ahead` less the other sources. Doubles would lose it in that difference, so
approximate numbers and sums of doubles do, in an order of cells of their own (`e...`: with extremes and flags).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import Slot

Ints = NDArray[np.int64]
NONE = -1


class Queries(NamedTuple):
    """By query. `..._from` and the entry after it bound a range of another array."""

    extent: Ints
    first_lane: Ints
    cells: Ints
    slots: Ints
    """COUNT and SUM of integers, beside the count itself."""
    ecells: Ints
    reals: Ints
    """SUM of doubles."""
    extremes: Ints
    loop_from: Ints
    target_from: Ints
    result_from: Ints
    result_sign: Ints
    result_cell: Ints
    result_constant: Ints
    eresult_from: Ints
    eresult_cell: Ints
    one_from: Ints
    one_cell: Ints
    """Cells that hold 1 when a lane opens: START."""
    eone_from: Ints
    eone_cell: Ints


class Loops(NamedTuple):
    log: Ints
    ahead: Ints
    eahead: Ints
    keeps_from: Ints
    keeps_cell: Ints
    """Cells that get what `ahead` gains: the loop's state where it is stored, guards behind it."""
    ekeeps_from: Ints
    ekeeps_cell: Ints
    eother_from: Ints
    eother_cell: Ints
    """The sources of `ahead` beside the state itself; the state is the first of `ekeeps_cell`."""
    other_from: Ints
    other_cell: Ints
    starts: Ints
    """Whether START is one of the sources, without NOT."""
    slot_from: Ints
    slot_log: Ints
    real_from: Ints
    real_log: Ints
    extreme_from: Ints
    extreme_log: Ints
    """For each slot, real and extreme of the query, the column of the log that it reads; NONE: not over this label."""


class Targets(NamedTuple):
    """The states that labels without a loop lead to."""

    add_from: Ints
    add_cell: Ints
    eadd_from: Ints
    eadd_cell: Ints


class Actions(NamedTuple):
    """What an event does to the lanes of one query."""

    query: Ints
    condition: Ints
    simple: Ints
    """What it reads it doesn't write: it may write at once."""
    move_from: Ints
    reset_from: Ints
    reset_cell: Ints
    reset_ecell: Ints
    reset_feed_from: Ints
    reset_feed: Ints
    """The loops that have the guard among their sources."""
    # moves
    target: Ints
    term_from: Ints
    term_sign: Ints
    term_cell: Ints
    constant: Ints
    esource_from: Ints
    esource_cell: Ints
    starts: Ints
    slot_from: Ints
    slot_stream: Ints
    real_from: Ints
    real_stream: Ints
    extreme_from: Ints
    extreme_stream: Ints


class LogColumns(NamedTuple):
    """What the log of a condition keeps of its events: sums of streams of values, and their extremes."""

    condition: Ints
    queries: Ints
    int_from: Ints
    int_stream: Ints
    real_from: Ints
    real_stream: Ints
    extreme_from: Ints
    extreme_stream: Ints


class Windows(NamedTuple):
    kind: Ints
    """0: none, 1: by time, 2: by place."""
    length: Ints
    slide: Ints
    lanes: Ints
    """How many windows are open at once at most."""


class Layout(NamedTuple):
    queries: Queries
    loops: Loops
    targets: Targets
    actions: Actions
    logs: LogColumns
    windows: Windows


@dataclass(frozen=True, slots=True)
class Stream:
    """Numbers by row. `part`: "one", "valid", "value", "real", "min", "max", "nan", "above" (inf), "below" (-inf)."""

    part: str
    value: int = NONE


@dataclass(slots=True)
class Streams:
    """Every stream is built once, whoever asks."""

    ints: dict[Stream, int] = field(default_factory=dict)
    reals: dict[Stream, int] = field(default_factory=dict)
    extremes: dict[Stream, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlotPlaces:
    """Where the numbers of one slot are, each as a place among those of the query."""

    slot: Slot
    number: int | None
    real: int | None
    extreme: int | None
    """The least, the largest, or whether there is any."""
    not_finite: int | None
    """The first of three: NaN, infinity, -infinity."""


@dataclass(frozen=True, slots=True)
class Compiled:
    layout: Layout
    streams: Streams
    places: tuple[tuple[SlotPlaces, ...], ...]
