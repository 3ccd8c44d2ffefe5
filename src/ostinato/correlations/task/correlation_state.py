"""State of a correlation between two steps <-> bytes. No matching here.

The bytes are a sealed Arrow IPC stream of named parts. Each part is an Arrow IPC stream itself. The metadata names the
query of the state. `correlation_state_checks.py` checks the parts against one another.
"""

from __future__ import annotations

import json
import operator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.recent_buffer import NOTHING_MISSING, Missing
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.task.run_counts import NO_STEPS, RunTotals
from ostinato.kernels.constants import NO_TIME
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
    """One entry for each key. Offsets count from the key's first row in memory."""

    live_rows: Ints
    """Number of live rows in memory. For a table that is its own archive, the number of rows."""
    live_start: Ints
    """Offset of the next row that is tried as the start of a live match."""
    live_given: Ints
    """Live matches that end (INCREMENTAL) or start (otherwise) before this offset were found by earlier steps."""
    number: Ints
    """Number of live matches that have a MATCH_NUMBER()."""
    archive_rows: Ints
    base: Ints
    """Position in the key of the archive's first row in memory."""
    search_from: Ints
    """Archive starts before this offset are known."""
    missing_since: Ints
    missing_until: Ints

    @staticmethod
    def new(count: int, *, has_history: bool) -> Marks:
        """Marks of new keys."""
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
class CorrelationState:
    """The state of a correlation, in memory. A part without rows is None."""

    keys: pa.RecordBatch | None = None
    """The values of each key; None without PARTITION BY or before the first row."""
    marks: Marks = field(default_factory=lambda: Marks.new(0, has_history=False))
    live: pa.RecordBatch | None = None
    """Live rows in memory, key after key, in matching order."""
    archive: pa.RecordBatch | None = None
    waiting_live: pa.RecordBatch | None = None
    waiting_archive: pa.RecordBatch | None = None
    open_starts: pa.RecordBatch | None = None
    """Key and offset of archive starts whose matches may still grow."""
    cache: pa.RecordBatch | None = None
    """Archive matches: key, position, start, end, then the values of their output columns."""
    held: pa.RecordBatch | None = None
    """Results that wait for earlier ones: key, start, end, then the output columns."""
    known_until: int = NO_TIME
    """Rows up to this time are complete; rows that arrive later with such a time are late."""
    totals: RunTotals = NO_STEPS
    planner: dict[str, Any] = field(default_factory=dict)
    """The planner's measurements and choice."""


NEW = CorrelationState()
_PARTS = ("keys", "live", "archive", "waiting_live", "waiting_archive", "open_starts", "cache", "held")


def state_bytes(state: CorrelationState, query: str) -> bytes:
    """Equal states give equal bytes."""
    marks = pa.RecordBatch.from_arrays([pa.array(column) for column in state.marks], names=list(Marks._fields))
    batches = {"marks": marks} | {name: getattr(state, name) for name in _PARTS}
    present = {name: to_bytes(batch) for name, batch in batches.items() if batch is not None}
    numbers = {"known_until": state.known_until, "totals": asdict(state.totals), "planner": state.planner}
    columns = [pa.array(list(present), pa.string()), pa.array(list(present.values()), pa.large_binary())]
    segments = pa.RecordBatch.from_arrays(columns, names=["part", "bytes"])
    metadata = {QUERY: query, _NUMBERS: json.dumps(numbers)}
    return seal(to_bytes(segments.replace_schema_metadata(metadata)), Section.CORRELATION)


def read_state(state: bytes | None, query: str) -> CorrelationState:
    """Raises if the state belongs to another query, or has a format that this version doesn't know."""
    if not state:
        return NEW
    segments = read_batch(unseal(state, Section.CORRELATION, STATE), STATE)
    metadata = segments.schema.metadata or {}
    check_query(metadata, query, changed="its clauses, their recency or settings")
    with reading(STATE):
        names, contents = (column.to_pylist() for column in segments.columns)
        check(len(set(names)) == len(names) and set(names) <= {"marks", *_PARTS}, STATE, "it has other parts")
        batches = {name: read_batch(batch, STATE) for name, batch in zip(names, contents, strict=True)}
        numbers = json.loads(metadata[_NUMBERS])
        marks = batches.pop("marks")
        check_columns_are(marks, dict.fromkeys(Marks._fields, pa.int64()), STATE)
        return CorrelationState(
            marks=Marks(*(whole_numbers(marks.column(name), STATE) for name in Marks._fields)),
            known_until=operator.index(numbers["known_until"]),
            totals=RunTotals(**numbers["totals"]),
            planner=dict(numbers["planner"]),
            **batches,
        )
