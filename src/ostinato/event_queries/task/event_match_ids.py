"""Matches of an event query -> their ids, which are the same in every run of the query.

An id is a hash of the group, the window, and the variable and time of each event. Matches that are equal in these are
numbered in the order of their events' other columns: they end at the same time, so they are always found in the same
step.
"""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.rows.match_ids import as_ids, name_hashes, value_bytes

_MATCH = b"ostinato event match 1"
_EVENT = np.dtype([("variable", ">u8"), ("time", ">i8")])


@dataclass(frozen=True, slots=True)
class IdentifiedEvents:
    """Match m has the events `offsets[m]:offsets[m + 1]`; the other arrays have a value for each match or event."""

    offsets: NDArray[np.int64]
    groups: Sequence[pa.Array]
    """The values of the GROUP BY columns for each match."""
    window: NDArray[np.int64] | None
    """The start of the window of each match; None without windows."""
    labels: NDArray[np.integer]
    variables: Sequence[str]
    time: NDArray[np.int64]
    columns: Sequence[pa.Array]
    """All columns of the events."""


def event_match_ids(events: IdentifiedEvents) -> pa.Array:
    """The id of each match."""
    digests = _digests(events)
    positions = defaultdict(list)
    for match, digest in enumerate(digests):
        positions[digest].append(match)
    ordinals = [0] * len(digests)
    for matches in positions.values():
        if len(matches) > 1:
            contents = {match: _content(events, match) for match in matches}
            for ordinal, match in enumerate(sorted(matches, key=contents.__getitem__)):
                ordinals[match] = ordinal
    return as_ids(
        [_hash(digest + struct.pack(">Q", ordinal)) for digest, ordinal in zip(digests, ordinals, strict=True)]
    )


def _digests(events: IdentifiedEvents) -> list[bytes]:
    table = np.empty(len(events.labels), _EVENT)
    table["variable"] = name_hashes(events.variables)[events.labels]
    table["time"] = events.time
    data, offsets = memoryview(table.tobytes()), (events.offsets * _EVENT.itemsize).tolist()
    count = len(offsets) - 1
    heads = [value_bytes(values) for values in events.groups]
    heads.append(value_bytes(pa.nulls(count) if events.window is None else pa.array(events.window, pa.int64())))
    start = _MATCH + struct.pack(">I", len(events.groups))
    return [
        _hash(b"".join((start, *head, data[offsets[i] : offsets[i + 1]])))
        for i, head in enumerate(zip(*heads, strict=True))
    ]


def _content(events: IdentifiedEvents, match: int) -> bytes:
    """The bytes of all columns of a match's events."""
    first, end = int(events.offsets[match]), int(events.offsets[match + 1])
    return b"".join(item for column in events.columns for item in value_bytes(column.slice(first, end - first)))


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
