"""Bound expression of an event query and its events -> value, by the oracle's own rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ostinato.event_queries.language.event_query import AdjacentCondition, RunCondition
from ostinato.expressions.syntax import Aggregate, Anchor, Call, Column, ColumnRef, Expr, Name, Navigation, rebuild
from ostinato.reference.aggregates import aggregate
from ostinato.reference.navigation import MatchPosition, Scope, evaluate
from ostinato.reference.preferment import Label

Row = Mapping[str, Any]
Pairs = Sequence[tuple[Row, str]]
"""Events of a match as (row, variable)."""

_OF_REALS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "asin": math.asin,
    "acos": math.acos,
}


def at_row(expr: Expr, row: Row) -> Any:
    """An expression over `Column`s, at one event.

    >>> at_row(Column("x"), {"x": 3})
    3
    """

    def leaf(node: Expr) -> Any:
        if isinstance(node, Column):
            return row[node.name]
        raise NotImplementedError(f"{node} in an expression over one event")

    return _value(expr, leaf)


def adjacent_holds(condition: AdjacentCondition, before: Row, after: Row) -> bool:
    """Whether the condition holds for two events that follow one another."""

    def leaf(node: Expr) -> Any:
        if isinstance(node, Navigation) and (node.rows, node.anchor, node.shift) == (None, Anchor.LAST, 0):
            if node.skip in (0, 1):
                return at_row(node.operand, before if node.skip else after)
        raise NotImplementedError(f"{node} between two events")

    return _value(condition.condition, leaf) is True


def run_holds(condition: RunCondition, match: Pairs) -> bool:
    """Whether the condition holds for the match. True if the match doesn't bind all variables of the condition."""
    bound = {variable for _, variable in match}
    if not condition.variables <= bound:
        return True
    if condition.each is None:
        return _value(condition.condition, lambda node: _of_match(node, match)) is True
    return all(_each_holds(condition, row, match) for row, variable in match if variable == condition.each)


def _each_holds(condition: RunCondition, row: Row, match: Pairs) -> bool:
    def leaf(node: Expr) -> Any:
        if isinstance(node, Navigation) and (node.rows, node.anchor) == (frozenset({condition.each}), Anchor.LAST):
            return at_row(node.operand, row)
        return _of_match(node, match)

    return _value(condition.condition, leaf) is True


def _of_match(node: Expr, match: Pairs) -> Any:
    """FIRST(v.x), LAST(v.x) or an aggregate over the events bound to its variables."""
    match node:
        case Navigation(operand=operand, rows=rows, anchor=anchor, skip=skip, shift=0):
            events = [row for row, variable in match if rows is None or variable in rows]
            if skip >= len(events):
                return None
            return at_row(operand, events[skip] if anchor is Anchor.FIRST else events[-1 - skip])
        case Aggregate(name=name, args=args, rows=rows, distinct=distinct):
            events = [row for row, variable in match if rows is None or variable in rows]
            return aggregate(name, [tuple(at_row(arg, row) for arg in args) for row in events], distinct, ansi=True)
        case _:
            raise NotImplementedError(f"{node} in a condition over a match")


def _value(expr: Expr, leaf: Callable[[Expr], Any]) -> Any:
    """The value of the expression; `leaf` gives the value of every reference in it.

    The values of the references form one row, on which the oracle of MATCH_RECOGNIZE evaluates the expression.
    """
    row: dict[str, Any] = {}

    def named(value: Any) -> Expr:
        name = f"value {len(row)}"
        row[name] = value
        return ColumnRef((Name(name, quoted=True),))

    def replaced(node: Expr) -> Expr:
        if isinstance(node, Column | Navigation | Aggregate):
            return named(leaf(node))
        if isinstance(node, Call) and node.name in _OF_REALS and len(node.args) == 1:
            return named(_of_real(node.name, _value(node.args[0], leaf)))
        return rebuild(node, replaced)

    changed = replaced(expr)
    return evaluate(changed, MatchPosition(Scope(tuple(row), {}, ansi=True), [row], 0, (Label("event"),), 1, None))


def _of_real(name: str, value: Any) -> float | None:
    """The function of the number as a double. NaN if it isn't defined, as in Spark."""
    if value is None:
        return None
    try:
        return _OF_REALS[name](float(value))
    except ValueError:
        return math.nan
