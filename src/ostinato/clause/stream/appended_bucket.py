"""A bucket whose open rows are only appended <-> bytes. No matching here.

The header has one row for each remembered key: its values, where its search stands, its live states and its recent
rows. A key with few rows has all of them there. The rows of a key with more are in segments, each row with the number
of its key. A key's rows are the last ones of its number: rows before them, and rows of other numbers, are dead. They
are left out when the segments are written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.live_states import DECIDED, LiveStates
from ostinato.clause.stream.numbered_rows import IN_HEADER, MORE, rows_of_keys
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import (
    BucketState,
    OpenBucket,
    RememberedKeys,
    Rows,
    open_state,
    read_header,
    read_rows,
    stamped,
)
from ostinato.streams.record_batches import joined
from ostinato.streams.stored_state import (
    LARGEST,
    Section,
    check,
    check_ranges,
    reading,
    whole_numbers,
)

_HEADER = "the header in the state of this stream"
_NUMBERS = ("rows", "start", "number", "covered", "segment", "since", "live")
_RECENT = "recent"


@dataclass(frozen=True, slots=True)
class KeyTable:
    """The remembered keys, one entry each."""

    values: tuple[pa.Array, ...]
    """The columns of PARTITION BY."""
    keys: RememberedKeys
    segment: Rows
    """The number of the key in the segments, or IN_HEADER."""
    since_us: Rows
    """With WITHIN, the time of the first open start."""
    live: Rows
    """The number of the live states of the first open start."""
    recent: pa.RecordBatch | None
    """The last rows of each key, key after key. None: no key has any."""
    recent_counts: Rows

    @property
    def count(self) -> int:
        return len(self.segment)

    def recent_of(self, chosen: Rows) -> Rows:
        """The indexes of the recent rows of these keys."""
        first = np.cumsum(self.recent_counts) - self.recent_counts
        return ranges(first[chosen], self.recent_counts[chosen])

    def select(self, chosen: Rows) -> KeyTable:
        """The keys at these indexes."""
        recent = None
        if self.recent is not None:
            recent = self.recent if len(chosen) == self.count else self.recent.take(pa.array(self.recent_of(chosen)))
        if len(chosen) == self.count:  # all of them: nothing is copied
            return self
        return KeyTable(
            tuple(column.take(pa.array(chosen)) for column in self.values),
            self.keys.select(chosen),
            self.segment[chosen],
            self.since_us[chosen],
            self.live[chosen],
            recent,
            self.recent_counts[chosen],
        )

    def followed_by(self, more: KeyTable) -> KeyTable:
        if not more.count or not self.count:
            return self if self.count else more
        return KeyTable(
            tuple(pa.concat_arrays(pair) for pair in zip(self.values, more.values, strict=True)),
            self.keys.followed_by(more.keys),
            np.concatenate([self.segment, more.segment]),
            np.concatenate([self.since_us, more.since_us]),
            np.concatenate([self.live, more.live]),
            joined([self.recent, more.recent]),
            np.concatenate([self.recent_counts, more.recent_counts]),
        )


@dataclass(frozen=True, slots=True)
class AppendedBucket:
    """A bucket whose header has been read. Its segments may not be."""

    table: KeyTable
    known_until: int
    stored_rows: int
    """The rows in all segments, dead ones included."""
    next_number: int
    """For the next key whose rows are appended."""
    segments: Sequence[bytes]

    @property
    def live_rows(self) -> int:
        """The rows in segments that a key needs."""
        return int(self.table.keys.rows[self.table.segment != IN_HEADER].sum())


@dataclass(frozen=True, slots=True)
class BucketLayout:
    """The layout of one query's buckets."""

    query: str
    names: tuple[str, ...]
    """The columns of PARTITION BY."""
    most_recent: int
    """The number of recent rows of a key. A key with more rows has them in segments."""
    live: LiveStates | None
    """None for readers that only need keys and rows."""

    # --- header ---

    def read(self, state: BucketState) -> AppendedBucket | None:
        """None if the state has the layout of `bucket_state.py`.

        Raises STATE_OF_OTHER_QUERY if the state isn't one of this query, STATE_FORMAT if it can't be read.
        """
        header, known_until = read_header(state, self.query)
        if header is None:
            return self.new_bucket(known_until)
        if not _is_appended(header):
            return None
        with reading(_HEADER):
            more = json.loads(header.schema.metadata[MORE])
            stored, following, lists = int(more["rows"]), int(more["next"]), [tuple(each) for each in more["live"]]
            check(more["recent"] == self.most_recent, _HEADER, "it has another number of recent rows")
            table = self._table(header, [self._number_of(states) for states in lists])
        check(0 <= stored <= LARGEST and IN_HEADER < following <= LARGEST, _HEADER, "a count is out of range")
        segment = table.segment[table.segment != IN_HEADER]
        check(len(np.unique(segment)) == len(segment), _HEADER, "two keys have one number")
        check(bool((segment < following).all()), _HEADER, "a key has a number that wasn't given")
        return AppendedBucket(table, known_until, stored, following, state.open_rows)

    def _number_of(self, states: tuple[int, ...]) -> int:
        if self.live is None:
            return DECIDED
        check(self.live.holds(states), _HEADER, "it has unknown live states")
        return self.live.number_of(states)

    def new_bucket(self, known_until: int) -> AppendedBucket:
        """A bucket without keys and rows."""
        return AppendedBucket(self.empty(), known_until, 0, IN_HEADER + 1, ())

    def empty(self) -> KeyTable:
        """No key."""
        none = np.empty(0, np.int64)
        return KeyTable(tuple(pa.nulls(0) for _ in self.names), RememberedKeys.new(0), none, none, none, None, none)

    def _table(self, header: pa.RecordBatch, live: Sequence[int]) -> KeyTable:
        names = header.schema.names
        values = [f"key{i}" for i in range(len(self.names))]
        check(len(set(names)) == len(names), _HEADER, "it has a column twice")
        check({"rows", *values} <= set(names) <= {*values, *_NUMBERS, _RECENT}, _HEADER, "it has other columns")
        zeros = np.zeros(header.num_rows, np.int64)
        numbers = {name: whole_numbers(header.column(name), _HEADER) if name in names else zeros for name in _NUMBERS}
        rows = numbers["rows"]
        ranges_of = {
            "rows": (rows, 1, LARGEST),
            "start": (numbers["start"], 0, rows),
            "covered": (numbers["covered"], 0, rows),
            "number": (numbers["number"], 0, LARGEST),
            "segment": (numbers["segment"], 0, LARGEST),
            "since": (numbers["since"], -LARGEST, LARGEST),
            "live": (numbers["live"], 0, len(live)),
        }
        check_ranges(_HEADER, ranges_of)
        is_stored = numbers["segment"] != IN_HEADER
        check(bool((is_stored == (rows > self.most_recent)).all()), _HEADER, "it has the rows of a key elsewhere")
        counts = np.minimum(rows, self.most_recent)
        recent = None
        if _RECENT in names:
            column = header.column(_RECENT)
            check(pa.types.is_list(column.type) and not column.null_count, _HEADER, "its recent rows are none")
            check(np.array_equal(np.diff(column.offsets.to_numpy()), counts), _HEADER, "it has other recent rows")
            rows_of_keys = column.flatten()
            check(not rows_of_keys.null_count, _HEADER, "a recent row is NULL")
            recent = pa.RecordBatch.from_struct_array(rows_of_keys)
        check(int(counts.sum()) == (0 if recent is None else recent.num_rows), _HEADER, "it has other recent rows")
        return KeyTable(
            tuple(header.column(name) for name in values),
            RememberedKeys(rows, numbers["start"], numbers["number"], zeros, numbers["covered"]),
            numbers["segment"],
            numbers["since"],
            np.array([DECIDED, *live], np.int64)[numbers["live"]],
            recent,
            counts,
        )

    def header_of(self, bucket: AppendedBucket) -> bytes:
        """The header; columns of numbers that are zero throughout are left out."""
        table, keys = bucket.table, bucket.table.keys
        used, live = np.unique(np.append(table.live, DECIDED), return_inverse=True)
        numbers = (keys.rows, keys.start, keys.number, keys.covered_until, table.segment, table.since_us, live[:-1])
        columns = {f"key{i}": column for i, column in enumerate(table.values)}
        columns |= {
            name: pa.array(values)
            for name, values in zip(_NUMBERS, numbers, strict=True)
            if name == "rows" or values.any()
        }
        if table.recent is not None:
            offsets = np.append(0, np.cumsum(table.recent_counts)).astype(np.int32)
            columns[_RECENT] = pa.ListArray.from_arrays(pa.array(offsets), table.recent.to_struct_array())
        lists = [] if self.live is None else [self.live.states(int(number)) for number in used if number != DECIDED]
        more = json.dumps(
            {"rows": bucket.stored_rows, "next": bucket.next_number, "recent": self.most_recent, "live": lists}
        )
        batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return stamped(batch, bucket.known_until, self.query, {MORE: more})

    # --- rows in segments ---

    def rows_of(self, segments: Iterable[bytes], table: KeyTable, chosen: Rows) -> pa.RecordBatch | None:
        """All rows of these keys, key after key, from the header and the segments."""
        few = chosen[table.segment[chosen] == IN_HEADER]
        in_header = table.recent
        if in_header is not None and len(few) < table.count:
            in_header = in_header.take(pa.array(table.recent_of(few)))
        return rows_of_keys(segments, table.segment[chosen], table.keys.rows[chosen], in_header)


def is_appended(state: BucketState, query: str) -> bool:
    """Whether the state has the layout of this module. Raises as `open_state` does."""
    return _is_appended(read_header(state, query)[0])


def _is_appended(header: pa.RecordBatch | None) -> TypeGuard[pa.RecordBatch]:
    return header is not None and MORE in (header.schema.metadata or {})


def opened_bucket(state: BucketState, query: str) -> OpenBucket:
    """A clause's bucket of either layout, with all its rows. Raises as `open_state` does."""
    header, known_until = read_header(state, query)
    if not _is_appended(header):
        return open_state(state, query)
    with reading(_HEADER):
        most_recent = int(json.loads(header.schema.metadata[MORE])["recent"])
        names = tuple(name for name in header.schema.names if name.startswith("key"))
    check(0 <= most_recent <= LARGEST, _HEADER, "a count is out of range")
    layout = BucketLayout(query, names, most_recent, None)
    bucket = layout.read(state)
    assert bucket is not None
    rows = layout.rows_of(bucket.segments, bucket.table, np.arange(bucket.table.count))
    waiting = read_rows(state.waiting, Section.WAITING_ROWS)
    return OpenBucket(bucket.table.keys, known_until, rows, waiting)
