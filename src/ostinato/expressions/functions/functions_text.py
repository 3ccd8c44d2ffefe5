"""Functions on text. Lengths and positions count code points, as Spark's do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.expressions import types as t
from ostinato.expressions.functions.casts import can_cast, implicit
from ostinato.expressions.functions.comparisons import type_list
from ostinato.expressions.functions.functions_math import as_int
from ostinato.expressions.nodes import FunctionRule, Kernel, Site, Typed, eager, strict
from ostinato.expressions.values.vectors import Vector, broadcast_length, of_arrow, of_list
from ostinato.kernels.stopping import until_stopped

Compute = Callable[..., Any]


def as_text(site: Site, node: Typed) -> Typed:
    """The argument as a string. Other basic types are cast, as in Spark."""
    if node.type == t.BINARY or t.is_nested(node.type) or not can_cast(node.type, t.STRING, site.settings):
        raise site.mismatch(f"{site.name} needs a string, not {t.spark_name(node.type)}")
    return implicit(node, t.STRING, site.settings)


MAX_TEXT = 2**24
"""Largest number of characters of a text that a function makes."""


def check_size(site: Site, size: int) -> None:
    """Raises an error if a text would be too long."""
    if size > MAX_TEXT:
        raise site.fault(
            "TEXT_TOO_LONG",
            f"{site.name} would make a text of {size:,} characters, more than {MAX_TEXT:,}",
            "evaluate it with Spark, after matching",
        )


def row_by_row(compute: Compute, *, with_site: bool = False) -> Kernel:
    """A kernel that calls `compute` with the values of each row that has no NULL. None is NULL."""

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [vector.expanded(length).to_list() for vector in vectors]
        first = (site,) if with_site else ()
        results = [None if None in row else compute(*first, *row) for row in _rows(columns, length)]
        return of_list(kind, results)

    return strict(kernel)


def _rows(columns: Sequence[list[Any]], length: int) -> Iterator[tuple[Any, ...]]:
    return until_stopped(zip(*columns, strict=True) if columns else [()] * length)


def _function(
    kinds: str, result: pa.DataType, compute: Compute, least: int | None = None, *, with_site: bool = False
) -> FunctionRule:
    """A row-by-row function. `kinds` has a letter for each argument: t for text, n for a whole number."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        cast = [as_text(site, a) if kind == "t" else as_int(site, a) for a, kind in zip(args, kinds, strict=False)]
        return eager(site, result, row_by_row(compute, with_site=with_site), cast)

    return FunctionRule(len(kinds) if least is None else least, len(kinds), plan)


# --- Arrow's kernels, where they agree with Spark ---------------------------------------------------------------------


def _scalar_or_array(vector: Vector) -> Any:
    return vector.values[0] if len(vector) == 1 else vector.values


def _boolean(array: pa.Array, valid: Any) -> Vector:
    return Vector(t.BOOL, pc.fill_null(array, False).to_numpy(zero_copy_only=False), valid)


def _length(site: Site, args: Sequence[Typed]) -> Typed:
    if args[0].type == t.BINARY:
        node, compute = args[0], pc.binary_length
    else:
        node, compute = as_text(site, args[0]), pc.utf8_length

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        counts = pc.fill_null(compute(vector.values), 0).cast(t.INT32)
        return Vector(kind, counts.to_numpy(zero_copy_only=False), vector.valid)

    return eager(site, t.INT32, strict(kernel), (node,))


def _cased(upper: bool) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        if pc.all(pc.string_is_ascii(vector.values)).as_py() is not False:
            return of_arrow(kind, (pc.ascii_upper if upper else pc.ascii_lower)(vector.values))
        return row_by_row(str.upper if upper else str.lower)(site, kind, vector)

    return FunctionRule(1, 1, lambda site, args: eager(site, t.STRING, strict(kernel), [as_text(site, args[0])]))


def _holds(fast: Any, slow: Compute) -> FunctionRule:
    """startswith, endswith, contains. Arrow computes them if the text to look for is a constant."""

    def kernel(site: Site, kind: pa.DataType, text: Vector, substring: Vector) -> Vector:
        if len(substring) == 1 and len(text) > 1:
            return _boolean(fast(text.values, substring.values[0].as_py()), text.valid)
        return row_by_row(slow)(site, kind, text, substring)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.BOOL, strict(kernel), [as_text(site, arg) for arg in args])

    return FunctionRule(2, 2, plan)


# --- concatenation ----------------------------------------------------------------------------------------------------


def concat_text(site: Site, args: Sequence[Typed]) -> Typed:
    """|| and concat on text: NULL if any argument is."""
    texts = [as_text(site, arg) for arg in args]

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        longest = sum(pc.max(pc.binary_length(vector.values)).as_py() or 0 for vector in vectors)
        if length == 1 or longest > MAX_TEXT:
            return row_by_row(lambda *pieces: join_checked(site, "", pieces))(site, kind, *vectors)
        joined = pc.binary_join_element_wise(*[_scalar_or_array(v) for v in vectors], pa.scalar(""))
        return of_arrow(kind, joined)

    return eager(site, t.STRING, strict(kernel), texts)


def _concat_ws(site: Site, args: Sequence[Typed]) -> Typed:
    """Joins the values that aren't NULL, also those inside arrays. The result is NULL only if the separator is."""
    cast = [arg if t.is_list(arg.type) and arg.type.value_type == t.STRING else as_text(site, arg) for arg in args]

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [vector.expanded(length).to_list() for vector in vectors]
        return of_list(kind, [_joined(site, row) for row in _rows(columns, length)])

    return eager(site, t.STRING, kernel, cast)


