"""One step of a stream: what every streaming core takes and gives. No matching and no Spark here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from ostinato.streams.bucket_state import BucketState

Results_co = TypeVar("Results_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows and matches a step met, and how much is open after it."""

    rows: int = 0
    late_rows: int = 0
    matches: int = 0
    open_runs: int = 0
    """Keys, sequences or partial matches that rows to come decide."""
    buffered_rows: int = 0


@dataclass(frozen=True, slots=True)
class Step(Generic[Results_co]):
    """The outcome of one `advance`."""

    results: Results_co
    state: BucketState
    wake_at_us: int | None
    """The watermark at which something happens even if no row comes; None: nothing does."""
    counts: Counts


class StreamCore(Protocol[Results_co]):
    """A query over buckets of keys. It holds nothing between two steps: the state is all that it remembers."""

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[Results_co]:
        """One step. `arrived` holds the shipped columns by name, rows in any order; None: no rows.

        Rows up to the watermark are decided. `finished`: no rows will follow, whatever the watermark says.
        """


def fingerprint_of(values: object, plain: Callable[[Any], Any] | None = None) -> str:
    """Differs where the values do. A state belongs to the query whose fingerprint it has.

    The values are those that JSON knows; `plain` turns others into such.

    >>> fingerprint_of(["A B+", {"ansi": True}]) == fingerprint_of(["A B*", {"ansi": True}])
    False
    """
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=plain).encode()).hexdigest()[:32]
