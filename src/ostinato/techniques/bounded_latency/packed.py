"""Named arrays and numbers -> bytes, and back: the form in which a keeper's knowledge is kept between two calls."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError

Value = NDArray[np.generic] | float | int | bool | str | None
VERSION = 4
_HEADER = struct.Struct("<4sHI")
_MAGIC = b"OSBK"


def packed(values: Mapping[str, Value]) -> bytes:
    """Compressed: most counts of most classes are zero."""
    described: dict[str, object] = {}
    parts = []
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            described[name] = [value.dtype.str, list(value.shape)]
            parts.append(np.ascontiguousarray(value).tobytes())
        else:
            described[name] = value
    head = json.dumps(described).encode()
    return _HEADER.pack(_MAGIC, VERSION, len(head)) + head + zlib.compress(b"".join(parts), 1)


def unpacked(data: bytes) -> dict[str, Value]:
    """Raises STATE_FORMAT for bytes that another version wrote."""
    magic, version, length = _HEADER.unpack_from(data) if len(data) >= _HEADER.size else (b"", 0, 0)
    if (magic, version) != (_MAGIC, VERSION):
        raise MatchError("STATE_FORMAT", "what the shedder learnt was kept in a format that this version doesn't read")
    body, at = zlib.decompress(data[_HEADER.size + length :]), 0
    values: dict[str, Value] = {}
    for name, described in json.loads(data[_HEADER.size : _HEADER.size + length]).items():
        if isinstance(described, list):
            dtype, shape = np.dtype(described[0]), tuple(described[1])
            count = int(np.prod(shape, dtype=np.int64))
            values[name] = np.frombuffer(body, dtype, count, at).reshape(shape).copy()
            at += count * dtype.itemsize
        else:
            values[name] = described
    return values
