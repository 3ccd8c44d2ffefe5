"""Columns -> one JSON object for each row, as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings


def as_json(table: pa.Table, settings: Settings) -> pa.Array:
    """One JSON object for each row. Numbers, texts and booleans are JSON's own; other scalars are their CAST to
    STRING; NaN and infinities are texts, as in Spark's `to_json`."""
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    columns = [_fragments(column.combine_chunks(), settings) for column in table.columns]
    rows = zip(*columns, strict=True) if columns else ([],) * table.num_rows
    texts = ["{" + ",".join(f"{name}:{value}" for name, value in zip(names, row, strict=True)) + "}" for row in rows]
    return pa.array(texts, pa.string())


def _fragments(column: pa.Array | pa.ChunkedArray, settings: Settings) -> list[str]:
    array = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    kind = array.type
    if pa.types.is_nested(kind):
        return [json.dumps(_plain(value), ensure_ascii=False) for value in array.to_pylist()]
    write = _WRITERS.get(_family(kind))
    if write is None:
        array = evaluate(
            Cast(Column("x"), "STRING"), lambda node: array if node == Column("x") else None, len(array), settings
        )
        write = _text
    return ["null" if value is None else write(value) for value in array.to_pylist()]


def _family(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_decimal(kind):
        return "decimal"
    return "text" if kind == t.STRING else "other"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _float(value: float) -> str:
    return repr(value) if value - value == 0 else json.dumps(_special(value))


def _special(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    return format(value, "f")


_WRITERS: Mapping[str, Callable[..., str]] = {
    "boolean": lambda value: "true" if value else "false",
    "integer": str,
    "float": _float,
    "decimal": _decimal,
    "text": _text,
}


def _plain(value: object) -> object:
    """A nested value with JSON's own types."""
    match value:
        case dict():
            return {str(name): _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case float():
            return value if value - value == 0 else _special(value)
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)
