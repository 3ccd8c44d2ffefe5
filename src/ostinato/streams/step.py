"""One step of a stream: the arguments and results of every streaming core. No matching and no Spark here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from ostinato.streams.bucket_state import BucketState

Results_co = TypeVar("Results_co", covariant=True)


GAUGES = ("open_runs", "waiting_rows", "kept_for_prev", "kept_for_start", "kept_for_number", "kept_for_ids")
"""The counts of a state. The others are counts of a step."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows and matches of a step, and the open runs and buffered rows after it."""

    rows: int = 0
    late_rows: int = 0
    matches: int = 0
    open_runs: int = 0
    """Keys, sequences or partial matches that later rows decide."""
    buffered_rows: int = 0
    waiting_rows: int = 0
    """Those of the buffered rows that wait for the watermark."""
    kept_for_prev: int = 0
    """Keys without an open run that stay because a match may read rows before its first row."""
    kept_for_start: int = 0
    """Those that stay because the pattern has `^`."""
    kept_for_number: int = 0
    """Those that stay because the query reads MATCH_NUMBER()."""
    kept_for_ids: int = 0
    """Those that stay because ids tell the next row from rows of the same time."""
    forgotten_keys: int = 0
    """Keys of the state that ended in this step, because they were silent for too long."""

    @property
    def gauges(self) -> list[int]:
        """The counts that describe the state after the step, in the order of GAUGES."""
        return [getattr(self, name) for name in GAUGES]


@dataclass(frozen=True, slots=True)
class Step(Generic[Results_co]):
    """The outcome of one `advance`."""

    results: Results_co
    state: BucketState
    wake_at_us: int | None
    """The watermark at which the state changes even if no row comes; None if it won't."""
    counts: Counts


class StreamCore(Protocol[Results_co]):
    """A query over buckets of keys. It holds nothing between two steps; everything it remembers is in the state."""

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[Results_co]:
        """One step. `arrived` has the shipped columns by name, and rows in any order; None: no rows.

        Rows up to the watermark are decided. `finished`: no rows will follow, so all rows are decided.
        """


def fingerprint_of(values: object, plain: Callable[[Any], Any] | None = None) -> str:
    """Different values have different fingerprints. A state belongs to the query whose fingerprint it has.

    The values are those that JSON knows; `plain` converts others.

    >>> fingerprint_of(["A B+", {"ansi": True}]) == fingerprint_of(["A B*", {"ansi": True}])
    False
    """
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=plain).encode()).hexdigest()[:32]
