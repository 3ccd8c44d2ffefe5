"""The plan of the shared kernel as arrays: queries, loops, actions, logs, windows. No events here.

A lane is a query in one open window. It keeps its numbers in cells. There are three kinds of cells: the count and the
slots of a state; those of a guard, that is of the trends in a state that no NOT has ended yet; and `ahead` of a loop
(`trends/loops.py` explains it).

There are two numberings of cells. Exact counts don't store the state of a loop: it is `ahead` less the other sources.
Rounding would destroy that difference of doubles. So sums of doubles, extremes and flags have a numbering in which
every state has a cell; its names begin with `full_`.
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
    """One entry for each query. `x_from[i]` and `x_from[i + 1]` bound the range of entry i in the arrays `x_...`."""

    extent: Ints
    first_lane: Ints
    cells: Ints
    slots: Ints
    """How many COUNT and SUM of integers there are, besides the count itself."""
    full_cells: Ints
    reals: Ints
    """How many SUM of doubles there are."""
    extremes: Ints
    loop_from: Ints
    target_from: Ints
    result_from: Ints
    result_sign: Ints
    result_cell: Ints
    result_constant: Ints
    full_result_from: Ints
    full_result_cell: Ints
    one_from: Ints
    one_cell: Ints
    """Cells that hold 1 when a lane opens: they count the empty trend at START."""
    full_one_from: Ints
    full_one_cell: Ints


class Loops(NamedTuple):
    log: Ints
    ahead: Ints
    full_ahead: Ints
    keeps_from: Ints
    keeps_cell: Ints
    """Cells that gain as much as `ahead` does: the loop's state where it is stored, and guards behind it."""
    full_keeps_from: Ints
    full_keeps_cell: Ints
    full_other_from: Ints
    full_other_cell: Ints
    """The sources of `ahead` other than the loop's state. That state is the first of `full_keeps_cell`."""
    other_from: Ints
    other_cell: Ints
    starts: Ints
    """Whether START is a source, without NOT in between."""
    slot_from: Ints
    slot_log: Ints
    real_from: Ints
    real_log: Ints
    extreme_from: Ints
    extreme_log: Ints
    """For each slot, sum of doubles and extreme of the query: the column of the log that it reads. NONE: the aggregate
    doesn't cover this label."""


class Targets(NamedTuple):
    """The states that labels without a loop lead to, and the cells that gain with each of them."""

    add_from: Ints
    add_cell: Ints
    full_add_from: Ints
    full_add_cell: Ints


class Actions(NamedTuple):
    """The effect of an event on the lanes of one query: moves between states, and resets by NOT."""

    query: Ints
    condition: Ints
    simple: Ints
    """Whether the action writes no cell that it reads. It may then write at once."""
    move_from: Ints
    reset_from: Ints
    reset_cell: Ints
    reset_full_cell: Ints
    reset_feed_from: Ints
    reset_feed: Ints
    """The loops that have the reset guard among their sources."""
    # moves
    target: Ints
    term_from: Ints
    term_sign: Ints
    term_cell: Ints
    constant: Ints
    full_source_from: Ints
    full_source_cell: Ints
    starts: Ints
    slot_from: Ints
    slot_stream: Ints
    real_from: Ints
    real_stream: Ints
    extreme_from: Ints
    extreme_stream: Ints


class LogColumns(NamedTuple):
    """The columns of each log: running sums and extremes of the values of its events."""

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
    """0: no windows, 1: windows of time, 2: windows that count events."""
    length: Ints
    slide: Ints
    lanes: Ints
    """The largest number of windows that are open at once."""


class SharedLayout(NamedTuple):
    queries: Queries
    loops: Loops
    targets: Targets
    actions: Actions
    logs: LogColumns
    windows: Windows


@dataclass(frozen=True, slots=True)
class ValueStream:
    """One number for each event, computed from the value with number `value`.

    `kind` is one of "one", "valid", "value", "real", "min", "max", "nan", "above" (infinity) and "below" (-infinity).
    """

    kind: str
    value: int = NONE


@dataclass(slots=True)
class ValueStreams:
    """All streams of a plan, numbered. Queries that need the same stream share it."""

    ints: dict[ValueStream, int] = field(default_factory=dict)
    reals: dict[ValueStream, int] = field(default_factory=dict)
    extremes: dict[ValueStream, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlotIndexes:
    """Where the results of one slot are: indexes into the query's numbers, sums of doubles and extremes."""

    slot: Slot
    number: int | None
    real: int | None
    extreme: int | None
    """The minimum, the maximum, or the flag for "there is a value"."""
    not_finite: int | None
    """The first of three flags: NaN, infinity, -infinity."""


@dataclass(frozen=True, slots=True)
class CompiledPrograms:
    layout: SharedLayout
    streams: ValueStreams
    slot_indexes: tuple[tuple[SlotIndexes, ...], ...]
