"""Bound expression of an event query and the events it speaks of -> value, by the oracle's own rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ostinato.event_queries.language.event_query import AdjacentCondition, RunCondition
from ostinato.expressions.syntax import Aggregate, Anchor, Call, Column, ColumnRef, Expr, Name, Navigation, rebuild
from ostinato.reference.aggregates import aggregate
from ostinato.reference.navigation import Place, Scope, evaluate
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

    def leaf(part: Expr) -> Any:
        if isinstance(part, Column):
            return row[part.name]
        raise NotImplementedError(f"{part} in an expression over one event")

    return _value(expr, leaf)


def adjacent_holds(condition: AdjacentCondition, before: Row, after: Row) -> bool:
    """Whether the condition holds for two events that follow one another."""

    def leaf(part: Expr) -> Any:
        if isinstance(part, Navigation) and (part.rows, part.anchor, part.shift) == (None, Anchor.LAST, 0):
            if part.skip in (0, 1):
                return at_row(part.operand, before if part.skip else after)
        raise NotImplementedError(f"{part} between two events")

    return _value(condition.condition, leaf) is True


def run_holds(condition: RunCondition, match: Pairs) -> bool:
    """Whether the condition holds for the match; one that doesn't bind all its variables isn't asked."""
    bound = {variable for _, variable in match}
    if not condition.variables <= bound:
        return True
    if condition.each is None:
        return _value(condition.condition, lambda part: _of_match(part, match)) is True
    return all(_each_holds(condition, row, match) for row, variable in match if variable == condition.each)


def _each_holds(condition: RunCondition, row: Row, match: Pairs) -> bool:
    def leaf(part: Expr) -> Any:
        if isinstance(part, Navigation) and (part.rows, part.anchor) == (frozenset({condition.each}), Anchor.LAST):
            return at_row(part.operand, row)
        return _of_match(part, match)

    return _value(condition.condition, leaf) is True


def _of_match(part: Expr, match: Pairs) -> Any:
    """FIRST(v.x), LAST(v.x) or an aggregate over the events bound to its variables."""
    match part:
        case Navigation(operand=operand, rows=rows, anchor=anchor, skip=skip, shift=0):
            events = [row for row, variable in match if rows is None or variable in rows]
            if skip >= len(events):
                return None
            return at_row(operand, events[skip] if anchor is Anchor.FIRST else events[-1 - skip])
        case Aggregate(name=name, args=args, rows=rows, distinct=distinct):
            events = [row for row, variable in match if rows is None or variable in rows]
            return aggregate(name, [tuple(at_row(arg, row) for arg in args) for row in events], distinct, ansi=True)
        case _:
            raise NotImplementedError(f"{part} in a condition over a match")


def _value(expr: Expr, leaf: Callable[[Expr], Any]) -> Any:
    """The expression with every reference replaced by what `leaf` gives for it.

    The values are laid out as one row, over which the oracle of MATCH_RECOGNIZE evaluates what is around them.
    """
    row: dict[str, Any] = {}

    def named(value: Any) -> Expr:
        name = f"value {len(row)}"
        row[name] = value
        return ColumnRef((Name(name, quoted=True),))

    def replaced(part: Expr) -> Expr:
        if isinstance(part, Column | Navigation | Aggregate):
            return named(leaf(part))
        if isinstance(part, Call) and part.name in _OF_REALS and len(part.args) == 1:
            return named(_of_real(part.name, _value(part.args[0], leaf)))
        return rebuild(part, replaced)

    changed = replaced(expr)
    return evaluate(changed, Place(Scope(tuple(row), {}, ansi=True), [row], 0, (Label("event"),), 1, None))


def _of_real(name: str, value: Any) -> float | None:
    """The function of the number as a double; NaN where it isn't defined, as in Spark."""
    if value is None:
        return None
    try:
        return _OF_REALS[name](float(value))
    except ValueError:
        return math.nan
