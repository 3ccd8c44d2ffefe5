"""LIKE, RLIKE and the functions on regular expressions, in time linear in the text.

RLIKE and regexp_* take Java's patterns, as far as `regex_syntax.py` reads them. Spark itself reads all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.functions.functions_math import as_int
from ostinato.expressions.functions.functions_text import as_text, check_size, row_by_row
from ostinato.expressions.functions.regex import JavaRegex, java_regex
from ostinato.expressions.functions.regex_syntax import RegexError
from ostinato.expressions.nodes import FunctionRule, Site, Typed, eager
from ostinato.expressions.values.vectors import Vector, broadcast_length, of_list
from ostinato.kernels.stopping import until_stopped

_HINT = "Spark reads all of Java's patterns: compute the condition there, as a column"

# --- LIKE -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """The piece of a LIKE pattern between two %. All texts that it matches have the same length."""

    length: int
    text: str | None
    """The piece, if it has no _ in it."""
    regex: re.Pattern[str]

    def stands_at(self, text: str, position: int) -> bool:
        return self.regex.match(text, position) is not None

    def find(self, text: str, start: int, end: int) -> int:
        """The first position, or -1."""
        if self.text is not None:
            return text.find(self.text, start, end)
        matched = self.regex.search(text, start, end)
        return -1 if matched is None else matched.start()


@lru_cache(maxsize=512)
def like_pieces(pattern: str, escape: str) -> tuple[_Piece, ...]:
    """The pieces between the % of a LIKE pattern. Raises ValueError for an escape before another character."""
    symbols: list[str | None] = []  # a character, "" for _, None for %
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            char = pattern[position : position + 1]
            if not char or char not in ("%", "_", escape):
                raise ValueError(pattern)
            symbols.append(char)
        else:
            symbols.append(None if char == "%" else "" if char == "_" else char)
        position += 1
    pieces: list[list[str]] = [[]]
    for symbol in symbols:
        if symbol is None:
            pieces.append([])
        else:
            pieces[-1].append(symbol)
    return tuple(_piece(piece) for piece in pieces)


def _piece(symbols: list[str]) -> _Piece:
    regex = "".join(re.escape(symbol) if symbol else "." for symbol in symbols)
    return _Piece(len(symbols), "".join(symbols) if all(symbols) else None, re.compile(regex, re.DOTALL))


def is_like(text: str, pieces: Sequence[_Piece]) -> bool:
    """Whether the text matches. Each piece is taken at its first occurrence, which leaves most text for the others."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return len(text) == first.length and first.stands_at(text, 0)
    position, end = first.length, len(text) - last.length
    if end < position or not (first.stands_at(text, 0) and last.stands_at(text, end)):
        return False
    for piece in pieces[1:-1]:
        position = piece.find(text, position, end)
        if position < 0:
            return False
        position += piece.length
    return True


def _matches(ignore_case: bool) -> Callable[..., bool]:
    def compute(site: Site, text: str, pattern: str, escape: str = "\\") -> bool:
        if ignore_case:
            text, pattern = text.lower(), pattern.lower()
        try:
            return is_like(text, like_pieces(pattern, escape))
        except ValueError:
            raise site.fault(
                "INVALID_LIKE_PATTERN", f"an escape in {pattern!r} has to stand before %, _ or another escape"
            ) from None

    return compute


def _like(ignore_case: bool) -> FunctionRule:
    kernel = row_by_row(_matches(ignore_case), with_site=True)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        escape = args[2].constant if len(args) > 2 else None
        if len(args) > 2 and (escape is None or args[2].type != t.STRING or len(escape.values[0].as_py() or "") != 1):
            raise site.mismatch("ESCAPE needs a single character")
        return eager(site, t.BOOL, kernel, [as_text(site, arg) for arg in args])

    return FunctionRule(2, 3, plan)


def _like_several(ignore_case: bool, deciding: bool) -> FunctionRule:
    """LIKE ANY if `deciding` is True, LIKE ALL if it is False: the first pattern that decides is the last one read."""
    matches = _matches(ignore_case)

    def of_row(site: Site, text: str | None, *patterns: str | None) -> bool | None:
        if text is None:
            return None
        if any(pattern is not None and matches(site, text, pattern) is deciding for pattern in patterns):
            return deciding
        return None if None in patterns else not deciding

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = broadcast_length(vectors)
        rows = zip(*(vector.expanded(length).to_list() for vector in vectors), strict=True)
        return of_list(kind, [of_row(site, *row) for row in until_stopped(rows)])

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.BOOL, kernel, [as_text(site, arg) for arg in args])

    return FunctionRule(2, None, plan)


# --- regular expressions ----------------------------------------------------------------------------------------------


_REFERENCE = re.compile(
    r"\\(?P<plain>.)|\$(?P<digits>[0-9]{1,9})|\$\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}|[$\\]", re.DOTALL
)
"""The references and escapes in a replacement. A single $ or \\ is an error."""


