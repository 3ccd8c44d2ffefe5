"""LIKE, RLIKE and the functions on regular expressions, in time linear in the text.

Patterns of RLIKE and regexp_* are Java's, as far as `regex_syntax` reads them. Spark knows all of them.
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
from ostinato.expressions.functions.functions_math import whole
from ostinato.expressions.functions.functions_text import as_text, check_size, row_by_row
from ostinato.expressions.functions.regex import JavaRegex, java_regex
from ostinato.expressions.functions.regex_syntax import RegexError
from ostinato.expressions.nodes import Function, Site, Typed, eager

_HINT = "Spark knows all of Java's patterns: compute the condition there, as a column"

# --- LIKE -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """The piece of a pattern between two %. All texts that it matches have the same length."""

    length: int
    text: str | None
    """The piece, if it has no _ in it."""
    regex: re.Pattern[str]

    def stands_at(self, text: str, position: int) -> bool:
        return self.regex.match(text, position) is not None

    def find(self, text: str, start: int, end: int) -> int:
        """The first place, or -1."""
        if self.text is not None:
            return text.find(self.text, start, end)
        matched = self.regex.search(text, start, end)
        return -1 if matched is None else matched.start()


@lru_cache(maxsize=512)
def like_pieces(pattern: str, escape: str) -> tuple[_Piece, ...]:
    """The pieces between the % of a LIKE pattern; ValueError where an escape stands before nothing to escape."""
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
    """Whether the text matches. Taking each piece at its first occurrence leaves the most text for the others."""
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


def _like(ignore_case: bool) -> Function:
    def compute(site: Site, text: str, pattern: str, escape: str = "\\") -> bool:
        if ignore_case:
            text, pattern = text.lower(), pattern.lower()
        try:
            return is_like(text, like_pieces(pattern, escape))
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


# --- regular expressions ----------------------------------------------------------------------------------------------


_REFERENCE = re.compile(
    r"\\(?P<plain>.)|\$(?P<digits>[0-9]{1,9})|\$\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}|[$\\]", re.DOTALL
)
"""The references and escapes in a replacement. A single $ or \\ is an error."""


def _check_pattern(site: Site, node: Typed) -> None:
    """A bad constant pattern is an error of the query, before any row."""
    if node.constant is not None and node.constant.valid is None and node.type == t.STRING:
        try:
            java_regex(node.constant.values[0].as_py())
        except RegexError as error:
            message = f"the pattern can't be read here: {error}"
            raise QueryError("INVALID_REGEX", message, span=site.span, hint=_HINT) from None


def _regex(kinds: str, result: pa.DataType, compute: Callable[..., Any], least: int) -> Function:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        _check_pattern(site, args[1])
        cast = [as_text(site, a) if kind == "t" else whole(site, a) for a, kind in zip(args, kinds, strict=False)]
        return eager(site, result, row_by_row(checked, with_site=True), cast)

    def checked(site: Site, *values: Any) -> Any:
        """The result of `compute`. A refused pattern or text is an error with a caret in the query."""
        try:
            return compute(site, *values)
        except RegexError as error:
            raise site.fault("INVALID_REGEX", f"a pattern can't be used here: {error}", _HINT) from None

    return Function(least, len(kinds), plan)


def _rlike(site: Site, text: str, pattern: str) -> bool:
    return java_regex(pattern).find(text) is not None


def _check_group(regex: JavaRegex, group: int) -> None:
    if group in regex.unsure:
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
        # A slice from -1 to -1 is empty: a group that took no part is replaced by nothing.
        parts = _replacement(site, by, regex)
        filled = [part if isinstance(part, str) else text[slice(*matched[part])] for part in parts]
        pieces += [text[start : matched[0][0]], *filled]
        start = matched[0][1]
        size += sum(map(len, filled))
        check_size(site, size)
    return "".join([*pieces, text[start:]])


@lru_cache(maxsize=512)
def _replacement(site: Site, by: str, regex: JavaRegex) -> tuple[str | int, ...]:
    """Text and the numbers of groups: $1, ${name}; a backslash makes the next character plain."""
    parts: list[str | int] = []
    at = 0
    for matched in _REFERENCE.finditer(by):
        parts.append(by[at : matched.start()])
        at = matched.end()
        if matched["plain"]:
            parts.append(matched["plain"])
            continue
        number = regex.names.get(matched["name"] or "", -1)
        if matched["digits"]:
            number, digits = int(matched["digits"][0]), matched["digits"][1:]
            while (
                digits and number * 10 + int(digits[0]) <= regex.groups
            ):  # $12 is group 1 and a 2 where there is no 12
                number, digits = number * 10 + int(digits[0]), digits[1:]
            at -= len(digits)
        if not 0 <= number <= regex.groups:
            message = f"the replacement {by[:50]!r} names a group that the pattern doesn't have"
            raise site.fault("INVALID_PARAMETER_VALUE", message, r"\$ is a plain dollar sign")
        _check_group(regex, number)
        parts.append(number)
    return tuple(part for part in (*parts, by[at:]) if part != "")


def _split(site: Site, text: str, pattern: str, limit: int = -1) -> list[str]:
    """As Java splits, trailing empty pieces kept: no empty first piece from a match of nothing at the start."""
    pieces: list[str] = []
    start = 0
    for (begin, end), *_ in java_regex(pattern).matches(text):
        if limit > 0 and len(pieces) == limit - 1:
            break
        if end == 0 or (not pattern and begin == len(text)):  # an empty pattern parts characters, and nothing else
            continue
        pieces.append(text[start:begin])
        start = end
    return [*pieces, text[start:]]


PATTERN_OPERATORS: dict[str, Function] = {
    "like": _like(ignore_case=False),
    "ilike": _like(ignore_case=True),
    "rlike": _regex("tt", t.BOOL, _rlike, 2),
}
PATTERNS: dict[str, Function] = {
    **PATTERN_OPERATORS,
    "regexp": PATTERN_OPERATORS["rlike"],
    "regexp_like": PATTERN_OPERATORS["rlike"],
    "regexp_extract": _regex("ttn", t.STRING, _regexp_extract, 2),
    "regexp_replace": _regex("ttt", t.STRING, _regexp_replace, 3),
    "split": _regex("ttn", t.array_of(t.STRING), _split, 2),
}
