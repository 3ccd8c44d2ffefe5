"""Many summaries of one query, one for each key, advanced by one call of a kernel.

Each key has a row in two arrays. The kernel copies a row into the columns of a single summary, takes the key's events,
and copies it back. So a key costs little more than its events. If the counts of a summary overflow doubles, it leaves
the arrays and is stored separately.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel, interpreted
from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.summaries.engine.answers import Answering, Answers, KeptEvents, kept_events
from ostinato.summaries.engine.keeping_strategies import advance_blindly, advance_by_benefit
from ostinato.summaries.engine.kernel_tables import (
    BY_BENEFIT,
    COUNT,
    MARKS,
    NOW,
    SEEN,
    STARTED,
    Incoming,
    StateColumns,
    empty_columns,
)
from ostinato.summaries.engine.summary import Summary, SummaryEvents, check_order
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.engine.summary_state_checks import StoredSummaries, check_summaries

_INTEGERS, _NUMBERS = 5, 4
"""Number of columns of a kept event in the two arrays, without active counters."""


@inline_kernel
def _load(columns, integers, numbers, slot):  # type: ignore[no-untyped-def]
    """A row of the arrays -> the columns of a summary."""
    size, states = columns.active.shape
    for offset in range(len(columns.marks)):
        columns.marks[offset] = integers[slot, _INTEGERS * size + offset]
    for row in range(columns.marks[COUNT]):
        columns.time[row] = integers[slot, row]
        columns.type[row] = integers[slot, size + row]
        columns.payload[row] = integers[slot, 2 * size + row]
        columns.valid[row] = integers[slot, 3 * size + row] != 0
        columns.number[row] = integers[slot, 4 * size + row]
        columns.weight[row] = numbers[slot, row]
        columns.own[row] = numbers[slot, size + row]
        columns.carried[row] = numbers[slot, 2 * size + row]
        columns.fresh[row] = numbers[slot, 3 * size + row]
        for z in range(states):
            columns.active[row, z] = numbers[slot, (_NUMBERS + z) * size + row]
    offset = (_NUMBERS + states) * size
    for z in range(states):
        columns.total[z] = numbers[slot, offset + z]
    offset += states
    for i in range(len(columns.learnt)):
        columns.learnt[i] = numbers[slot, offset + i]
    offset += len(columns.learnt)
    for i in range(len(columns.probabilities)):
        columns.probabilities[i] = numbers[slot, offset + i]
    columns.tick[0] = numbers[slot, offset + len(columns.probabilities)]


@inline_kernel
def _store(columns, integers, numbers, slot):  # type: ignore[no-untyped-def]
    """The columns of a summary -> a row of the arrays."""
    size, states = columns.active.shape
    for offset in range(len(columns.marks)):
        integers[slot, _INTEGERS * size + offset] = columns.marks[offset]
    for row in range(columns.marks[COUNT]):
        integers[slot, row] = columns.time[row]
        integers[slot, size + row] = columns.type[row]
        integers[slot, 2 * size + row] = columns.payload[row]
        integers[slot, 3 * size + row] = 1 if columns.valid[row] else 0
        integers[slot, 4 * size + row] = columns.number[row]
        numbers[slot, row] = columns.weight[row]
        numbers[slot, size + row] = columns.own[row]
        numbers[slot, 2 * size + row] = columns.carried[row]
        numbers[slot, 3 * size + row] = columns.fresh[row]
        for z in range(states):
            numbers[slot, (_NUMBERS + z) * size + row] = columns.active[row, z]
    offset = (_NUMBERS + states) * size
    for z in range(states):
        numbers[slot, offset + z] = columns.total[z]
    offset += states
    for i in range(len(columns.learnt)):
        numbers[slot, offset + i] = columns.learnt[i]
    offset += len(columns.learnt)
    for i in range(len(columns.probabilities)):
        numbers[slot, offset + i] = columns.probabilities[i]
    numbers[slot, offset + len(columns.probabilities)] = columns.tick[0]


@borrowing_kernel
def advance_many(rules, columns, scratch, choice, incoming, integers, numbers, slots, first, overflowed, stopped):  # type: ignore[no-untyped-def]
    """Group g of events, `first[g]:first[g + 1]`, belongs to the key in row `slots[g]`. Marks groups whose counts need
    wide numbers in `overflowed`; their rows don't change."""
    for group in range(len(slots)):
        if stopped[0] != 0:
            return
        _load(columns, integers, numbers, slots[group])
        done = first[group + 1]
        if choice.rule == BY_BENEFIT:
            done = advance_by_benefit(
                rules, columns, scratch, choice, incoming, first[group], first[group + 1], stopped
            )
        else:
            advance_blindly(columns, choice, incoming, first[group], first[group + 1])
        overflowed[group] = done < first[group + 1]
        if not overflowed[group]:
            _store(columns, integers, numbers, slots[group])


