"""Arrays, maps and structs: building them, looking inside, and the functions on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions import types as t
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.functions_math import as_int
from ostinato.expressions.functions.functions_text import as_text, concat_text, join_checked, row_by_row
from ostinato.expressions.functions.logic import common
from ostinato.expressions.nodes import FunctionRule, Site, Typed, constant, eager, strict
from ostinato.expressions.values.value_order import comparable, python_values
from ostinato.expressions.values.vectors import (
    Vector,
    both_valid,
    broadcast_length,
    from_arrow,
    of_arrow,
    of_list,
    to_arrow,
)
from ostinato.kernels.stopping import until_stopped

Compute = Callable[..., Any]


def _array_argument(site: Site, node: Typed) -> Typed:
    if node.type == t.NULL:
        return implicit(node, t.array_of(t.NULL), site.settings)
    if not t.is_list(node.type):
        raise site.mismatch(f"{site.name} needs an array, not {t.spark_name(node.type)}")
    return node


# --- building ---------------------------------------------------------------------------------------------------------


def _array(site: Site, args: Sequence[Typed]) -> Typed:
    kind = common(site, args) if args else t.NULL
    elements = [implicit(arg, kind, site.settings) for arg in args]

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        if not vectors:
            return of_arrow(kind, pa.array([[]], kind))
        by_argument = pa.concat_arrays([to_arrow(vector.expanded(length)) for vector in vectors])
        order = np.arange(length * len(vectors)).reshape(len(vectors), length).T.ravel()
        offsets = np.arange(length + 1, dtype=np.int32) * len(vectors)
        return of_arrow(kind, pa.ListArray.from_arrays(pa.array(offsets), by_argument.take(pa.array(order)), type=kind))

    return eager(site, t.array_of(kind), kernel, elements)


def _named_struct(site: Site, args: Sequence[Typed]) -> Typed:
    """named_struct(name, value, name, value, ...). The parser writes `struct(a, b)` and `(a, b)` like this, too."""
    if len(args) % 2:
        raise QueryError("INVALID_ARGUMENTS", f"{site.name} takes names and values in turn", span=site.span)
    names = [_literal_text(site, arg) for arg in args[::2]]
    values = args[1::2]
    kind = pa.struct([pa.field(name, value.type) for name, value in zip(names, values, strict=True)])

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [to_arrow(vector.expanded(length)) for vector in vectors]
        return of_arrow(kind, pa.StructArray.from_arrays(columns, fields=list(kind)))

    return eager(site, kind, kernel, values)


def _literal_text(site: Site, name: Typed) -> str:
    text = None if name.constant is None or name.type != t.STRING else to_arrow(name.constant)[0].as_py()
    if not isinstance(text, str):
        raise site.mismatch(f"the names of {site.name} are texts written as literals")
    return text


# --- looking inside ---------------------------------------------------------------------------------------------------


def plan_field(site: Site, base: Typed, name: str) -> Typed:
    """base.name of a struct or a map."""
    if t.is_map(base.type):
        return _map_get(site, base, constant(of_list(t.STRING, [name])))
    if not t.is_struct(base.type):
        raise site.mismatch(f"{t.spark_name(base.type)} has no field '{name}'")
    names = [field.name for field in base.type]
    same = [n for n in names if site.settings.same_name(n, name)]
    if len(same) != 1:
        hint = did_you_mean(name, names) if not same else "the name fits several fields"
        raise QueryError("UNKNOWN_COLUMN", f"there is no field '{name}'", hint=hint, span=site.span)
    position = names.index(same[0])

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        field = from_arrow(vector.values.field(position), kind)
        if isinstance(field.values, np.ndarray):
            return Vector(kind, field.values, both_valid(field, vector))
        return of_arrow(kind, pc.struct_field(vector.values, position))

    return eager(site, base.type.field(position).type, strict(kernel), (base,))


def plan_subscript(site: Site, base: Typed, index: Typed) -> Typed:
    """array[i] from 0, or map[key]."""
    if t.is_map(base.type):
        return _map_get(site, base, index)
    if not t.is_list(base.type):
        raise site.mismatch(f"{t.spark_name(base.type)} can't be subscripted")
    if not (t.is_integral(index.type) or index.type == t.NULL):
        raise site.mismatch(f"an array's index is a whole number, not {t.spark_name(index.type)}")
    return _element(site, base, index, lambda position, size: position, "INVALID_ARRAY_INDEX", site.settings.ansi)


def _element(
    site: Site, base: Typed, index: Typed, offset: Callable[[Any, Any], Any], code: str, strictly: bool
) -> Typed:
    """The element at `offset(index, size)`. A negative offset or one beyond the end is outside the array."""

    def kernel(site: Site, kind: pa.DataType, array: Vector, at: Vector) -> Vector:
        length = broadcast_length((array, at))
        array, at = array.expanded(length), at.expanded(length)
        valid = both_valid(array, at)
        lists = array.values
        starts = np.frombuffer(lists.buffers()[1], np.int32)[lists.offset : lists.offset + length + 1].astype(np.int64)
        sizes = starts[1:] - starts[:-1]
        position = offset(at.values.astype(np.int64), sizes)
        outside = (position < 0) | (position >= sizes)
        not_null = np.ones(length, bool) if valid is None else valid
        if strictly and bool((outside & not_null).any()):
            row = int(np.flatnonzero(outside & not_null)[0])
            message = f"index {int(at.values[row])} is outside an array of {int(sizes[row])} elements"
            raise site.fault(code, message, "check size() first, or use try_element_at")
        elements = pa.array(starts[:-1] + position, mask=outside | ~not_null)
        return from_arrow(lists.values.take(elements), kind)

    return eager(site, base.type.value_type, strict(kernel), (base, index))


def _element_at(strictly: bool) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        base, index = args
        if t.is_map(base.type):
            return _map_get(site, base, index)

        def offset(position: Any, size: Any) -> Any:
            if bool((position == 0).any()):
                raise site.fault("INVALID_INDEX_OF_ZERO", "element_at counts from 1")
            return np.where(position > 0, position - 1, np.where(size + position < 0, -1, size + position))

        array = _array_argument(site, base)
        raising = strictly and site.settings.ansi
        return _element(site, array, as_int(site, index), offset, "INVALID_ARRAY_INDEX_IN_ELEMENT_AT", raising)

    return FunctionRule(2, 2, plan)


def _map_get(site: Site, base: Typed, key: Typed) -> Typed:
    node = implicit(key, base.type.key_type, site.settings)

    def kernel(site: Site, kind: pa.DataType, maps: Vector, keys: Vector) -> Vector:
        length = broadcast_length((maps, keys))
        entries, wanted = maps.expanded(length).values.to_pylist(), to_arrow(keys.expanded(length)).to_pylist()
        results = [None if a is None or k is None else dict(a).get(k) for a, k in zip(entries, wanted, strict=True)]
        return from_arrow(pa.array(results, kind), kind)

    return eager(site, base.type.item_type, strict(kernel), (base, node))


# --- functions on arrays ----------------------------------------------------------------------------------------------


def _size(null_size: bool) -> FunctionRule:
    """size and cardinality; without ANSI, size(NULL) is -1."""

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        counts = np.array([-1 if item is None else len(item) for item in vector.values.to_pylist()], np.int32)
        return Vector(kind, counts, None if null_size and not site.settings.ansi else vector.valid)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        if args[0].type == t.NULL:
            args = [implicit(args[0], t.array_of(t.NULL), site.settings)]
        if not (t.is_list(args[0].type) or t.is_map(args[0].type)):
            raise site.mismatch(f"{site.name} needs an array or a map, not {t.spark_name(args[0].type)}")
        return eager(site, t.INT32, kernel, args)

    return FunctionRule(1, 1, plan)


def python_rows(compute: Compute) -> Any:
    """A kernel that calls `compute` with the Python values of each row, as Arrow converts them."""

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [python_values(to_arrow(vector.expanded(length))) for vector in vectors]
        results = [None if None in row else compute(*row) for row in until_stopped(zip(*columns, strict=True))]
        return from_arrow(pa.array(results, kind), kind)

    return strict(kernel)


def _with_element(compute: Compute, result: Callable[[pa.DataType], pa.DataType]) -> FunctionRule:
    """f(array, value of its element type)."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        array = _array_argument(site, args[0])
        if args[1].type == t.NULL or args[0].type == t.NULL:
            raise site.mismatch(f"{site.name} doesn't take a bare NULL")
        kind = t.common_type(array.type.value_type, args[1].type, site.settings, strings=False)
        if kind is None:
            raise site.mismatch(f"{t.spark_name(args[1].type)} is no element of {t.spark_name(array.type)}")
        both = (implicit(array, t.array_of(kind), site.settings), implicit(args[1], kind, site.settings))
        return eager(site, result(both[0].type), python_rows(compute), both)

    return FunctionRule(2, 2, plan)


