"""Functions on text. Lengths and positions count code points, as Spark's do.

Patterns of RLIKE and regexp_* are read by Python's `re`: for the usual constructs it agrees with Java. What doesn't
(possessive quantifiers before Python 3.11, `\\p{...}` classes) is refused or differs; push such a predicate to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import QueryError
from ostinato.predicates import types as t
from ostinato.predicates.casts import can_cast, implicit
from ostinato.predicates.comparisons import type_list
from ostinato.predicates.functions_math import whole
from ostinato.predicates.nodes import Function, Kernel, Site, Typed, eager, strict
from ostinato.predicates.vectors import Vector, broadcast_length, of_arrow_text, of_list

Compute = Callable[..., Any]


def as_text(site: Site, node: Typed) -> Typed:
    """The argument as a string; anything basic is cast to one, as Spark does."""
    if node.type == t.BINARY or t.is_nested(node.type) or not can_cast(node.type, t.STRING, site.settings):
        raise site.mismatch(f"{site.name} needs a string, not {t.spark_name(node.type)}")
    return implicit(node, t.STRING, site.settings)


def row_by_row(compute: Compute, *, with_site: bool = False) -> Kernel:
    """A kernel that calls `compute` with the values of each row without NULLs; its None is NULL."""

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [vector.expanded(length).to_list() for vector in vectors]
        first = (site,) if with_site else ()
        found = [None if None in row else compute(*first, *row) for row in _rows(columns, length)]
        return of_list(kind, found)

    return strict(kernel)


def _rows(columns: Sequence[list[Any]], length: int) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * length


def _function(kinds: str, result: pa.DataType, compute: Compute, least: int | None = None) -> Function:
    """A row-by-row function; `kinds` says what the arguments are: t(ext) or n(umber)."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        cast = [as_text(site, a) if kind == "t" else whole(site, a) for a, kind in zip(args, kinds, strict=False)]
        return eager(site, result, row_by_row(compute), cast)

    return Function(len(kinds) if least is None else least, len(kinds), plan)


# --- the fast ones: Arrow's kernels where they agree with Spark -------------------------------------------------------


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


def _cased(upper: bool) -> Function:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        if pc.all(pc.string_is_ascii(vector.values)).as_py() is not False:
            return of_arrow_text(kind, (pc.ascii_upper if upper else pc.ascii_lower)(vector.values))
        return row_by_row(str.upper if upper else str.lower)(site, kind, vector)

    return Function(1, 1, lambda site, args: eager(site, t.STRING, strict(kernel), [as_text(site, args[0])]))


def _holds(fast: Any, slow: Compute) -> Function:
    """startswith, endswith, contains: Arrow when the part is a constant."""

    def kernel(site: Site, kind: pa.DataType, text: Vector, part: Vector) -> Vector:
        if len(part) == 1 and len(text) > 1:
            return _boolean(fast(text.values, part.values[0].as_py()), text.valid)
        return row_by_row(slow)(site, kind, text, part)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.BOOL, strict(kernel), [as_text(site, arg) for arg in args])

    return Function(2, 2, plan)


# --- concatenation ----------------------------------------------------------------------------------------------------


def concat_text(site: Site, args: Sequence[Typed]) -> Typed:
    """|| and concat on text: NULL if any part is."""
    texts = [as_text(site, arg) for arg in args]

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        if length == 1:
            return row_by_row(lambda *parts: "".join(parts))(site, kind, *vectors)
        joined = pc.binary_join_element_wise(*[_scalar_or_array(v) for v in vectors], pa.scalar(""))
        return of_arrow_text(kind, joined)

    return eager(site, t.STRING, strict(kernel), texts)


def _concat_ws(site: Site, args: Sequence[Typed]) -> Typed:
    """Joins what isn't NULL, arrays of strings included; NULL only if the separator is."""
    cast = [arg if t.is_list(arg.type) and arg.type.value_type == t.STRING else as_text(site, arg) for arg in args]

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        columns = [vector.expanded(length).to_list() for vector in vectors]
        return of_list(kind, [_joined(row) for row in _rows(columns, length)])

    return eager(site, t.STRING, kernel, cast)


def _joined(row: tuple[Any, ...]) -> str | None:
    if row[0] is None:
        return None
    parts: list[str] = []
    for part in row[1:]:
        parts.extend([part] if isinstance(part, str) else [item for item in part or () if item is not None])
    return str(row[0]).join(parts)


