"""Full SQL text -> its query blocks with row patterns in windows: their parts, windows, and calls over the windows.

A block is `SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WINDOW ... ORDER BY ...` without the queries inside.
Nothing is rewritten here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from ostinato.clause.language.statement_spans import SET_OPERATIONS, Select, Statement
from ostinato.errors import QueryError, Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind, Token, tokenize
from ostinato.expressions.parameters import ParameterReader, Parameters
from ostinato.expressions.types import Settings

_QUERY_STARTS = frozenset("SELECT WITH FROM VALUES TABLE MAP REDUCE".split())
_PART_STARTS = frozenset("FROM WHERE GROUP HAVING QUALIFY WINDOW ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET".split())
_NEEDS_BY = frozenset("GROUP ORDER SORT CLUSTER DISTRIBUTE".split())
_ORGANIZATION = frozenset("ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET".split())
"""Parts that belong to the whole of a UNION, not to its last block."""
_PARTS_OF_WINDOWS = ("PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS")
PLACES_OF_CALLS = ("SELECT", "ORDER")


class StatementTokens:
    """The tokens of a statement with their partners. Parentheses are known to be balanced."""

    def __init__(
        self,
        text: str,
        settings: Settings = Settings(),
        parameters: Parameters | None = None,
        *,
        has_sub_queries: bool = False,
    ) -> None:
        self.text = text
        self.settings = settings
        self.parameters = parameters
        """None: parameters are refused."""
        self.marks: list[int] = []
        """The offsets of the `?` that are parameters, for values by position (`parameter_marks`)."""
        self.has_sub_queries = has_sub_queries
        """Whether Spark gives values to sub-queries. Otherwise they are refused."""
        self.tokens = tokenize(text, double_quoted_identifiers=settings.double_quoted_identifiers)
        self.closing: dict[int, int] = {}
        self.opening: dict[int, int] = {}
        opened: list[int] = []
        for at, token in enumerate(self.tokens):
            if token.upper == "(":
                opened.append(at)
            elif token.upper == ")" and opened:
                start = opened.pop()
                self.closing[start], self.opening[at] = at, start

    def cursor(self, at: int, end: int | None = None) -> Cursor:
        """A cursor at a token, that sees the tokens up to `end`."""
        text = self.text if end is None else self.text[: self.tokens[end - 1].span.end]
        marks = bisect_left(self.marks, self.tokens[at].span.start)
        reader = None if self.parameters is None else ParameterReader(self.parameters, marks)
        quotes = self.settings.double_quoted_identifiers
        cursor = Cursor(text, double_quoted_identifiers=quotes, parameters=reader, has_sub_queries=self.has_sub_queries)
        cursor.at = at
        return cursor

    def upper(self, at: int) -> str:
        """The keyword or symbol there; empty outside of the text."""
        return self.tokens[at].upper if 0 <= at < len(self.tokens) else ""

    def span(self, first: int, end: int) -> Span:
        """From the token `first` to the token before `end`."""
        return self.tokens[first].span.to(self.tokens[end - 1].span)

    def written(self, first: int, end: int) -> str:
        span = self.span(first, end)
        return self.text[span.start : span.end]

    def opens_query(self, at: int) -> bool:
        return self.upper(at) == "(" and self.upper(at + 1) in _QUERY_STARTS

    def top_level(self, first: int, end: int) -> Iterator[int]:
        """The tokens outside of parentheses. An opening parenthesis counts, the rest up to its partner doesn't."""
        at = first
        while at < end:
            yield at
            at = self.closing.get(at, at) + 1

    def outside_of_queries(self, first: int, end: int) -> Iterator[int]:
        """The tokens, without those of queries in parentheses."""
        at = first
        while at < end:
            yield at
            at = self.closing[at] + 1 if self.opens_query(at) else at + 1

    def pieces(self, first: int, end: int) -> list[tuple[int, int]]:
        """The ranges between the commas."""
        commas = [at for at in self.top_level(first, end) if self.upper(at) == ","]
        return list(zip([first, *(at + 1 for at in commas)], [*commas, end], strict=True))

    def fail(self, span: Span, message: str, code: str, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.text, span=span, hint=hint)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a block: its first word, and the end of its tokens."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedWindow:
    """`name AS ( ... )` or `name AS other` of a WINDOW clause; `opening` is the parenthesis or the other name."""

    name: Token
    opening: int
    span: Span
    has_pattern: bool


