"""A bucket's header <-> the keys with stored rows, and the attempts of each rule on each key.

All rules share the stored rows. They lie in segments (`numbered_rows.py`), to which a step appends its new rows. An
attempt says where one rule stands in one key. An attempt with nothing to remember
isn't stored: the rule has searched all rows of the key and needs none of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.numbered_rows import IN_HEADER, MORE, SEGMENT, segment_of
from ostinato.rows.batches import Mask
from ostinato.rows.column_names import ORDINAL
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.row_bytes import bytes_until
from ostinato.rule_sets.stored_keys import StoredKeys, no_keys
from ostinato.streams.bucket_state import Rows, read_rows, stamped
from ostinato.streams.intake import Gate
from ostinato.streams.stored_state import (
    LARGEST,
    Section,
    check,
    check_columns_are,
    check_ranges,
    reading,
    whole_numbers,
)

_ALWAYS = ("digest", "rules", "rows", "rule", "key")
_OF_KEYS, _RECENT = ("rows", "segment", "first", "bytes"), "recent"
_SUBJECT = "the header of a bucket of rules in the state of this stream"


class Attempts(NamedTuple):
    """One entry for each rule and key, sorted by rule. All numbers but the first two are 0 by default."""

    rule: Rows
    """The number of the rule among the bucket's rules."""
    key: Rows
    """The number of the key among the stored ones."""
    open: Rows
    """The rows from the next start on."""
    hidden: Rows
    """The stored rows before the first one that the rule sees."""
    number: Rows
    """The number of the last match."""
    unreported: Rows
    """INCREMENTAL MATCHES: those that end in the last rows, so many of them, haven't been reported."""
    covered: Rows
    """WITH UNMATCHED ROWS: the first rows, so many of them, have been shown."""
    quiet: Rows
    """Suppression: the time from the key's first stored row until matches are shown again, in microseconds."""
    began: Rows
    """WITHIN: the time from the key's first stored row to the first open start, in microseconds."""
    live: Rows
    """The number of the live states of the first open start, in the lists of the bucket; 0: they aren't known."""

    @staticmethod
    def none() -> Attempts:
        return Attempts(*(np.empty(0, np.int64) for _ in Attempts._fields))

    def select(self, chosen: Rows | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Attempts:
        return Attempts(*(column[chosen] for column in self))

    def of_rule(self, number: int) -> Attempts:
        begin, end = np.searchsorted(self.rule, [number, number + 1])
        return Attempts(*(column[begin:end] for column in self))

    @staticmethod
    def joined(parts: Sequence[Attempts]) -> Attempts:
        """All entries, sorted by rule."""
        if not parts:
            return Attempts.none()
        joined = Attempts(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return joined.select(np.lexsort((joined.key, joined.rule)))


@dataclass(frozen=True, slots=True)
class RuleBucket:
    """A bucket that has been read."""

    digest: str
    """Identifies the rules in force, which are stored apart."""
    rules: tuple[str, ...]
    """The names of the active rules, in the order of their numbers."""
    keys: StoredKeys
    attempts: Attempts
    lists: tuple[tuple[int, ...], ...]
    """Lists of live states. The first one is empty."""
    stored_rows: int
    """The rows in all segments, dead ones included."""
    next_number: int
    """For the next key whose rows are put into segments."""
    segments: Sequence[bytes]

    def rows_of(self, chosen: Rows, declared: Declaration) -> pa.RecordBatch | None:
        """All rows of these keys, key after key. Reads the segments if some of the rows are only there."""
        rows = self.keys.rows_of(self.segments, chosen)
        if rows is not None:
            check_columns_are(rows, stored_columns(declared), SEGMENT)
        return rows


class StoredAttempts:
    """The attempts of a bucket by rule, and those on keys of a layout."""

    def __init__(self, bucket: RuleBucket, keys: Rows) -> None:
        """`keys` are the numbers of those laid out. New ones have numbers behind the stored ones."""
        self.first_us = bucket.keys.first_us
        self._attempts = bucket.attempts
        self._number = {name: number for number, name in enumerate(bucket.rules)}
        self._position = np.full(bucket.keys.count, -1)
        is_remembered = keys < bucket.keys.count
        self._position[keys[is_remembered]] = np.flatnonzero(is_remembered)

    def of_rule(self, name: str) -> Attempts:
        """The attempts on all keys."""
        return self._attempts.of_rule(self._number[name]) if name in self._number else Attempts.none()

    def laid_out(self, name: str) -> tuple[Attempts, Rows]:
        """The attempts on keys of the layout, and the position of each key in it."""
        attempts = self.of_rule(name)
        position = self._position[attempts.key]
        return attempts.select(position >= 0), position[position >= 0]

    @property
    def is_elsewhere(self) -> Mask:
        """The stored keys that aren't in the layout."""
        return self._position < 0


def read_bucket(header: pa.RecordBatch | None, segments: Sequence[bytes], declared: Declaration) -> RuleBucket:
    """Raises STATE_FORMAT for a header that can't be right."""
    if header is None:
        return RuleBucket("", (), no_keys(declared), Attempts.none(), ((),), 0, IN_HEADER + 1, ())
    more = (header.schema.metadata or {}).get(MORE)
    if more is None:
        return read_old_bucket(header, segments, declared)
    values = [f"key{number}" for number in range(len(declared.keys))]
    _check_names(header, (*_ALWAYS, *values, "states", *_OF_KEYS), (_RECENT,))
    with reading(_SUBJECT):
        stored, following, most_recent = (int(json.loads(more)[name]) for name in ("rows", "next", "recent"))
        lists = tuple(map(tuple, header.column("states")[0].as_py()))
        recent = None
        if _RECENT in header.schema.names:
            recent = pa.RecordBatch.from_struct_array(header.column(_RECENT)[0].values)
    check(min(stored, most_recent) >= 0 and following > IN_HEADER, _SUBJECT, "a count is out of range")
    check(max(stored, most_recent, following) <= LARGEST, _SUBJECT, "a count is out of range")
    rows, segment, first_us, state_bytes = (_numbers(header, name) for name in _OF_KEYS)
    columns = tuple(header.column(name)[0].values for name in values)
    keys = StoredKeys(columns, rows, segment, first_us, state_bytes, most_recent, recent)
    _check_keys(keys, stored, following, declared)
    attempts = _attempts(header, keys.rows, len(_rules(header)), len(lists))
    return RuleBucket(_digest(header), _rules(header), keys, attempts, ((), *lists), stored, following, segments)


def read_old_bucket(header: pa.RecordBatch, segments: Sequence[bytes], declared: Declaration) -> RuleBucket:
    """A bucket of a version that wrote all rows again in each step, key after key."""
    _check_names(header, _ALWAYS, ())
    rows, open_rows = _numbers(header, "rows"), read_rows(segments, Section.OPEN_ROWS)
    count = 0 if open_rows is None else open_rows.num_rows
    check_ranges(_SUBJECT, {"rows": (rows, 1, count)})
    check(int(rows.sum()) == count, _SUBJECT, "it counts other rows than there are")
    attempts = _attempts(header, rows, len(_rules(header)), 0)
    if open_rows is None:
        return RuleBucket(_digest(header), _rules(header), no_keys(declared), attempts, ((),), 0, IN_HEADER + 1, ())
    check_columns_are(open_rows, stored_columns(declared), SEGMENT)
    first, number = np.cumsum(rows) - rows, np.arange(len(rows)) + IN_HEADER + 1
    times, until = Gate(declared.time[0]).times(open_rows), bytes_until(open_rows.columns, count)
    size = np.ceil(until[first + rows] - until[first]).astype(np.int64)
    values = tuple(open_rows.column(name).take(pa.array(first)) for name in declared.keys)
    keys = StoredKeys(values, rows, number, times[first], size, 0, None)
    start = np.minimum(first[attempts.key] + rows[attempts.key] - attempts.open, count - 1)
    began = np.where(attempts.open > 0, times[start] - times[first[attempts.key]], 0)
    numbered = segment_of([(open_rows, np.repeat(number, rows))])
    attempts = attempts._replace(began=began)
    return RuleBucket(_digest(header), _rules(header), keys, attempts, ((),), count, len(rows) + 1, numbered)


def _check_names(header: pa.RecordBatch, always: Sequence[str], more: Sequence[str]) -> None:
    names = header.schema.names
    is_known = set(always) <= set(names) <= {*always, *more, *Attempts._fields}
    check(is_known and len(names) == len(set(names)) and header.num_rows == 1, _SUBJECT, "it has other columns")
    lists = [column for name, column in zip(names, header.columns, strict=True) if name != "digest"]
    is_list = all(pa.types.is_list(column.type) and not column.null_count for column in lists)
    check(is_list, _SUBJECT, "a column has other values")


def _digest(header: pa.RecordBatch) -> str:
    with reading(_SUBJECT):
        return str(header.column("digest")[0].as_py())


def _rules(header: pa.RecordBatch) -> tuple[str, ...]:
    with reading(_SUBJECT):
        return tuple(header.column("rules")[0].as_py())


def _numbers(header: pa.RecordBatch, name: str) -> Rows:
    return whole_numbers(header.column(name)[0].values, _SUBJECT)


def _check_keys(keys: StoredKeys, stored: int, following: int, declared: Declaration) -> None:
    columns = (*keys.values, keys.segment, keys.first_us, keys.state_bytes)
    check({len(column) for column in columns} == {keys.count}, _SUBJECT, "its lists differ in length")
    kinds = [declared.schema.field(name).type for name in declared.keys]
    check([column.type for column in keys.values] == kinds, _SUBJECT, "its keys have other types")
    ranges = {"rows": (keys.rows, 1, LARGEST), "first": (keys.first_us, -LARGEST, LARGEST)}
    check_ranges(
        _SUBJECT, {**ranges, "bytes": (keys.state_bytes, 0, LARGEST), "segment": (keys.segment, 0, following - 1)}
    )
    check(bool((keys.has_older_rows == (keys.rows > keys.most_recent)).all()), _SUBJECT, "its rows are elsewhere")
    numbers = keys.segment[keys.has_older_rows]
    check(len(np.unique(numbers)) == len(numbers), _SUBJECT, "two keys have one number")
    check(int(keys.rows[keys.has_older_rows].sum()) <= stored, _SUBJECT, "it counts other rows than there are")
    recent = 0 if keys.recent is None else keys.recent.num_rows
    check(int(keys.recent_counts.sum()) == recent, _SUBJECT, "it has other recent rows")
    if keys.recent is not None:
        check_columns_are(keys.recent, stored_columns(declared), _SUBJECT)


def stored_columns(declared: Declaration) -> dict[str, pa.DataType]:
    """The columns of stored rows."""
    return {field.name: field.type for field in declared.schema} | {ORDINAL: pa.int64()}


def _attempts(header: pa.RecordBatch, rows: Rows, rules: int, lists: int) -> Attempts:
    names = header.schema.names
    zeros = np.zeros(len(header.column("key")[0].values), np.int64)
    attempts = Attempts(*(_numbers(header, name) if name in names else zeros for name in Attempts._fields))
    check(len({len(column) for column in attempts}) == 1, _SUBJECT, "its lists differ in length")
    check_ranges(_SUBJECT, {"rule": (attempts.rule, 0, rules - 1), "key": (attempts.key, 0, len(rows) - 1)})
    of_key = rows[attempts.key]
    counts = {name: (getattr(attempts, name), 0, of_key) for name in ("open", "hidden", "unreported", "covered")}
    others = {name: (getattr(attempts, name), 0, LARGEST) for name in ("number", "quiet", "began")}
    check_ranges(_SUBJECT, {**counts, **others, "live": (attempts.live, 0, lists)})
    check(bool((np.diff(attempts.rule) >= 0).all()), _SUBJECT, "its attempts aren't sorted")
    return attempts


def header_of(bucket: RuleBucket, known_until: int, fingerprint: str) -> bytes:
    """The header of a bucket's state. Numbers that are 0 for all attempts aren't stored."""
    keys = bucket.keys
    used, live = np.unique(np.append(0, bucket.attempts.live), return_inverse=True)
    attempts = bucket.attempts._replace(live=live[1:])
    of_attempts = {name: values for name, values in attempts._asdict().items() if name in _ALWAYS or values.any()}
    of_keys = zip(_OF_KEYS, (keys.rows, keys.segment, keys.first_us, keys.state_bytes), strict=True)
    lists = [list(bucket.lists[number]) for number in used[1:].tolist()]
    columns = {
        "digest": pa.array([bucket.digest]),
        "rules": pa.array([list(bucket.rules)], pa.list_(pa.string())),
        "states": pa.array([lists], pa.list_(pa.list_(pa.int32()))),
        **{f"key{number}": _one_list(values) for number, values in enumerate(keys.values)},
        **{name: _one_list(_narrow(values)) for name, values in of_keys},
        **{name: _one_list(_narrow(values)) for name, values in of_attempts.items()},
    }
    if keys.recent is not None:
        columns[_RECENT] = _one_list(keys.recent.to_struct_array())
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    more = json.dumps({"rows": bucket.stored_rows, "next": bucket.next_number, "recent": keys.most_recent})
    return stamped(batch, known_until, fingerprint, {MORE: more})


def _one_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _narrow(values: Rows) -> pa.Array:
    """The numbers in the narrowest type that holds them."""
    least, largest = int(values.min(initial=0)), int(values.max(initial=0))
    kinds = (pa.uint8(), pa.uint16(), pa.int32(), pa.int64())
    kind = next(kind for kind in kinds if (least >= 0 and largest < 1 << kind.bit_width - 1) or kind.bit_width == 64)
    return pa.array(values, kind)
