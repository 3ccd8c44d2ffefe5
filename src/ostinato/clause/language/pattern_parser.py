"""Text of a row pattern -> Pattern tree. Open groups are in a list, since they may nest deeper than Python's stack."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.clause.language.foreign_syntax import pattern_hint
from ostinato.clause.query.pattern import (
    MAX_BOUND,
    Alternation,
    Concat,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Pattern,
    Permute,
    Quantified,
    Variable,
)
from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind

MAX_NESTING = 150
"""How deep groups may nest."""


@dataclass(slots=True)
class _Group:
    """An open group, as read so far: finished elements (PERMUTE), finished options, the current sequence."""

    closing: str
    start: Span
    elements: list[Pattern] = field(default_factory=list)
    options: list[Pattern] = field(default_factory=list)
    sequence: list[Pattern] = field(default_factory=list)


def parse_row_pattern(text: str) -> Pattern:
    """A whole pattern.

    >>> parse_row_pattern("A B+ | C")
    Alternation(options=(Concat(parts=(Variable(name='A'), Quantified(body=Variable(name='B'), at_least=1, \
at_most=None, greedy=True))), Variable(name='C')))
    """
    cursor = Cursor(text)
    pattern = row_pattern(cursor, closing="")
    cursor.expect_end("the pattern")
    return pattern


def row_pattern(cursor: Cursor, *, closing: str) -> Pattern:
    """The pattern up to the closing symbol (which is stepped over) or the end of the text."""
    groups = [_Group(closing, cursor.token.span)]
    while True:
        group, token = groups[-1], cursor.token
        if token.upper == "(" and cursor.ahead().upper == ")":
            cursor.expect("(", ")")
            group.sequence.append(_quantified(cursor, Empty()))
        elif token.upper == "PERMUTE" and cursor.ahead().upper == "(":
            cursor.expect("PERMUTE", "(")
            _open(cursor, groups, "permute", token.span)
        elif token.upper == "(":
            cursor.take()
            _open(cursor, groups, ")", token.span)
        elif token.upper == "{" and cursor.ahead().upper == "-":
            cursor.expect("{", "-")
            _open(cursor, groups, "-}", token.span)
        elif token.upper in ("^", "$"):
            anchor = PartitionStart if cursor.take().upper == "^" else PartitionEnd
            group.sequence.append(_quantified(cursor, anchor(token.span)))
        elif token.upper == "|":
            group.options.append(_sequence(cursor, group))
            cursor.take()
        elif token.upper == "," and group.closing == "permute":
            group.elements.append(_option(cursor, group))
            cursor.take()
        elif token.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED):
            name, span = cursor.name("a pattern variable")
            group.sequence.append(_quantified(cursor, Variable(name.folded, span)))
        elif _closes(cursor, group):
            closed = _close(cursor, groups.pop())
            if not groups:
                return closed
            groups[-1].sequence.append(_quantified(cursor, closed))
        else:
            cursor.fail(
                f"expected a pattern variable, a group or a quantifier's end, found {cursor.describe()}",
                hint=pattern_hint(token.upper, within="WITHIN" in (cursor.ahead(-1).upper, cursor.ahead(-2).upper)),
            )


def _open(cursor: Cursor, groups: list[_Group], closing: str, start: Span) -> None:
    if len(groups) >= MAX_NESTING:
        cursor.fail(f"groups nest at most {MAX_NESTING} levels deep", code="TOO_DEEP", span=start)
    groups.append(_Group(closing, start))


def _closes(cursor: Cursor, group: _Group) -> bool:
    if group.closing == "":
        return cursor.token.kind is Kind.END
    if group.closing == "-}":
        return cursor.sees("-", "}")
    return cursor.sees(")")


def _close(cursor: Cursor, group: _Group) -> Pattern:
    inner = _option(cursor, group)
    if group.closing == "-}":
        cursor.expect("-", "}")
        return Exclusion(inner)
    if group.closing:
        cursor.expect(")")
    if group.closing == "permute":
        return Permute((*group.elements, inner))
    return inner


def _option(cursor: Cursor, group: _Group) -> Pattern:
    """The alternation that the group holds so far; the group is emptied."""
    options = [*group.options, _sequence(cursor, group)]
    group.options = []
    return options[0] if len(options) == 1 else Alternation(tuple(options))


def _sequence(cursor: Cursor, group: _Group) -> Pattern:
    elements, group.sequence = group.sequence, []
    if not elements:
        cursor.fail(f"expected a pattern variable, found {cursor.describe()}", hint="the empty pattern is written ()")
    return elements[0] if len(elements) == 1 else Concat(tuple(elements))


def _quantified(cursor: Cursor, body: Pattern) -> Pattern:
    """The body with the quantifier that follows it, if any."""
    token = cursor.token
    plain = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(token.upper)
    if plain is not None:
        cursor.take()
        at_least, at_most = plain
    elif token.upper == "{" and cursor.ahead().upper != "-":
        at_least, at_most = quantifier_bounds(cursor)
    else:
        return body
    greedy = not cursor.accept("?")
    if cursor.token.upper in ("*", "+", "?") or (cursor.sees("{") and cursor.ahead().upper != "-"):
        cursor.fail(
            f"expected one quantifier, found a second one: {cursor.describe()}", hint="put a group around the first"
        )
    return Quantified(body, at_least, at_most, greedy)


def quantifier_bounds(cursor: Cursor) -> tuple[int, int | None]:
    """The two numbers of `{n}`, `{n,m}`, `{n,}` or `{,m}`; None if there is no upper bound."""
    start = cursor.expect("{").span
    low = _bound(cursor)
    if cursor.accept(","):
        high = _bound(cursor)
        end = cursor.expect("}").span
        exact = False
    else:
        end = cursor.expect("}").span
        if low is None:
            cursor.fail("the quantifier has no number", span=start.to(end), code="INVALID_QUANTIFIER")
        high, exact = low, True
    span = start.to(end)
    if high == 0:
        cursor.fail("a quantifier must allow at least one repetition", span=span, code="INVALID_QUANTIFIER")
    if not exact and high is not None and low is not None and low > high:
        cursor.fail(
            f"the lower bound {low} is above the upper bound {high}",
            span=span,
            code="INVALID_QUANTIFIER",
            hint=f"did you mean {{{high},{low}}}?",
        )
    return low or 0, high


def _bound(cursor: Cursor) -> int | None:
    token = cursor.token
    if token.kind is not Kind.NUMBER:
        return None
    cursor.take()
    if not (token.text.isascii() and token.text.isdigit()):
        cursor.fail(f"'{token.text}' isn't a whole number", span=token.span, code="INVALID_QUANTIFIER")
    digits = token.text.lstrip("0") or "0"
    if len(digits) > len(str(MAX_BOUND)) or int(digits) > MAX_BOUND:
        cursor.fail(f"quantifiers go up to {MAX_BOUND}", span=token.span, code="INVALID_QUANTIFIER")
    return int(digits)
