"""Keys, ORDER BY values and labels of matches -> run ids and match ids. No search here.

An id is a hash of values only. It is the same in a batch, a stream and a replay, with any number of buckets,
partitions, workers and slices, and with other measures (docs/decisions/024-match-ids.md). A change of these bytes
changes all ids: `tests/rows/test_match_ids.py` has golden values.

The identity of a row is its key, its values of the ORDER BY columns, and its ordinal: the number of rows before it, in
the order of matching, that are equal to it in both.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError, QueryError
from ostinato.expressions.values.value_order import OrderKey, sortable
from ostinato.rows.batches import one_array
from ostinato.rows.matches import Matches, ranges

Ints = NDArray[np.int64]
_DIGEST_BYTES = 16
_RUN, _MATCH = b"ostinato run 1", b"ostinato match 1"
"""Tags at the beginning of the hashed bytes, with the version of the bytes."""
_NULL = b"\0"


@dataclass(frozen=True, slots=True)
class RowIdentities:
    """One row for each match: the values of the ORDER BY columns, and the ordinals."""

    order: Sequence[pa.Array]
    ordinal: Ints


@dataclass(frozen=True, slots=True)
class LabelRuns:
    """The labels of matches as runs of equal ones. Match m has the bytes `data[offsets[m]:offsets[m + 1]]`."""

    data: memoryview
    offsets: Ints


def tie_ordinals(order: Sequence[pa.Array], key_at: Ints) -> Ints:
    """The ordinals of rows in the order of matching. Key k has the rows `key_at[k]:key_at[k + 1]`.

    >>> tie_ordinals([pa.array([1, 2, 2, 2, 2])], np.array([0, 3, 5])).tolist()
    [0, 0, 1, 0, 1]
    """
    count = int(key_at[-1])
    is_first = np.zeros(count, np.bool_)
    is_first[key_at[:-1][np.diff(key_at) > 0]] = True
    for values in order:
        for column in sortable(OrderKey(values)):
            is_first[1:] |= column[1:] != column[:-1]
    row = np.arange(count, dtype=np.int64)
    ordinals: Ints = row - np.maximum.accumulate(np.where(is_first, row, 0))
    return ordinals


# --- ids --------------------------------------------------------------------------------------------------------------


def run_digests(rule: str, keys: Sequence[pa.Array], start: RowIdentities) -> list[bytes]:
    """One digest for each match, from its key and its first row. `keys` has one value for each match."""
    head = _RUN + _text(rule.encode()) + struct.pack(">II", len(keys), len(start.order))
    columns = [value_bytes(values) for values in (*keys, *start.order)]
    columns.append(_fixed(b"i", start.ordinal))
    return [_digest(head + b"".join(values)) for values in zip(*columns, strict=True)]


def match_digests(runs: Sequence[bytes], labels: LabelRuns, end: RowIdentities) -> list[bytes]:
    """One digest for each match, from its run, its labels and its last row; an empty match has no last row."""
    columns = [value_bytes(values) for values in end.order]
    columns.append(_fixed(b"i", end.ordinal))
    at = labels.offsets.tolist()
    digests = []
    for i, last_row in enumerate(zip(*columns, strict=True)):
        label_bytes = labels.data[at[i] : at[i + 1]]
        last = b"".join(last_row) if len(label_bytes) else b""
        digests.append(_digest(b"".join((_MATCH, runs[i], last, label_bytes))))
    return digests


def as_ids(digests: Sequence[bytes]) -> pa.Array:
    """The digests as texts of 32 hex digits."""
    return pa.array([digest.hex() for digest in digests], pa.string())


def label_runs(matches: Matches, variables: Sequence[str]) -> LabelRuns:
    """The labels of the matches, which must have paths. A loop of a million rows is one run."""
    labels = matches.label[ranges(matches.path_at, matches.length)]
    offsets = np.concatenate(([0], np.cumsum(matches.length)))
    is_first = np.zeros(len(labels), np.bool_)
    is_first[offsets[:-1][matches.length > 0]] = True
    is_first[1:] |= labels[1:] != labels[:-1]
    at = np.flatnonzero(is_first)
    runs = np.empty(len(at), _LABEL_RUN)
    runs["name"] = name_hashes(variables)[labels[at]]
    runs["length"] = np.diff(at, append=len(labels))
    return LabelRuns(memoryview(runs.tobytes()), np.searchsorted(at, offsets) * _LABEL_RUN.itemsize)


def name_hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    """Numbers for names, which don't depend on the other names."""
    return np.array([int.from_bytes(_digest(name.encode())[:8]) for name in names], np.uint64)


_LABEL_RUN = np.dtype([("name", ">u8"), ("length", ">i8")])


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


# --- canonical bytes of values ----------------------------------------------------------------------------------------