def _check_pattern(site: Site, node: Typed) -> None:
    """Raises an error for a bad constant pattern, before any row is read."""
    if node.constant is not None and node.constant.valid is None and node.type == t.STRING:
        try:
            java_regex(node.constant.values[0].as_py())
        except RegexError as error:
            message = f"the pattern can't be read here: {error}"
            raise QueryError("INVALID_REGEX", message, span=site.span, hint=_HINT) from None


def _regex(kinds: str, result: pa.DataType, compute: Callable[..., Any], least: int) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        _check_pattern(site, args[1])
        cast = [as_text(site, a) if kind == "t" else as_int(site, a) for a, kind in zip(args, kinds, strict=False)]
        return eager(site, result, row_by_row(checked, with_site=True), cast)

    def checked(site: Site, *values: Any) -> Any:
        """Calls `compute`. A refused pattern or text becomes an error with a caret in the query."""
        try:
            return compute(site, *values)
        except RegexError as error:
            raise site.fault("INVALID_REGEX", f"a pattern can't be used here: {error}", _HINT) from None

    return FunctionRule(least, len(kinds), plan)


def _rlike(site: Site, text: str, pattern: str) -> bool:
    return java_regex(pattern).find(text) is not None


def _check_group(regex: JavaRegex, group: int) -> None:
    if group in regex.uncertain_groups:
        raise RegexError(f"group {group}, which stands inside a repetition, can't be read")


def _regexp_extract(site: Site, text: str, pattern: str, group: int = 1) -> str:
    regex = java_regex(pattern)
    if not 0 <= group <= regex.groups:
        raise site.fault("INVALID_PARAMETER_VALUE", f"the pattern {pattern!r} has no group {group}")
    _check_group(regex, group)
    matched = regex.find(text)
    if matched is None or matched[group][0] < 0:
        return ""
    return text[slice(*matched[group])]


def _regexp_replace(site: Site, text: str, pattern: str, by: str) -> str:
    regex = java_regex(pattern)
    pieces: list[str] = []
    start = size = 0
    for matched in regex.matches(text):
        # A group that didn't match has the span (-1, -1), so its text is empty.
        template = _replacement(site, by, regex)
        replacement = [piece if isinstance(piece, str) else text[slice(*matched[piece])] for piece in template]
        pieces += [text[start : matched[0][0]], *replacement]
        start = matched[0][1]
        size += sum(map(len, replacement))
        check_size(site, size)
    return "".join([*pieces, text[start:]])


@lru_cache(maxsize=512)
def _replacement(site: Site, by: str, regex: JavaRegex) -> tuple[str | int, ...]:
    """A replacement as texts and numbers of groups: $1, ${name}. A backslash makes the next character plain."""
    pieces: list[str | int] = []
    at = 0
    for matched in _REFERENCE.finditer(by):
        pieces.append(by[at : matched.start()])
        at = matched.end()
        if matched["plain"]:
            pieces.append(matched["plain"])
            continue
        number = regex.names.get(matched["name"] or "", -1)
        if matched["digits"]:
            number, digits = int(matched["digits"][0]), matched["digits"][1:]
            # $12 is group 12, or group 1 and the text 2 if the pattern has fewer groups.
            while digits and number * 10 + int(digits[0]) <= regex.groups:
                number, digits = number * 10 + int(digits[0]), digits[1:]
            at -= len(digits)
        if not 0 <= number <= regex.groups:
            message = f"the replacement {by[:50]!r} names a group that the pattern doesn't have"
            raise site.fault("INVALID_PARAMETER_VALUE", message, r"\$ is a plain dollar sign")
        _check_group(regex, number)
        pieces.append(number)
    return tuple(piece for piece in (*pieces, by[at:]) if piece != "")


def _split(site: Site, text: str, pattern: str, limit: int = -1) -> list[str]:
    """Splits as Java does, with empty pieces at the end. An empty match at the start makes no piece."""
    pieces: list[str] = []
    start = 0
    for (begin, end), *_ in java_regex(pattern).matches(text):
        if limit > 0 and len(pieces) == limit - 1:
            break
        if end == 0 or (not pattern and begin == len(text)):  # an empty pattern splits between characters only
            continue
        pieces.append(text[start:begin])
        start = end
    return [*pieces, text[start:]]


PATTERN_OPERATORS: dict[str, FunctionRule] = {
    "like": _like(ignore_case=False),
    "ilike": _like(ignore_case=True),
    "rlike": _regex("tt", t.BOOL, _rlike, 2),
}
LIKE_SEVERAL: dict[str, FunctionRule] = {
    "like any": _like_several(ignore_case=False, deciding=True),
    "like all": _like_several(ignore_case=False, deciding=False),
    "ilike any": _like_several(ignore_case=True, deciding=True),
    "ilike all": _like_several(ignore_case=True, deciding=False),
}
PATTERNS: dict[str, FunctionRule] = {
    **PATTERN_OPERATORS,
    "regexp": PATTERN_OPERATORS["rlike"],
    "regexp_like": PATTERN_OPERATORS["rlike"],
    "regexp_extract": _regex("ttn", t.STRING, _regexp_extract, 2),
    "regexp_replace": _regex("ttt", t.STRING, _regexp_replace, 3),
    "split": _regex("ttn", t.array_of(t.STRING), _split, 2),
}
