"""Rows in any order -> the sequences of an event query: the events that may be in one match, in order of time.

A sequence has the rows of one group that agree in the columns of SAME. Rows without a time are ignored. Rows with a
NULL in a SAME column are in no sequence, but windows that count events count them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.expressions.values.value_order import OrderKey, group_numbers, sortable
from ostinato.rows.ordering import order_rows
from ostinato.rows.times import microseconds_of

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
FARTHEST = 1 << 62
"""Engines add lengths to times, and use numbers beyond these for "before all times" and "after all times"."""


@dataclass(frozen=True, slots=True)
class SequenceKeys:
    """The columns that decide where a row belongs."""

    group_by: Sequence[pa.Array]
    same: Sequence[pa.Array]
    time: pa.Array


@dataclass(frozen=True, slots=True)
class Sequences:
    """`rows[i]` is the input row of event i, in order of sequence and time."""

    rows: Rows
    starts: NDArray[np.int64]
    """The first event of each sequence, and at the end the number of events."""
    time: NDArray[np.int64]
    place: NDArray[np.int64]
    """The number of the event within its group; 0 if it isn't needed."""
    group: NDArray[np.int64]
    """For each sequence the number of its group. Groups are numbered in the order of their values, NULL first."""
    examples: Rows
    """For each group one of its input rows."""

    @property
    def count(self) -> int:
        return len(self.starts) - 1


def find_sequences(
    count: int,
    keys: SequenceKeys,
    *,
    matters: Mask | None = None,
    places: bool = False,
    ties: Callable[[], Sequence[pa.Array]] | None = None,
) -> Sequences:
    """The sequences of `count` rows. Only relevant rows become events (None: all rows), but all rows are counted.

    `places` asks for the events' numbers within groups. `ties` are the columns that order events of the same time, so
    that the result doesn't depend on the order of arrival; None if that order doesn't matter.
    """
    alive = np.asarray(keys.time.is_valid()) if keys.time.null_count else np.ones(count, np.bool_)
    place = _places(keys, alive, ties) if places else None
    for column in keys.same:
        if column.null_count:
            alive &= np.asarray(column.is_valid())
    if matters is not None:
        alive &= matters
    selected = _SelectedRows(keys, np.flatnonzero(alive), count)
    ordered = order_rows(
        selected.count, [*selected.group_by, *selected.same], [OrderKey(selected.time)], selected.taken_lazily(ties)
    )
    rows = selected.rows if ordered.rows is None else selected.rows[ordered.rows]
    starts = ordered.key_at if len(rows) else np.zeros(1, np.int64)
    group, examples = _groups(keys.group_by, rows[starts[:-1]])
    time = microseconds_of(selected.time)
    if len(time) and not -FARTHEST <= time.min() <= time.max() <= FARTHEST:
        raise MatchError("TIME_OUT_OF_RANGE", f"times lie between -2^62 and 2^62, and there is {time.max()}")
    return Sequences(
        rows=rows,
        starts=starts,
        time=time if ordered.rows is None else time[ordered.rows],
        place=np.zeros(len(rows), np.int64) if place is None else place[rows],
        group=group,
        examples=examples,
    )


class _SelectedRows:
    """The key columns of some rows."""

    def __init__(self, keys: SequenceKeys, rows: Rows, count: int) -> None:
        self.rows = rows
        self.count = len(rows)
        self._chosen = None if len(rows) == count else pa.array(rows)
        self.group_by = [self.taken(column) for column in keys.group_by]
        self.same = [self.taken(column) for column in keys.same]
        self.time = self.taken(keys.time)

    def taken(self, column: pa.Array) -> pa.Array:
        return column if self._chosen is None else column.take(self._chosen)

    def taken_lazily(self, ties: Callable[[], Sequence[pa.Array]] | None) -> Callable[[], Sequence[pa.Array]]:
        if ties is None:
            return lambda: ()
        return lambda: [self.taken(column) for column in ties()]


def _places(keys: SequenceKeys, alive: Mask, ties: Callable[[], Sequence[pa.Array]] | None) -> NDArray[np.int64]:
    """For each row its number within its group, in order of time; rows without a time have none."""
    selected = _SelectedRows(SequenceKeys(keys.group_by, (), keys.time), np.flatnonzero(alive), len(alive))
    ordered = order_rows(selected.count, selected.group_by, [OrderKey(selected.time)], selected.taken_lazily(ties))
    rows = selected.rows if ordered.rows is None else selected.rows[ordered.rows]
    result = np.zeros(len(alive), np.int64)
    first = np.repeat(ordered.key_at[:-1], np.diff(ordered.key_at))
    result[rows] = np.arange(len(rows)) - first
    return result


def _groups(group_by: Sequence[pa.Array], firsts: Rows) -> tuple[NDArray[np.int64], Rows]:
    """The group of each sequence, taken from its first event; and for each group its first such event."""
    if not len(firsts):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    chosen = pa.array(firsts)
    numbers = group_numbers(len(firsts), [column.take(chosen) for column in group_by])
    _, at, dense = np.unique(numbers, return_index=True, return_inverse=True)
    examples = firsts[at]
    if len(examples) > 1:
        chosen = pa.array(examples)
        ranked = [column for key in group_by for column in sortable(OrderKey(key.take(chosen)))]
        order = np.lexsort(ranked[::-1])
        rank = np.empty(len(examples), np.int64)
        rank[order] = np.arange(len(examples))
        dense, examples = rank[dense], examples[order]
    return dense.astype(np.int64), examples