def _joined(site: Site, row: tuple[Any, ...]) -> str | None:
    if row[0] is None:
        return None
    pieces: list[str] = []
    for value in row[1:]:
        pieces.extend([value] if isinstance(value, str) else [item for item in value or () if item is not None])
    return join_checked(site, row[0], pieces)


# --- substrings, padding, trimming ------------------------------------------------------------------------------------


def _substring(text: Any, position: int, length: int = 2**31 - 1) -> Any:
    """Position 1 or 0 is the first character. Negative positions count from the end."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return text[max(start, 0) : max(end, 0)]


def _overlay(site: Site, args: Sequence[Typed]) -> Typed:
    """overlay(text, new, position, length): `new` in place of so many characters; of its own length if not written."""
    kind = t.BINARY if all(arg.type == t.BINARY for arg in args[:2]) else t.STRING
    texts = args[:2] if kind == t.BINARY else [as_text(site, arg) for arg in args[:2]]

    def compute(site: Site, text: Any, new: Any, position: int, length: int = -1) -> Any:
        end = position + (length if length >= 0 else len(new))
        check_size(site, len(text) + len(new))
        return _substring(text, 1, position - 1) + new + _substring(text, end)

    return eager(site, kind, row_by_row(compute, with_site=True), [*texts, *(as_int(site, arg) for arg in args[2:])])


def _locate(substring: str, text: str, start: int = 1) -> int:
    return 0 if start < 1 else text.find(substring, start - 1) + 1


def _padded(left: bool) -> Compute:
    def compute(site: Site, text: str, length: int, pad: str = " ") -> str:
        missing = length - len(text)
        if missing <= 0 or not pad:
            return text[: max(length, 0)]
        check_size(site, length)
        fill = (pad * (missing // len(pad) + 1))[:missing]
        return fill + text if left else text + fill

    return compute


def _stripped(strip: Callable[[str, str], str]) -> FunctionRule:
    return _function("tt", t.STRING, lambda text, chars=" ": strip(text, chars), least=1)


def _plan_trim(strip: Callable[[str, str], str]) -> FunctionRule:
    """trim(text), or ltrim(characters, text) with the characters first."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        texts = [as_text(site, arg) for arg in args]
        compute: Compute = (
            (lambda chars, text: strip(text, chars)) if len(texts) == 2 else (lambda text: strip(text, " "))
        )
        return eager(site, t.STRING, row_by_row(compute), texts)

    return FunctionRule(1, 2, plan)


def _to_text(site: Site, args: Sequence[Typed]) -> Typed:
    if not can_cast(args[0].type, t.STRING, site.settings):
        raise site.mismatch(f"{site.name} doesn't take {type_list(args)}")
    return implicit(args[0], t.STRING, site.settings)


def _repeated(site: Site, text: str, count: int) -> str:
    check_size(site, len(text) * count)
    return text * max(count, 0)


def _replaced(site: Site, text: str, old: str, new: str = "") -> str:
    if not old:
        return text
    check_size(site, len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def join_checked(site: Site, separator: str, pieces: Sequence[str]) -> str:
    """The pieces with the separator between them; an error if the text would be too long."""
    check_size(site, sum(map(len, pieces)) + len(separator) * len(pieces))
    return separator.join(pieces)


def _titled(word: str) -> str:
    """The word with its first letter in title case. One letter may become several; sigma depends on its position."""
    first = word[0]
    return first.title() + word.lower()[len(first.lower()) :]


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


TEXT: dict[str, FunctionRule] = {
    "upper": _cased(True),
    "ucase": _cased(True),
    "lower": _cased(False),
    "lcase": _cased(False),
    "length": FunctionRule(1, 1, _length),
    "len": FunctionRule(1, 1, _length),
    "char_length": FunctionRule(1, 1, _length),
    "character_length": FunctionRule(1, 1, _length),
    "concat_ws": FunctionRule(1, None, _concat_ws),
    "substring": _function("tnn", t.STRING, _substring, least=2),
    "substr": _function("tnn", t.STRING, _substring, least=2),
    "left": _function("tn", t.STRING, lambda text, count: text[: max(count, 0)]),
    "right": _function("tn", t.STRING, lambda text, count: text[-count:] if count > 0 else ""),
    "overlay": FunctionRule(3, 4, _overlay),
    "trim": _plan_trim(str.strip),
    "btrim": _stripped(str.strip),
    "ltrim": _plan_trim(str.lstrip),
    "rtrim": _plan_trim(str.rstrip),
    "lpad": _function("tnt", t.STRING, _padded(True), least=2, with_site=True),
    "rpad": _function("tnt", t.STRING, _padded(False), least=2, with_site=True),
    "replace": _function("ttt", t.STRING, _replaced, least=2, with_site=True),
    "translate": _function(
        "ttt",
        t.STRING,
        lambda x, a, b: x.translate({ord(c): b[a.index(c)] if a.index(c) < len(b) else None for c in a}),
    ),
    "instr": _function("tt", t.INT32, lambda text, substring: text.find(substring) + 1),
    "locate": _function("ttn", t.INT32, _locate, least=2),
    "position": _function("ttn", t.INT32, _locate, least=2),
    "startswith": _holds(pc.starts_with, str.startswith),
    "endswith": _holds(pc.ends_with, str.endswith),
    "contains": _holds(pc.match_substring, lambda text, substring: substring in text),
    "repeat": _function("tn", t.STRING, _repeated, with_site=True),
    "initcap": _function("t", t.STRING, lambda text: re.sub(r"[^ ]+", lambda word: _titled(word[0]), text)),
    "ascii": _function("t", t.INT32, _ascii),
    "space": _function("n", t.STRING, lambda site, count: _repeated(site, " ", count), with_site=True),
    "string": FunctionRule(1, 1, _to_text),
}