def _contains(items: list[Any], value: Any) -> bool | None:
    key = comparable(value)
    if any(item is not None and comparable(item) == key for item in items):
        return True
    return None if None in items else False


def _position(items: list[Any], value: Any) -> int:
    key = comparable(value)
    return next((position for position, item in enumerate(items, 1) if item is not None and comparable(item) == key), 0)


def _on_array(compute: Compute, result: Callable[[pa.DataType], pa.DataType]) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        array = _array_argument(site, args[0])
        return eager(site, result(array.type), python_rows(compute), (array,))

    return FunctionRule(1, 1, plan)


def _extreme(pick: Callable[..., Any]) -> Compute:
    return lambda items: pick((item for item in items if item is not None), key=comparable, default=None)


def _distinct(items: list[Any]) -> list[Any]:
    """The first of equal items, in their order."""
    seen, distinct_items = set(), []
    for item in items:
        if comparable(item) not in seen:
            seen.add(comparable(item))
            distinct_items.append(item)
    return distinct_items


def _sort_array(site: Site, args: Sequence[Typed]) -> Typed:
    array = _array_argument(site, args[0])
    ascending = args[1:] or ()
    if ascending and ascending[0].type != t.BOOL:
        raise site.mismatch("the second argument of sort_array is TRUE or FALSE")

    def compute(items: list[Any], up: bool = True) -> list[Any]:
        return sorted(items, key=comparable, reverse=not up)

    return eager(site, array.type, python_rows(compute), (array, *ascending))


