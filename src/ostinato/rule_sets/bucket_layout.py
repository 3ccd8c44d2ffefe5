"""A bucket's header <-> the keys with stored rows, and the attempts of each rule on each key.

All rules share the stored rows. An attempt says where one rule stands in one key. An attempt with nothing to remember
isn't stored: the rule has searched all rows of the key and needs none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.key_layout import KeyLayout
from ostinato.rows.batches import Mask
from ostinato.streams.bucket_state import RememberedKeys, Rows, stamped
from ostinato.streams.stored_state import LARGEST, check, check_ranges, reading, whole_numbers

_ALWAYS = ("rule", "key")
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
    rows: Rows
    """The number of stored rows of each key."""
    attempts: Attempts
    open_rows: pa.RecordBatch | None

    @property
    def keys(self) -> RememberedKeys:
        """The keys, for the layout of rows."""
        return RememberedKeys.new(len(self.rows))._replace(rows=self.rows)

    @property
    def first(self) -> Rows:
        return np.cumsum(self.rows) - self.rows


class StoredAttempts:
    """The attempts of a bucket by rule, and those on keys of a layout."""

    def __init__(self, bucket: RuleBucket, layout: KeyLayout) -> None:
        self._attempts = bucket.attempts
        self._number = {name: number for number, name in enumerate(bucket.rules)}
        self._position = np.full(len(bucket.rows), -1)
        is_remembered = layout.keys < len(bucket.rows)
        self._position[layout.keys[is_remembered]] = np.flatnonzero(is_remembered)

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


NEW_BUCKET = RuleBucket("", (), np.empty(0, np.int64), Attempts.none(), None)


def read_bucket(header: pa.RecordBatch | None, open_rows: pa.RecordBatch | None) -> RuleBucket:
    """Raises STATE_FORMAT for a header that can't be right."""
    if header is None:
        return NEW_BUCKET
    names = ["digest", "rules", "rows", "rule", "key"]
    is_known = header.schema.names[: len(names)] == names and set(header.schema.names) <= {*names, *Attempts._fields}
    check(is_known and header.num_rows == 1, _SUBJECT, "it has other columns")
    with reading(_SUBJECT):
        digest, rules = header.column("digest")[0].as_py(), tuple(header.column("rules")[0].as_py())
        lists = {name: whole_numbers(header.column(name)[0].values, _SUBJECT) for name in header.schema.names[2:]}
    rows = lists.pop("rows")
    zeros = np.zeros(len(lists["key"]), np.int64)
    attempts = Attempts(*(lists.get(name, zeros) for name in Attempts._fields))
    stored = 0 if open_rows is None else open_rows.num_rows
    check(len({len(column) for column in attempts}) == 1, _SUBJECT, "its lists differ in length")
    check_ranges(_SUBJECT, {"rows": (rows, 1, stored), "rule": (attempts.rule, 0, len(rules) - 1)})
    check_ranges(_SUBJECT, {"key": (attempts.key, 0, len(rows) - 1)})
    check(int(rows.sum()) == stored, _SUBJECT, "it counts other rows than there are")
    of_key = rows[attempts.key]
    ranges = {name: (getattr(attempts, name), 0, of_key) for name in ("open", "hidden", "unreported", "covered")}
    check_ranges(_SUBJECT, {**ranges, "number": (attempts.number, 0, LARGEST), "quiet": (attempts.quiet, 0, LARGEST)})
    check(bool((np.diff(attempts.rule) >= 0).all()), _SUBJECT, "its attempts aren't sorted")
    return RuleBucket(digest, rules, rows, attempts, open_rows)


def header_of(bucket: RuleBucket, known_until: int, fingerprint: str) -> bytes:
    """The header of a bucket's state. Numbers that are 0 for all attempts aren't stored."""
    numbers = {name: values for name, values in bucket.attempts._asdict().items() if name in _ALWAYS or values.any()}
    lists = {"rows": bucket.rows, **numbers}
    columns = [
        pa.array([bucket.digest]),
        pa.array([list(bucket.rules)], pa.list_(pa.string())),
        *(_one_list(values) for values in lists.values()),
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=["digest", "rules", *lists])
    return stamped(batch, known_until, fingerprint)


def _one_list(values: Rows) -> pa.Array:
    """The numbers as one list, in the narrowest type that holds them."""
    largest = int(values.max(initial=0))
    kind = next(kind for kind in (pa.uint8(), pa.uint16(), pa.int32(), pa.int64()) if largest < 1 << kind.bit_width - 1)
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values, kind))