@dataclass(frozen=True, slots=True)
class WindowCall:
    """`value OVER window`: the tokens of the value, and of the window's name or parentheses."""

    first: int
    over: int
    end: int
    place: str
    """The first word of the part in which it stands."""

    @property
    def window_at(self) -> int:
        return self.over + 1


@dataclass(frozen=True, slots=True)
class SelectBlock:
    select: Select
    parts: dict[str, Part]
    """By their first word. SELECT is always there."""
    windows: tuple[NamedWindow, ...]
    calls: tuple[WindowCall, ...]
    """Calls over windows with a row pattern."""


def blocks_with_patterns(statement: Statement, tokens: StatementTokens) -> list[SelectBlock]:
    """The blocks with a row pattern in a window, in the order of the text."""
    if not any(token.upper == "PATTERN" for token in tokens.tokens):
        return []
    by_offset = {token.span.start: at for at, token in enumerate(tokens.tokens)}
    blocks = [_Reader(tokens, select, by_offset[select.span.start]).block() for select in statement.selects]
    _check_outside(statement, tokens, blocks)
    return [block for block in blocks if block.calls or any(window.has_pattern for window in block.windows)]


def _check_outside(statement: Statement, tokens: StatementTokens, blocks: list[SelectBlock]) -> None:
    """Raises for a call that stands in no block, such as in the ORDER BY behind a UNION."""
    names = {name for block in blocks for name in _with_patterns(tokens, block.windows)}
    known = {call.over for block in blocks for call in block.calls}
    for block in blocks:
        for word, part in block.parts.items():
            known.update(tokens.outside_of_queries(part.first, part.end) if word != "FROM" else ())
    clauses = [clause.span for clause in statement.clauses]
    for at in sorted(set(range(len(tokens.tokens))) - known):
        start = tokens.tokens[at].span.start
        in_clause = any(span.start <= start < span.end for span in clauses)
        if tokens.upper(at) != "OVER" or tokens.upper(at - 1) in (".", ",", "(") or in_clause:
            continue
        window = tokens.tokens[at + 1]
        is_pattern = tokens.upper(at + 1) == "(" and has_pattern(tokens, at + 1)
        if is_pattern or (window.is_name and window.name.lower() in names):
            end = tokens.closing[at + 1] + 1 if is_pattern else at + 2
            message = "a value over a row pattern can't stand outside of its SELECT"
            hint = "behind a UNION, INTERSECT or EXCEPT, ORDER BY takes the name of an output column"
            tokens.fail(tokens.span(_start_of_value(tokens, at), end), message, "UNSUPPORTED_WITH_WINDOW", hint)


def has_pattern(tokens: StatementTokens, opening: int) -> bool:
    """Whether the window in these parentheses has a row pattern."""
    first, end = opening + 1, tokens.closing[opening]
    for at in tokens.top_level(first, end):
        follows_key = at > first and tokens.upper(at - 1) not in ("BY", ",", ".")
        word = tokens.upper(at)
        if word == "PATTERN" and tokens.upper(at + 1) == "(" and (follows_key or at == first):
            return True
        if word in ("MEASURES", "DEFINE") and (follows_key or (at == first and end > first + 1)):
            return True
    return False


def pattern_windows(tokens: StatementTokens) -> list[int]:
    """The opening parentheses of all windows with a row pattern, wherever they stand."""
    after_words = (at for at in tokens.closing if tokens.upper(at - 1) in ("OVER", "AS") and not tokens.opens_query(at))
    return [at for at in after_words if has_pattern(tokens, at)]