def value_bytes(values: pa.Array | pa.ChunkedArray) -> list[bytes]:
    """The bytes of each value. Equal values have equal bytes, however Arrow holds them, and no value's bytes are the
    beginning of another's.

    -0.0 is 0.0, NaN is one value, a decimal counts by its value and not by its scale, a timestamp is an instant in
    microseconds. Whole numbers of all widths are alike, and so are floats.

    >>> value_bytes(pa.array([1.0, None]))
    [b'f?\\xf0\\x00\\x00\\x00\\x00\\x00\\x00', b'\\x00']
    """
    array = one_array(values) if isinstance(values, pa.ChunkedArray) else values
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return value_bytes(array.storage)
    if pa.types.is_dictionary(kind):
        return _repeated(value_bytes(array.dictionary), array.indices)
    if pa.types.is_null(kind):
        return [_NULL] * len(array)
    encoded = _values(array, kind)
    if array.null_count:
        is_null = array.is_null().to_pylist()
        encoded = [_NULL if absent else value for value, absent in zip(encoded, is_null, strict=True)]
    return encoded


def check_identifies(name: str, kind: pa.DataType) -> None:
    """Raises UNSUPPORTED_TYPE if the values of a column have no canonical bytes: then no id can depend on them."""
    try:
        value_bytes(pa.nulls(1, kind))
    except (MatchError, pa.ArrowNotImplementedError):
        raise QueryError(
            "UNSUPPORTED_TYPE",
            f"ids of matches can't depend on the column '{name}' of type {kind}",
            hint="leave the column out of the input, or cast it",
        ) from None


def _values(array: pa.Array, kind: pa.DataType) -> list[bytes]:
    """The bytes of values; those of NULLs have no meaning."""
    if pa.types.is_floating(kind):
        numbers = _numbers(array, pa.float64(), np.float64)
        return _fixed(b"f", np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64))
    for is_kind, tag, through in _FIXED:
        if is_kind(kind):
            plain = array if through is None else array.cast(through(kind), safe=False)
            return _fixed(tag, _numbers(plain, pa.int64(), np.int64))
    if pa.types.is_date(kind):
        return _fixed(b"d", _numbers(array.cast(pa.date32()).cast(pa.int32()), pa.int64(), np.int64))
    if _is_text(kind) or _is_binary(kind):
        tag = b"s" if _is_text(kind) else b"x"
        return _of_distinct(array.cast(pa.binary()), lambda value: tag + _text(value))
    if pa.types.is_decimal(kind):
        return _of_distinct(array, lambda value: b"m" + _text(_decimal_text(value)))
    if pa.types.is_struct(kind):
        fields = [value_bytes(array.field(i)) for i in range(kind.num_fields)]
        head = b"r" + struct.pack(">I", len(fields))
        return [head + b"".join(row) for row in zip(*fields, strict=True)] if fields else [head] * len(array)
    if pa.types.is_map(kind):
        return _lists(array, b"k", pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"]))
    if pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind):
        return _values(array.cast(pa.list_(kind.value_type)), pa.list_(kind.value_type))
    if pa.types.is_list(kind):
        return _lists(array, b"l", array.values)
    raise MatchError("UNSUPPORTED_TYPE", f"a match can't be identified by a column of type {kind}")


_FIXED: tuple[tuple[Callable[[pa.DataType], bool], bytes, Callable[[pa.DataType], pa.DataType] | None], ...] = (
    (pa.types.is_boolean, b"b", None),
    (pa.types.is_integer, b"i", None),
    (pa.types.is_timestamp, b"t", lambda kind: pa.timestamp("us", kind.tz)),
    (pa.types.is_duration, b"p", lambda kind: pa.duration("us")),
    (pa.types.is_time, b"c", lambda kind: pa.time64("us")),
)
"""Types that are 64-bit numbers: the test, the tag, and the type to cast to first."""


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    of_any_length = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(of_any_length or pa.types.is_fixed_size_binary(kind))


def _numbers(array: pa.Array, kind: pa.DataType, dtype: type[np.generic]) -> NDArray[Any]:
    return np.asarray(array.cast(kind).fill_null(0), dtype)


_FIXED_WIDTH = np.dtype([("tag", "S1"), ("value", ">i8")])


def _fixed(tag: bytes, numbers: NDArray[Any]) -> list[bytes]:
    table = np.empty(len(numbers), _FIXED_WIDTH)
    table["tag"], table["value"] = tag, numbers
    data, width = table.tobytes(), _FIXED_WIDTH.itemsize
    return [data[at : at + width] for at in range(0, len(data), width)]


def _text(value: bytes) -> bytes:
    return struct.pack(">Q", len(value)) + value


def _decimal_text(value: Decimal) -> bytes:
    """Sign, digits without zeros at the end, and exponent."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    if not significant:
        return b"0"
    shift = int(exponent) + len(text) - len(significant)
    return f"{'-' if sign else ''}{significant}e{shift}".encode()


def _of_distinct(array: pa.Array, encode: Callable[[Any], bytes]) -> list[bytes]:
    """Encodes each distinct value once."""
    encoded = array.dictionary_encode()
    return _repeated([encode(value) for value in encoded.dictionary.to_pylist()], encoded.indices)


def _repeated(distinct: list[bytes], indices: pa.Array) -> list[bytes]:
    return [_NULL if index is None else distinct[index] for index in indices.to_pylist()]


def _lists(array: pa.Array, tag: bytes, items: pa.Array) -> list[bytes]:
    ends = array.offsets.to_pylist()
    encoded = value_bytes(items.slice(ends[0], ends[-1] - ends[0]))
    return [
        tag + struct.pack(">I", end - start) + b"".join(encoded[start - ends[0] : end - ends[0]])
        for start, end in pairwise(ends)
    ]