@dataclass(frozen=True, slots=True)
class PooledSummaries:
    """The content of a pool, to be stored."""

    keys: Sequence[Hashable]
    rows: NDArray[np.int64]
    """One row for each key: its integers, then the bits of its doubles."""
    wide: Mapping[Hashable, bytes] = field(default_factory=dict)
    """Summaries that are stored separately. Their rows have no meaning."""


class _Groups(NamedTuple):
    """Events grouped by key. Group g has the events `first[g]:first[g + 1]`; its key has the row `slots[g]`."""

    slots: NDArray[np.int64]
    first: NDArray[np.int64]


class SummaryPool:
    """The summaries of all keys. Unlike a state, `advance` changes it."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.answering = Answering(summary)
        fresh = summary.new_state().columns
        size, states = fresh.active.shape
        self._columns = empty_columns(size, states, len(fresh.probabilities))
        width = (_NUMBERS + states) * size + states + len(fresh.learnt) + len(fresh.probabilities) + 1
        self._integers = np.zeros((1, _INTEGERS * size + len(fresh.marks)), np.int64)
        self._numbers = np.zeros((1, width))
        self._slots: dict[Hashable, int] = {}
        self._wide: dict[Hashable, SummaryState] = {}
        self._put(0, fresh)  # row 0 is a new summary, the template of other rows

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._slots

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._slots)

    def _put(self, slot: int, columns: StateColumns) -> None:
        interpreted(_store)(columns, self._integers, self._numbers, slot)

    def _slot(self, key: Hashable) -> int:
        slot = self._slots.get(key)
        if slot is None:
            slot = len(self._slots) + 1
            if slot == len(self._integers):
                self._integers = np.concatenate((self._integers, np.zeros_like(self._integers)))
                self._numbers = np.concatenate((self._numbers, np.zeros_like(self._numbers)))
            self._integers[slot] = self._integers[0]
            self._numbers[slot] = self._numbers[0]
            self._slots[key] = slot
        return slot

    def advance(
        self, keys: Sequence[Hashable], events: SummaryEvents, numbers: NDArray[np.int64] | None = None
    ) -> None:
        """One key for each event. Events of a key are ordered by time. `numbers` None: each key numbers its own."""
        slots = np.fromiter((self._slot(key) for key in keys), np.int64, len(events))
        order = np.argsort(slots, kind="stable")
        ordered = slots[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        groups = _Groups(ordered[starts], np.append(starts, len(events)).astype(np.int64))
        if numbers is None:
            seen = self._marks(groups.slots, SEEN)
            numbers = np.arange(len(events)) + np.repeat(seen - starts, np.diff(groups.first))
        else:
            numbers = numbers[order]
        by_key = events.taken(order)
        self._check_order(by_key.time, groups)
        incoming = self.summary.incoming(by_key, numbers)
        is_wide = np.isin(groups.slots, [self._slots[key] for key in self._wide])
        is_wide[~is_wide] = self._overflowed(incoming, groups, ~is_wide)
        names = {slot: key for key, slot in self._slots.items()} if is_wide.any() else {}
        for group in np.flatnonzero(is_wide).tolist():
            key = names[int(groups.slots[group])]
            rows = slice(int(groups.first[group]), int(groups.first[group + 1]))
            self.put(key, self.summary.advance_numbered(by_key.taken(rows), numbers[rows], self.state(key)))

    def _overflowed(self, incoming: Incoming, groups: _Groups, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Advances the chosen groups. Marks those whose counts overflow doubles; their rows don't change."""
        first = groups.first
        if not chosen.all():  # rare: leaves out the events of wide summaries
            incoming = Incoming._make(column[np.repeat(chosen, np.diff(first))] for column in incoming)
            first = np.append(0, np.cumsum(np.diff(first)[chosen]))
        slots = groups.slots[chosen]
        overflowed = np.zeros(len(slots), np.bool_)
        summary = self.summary
        arrays = (self._integers, self._numbers, slots, first, overflowed)
        advance_many(summary.rules, self._columns, summary.scratch(), summary.choice, incoming, *arrays, stop_flag())
        check_stopped()
        return overflowed

    def _marks(self, slots: NDArray[np.int64], mark: int) -> NDArray[np.int64]:
        marks: NDArray[np.int64] = self._integers[slots, _INTEGERS * self.summary.query.size + mark]
        for key, state in self._wide.items():
            marks[slots == self._slots[key]] = state.columns.marks[mark]
        return marks

    def _check_order(self, time: NDArray[np.int64], groups: _Groups) -> None:
        slots, first = groups
        last = np.where(self._marks(slots, STARTED) == 1, self._marks(slots, NOW), time[first[:-1]])
        before = np.append(time[:1], time[:-1])
        before[first[:-1]] = last
        for group in np.flatnonzero(np.logical_or.reduceat(time < before, first[:-1])) if len(time) else ():
            check_order(time[first[group] : first[group + 1]], int(last[group]))
        if len(time):
            check_order(np.array([time.min(), time.max()]), None)

    def state(self, key: Hashable) -> SummaryState:
        """The summary of a key; a new one if the key had no event."""
        if key in self._wide:
            return self._wide[key]
        state = self.summary.new_state()
        interpreted(_load)(state.columns, self._integers, self._numbers, self._slots.get(key, 0))
        return state

    def put(self, key: Hashable, state: SummaryState) -> None:
        """Sets the summary of a key."""
        slot = self._slot(key)
        self._wide.pop(key, None)
        if state.is_wide:
            self._wide[key] = state
        else:
            self._put(slot, state.columns)

    # --- answers ---

    def ask_many(self, keys: Sequence[Hashable]) -> Answers:
        """One answer for each key, in the keys' order. A key without events has an empty one."""
        return self.answering.answers(self._kept_events(keys))

    def _kept_events(self, keys: Sequence[Hashable]) -> KeptEvents:
        slots = np.fromiter((self._slots.get(key, 0) for key in keys), np.int64, len(keys))
        rows = self._integers[slots]
        for index, key in enumerate(keys) if self._wide else ():
            if key in self._wide:
                _put_integers(rows[index], self._wide[key])
        size = self.summary.query.size
        marks = rows[:, -MARKS:]
        is_kept = np.arange(size) < marks[:, COUNT, None]
        columns = (rows[:, at * size : (at + 1) * size][is_kept] for at in range(_INTEGERS))
        time, code, payload, valid, number = columns
        return kept_events(marks, number, time, code, payload, valid, float_values=self.summary.float_values)

    # --- storage ---

    @property
    def fresh_row(self) -> NDArray[np.int64]:
        """A new summary as a row of `PooledSummaries.rows`."""
        return np.concatenate((self._integers[0], self._numbers[0].view(np.int64)))

    def dump(self) -> PooledSummaries:
        """The summaries of all keys, in order of first occurrence."""
        used = slice(1, len(self) + 1)
        rows = np.concatenate((self._integers[used], self._numbers[used].view(np.int64)), axis=1)
        return PooledSummaries(list(self), rows, {key: state.to_bytes() for key, state in self._wide.items()})

    def load(self, stored: PooledSummaries) -> None:
        """Replaces its summaries by those of `dump`. Raises STATE_FORMAT for invalid rows, and SUMMARY_STATE if a wide
        summary belongs to another query."""
        edge = self._integers.shape[1]
        check_summaries(self._summary_rows(stored.rows))
        wide = {key: self.summary.state_from_bytes(data) for key, data in stored.wide.items()}
        self._integers = np.concatenate((self._integers[:1], stored.rows[:, :edge]))
        self._numbers = np.concatenate((self._numbers[:1], stored.rows[:, edge:].view(np.float64)))
        self._slots = {key: index + 1 for index, key in enumerate(stored.keys)}
        self._wide = wide

    def _summary_rows(self, rows: NDArray[np.int64]) -> StoredSummaries:
        """Splits rows of a pool by the layout of `_store`."""
        size, states = self._columns.active.shape
        edge = self._integers.shape[1]
        integers, numbers = rows[:, :edge], rows[:, edge:].view(np.float64)
        by_event = [integers[:, at * size : (at + 1) * size] for at in range(_INTEGERS)]
        active_end = (_NUMBERS + states) * size
        learnt_end = active_end + states + len(self._columns.learnt)
        return StoredSummaries(
            marks=integers[:, _INTEGERS * size :],
            time=by_event[0],
            type=by_event[1],
            value=by_event[2].view(np.float64) if self.summary.adds_floats else by_event[2],
            valid=by_event[3],
            number=by_event[4],
            counts=tuple(numbers[:, at * size : (at + 1) * size] for at in range(1, _NUMBERS + states)),
            totals=numbers[:, active_end : active_end + states],
            learnt=numbers[:, active_end + states : learnt_end],
            probabilities=numbers[:, learnt_end:-1],
            tick=numbers[:, -1:],
        )


def _put_integers(row: NDArray[np.int64], state: SummaryState) -> None:
    """Writes the integers of a wide summary to a row of the pool's array. Only its counters are wide."""
    columns, size = state.columns, len(state.columns.time)
    by_event = (columns.time, columns.type, columns.payload, columns.valid, columns.number)
    for at, column in enumerate(by_event):
        row[at * size : (at + 1) * size] = column
    row[-MARKS:] = columns.marks
