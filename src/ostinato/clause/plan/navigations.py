"""Predicates and rewrites of navigations that the planning steps share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Case,
    Expr,
    Literal,
    MatchNumber,
    Navigation,
    Operator,
    RowClassifier,
    children,
    rebuild,
    walk,
)

NULL = Literal("null", "NULL")
TRUE = Literal("boolean", "TRUE")


def is_fixed(expr: Expr) -> bool:
    """A navigation to the current row or a row at a fixed distance from it."""
    return (
        isinstance(expr, Navigation)
        and expr.rows is None
        and expr.anchor is Anchor.LAST
        and expr.skip == 0
        and not expr.final
        and not depends_on_match(expr.operand)
    )


def is_here(expr: Expr) -> bool:
    """A navigation to the current row."""
    return is_fixed(expr) and isinstance(expr, Navigation) and expr.shift == 0


def depends_on_match(operand: Expr) -> bool:
    """Whether an operand's value at a row depends on the match that the row is in."""
    return any(isinstance(node, RowClassifier | MatchNumber) for node in walk(operand))


def references(expr: Expr) -> Iterator[Expr]:
    """The navigations, aggregates and match numbers of an expression; doesn't look inside them."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Navigation | Aggregate | MatchNumber):
            yield node
        else:
            waiting.extend(reversed(children(node)))


def same_row(one: Navigation, other: Navigation) -> bool:
    """Whether both lead to the same row."""
    return replace(one, operand=NULL) == replace(other, operand=NULL)


def at_row(operand: Expr, navigation: Navigation) -> Navigation:
    """Another operand at the row that the navigation leads to."""
    return replace(navigation, operand=operand)


def row_exists(navigation: Navigation) -> Expr:
    """The condition that the navigation leads to a row."""
    return Operator("not", (Operator("is null", (at_row(TRUE, navigation),)),))


def null_like(expr: Expr) -> Expr:
    """NULL of the expression's type."""
    return Case(None, ((Literal("boolean", "FALSE"), expr),), None)


def operands_only(expr: Expr) -> Expr:
    """The expression over one row: every navigation is replaced by its operand."""
    if isinstance(expr, Navigation):
        return expr.operand
    return rebuild(expr, operands_only)


def spread(expr: Expr) -> Expr:
    """Moves a navigation into its operand if that depends on the match: `PREV(x + MATCH_NUMBER())`."""
    if not isinstance(expr, Navigation):
        return expr if isinstance(expr, Aggregate) else rebuild(expr, spread)
    if isinstance(expr.operand, RowClassifier) or not depends_on_match(expr.operand):
        return expr
    # NULL where the navigation leads to no row, even if the operand isn't NULL for NULLs.
    return Case(None, ((row_exists(expr), _moved_in(expr.operand, expr)),), None)


def _moved_in(operand: Expr, navigation: Navigation) -> Expr:
    if isinstance(operand, MatchNumber | Literal):
        return operand
    if isinstance(operand, RowClassifier) or not depends_on_match(operand):
        return at_row(operand, navigation)
    return rebuild(operand, lambda child: _moved_in(child, navigation))
