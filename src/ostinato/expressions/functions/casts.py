"""CAST, TRY_CAST and implicit casts: the table of all casts, and casts of nested values, element by element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import QueryError, Span
from ostinato.expressions import types as t
from ostinato.expressions.functions.basic_casts import BASIC_CASTS, CastKernel
from ostinato.expressions.nodes import Frame, Site, Typed, constant
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Vector, from_arrow, nulls_of, of_arrow, of_list, to_arrow

_NULL_TEXT = "null"
"""How a NULL inside a nested value is written."""


def family(kind: pa.DataType) -> str:
    """The name of a type in the table of casts."""
    if t.is_integral(kind):
        return "int"
    if t.is_float(kind):
        return "float"
    if t.is_decimal(kind):
        return "decimal"
    if t.is_timestamp(kind):
        return "timestamp"
    if t.is_nested(kind):
        return "list" if t.is_list(kind) else "struct" if t.is_struct(kind) else "map"
    names = {t.NULL: "null", t.BOOL: "bool", t.STRING: "string", t.BINARY: "binary", t.DATE: "date", t.NTZ: "ntz"}
    return names.get(kind, "interval")


def can_cast(source: pa.DataType, target: pa.DataType, settings: Settings) -> bool:
    """Whether CAST converts the source type to the target type."""
    if source in (target, t.NULL):
        return True
    pair = (family(source), family(target))
    if pair == ("list", "list"):
        return can_cast(source.value_type, target.value_type, settings)
    if pair == ("struct", "struct"):
        same = source.num_fields == target.num_fields
        return same and all(can_cast(a.type, b.type, settings) for a, b in zip(source, target, strict=True))
    if target == t.STRING and t.is_nested(source):
        return all(can_cast(inner, target, settings) for inner in _inner_types(source))
    return pair in CASTS


def _inner_types(kind: pa.DataType) -> list[pa.DataType]:
    """The types inside a nested type."""
    if t.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.value_type] if t.is_list(kind) else [field.type for field in kind]


def cast_vector(site: Site, vector: Vector, target: pa.DataType) -> Vector:
    """The vector as the target type. A bad value is an error under ANSI, otherwise NULL."""
    source = vector.type
    if source == target:
        return vector
    if source == t.NULL:
        return nulls_of(target, len(vector))
    if len(vector) == 1 and vector.valid is not None and not vector.valid[0]:
        return nulls_of(target)
    return CASTS[family(source), family(target)](site, target, vector)


def cast_node(node: Typed, target: pa.DataType, site: Site) -> Typed:
    """The node, cast to the target type. A literal is cast at once, if it can be."""
    if node.type == target:
        return node
    if not can_cast(node.type, target, site.settings):
        raise QueryError(
            "TYPE_MISMATCH", f"can't cast {t.spark_name(node.type)} to {t.spark_name(target)}", span=site.span
        )

    def run(frame: Frame) -> Vector:
        return cast_vector(site, node.run(frame), target)

    if node.constant is not None:
        _refuse_special_times(node, target)
        try:
            return constant(cast_vector(site, node.constant, target), node.span)
        except Exception as error:  # a bad literal is an error only if a row evaluates it
            if isinstance(error, QueryError):
                raise
    return Typed(target, run, span=node.span)


def _refuse_special_times(node: Typed, target: pa.DataType) -> None:
    """Refuses 'today' and similar words, which Spark reads as times: results would differ between runs."""
    assert node.constant is not None
    if node.type == t.STRING and t.is_datetime(target) and node.constant.valid is None:
        word = str(node.constant.values[0].as_py()).strip().lower()
        if word in ("epoch", "now", "today", "yesterday", "tomorrow"):
            raise QueryError("UNSUPPORTED_EXPRESSION", f"'{word}' as a time isn't supported", span=node.span)


def implicit(node: Typed, target: pa.DataType, settings: Settings, span: Span | None = None) -> Typed:
    """The node with the implicit cast of Spark's type coercion."""
    return cast_node(node, target, Site("cast", settings, span or node.span))


# --- nested values ----------------------------------------------------------------------------------------------------


def _list_to_list(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    array = vector.values
    flat = from_arrow(array.flatten(), vector.type.value_type)
    inner = to_arrow(cast_vector(site, flat, kind.value_type).expanded(len(flat)))
    offsets = np.concatenate([[0], np.cumsum(_lengths(array))]).astype(np.int32)
    mask = None if vector.valid is None else pa.array(~vector.valid)
    return of_arrow(kind, pa.ListArray.from_arrays(pa.array(offsets), inner, type=kind, mask=mask))


def _struct_to_struct(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    columns = []
    for position, field in enumerate(kind):
        column = from_arrow(vector.values.field(position), vector.type.field(position).type)
        columns.append(to_arrow(cast_vector(site, column, field.type).expanded(len(vector))))
    mask = None if vector.valid is None else pa.array(~vector.valid)
    return of_arrow(kind, pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask))


def _list_to_text(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    """`[1, null]`: text inside isn't quoted."""
    words = _texts(site, vector.values.flatten())
    return _written(vector, (f"[{', '.join(items)}]" for items in _cut(words, vector.values)))


def _struct_to_text(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    """`{1, a}`: the fields without their names."""
    columns = [_texts(site, vector.values.field(i)) for i in range(vector.type.num_fields)]
    return _written(vector, (f"{{{', '.join(row)}}}" for row in zip(*columns, strict=True)))


def _map_to_text(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    """`{a -> 1, b -> null}`: the entries in their order."""
    names = ("key", "value")
    lists = vector.values.cast(pa.list_(pa.struct(list(zip(names, _inner_types(vector.type), strict=True)))))
    keys, values = (_texts(site, lists.flatten().field(name)) for name in names)
    words = [f"{key} -> {value}" for key, value in zip(keys, values, strict=True)]
    return _written(vector, (f"{{{', '.join(items)}}}" for items in _cut(words, lists)))


def _texts(site: Site, items: pa.Array) -> list[str]:
    """The values inside nested values, each cast to text."""
    vector = from_arrow(items, items.type)
    words = cast_vector(site, vector, t.STRING).expanded(len(vector)).to_list()
    return [_NULL_TEXT if word is None else word for word in words]


def _cut(words: list[str], lists: pa.Array) -> Iterator[list[str]]:
    """The words of each list."""
    end = 0
    for length in _lengths(lists):
        start, end = end, end + length
        yield words[start:end]


def _lengths(lists: pa.Array) -> list[int]:
    """The number of elements of each list; 0 for NULL."""
    lengths: list[int] = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    return lengths


def _written(vector: Vector, texts: Iterable[str]) -> Vector:
    nulls = vector.nulls().tolist()
    return of_list(t.STRING, [None if null else text for text, null in zip(texts, nulls, strict=True)])


CASTS: dict[tuple[str, str], CastKernel] = {
    **BASIC_CASTS,
    ("list", "list"): _list_to_list,
    ("struct", "struct"): _struct_to_struct,
    ("list", "string"): _list_to_text,
    ("struct", "string"): _struct_to_text,
    ("map", "string"): _map_to_text,
}