class _Reader:
    def __init__(self, tokens: StatementTokens, select: Select, at: int) -> None:
        self.tokens = tokens
        self.select = select
        self.at = at

    def block(self) -> SelectBlock:
        parts = self._parts()
        windows = tuple(self._windows(parts["WINDOW"])) if "WINDOW" in parts else ()
        patterns = _with_patterns(self.tokens, windows)
        for window in windows:
            self._check_base(window.opening, patterns)
        calls = tuple(call for word, part in parts.items() for call in self._calls(word, part, patterns))
        return SelectBlock(self.select, parts, windows, calls)

    def _parts(self) -> dict[str, Part]:
        tokens = self.tokens
        before = tokens.upper(self.at - 1)
        in_union = before in SET_OPERATIONS or tokens.upper(self.at - 2) in SET_OPERATIONS
        starts = [("SELECT", self.at)]
        at = self.at + 1
        for at in tokens.top_level(self.at + 1, len(tokens.tokens)):
            word = tokens.upper(at)
            is_set = word in SET_OPERATIONS and tokens.upper(at - 1) != "*"  # SELECT * EXCEPT (x)
            is_end = word in (")", ";") or is_set or tokens.tokens[at].kind is Kind.END
            if is_end or (in_union and word in _ORGANIZATION and self._begins_part(at, word)):
                break
            if self._begins_part(at, word) and word not in dict(starts):
                starts.append((word, at))
        ends = [start for _, start in starts[1:]] + [at]
        return {word: Part(start, end) for (word, start), end in zip(starts, ends, strict=True)}

    def _begins_part(self, at: int, word: str) -> bool:
        if word not in _PART_STARTS or self.tokens.upper(at - 1) in (".", "AS"):
            return False
        after = self.tokens.upper(at + 1)
        if word == "WINDOW":
            return self.tokens.tokens[at + 1].is_name and self.tokens.upper(at + 2) == "AS"
        if word == "FROM":
            return self.tokens.upper(at - 1) != "DISTINCT"
        return after == "BY" if word in _NEEDS_BY else True

    def _windows(self, part: Part) -> Iterator[NamedWindow]:
        tokens = self.tokens
        for first, end in tokens.pieces(part.first + 1, part.end):
            name = tokens.tokens[first]
            if not name.is_name or tokens.upper(first + 1) != "AS" or end < first + 3:
                tokens.fail(tokens.span(first, end), "a window is defined as name AS ( ... )", "SYNTAX_ERROR")
            opening = first + 2
            is_pattern = tokens.upper(opening) == "(" and has_pattern(tokens, opening)
            yield NamedWindow(name, opening, tokens.span(first, end), is_pattern)

    def _calls(self, word: str, part: Part, patterns: set[str]) -> Iterator[WindowCall]:
        tokens = self.tokens
        if word == "WINDOW":
            return
        for at in tokens.outside_of_queries(part.first, part.end):
            if tokens.upper(at) != "OVER" or tokens.upper(at - 1) in (".", ",", "("):
                continue
            window = tokens.tokens[at + 1]
            if tokens.upper(at + 1) == "(" and has_pattern(tokens, at + 1):
                yield WindowCall(_start_of_value(tokens, at), at, tokens.closing[at + 1] + 1, word)
            elif window.is_name and window.name.lower() in patterns:
                yield WindowCall(_start_of_value(tokens, at), at, at + 2, word)
            self._check_base(at + 1, patterns)

    def _check_base(self, opening: int, patterns: set[str]) -> None:
        """Raises INVALID_WINDOW if the parentheses build upon a window with a row pattern."""
        tokens = self.tokens
        if tokens.upper(opening) != "(" or tokens.upper(opening + 2) not in (")", *_PARTS_OF_WINDOWS):
            return
        base = tokens.tokens[opening + 1]
        if base.is_name and base.name.lower() in patterns:
            message = f"the window '{base.name}' has a frame, so it can't be built upon"
            tokens.fail(base.span, message, "INVALID_WINDOW", f"write OVER {base.text}")


def _start_of_value(tokens: StatementTokens, over: int) -> int:
    """The first token of the measure's name or of the function in front of OVER."""
    at = over - 1
    if tokens.upper(at) == "NULLS" and tokens.upper(at - 1) in ("IGNORE", "RESPECT"):
        at -= 2
    while tokens.upper(at) == ")":
        at = tokens.opening[at] - 1
        if tokens.upper(at) == "FILTER":
            at -= 1
        elif tokens.upper(at) == "GROUP" and tokens.upper(at - 1) == "WITHIN":
            at -= 2
    if not tokens.tokens[at].is_name:
        tokens.fail(tokens.tokens[over].span, "in front of OVER stands a measure or a function", "SYNTAX_ERROR")
    while tokens.upper(at - 1) == "." and tokens.tokens[at - 2].is_name:
        at -= 2
    return at


def _with_patterns(tokens: StatementTokens, windows: tuple[NamedWindow, ...]) -> set[str]:
    """The names of the windows with a row pattern. `w2 AS w` is another name of a window."""
    names = {window.name.name.lower() for window in windows if window.has_pattern}
    for window in windows:
        if tokens.upper(window.opening) != "(" and tokens.tokens[window.opening].name.lower() in names:
            names.add(window.name.name.lower())
    return names
