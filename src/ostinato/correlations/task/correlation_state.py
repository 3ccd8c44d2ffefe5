"""What a correlation remembers between two steps <-> bytes. No matching here.

The bytes are a sealed Arrow IPC stream of named parts, each an Arrow IPC stream itself; the metadata names the query
that the state belongs to. `correlation_state_checks.py` says what must hold between the parts.
"""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.recent_buffer import NOTHING_MISSING, Missing
from ostinato.correlations.strategies.sides import NO_TIME, Ints, SearchCost
from ostinato.streams.bucket_state import QUERY, check_query
from ostinato.streams.record_batches import to_bytes
from ostinato.streams.stored_state import (
    Section,
    check,
    check_columns_are,
    read_batch,
    reading,
    seal,
    unseal,
    whole_numbers,
)

OFFSET = "offset"
_NUMBERS = b"ostinato.numbers"
STATE = "the state of this correlation"


class Marks(NamedTuple):
    """One entry a key. Offsets are counted from the key's first row at hand."""

    live_rows: Ints
    """How many live rows are at hand; of a table that is its own archive, how many rows."""
    live_start: Ints
    """The offset of the next row that is tried as the start of a live match."""
    live_given: Ints
    """INCREMENTAL: live matches that end before this offset were given; otherwise those that start before it."""
    number: Ints
    """How many live matches were numbered."""
    archive_rows: Ints
    base: Ints
    """The place of the archive's first row at hand in its key."""
    search_from: Ints
    """The archive's starts before this offset are known."""
    missing_since: Ints
    missing_until: Ints

    @staticmethod
    def new(count: int, *, has_history: bool) -> Marks:
        """Keys of which nothing is known."""
        zeros = {name: np.zeros(count, np.int64) for name in Marks._fields}
        since = NO_TIME if has_history else NOTHING_MISSING
        return Marks(**zeros)._replace(
            missing_since=np.full(count, since), missing_until=np.full(count, NOTHING_MISSING)
        )

    @property
    def missing(self) -> Missing:
        return Missing(self.missing_since, self.missing_until)

    def taken(self, which: Any) -> Marks:
        return Marks(*(column[which] for column in self))

    def followed_by(self, more: Marks) -> Marks:
        return Marks(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


@dataclass(frozen=True, slots=True)
class Counts:
    """What a step met, and what is left after it."""

    rows: int = 0
    late_rows: int = 0
    """Of both sides."""
    late_archive_rows: int = 0
    """Of these, the rows of another table as archive."""
    live_matches: int = 0
    archive_matches: int = 0
    """Archive starts with a match that were searched now."""
    results: int = 0
    held_results: int = 0
    buffered_rows: int = 0
    """Rows of the archive that stay at hand."""
    cached_entries: int = 0


SUMMED = ("rows", "late_rows", "late_archive_rows", "live_matches", "archive_matches", "results")
"""The counts of several steps that add up."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What was met so far, and the most that had to be remembered (the paper's Table 5)."""

    rows: int = 0
    late_rows: int = 0
    late_archive_rows: int = 0
    live_matches: int = 0
    archive_matches: int = 0
    results: int = 0
    most_buffered_rows: int = 0
    most_cached_entries: int = 0
    live_seconds: float = 0.0
    archive_seconds: float = 0.0
    live_rows_searched: int = 0
    archive_rows_searched: int = 0

    def plus(self, counts: Counts, live: SearchCost, archive: SearchCost) -> Totals:
        """With what one more step met and cost."""
        summed = {name: getattr(self, name) + getattr(counts, name) for name in SUMMED}
        return Totals(
            **summed,
            most_buffered_rows=max(self.most_buffered_rows, counts.buffered_rows),
            most_cached_entries=max(self.most_cached_entries, counts.cached_entries),
            live_seconds=self.live_seconds + live.seconds,
            archive_seconds=self.archive_seconds + archive.seconds,
            live_rows_searched=self.live_rows_searched + live.rows,
            archive_rows_searched=self.archive_rows_searched + archive.rows,
        )


@dataclass(frozen=True, slots=True)
class Remembered:
    """A state as it is worked with; None where there are no rows."""

    keys: pa.RecordBatch | None = None
    """The values of each key; None without PARTITION BY or before the first row."""
    marks: Marks = field(default_factory=lambda: Marks.new(0, has_history=False))
    live: pa.RecordBatch | None = None
    """Live rows at hand, key after key, in order."""
    archive: pa.RecordBatch | None = None
    waiting_live: pa.RecordBatch | None = None
    waiting_archive: pa.RecordBatch | None = None
    open_starts: pa.RecordBatch | None = None
    """Key and offset of the archive's starts that may still grow."""
    cache: pa.RecordBatch | None = None
    """Archive matches: key, place, start, end, then the values of their output columns."""
    held: pa.RecordBatch | None = None
    """Results that wait for their turn: key, start, end, then the output columns."""
    known_until: int = NO_TIME
    """Rows that come are later than this, or late."""
    totals: Totals = Totals()
    planner: dict[str, Any] = field(default_factory=dict)
    """What the planner has learnt and chosen."""


NEW = Remembered()
_PARTS = ("keys", "live", "archive", "waiting_live", "waiting_archive", "open_starts", "cache", "held")


def state_bytes(state: Remembered, query: str) -> bytes:
    """Equal states give equal bytes."""
    marks = pa.RecordBatch.from_arrays([pa.array(column) for column in state.marks], names=list(Marks._fields))
    parts = {"marks": marks} | {name: getattr(state, name) for name in _PARTS}
    present = {name: to_bytes(part) for name, part in parts.items() if part is not None}
    totals = {name: getattr(state.totals, name) for name in Totals.__slots__}
    numbers = {"known_until": state.known_until, "totals": totals, "planner": state.planner}
    columns = [pa.array(list(present), pa.string()), pa.array(list(present.values()), pa.large_binary())]
    whole = pa.RecordBatch.from_arrays(columns, names=["part", "bytes"])
    metadata = {QUERY: query, _NUMBERS: json.dumps(numbers)}
    return seal(to_bytes(whole.replace_schema_metadata(metadata)), Section.CORRELATION)


def read_state(state: bytes | None, query: str) -> Remembered:
    """Raises where the state is not one of this query, or in a form that this version doesn't know."""
    if not state:
        return NEW
    whole = read_batch(unseal(state, Section.CORRELATION, STATE), STATE)
    metadata = whole.schema.metadata or {}
    check_query(metadata, query, changed="its clauses, their recency or settings")
    with reading(STATE):
        names, segments = (column.to_pylist() for column in whole.columns)
        check(len(set(names)) == len(names) and set(names) <= {"marks", *_PARTS}, STATE, "it has other parts")
        parts = {name: read_batch(part, STATE) for name, part in zip(names, segments, strict=True)}
        numbers = json.loads(metadata[_NUMBERS])
        marks = parts.pop("marks")
        check_columns_are(marks, dict.fromkeys(Marks._fields, pa.int64()), STATE)
        return Remembered(
            marks=Marks(*(whole_numbers(marks.column(name), STATE) for name in Marks._fields)),
            known_until=operator.index(numbers["known_until"]),
            totals=Totals(**numbers["totals"]),
            planner=dict(numbers["planner"]),
            **parts,
        )
