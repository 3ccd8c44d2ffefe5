"""A bucket's header <-> the keys with stored rows, and the attempts of each rule on each key.

All rules share the stored rows. They lie in segments (`numbered_rows.py`), to which a step appends its new rows. An
attempt says where one rule stands in one key. An attempt with nothing to remember
isn't stored: the rule has searched all rows of the key and needs none of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.key_layout import KeyLayout
from ostinato.clause.stream.numbered_rows import IN_HEADER, MORE, last_rows, must_compact, segment_of
from ostinato.rows.batches import Mask
from ostinato.streams.bucket_state import RememberedKeys, Rows, read_rows, stamped
from ostinato.streams.stored_segments import with_segments
from ostinato.streams.stored_state import LARGEST, Section, check, check_ranges, reading, whole_numbers

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
    segment: Rows
    """The number of each key in the segments."""
    attempts: Attempts
    open_rows: pa.RecordBatch | None
    """The stored rows, key after key."""
    stored_rows: int
    """The rows in all segments, dead ones included."""
    next_number: int
    """For the next key whose rows are stored."""
    segments: Sequence[bytes]

    @property
    def keys(self) -> RememberedKeys:
        """The keys, for the layout of rows."""
        return RememberedKeys.new(len(self.rows))._replace(rows=self.rows)

    @property
    def first(self) -> Rows:
        return np.cumsum(self.rows) - self.rows

    def with_rows(self, added: pa.RecordBatch | None, numbers: Rows) -> RuleBucket:
        """The bucket with further rows in its segments. They are written again as one if many of their rows are dead,
        or if they are many."""
        live, stored = int(self.rows.sum()), self.stored_rows + len(numbers)
        segments = with_segments(self.segments, segment_of([(added, numbers)]))
        if must_compact(stored, live, segments):
            segments, stored = segment_of([(self.open_rows, np.repeat(self.segment, self.rows))]), live
        return replace(self, segments=segments, stored_rows=stored)


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


_NONE = np.empty(0, np.int64)
NEW_BUCKET = RuleBucket("", (), _NONE, _NONE, Attempts.none(), None, 0, IN_HEADER + 1, ())


def read_bucket(header: pa.RecordBatch | None, segments: Sequence[bytes]) -> RuleBucket:
    """Raises STATE_FORMAT for a state that can't be right."""
    if header is None:
        return NEW_BUCKET
    more = (header.schema.metadata or {}).get(MORE)
    names = ["digest", "rules", "rows", *(["segment"] if more else []), "rule", "key"]
    is_known = header.schema.names[: len(names)] == names and set(header.schema.names) <= {*names, *Attempts._fields}
    check(is_known and header.num_rows == 1, _SUBJECT, "it has other columns")
    with reading(_SUBJECT):
        digest, rules = header.column("digest")[0].as_py(), tuple(header.column("rules")[0].as_py())
        lists = {name: whole_numbers(header.column(name)[0].values, _SUBJECT) for name in header.schema.names[2:]}
    rows = lists.pop("rows")
    if more is None:  # of a version that wrote all rows again in each step, key after key
        open_rows, segment = read_rows(segments, Section.OPEN_ROWS), np.arange(len(rows)) + IN_HEADER + 1
        stored, following = int(rows.sum()), IN_HEADER + 1 + len(rows)
        check(
            stored == (0 if open_rows is None else open_rows.num_rows), _SUBJECT, "it counts other rows than there are"
        )
        segments = segment_of([(open_rows, np.repeat(segment, rows))])
    else:
        with reading(_SUBJECT):
            stored, following = (int(json.loads(more)[name]) for name in ("rows", "next"))
        segment = lists.pop("segment")
        check(len(segment) == len(rows) == len(np.unique(segment)), _SUBJECT, "two keys have one number")
        check_ranges(_SUBJECT, {"segment": (segment, IN_HEADER + 1, following - 1), "rows": (rows, 1, stored)})
        open_rows = last_rows(segments, segment, rows)
    zeros = np.zeros(len(lists["key"]), np.int64)
    attempts = Attempts(*(lists.get(name, zeros) for name in Attempts._fields))
    check(len({len(column) for column in attempts}) == 1, _SUBJECT, "its lists differ in length")
    check_ranges(_SUBJECT, {"rows": (rows, 1, stored), "rule": (attempts.rule, 0, len(rules) - 1)})
    check_ranges(_SUBJECT, {"key": (attempts.key, 0, len(rows) - 1)})
    of_key = rows[attempts.key]
    ranges = {name: (getattr(attempts, name), 0, of_key) for name in ("open", "hidden", "unreported", "covered")}
    check_ranges(_SUBJECT, {**ranges, "number": (attempts.number, 0, LARGEST), "quiet": (attempts.quiet, 0, LARGEST)})
    check(bool((np.diff(attempts.rule) >= 0).all()), _SUBJECT, "its attempts aren't sorted")
    return RuleBucket(digest, rules, rows, segment, attempts, open_rows, stored, following, segments)


def header_of(bucket: RuleBucket, known_until: int, fingerprint: str) -> bytes:
    """The header of a bucket's state. Numbers that are 0 for all attempts aren't stored."""
    numbers = {name: values for name, values in bucket.attempts._asdict().items() if name in _ALWAYS or values.any()}
    lists = {"rows": bucket.rows, "segment": bucket.segment, **numbers}
    columns = [
        pa.array([bucket.digest]),
        pa.array([list(bucket.rules)], pa.list_(pa.string())),
        *(_one_list(values) for values in lists.values()),
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=["digest", "rules", *lists])
    more = json.dumps({"rows": bucket.stored_rows, "next": bucket.next_number})
    return stamped(batch, known_until, fingerprint, {MORE: more})


def _one_list(values: Rows) -> pa.Array:
    """The numbers as one list, in the narrowest type that holds them."""
    largest = int(values.max(initial=0))
    kind = next(kind for kind in (pa.uint8(), pa.uint16(), pa.int32(), pa.int64()) if largest < 1 << kind.bit_width - 1)
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values, kind))
