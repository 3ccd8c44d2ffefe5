"""Summaries for equality predicates: one for each key, even if only some types have the key.

With `keyed_types`, events of other types belong to every key: each key's summary gets them. A *base* summary keeps them
for later keys. A match without a keyed event would count for every key. So keys count only words with a keyed type
(`with_one_of`), and the base counts the others once.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import LARGEST, check, check_ranges, damaged
from ostinato.summaries.engine.answers import Answering, Answers, events_of_states
from ostinato.summaries.engine.kernel_tables import NOW, SEEN, STARTED
from ostinato.summaries.engine.pool import SummaryPool
from ostinato.summaries.engine.pool_bytes import pool_to_bytes, restore_pool
from ostinato.summaries.engine.summary import Summary, SummaryEvents, check_order
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.engine.summary_state_checks import STATE
from ostinato.summaries.language.query_automaton import query_automaton
from ostinato.summaries.language.summary_query import LARGEST_TIME_US, SummaryQuery
from ostinato.summaries.language.type_automaton import with_one_of

_KEYS_AT_ONCE = 256
"""Number of keys whose copies of shared events are made together."""
VERSION = 1
_MAGIC = b"OSKS"
_HEADER = struct.Struct("<4sHHqqqq")  # magic, version, whether `last` is there, seen, last, lengths of base and pool


@dataclass(frozen=True, slots=True)
class _SplitBatch:
    """The rows of a batch, split by key."""

    events: SummaryEvents
    numbers: NDArray[np.int64]
    shared: NDArray[np.int64]
    """Rows of types without a key that the expression uses."""
    of_key: dict[Hashable, list[int]]
    """Rows with a key."""


class KeyedSummary:
    """The summaries of all keys of one query. `advance` changes them."""

    def __init__(self, query: SummaryQuery, *, float_values: bool = False) -> None:
        self.query = query
        automaton = query_automaton(query)
        self.base = Summary(query, float_values=float_values, automaton=automaton)
        keyed = automaton.types if query.keyed_types is None else query.keyed_types
        self._is_keyed = np.array([*(name in keyed for name in automaton.types), False])
        if query.keyed_types is None:
            self.pool = SummaryPool(self.base)
        else:
            inner = with_one_of(automaton, query.keyed_types)
            self.pool = SummaryPool(Summary(query, float_values=float_values, automaton=inner))
        self._shared: SummaryState = self.base.new_state()
        self._old: set[Hashable] = set()  # keys before this batch
        self._seen = 0
        self._last: int | None = None

    def codes(self, types: Sequence[str | None]) -> NDArray[np.int64]:
        return self.base.codes(types)

    def carries_key(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Marks the events that belong to their key only. Types that the expression doesn't use belong to no key."""
        return np.asarray(self._is_keyed[codes], np.bool_)

    def is_shared(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Marks the events that belong to every key."""
        return np.asarray(~self._is_keyed[codes] & (codes < len(self._is_keyed) - 1), np.bool_)

    def advance(self, keys: Sequence[Hashable], events: SummaryEvents) -> None:
        """One key for each event; it is ignored for types without a key. Events are ordered by time."""
        if self.query.keyed_types is None:
            self.pool.advance(keys, events)
            return
        check_order(events.time, self._last)
        self.base.incoming(events, events.time)  # raises for bad values before anything changes
        batch = self._split(keys, events)
        self._add_keys(batch)
        self._copy_to_keys(batch)
        self._seen += len(events)
        self._last = int(events.time[-1]) if len(events) else self._last

    def _split(self, keys: Sequence[Hashable], events: SummaryEvents) -> _SplitBatch:
        of_key: dict[Hashable, list[int]] = {}
        for row in np.flatnonzero(self.carries_key(events.codes)).tolist():
            of_key.setdefault(keys[row], []).append(row)
        shared = np.flatnonzero(self.is_shared(events.codes))
        return _SplitBatch(events, self._seen + np.arange(len(events)), shared, of_key)

    def _add_keys(self, batch: _SplitBatch) -> None:
        """Adds new keys as copies of the base at their first event. The base takes the shared events."""
        copied = 0
        for key, rows in batch.of_key.items():  # ordered by first row
            if key not in self.pool:
                end = int(np.searchsorted(batch.shared, rows[0]))
                self._advance_base(batch, batch.shared[copied:end])
                copied = end
                self.pool.put(key, self._from_base())
        self._advance_base(batch, batch.shared[copied:])

    def _advance_base(self, batch: _SplitBatch, rows: NDArray[np.int64]) -> None:
        if len(rows):
            self._shared = self.base.advance_numbered(batch.events.taken(rows), batch.numbers[rows], self._shared)

    def _from_base(self) -> SummaryState:
        """The summary of a new key: as if it had seen all shared events, with the ones that the base kept."""
        summary, count = self.pool.summary, len(self._shared)
        columns = self._shared.columns
        payload = columns.payload[:count]
        values = payload.view(np.float64) if self.base.float_values else payload
        events = SummaryEvents(columns.time[:count], columns.type[:count], values, columns.valid[:count])
        state = summary.advance_numbered(events, columns.number[:count], summary.new_state())
        for name in ("learnt", "probabilities", "tick"):
            getattr(state.columns, name)[:] = getattr(columns, name)
        state.columns.marks[[SEEN, NOW, STARTED]] = columns.marks[[SEEN, NOW, STARTED]]
        return state

    def _copy_to_keys(self, batch: _SplitBatch) -> None:
        all_keys = list(self.pool)
        first_row = {key: rows[0] for key, rows in batch.of_key.items() if key not in self._old}
        for start in range(0, len(all_keys), _KEYS_AT_ONCE):
            names: list[Hashable] = []
            rows_of_keys: list[NDArray[np.int64]] = []
            for key in all_keys[start : start + _KEYS_AT_ONCE]:
                shared = batch.shared[np.searchsorted(batch.shared, first_row.get(key, 0)) :]
                rows = np.union1d(shared, np.array(batch.of_key.get(key, ()), np.int64))
                names += [key] * len(rows)
                rows_of_keys.append(rows)
            rows = np.concatenate(rows_of_keys)
            self.pool.advance(names, batch.events.taken(rows), batch.numbers[rows])
        self._old = set(all_keys)

    def ask_many(self, keys: Sequence[Hashable]) -> Answers:
        """The answers of these keys. With `keyed_types`, they count the matches with an event of the key."""
        return self.pool.ask_many(keys)

    def ask_shared(self) -> Answers:
        """One answer: the matches without a keyed event, which belong to no key."""
        events = events_of_states([self._shared], float_values=self.base.float_values)
        return Answering(self.base).answers(events)

    def to_bytes(self) -> bytes:
        """The state of all keys, for `restore`. Keys must be whole numbers."""
        base, pool = self._shared.to_bytes(), pool_to_bytes(self.pool)
        has_last = self._last is not None
        header = _HEADER.pack(_MAGIC, VERSION, has_last, self._seen, self._last or 0, len(base), len(pool))
        return header + base + pool

    def restore(self, data: bytes) -> None:
        """Replaces its state by that of `to_bytes`."""
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise damaged(STATE, "these bytes are no summaries of keys")
        _, version, has_last, seen, last, base, pool = _HEADER.unpack_from(data)
        check(version == VERSION, STATE, f"it has version {version}, where version {VERSION} is read")
        check(min(base, pool) >= 0 and len(data) == _HEADER.size + base + pool, STATE, "its bytes are cut")
        check_ranges(
            STATE,
            {
                "the number of events": (seen, 0, LARGEST),
                "the last time": (last, -LARGEST_TIME_US, LARGEST_TIME_US),
                "a flag": (has_last, 0, 1),
            },
        )
        shared = self.base.state_from_bytes(data[_HEADER.size : _HEADER.size + base])
        restore_pool(self.pool, data[_HEADER.size + base :])
        self._shared, self._seen, self._last = shared, seen, last if has_last else None
        self._old = set(self.pool)
