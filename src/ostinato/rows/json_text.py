"""Columns -> one JSON object for each row, as text."""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings


def as_json(table: pa.Table, settings: Settings, *, iso_times: bool = False) -> pa.Array:
    """One JSON object for each row. Numbers, texts and booleans are JSON's own; other scalars are their CAST to
    STRING; NaN and infinities are texts, as in Spark's `to_json`. Structs and maps are objects, binary is Base64.

    With `iso_times`, a time is written for readers that don't know the session's time zone: in UTC, with `T` and `Z`.
    """
    names = [_text(name) for name in table.column_names]
    columns = [_fragments(column, settings, iso_times) for column in table.columns]
    rows = zip(*columns, strict=True) if columns else ([],) * table.num_rows
    return pa.array([_object(names, row) for row in rows], pa.string())


def _object(names: Sequence[str], values: Sequence[str]) -> str:
    return "{" + ",".join(f"{name}:{value}" for name, value in zip(names, values, strict=True)) + "}"


def _fragments(column: pa.Array | pa.ChunkedArray, settings: Settings, iso_times: bool) -> list[str]:
    """The JSON text of each value."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if t.is_nested(kind):
        texts = _nested(array, lambda inner: _fragments(inner, settings, iso_times))
        return [text if valid else "null" for text, valid in zip(texts, array.is_valid().to_pylist(), strict=True)]
    write = _WRITERS.get(_family(kind))
    if iso_times and pa.types.is_timestamp(kind):
        # Not Python's isoformat: Spark's times reach beyond the year 9999.
        text = pc.replace_substring(_as_text(array, replace(settings, timezone="UTC")), " ", "T", max_replacements=1)
        array, write = pc.binary_join_element_wise(text, "Z" if kind.tz else "", ""), _text
    elif write is None:
        array, write = _as_text(array, settings), _text
    return ["null" if value is None else write(value) for value in array.to_pylist()]


def _as_text(array: pa.Array, settings: Settings) -> pa.Array:
    column = Column("x")
    return evaluate(Cast(column, "STRING"), lambda node: array if node == column else None, len(array), settings)


def _nested(array: pa.Array, fragments: Callable[[pa.Array], list[str]]) -> list[str]:
    """The JSON text of each struct, list or map. That of a NULL means nothing."""
    if t.is_struct(array.type):
        names = [_text(array.type.field(index).name) for index in range(array.type.num_fields)]
        fields = [fragments(array.field(index)) for index in range(array.type.num_fields)]
        return [_object(names, row) for row in zip(*fields, strict=True)] if fields else ["{}"] * len(array)
    edges = array.offsets.to_pylist()
    begin, end = (edges[0], edges[-1]) if len(array) else (0, 0)
    ranges = [slice(first - begin, last - begin) for first, last in itertools.pairwise(edges)]
    if t.is_map(array.type):
        keys = [_name(key) for key in fragments(array.keys[begin:end])]
        values = fragments(array.items[begin:end])
        return [_object(keys[entries], values[entries]) for entries in ranges]
    items = fragments(array.values[begin:end])
    return ["[" + ",".join(items[elements]) + "]" for elements in ranges]


def _name(key: str) -> str:
    """A map's key as the name of a JSON object's member."""
    return key if key.startswith('"') else _text(key)


def _family(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "binary"
    if pa.types.is_duration(kind):
        return "duration"
    return "text" if kind == t.STRING else "other"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _float(value: float) -> str:
    return repr(value) if value - value == 0 else json.dumps(_special(value))


def _special(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _binary(value: bytes) -> str:
    return _text(b64encode(value).decode())


def _duration(value: timedelta) -> str:
    """As Spark casts an INTERVAL DAY TO SECOND."""
    microseconds = value // timedelta(microseconds=1)
    days, rest = divmod(abs(microseconds), 86_400_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    seconds = f"{rest // 1_000_000:02d}.{rest % 1_000_000:06d}".rstrip("0").rstrip(".")
    sign = "-" if microseconds < 0 else ""
    return _text(f"INTERVAL '{sign}{days} {minutes // 60:02d}:{minutes % 60:02d}:{seconds}' DAY TO SECOND")


_WRITERS: Mapping[str, Callable[..., str]] = {
    "boolean": lambda value: "true" if value else "false",
    "integer": str,
    "float": _float,
    "decimal": _decimal,
    "binary": _binary,
    "duration": _duration,
    "text": _text,
}
