"""Named arrays and numbers -> bytes, and back: how a load shedder's statistics are stored between two calls."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import damaged, reading

Value = NDArray[np.generic] | float | int | bool | str | None
VERSION = 5
_HEADER = struct.Struct("<4sHI")
_MAGIC = b"OSBK"
STATISTICS = "the shedding statistics in the state of this workload"
"""In error messages."""


def pack_values(values: Mapping[str, Value]) -> bytes:
    """Compressed: most counts of most classes are zero."""
    described: dict[str, object] = {}
    arrays = []
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            described[name] = [value.dtype.str, list(value.shape)]
            arrays.append(np.ascontiguousarray(value).tobytes())
        else:
            described[name] = value
    head = json.dumps(described).encode()
    return _HEADER.pack(_MAGIC, VERSION, len(head)) + head + zlib.compress(b"".join(arrays), 1)


def unpack_values(data: bytes) -> dict[str, Value]:
    """Raises STATE_FORMAT for bytes that another version wrote."""
    magic, version, length = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
    if (magic, version) != (_MAGIC, VERSION):
        raise damaged(STATISTICS, "it has a format that this version doesn't read")
    with reading(STATISTICS):
        return _unpacked(json.loads(data[_HEADER.size : _HEADER.size + length]), data[_HEADER.size + length :])


def _unpacked(described: dict[str, Any], compressed: bytes) -> dict[str, Value]:
    values: dict[str, Value] = {}
    kinds = {name: np.dtype(kind[0]) for name, kind in described.items() if isinstance(kind, list)}
    sizes = {name: math.prod(described[name][1]) for name in kinds}
    size_limit = sum(sizes[name] * kind.itemsize for name, kind in kinds.items())
    body, at = _decompressed(compressed, size_limit), 0
    for name, value in described.items():
        if name in kinds:
            array = np.frombuffer(body, kinds[name], sizes[name], at)
            values[name] = array.reshape(tuple(value[1])).copy()
            at += array.nbytes
        else:
            values[name] = value
    return values


def _decompressed(data: bytes, size: int) -> bytes:
    """Stops at the expected size: a few bytes may stand for gigabytes."""
    reader = zlib.decompressobj()
    body = reader.decompress(data, size + 1)
    if len(body) != size or not reader.eof or reader.unused_data:
        raise damaged(STATISTICS, "its stored length doesn't match the data")
    return body