def _slice(site: Site, args: Sequence[Typed]) -> Typed:
    def compute(items: list[Any], start: int, length: int) -> list[Any]:
        if start == 0 or length < 0:
            raise site.fault("INVALID_PARAMETER_VALUE", "slice counts from 1 and takes no negative length")
        first = start - 1 if start > 0 else len(items) + start
        return [] if first < 0 else items[first : first + length]

    array = _array_argument(site, args[0])
    return eager(site, array.type, python_rows(compute), (array, as_int(site, args[1]), as_int(site, args[2])))


def _array_join(site: Site, args: Sequence[Typed]) -> Typed:
    def compute(items: list[Any], separator: str, filler: str | None = None) -> str:
        shown = [filler if item is None else item for item in items]
        return join_checked(site, separator, [item for item in shown if item is not None])

    array = _array_argument(site, args[0])
    if t.is_nested(array.type.value_type):
        raise site.mismatch(f"{site.name} needs an array of strings, not {t.spark_name(array.type)}")
    texts = implicit(array, t.array_of(t.STRING), site.settings)
    return eager(site, t.STRING, python_rows(compute), (texts, *[as_text(site, arg) for arg in args[1:]]))


def _concat(site: Site, args: Sequence[Typed]) -> Typed:
    """concat and ||: arrays, bytes or text."""
    kinds = {arg.type for arg in args if arg.type != t.NULL}
    if any(t.is_list(kind) for kind in kinds):
        if any(arg.type == t.NULL for arg in args):
            raise site.mismatch("a bare NULL is no array", "cast it to the type of the array")
        kind = common(site, args, strings=False)
        arrays = [implicit(arg, kind, site.settings) for arg in args]
        return eager(site, kind, python_rows(lambda *lists: [item for one in lists for item in one]), arrays)
    if kinds == {t.BINARY}:
        binaries = [implicit(arg, t.BINARY, site.settings) for arg in args]
        return eager(site, t.BINARY, row_by_row(lambda *pieces: b"".join(pieces)), binaries)
    return concat_text(site, args)


def _reverse(site: Site, args: Sequence[Typed]) -> Typed:
    if t.is_list(args[0].type):
        return _on_array(lambda items: items[::-1], lambda kind: kind).plan(site, args)
    return eager(site, t.STRING, row_by_row(lambda text: text[::-1]), [as_text(site, args[0])])


NESTED_OPERATORS: dict[str, FunctionRule] = {"||": FunctionRule(2, 2, _concat)}
NESTED: dict[str, FunctionRule] = {
    "array": FunctionRule(0, None, _array),
    "named_struct": FunctionRule(2, None, _named_struct),
    "size": _size(null_size=True),
    "cardinality": _size(null_size=True),
    "array_size": _size(null_size=False),
    "element_at": _element_at(strictly=True),
    "try_element_at": _element_at(strictly=False),
    "array_contains": _with_element(_contains, lambda kind: t.BOOL),
    "array_position": _with_element(_position, lambda kind: t.INT64),
    "array_join": FunctionRule(2, 3, _array_join),
    "array_max": _on_array(_extreme(max), lambda kind: kind.value_type),
    "array_min": _on_array(_extreme(min), lambda kind: kind.value_type),
    "array_distinct": _on_array(_distinct, lambda kind: kind),
    "sort_array": FunctionRule(1, 2, _sort_array),
    "slice": FunctionRule(3, 3, _slice),
    "concat": FunctionRule(1, None, _concat),
    "reverse": FunctionRule(1, 1, _reverse),
}