# --- LIKE and regular expressions -------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str, ignore_case: bool) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression over the whole text."""
    pieces, position = [], 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            follower = pattern[position : position + 1]
            if follower not in ("%", "_", escape) or not follower:
                raise ValueError(pattern)
            pieces.append(re.escape(follower))
        else:
            pieces.append(".*" if char == "%" else "." if char == "_" else re.escape(char))
        position += 1
    return re.compile("".join(pieces), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _like(ignore_case: bool) -> Function:
    def compute(site: Site, text: str, pattern: str, escape: str = "\\") -> bool:
        try:
            return like_pattern(pattern, escape, ignore_case).fullmatch(text) is not None
        except ValueError:
            raise site.fault(
                "INVALID_LIKE_PATTERN", f"the escape in {pattern!r} stands before nothing to escape"
            ) from None

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        escape = args[2].constant if len(args) > 2 else None
        if len(args) > 2 and (escape is None or args[2].type != t.STRING or len(escape.values[0].as_py() or "") != 1):
            raise site.mismatch("ESCAPE needs a single character")
        return eager(site, t.BOOL, row_by_row(compute, with_site=True), [as_text(site, arg) for arg in args])

    return Function(2, 3, plan)


@lru_cache(maxsize=512)
def java_regex(pattern: str) -> re.Pattern[str]:
    """A Java pattern for Python's engine: character classes are ASCII in Java."""
    adjusted = re.sub(r"\(\?<([A-Za-z][A-Za-z0-9]*)>", r"(?P<\1>", pattern).replace(r"\z", r"\Z")
    return re.compile(adjusted, re.ASCII)


def _compiled(site: Site, pattern: str) -> re.Pattern[str]:
    try:
        return java_regex(pattern)
    except re.error as error:
        raise site.fault("INVALID_REGEX", f"{pattern!r} isn't a pattern that the evaluator reads: {error}") from None


def _check_pattern(site: Site, node: Typed) -> None:
    """A bad constant pattern is an error of the query, before any row."""
    if node.constant is not None and node.constant.valid is None and node.type == t.STRING:
        try:
            java_regex(node.constant.values[0].as_py())
        except re.error as error:
            raise QueryError("INVALID_REGEX", f"the pattern can't be read: {error}", span=site.span) from None


def _regex(kinds: str, result: pa.DataType, compute: Compute, least: int) -> Function:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        _check_pattern(site, args[1])
        cast = [as_text(site, a) if kind == "t" else whole(site, a) for a, kind in zip(args, kinds, strict=False)]
        return eager(site, result, row_by_row(compute, with_site=True), cast)

    return Function(least, len(kinds), plan)


def _rlike(site: Site, text: str, pattern: str) -> bool:
    return _compiled(site, pattern).search(text) is not None


def _regexp_extract(site: Site, text: str, pattern: str, group: int = 1) -> str:
    regex = _compiled(site, pattern)
    if not 0 <= group <= regex.groups:
        raise site.fault("INVALID_PARAMETER_VALUE", f"the pattern {pattern!r} has no group {group}")
    found = regex.search(text)
    return "" if found is None else found.group(group) or ""


def _regexp_replace(site: Site, text: str, pattern: str, by: str) -> str:
    regex = _compiled(site, pattern)

    def filled(found: re.Match[str]) -> str:
        return re.sub(
            r"\\(.)|\$(\d)|\$\{(\w+)\}",
            lambda m: m[1] if m[1] is not None else (found.group(int(m[2]) if m[2] else m[3]) or ""),
            by,
            flags=re.DOTALL,
        )

    return regex.sub(filled, text)


def _split(site: Site, text: str, pattern: str, limit: int = -1) -> list[str]:
    """As Java splits, trailing empty pieces kept: no empty first piece from a match of nothing at the start."""
    pieces: list[str] = []
    regex, start = _compiled(site, pattern), 0
    for found in regex.finditer(text):
        if limit > 0 and len(pieces) == limit - 1:
            break
        if found.end() == 0 or (found.start() == found.end() == len(text)):
            continue
        pieces.append(text[start : found.start()])
        start = found.end()
    return [*pieces, text[start:]]


# --- parts of text ----------------------------------------------------------------------------------------------------


def _substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """1 is the first character, and so is 0; negative positions count from the end."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return text[max(start, 0) : max(end, 0)]


def _locate(part: str, text: str, start: int = 1) -> int:
    return 0 if start < 1 else text.find(part, start - 1) + 1


def _padded(left: bool) -> Compute:
    def compute(text: str, length: int, pad: str = " ") -> str:
        missing = length - len(text)
        if missing <= 0 or not pad:
            return text[: max(length, 0)]
        fill = (pad * (missing // len(pad) + 1))[:missing]
        return fill + text if left else text + fill

    return compute


def _stripped(strip: Callable[[str, str], str]) -> Function:
    return _function("tt", t.STRING, lambda text, chars=" ": strip(text, chars), least=1)


def _plan_trim(strip: Callable[[str, str], str]) -> Function:
    """trim(text); ltrim(characters, text) has its arguments the other way round."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        texts = [as_text(site, arg) for arg in args]
        compute: Compute = (
            (lambda chars, text: strip(text, chars)) if len(texts) == 2 else (lambda text: strip(text, " "))
        )
        return eager(site, t.STRING, row_by_row(compute), texts)

    return Function(1, 2, plan)


def _to_text(site: Site, args: Sequence[Typed]) -> Typed:
    if not can_cast(args[0].type, t.STRING, site.settings):
        raise site.mismatch(f"{site.name} doesn't take {type_list(args)}")
    return implicit(args[0], t.STRING, site.settings)


def _titled(word: str) -> str:
    """The first letter in title case: one letter may become several, and a last sigma looks at those before it."""
    first = word[0]
    return first.title() + word.lower()[len(first.lower()) :]


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


_find = _function("tt", t.INT32, lambda text, part: text.find(part) + 1)
TEXT_OPERATORS: dict[str, Function] = {
    "like": _like(ignore_case=False),
    "ilike": _like(ignore_case=True),
    "rlike": _regex("tt", t.BOOL, _rlike, 2),
}
TEXT: dict[str, Function] = {
    "upper": _cased(True),
    "ucase": _cased(True),
    "lower": _cased(False),
    "lcase": _cased(False),
    "length": Function(1, 1, _length),
    "len": Function(1, 1, _length),
    "char_length": Function(1, 1, _length),
    "character_length": Function(1, 1, _length),
    "concat_ws": Function(1, None, _concat_ws),
    "substring": _function("tnn", t.STRING, _substring, least=2),
    "substr": _function("tnn", t.STRING, _substring, least=2),
    "left": _function("tn", t.STRING, lambda text, count: text[: max(count, 0)]),
    "right": _function("tn", t.STRING, lambda text, count: text[-count:] if count > 0 else ""),
    "trim": _plan_trim(str.strip),
    "btrim": _stripped(str.strip),
    "ltrim": _plan_trim(str.lstrip),
    "rtrim": _plan_trim(str.rstrip),
    "lpad": _function("tnt", t.STRING, _padded(True), least=2),
    "rpad": _function("tnt", t.STRING, _padded(False), least=2),
    "replace": _function("ttt", t.STRING, lambda x, a, b="": x.replace(a, b) if a else x, least=2),
    "translate": _function(
        "ttt",
        t.STRING,
        lambda x, a, b: x.translate({ord(c): b[a.index(c)] if a.index(c) < len(b) else None for c in a}),
    ),
    "instr": _find,
    "locate": _function("ttn", t.INT32, _locate, least=2),
    "position": _function("ttn", t.INT32, _locate, least=2),
    "charindex": _function("ttn", t.INT32, _locate, least=2),
    "startswith": _holds(pc.starts_with, str.startswith),
    "endswith": _holds(pc.ends_with, str.endswith),
    "contains": _holds(pc.match_substring, lambda text, part: part in text),
    "split": _regex("ttn", t.array_of(t.STRING), _split, 2),
    "repeat": _function("tn", t.STRING, lambda text, count: text * max(count, 0)),
    "initcap": _function("t", t.STRING, lambda text: re.sub(r"[^ ]+", lambda word: _titled(word[0]), text)),
    "ascii": _function("t", t.INT32, _ascii),
    "space": _function("n", t.STRING, lambda count: " " * max(count, 0)),
    "like": TEXT_OPERATORS["like"],
    "ilike": TEXT_OPERATORS["ilike"],
    "rlike": TEXT_OPERATORS["rlike"],
    "regexp": TEXT_OPERATORS["rlike"],
    "regexp_like": TEXT_OPERATORS["rlike"],
    "regexp_extract": _regex("ttn", t.STRING, _regexp_extract, 2),
    "regexp_replace": _regex("ttt", t.STRING, _regexp_replace, 3),
    "string": Function(1, 1, _to_text),
}
