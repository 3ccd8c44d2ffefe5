"""Bound event query and rows -> its output rows, by listing every match and aggregating over the list.

Numbers are exact: integers of any size, and fractions for means.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, assert_never

from ostinato.event_queries.language.event_query import (
    AllOf,
    BoundEventQuery,
    ComputedItem,
    EventWindows,
    GroupColumn,
    OutputItem,
    ReturnMatches,
    TimeWindows,
    TrendAggregate,
    TrendFunction,
    WindowEdge,
    aggregate_name,
)
from ostinato.expressions.syntax import Column, Expr, Literal, Operator
from ostinato.reference.aggregates import aggregate
from ostinato.reference.trend_matches import EventSet, OracleMatch, Run, by_window, in_order, trend_matches
from ostinato.reference.trend_values import at_row

__all__ = ["OracleMatch", "trend_matches", "trend_rows"]


def trend_rows(bound: BoundEventQuery, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The output rows in order of group and window: aggregates, or the matches of RETURN MATCHES.

    COUNT and SUM of integers are ints, AVG is a float. `events` of a match is a list of (index, variable).
    """
    if isinstance(bound.query.returns, ReturnMatches):
        return _match_rows(bound, rows)
    output = []
    for event_sets in by_window(bound, rows):
        result = _WindowResult(bound, event_sets)
        if result.count:
            output.append({name: result.output(item) for name, item in bound.outputs})
    if not output and not bound.group_by and not isinstance(bound.query.bound, TimeWindows | EventWindows):
        output.append({name: _WindowResult(bound, []).output(item) for name, item in bound.outputs})
    return output


class _WindowResult:
    """The matches of one group in one window, or for AND the number of pairs of matches."""

    def __init__(self, bound: BoundEventQuery, event_sets: Sequence[EventSet]) -> None:
        self.bound = bound
        self.event_sets = event_sets
        self.runs: list[Run] = []
        if isinstance(bound.query.pattern, AllOf):
            self.count = sum(_pairs(event_set, bound.query.pattern) for event_set in event_sets)
        else:
            self.runs = [run for event_set in event_sets for run in event_set.matches(bound.query.pattern)]
            self.count = len(self.runs)

    def output(self, item: OutputItem) -> Any:
        match item:
            case GroupColumn(column):
                return self.event_sets[0].group[self.bound.group_by.index(column)]
            case WindowEdge():
                return _edge(self.bound, self.event_sets, item)
            case TrendAggregate(variables=None):
                return self.count
            case TrendAggregate():
                return self._aggregate(item)
            case ComputedItem(expression, aggregates):
                values = {aggregate_name(i): self._operand(each) for i, each in enumerate(aggregates)}
                return _computed(expression, values)
            case _:
                assert_never(item)

    def _operand(self, item: TrendAggregate) -> Any:
        """The aggregate as an operand: COUNT and SUM are decimals, so they are fractions here."""
        value = self.output(item)
        is_sum = item.function in (TrendFunction.COUNT, TrendFunction.SUM)
        return Fraction(value) if isinstance(value, Decimal) or (is_sum and isinstance(value, int)) else value

    def _aggregate(self, item: TrendAggregate) -> Any:
        if isinstance(self.bound.query.pattern, AllOf):
            raise NotImplementedError("AND with anything but COUNT(*)")
        assert item.variables is not None
        events = [event for run in self.runs for event, variable in run if variable in item.variables]
        if item.value is None:
            return len(events)
        value = item.value
        values = [each for each in (at_row(value, event.row) for event in events) if each is not None]
        match item.function:
            case TrendFunction.COUNT:
                return len(values)
            case TrendFunction.SUM:
                return _sum(values) if values else None
            case TrendFunction.AVG:
                return _mean(values) if values else None
            case TrendFunction.MIN | TrendFunction.MAX:
                return aggregate(item.function.value, [(each,) for each in values], distinct=False, ansi=True)
            case _:
                assert_never(item.function)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _computed(expr: Expr, values: Mapping[str, Any]) -> Any:
    """Arithmetic on exact fractions and integers, or on floats as soon as one operand is a float.

    As in Spark, `/` of two integers is a float, and NULL with anything is NULL.
    """
    match expr:
        case Column(name=name):
            return values[name]
        case Literal(kind="number", text=text) if text.isdigit():
            return int(text)
        case Literal(kind="number", text=text) if text.replace(".", "").isdigit():
            return Fraction(text)
        case Operator(op="neg" | "pos" as op, args=(arg,)):
            value = _computed(arg, values)
            return value if value is None or op == "pos" else -value
        case Operator(op=op, args=(left, right)):
            operands = _computed(left, values), _computed(right, values)
            if op == "/" and operands[1] == 0:
                raise NotImplementedError("a division by zero")
            return None if None in operands else _BINARY[op](*operands)
        case _:
            raise NotImplementedError(f"{expr} between aggregates")


def _pairs(event_set: EventSet, pattern: AllOf) -> int:
    """The number of unordered pairs of distinct matches, one of each side of AND."""
    if len(pattern.parts) != 2:
        raise NotImplementedError("AND of more than two patterns")
    one, other = (event_set.matches(side) for side in pattern.parts)
    return len({frozenset((left, right)) for left in one for right in other if left != right})


def _sum(values: Sequence[Any]) -> Any:
    if any(isinstance(value, float) for value in values):
        return _real_sum([float(value) for value in values])
    with localcontext() as context:
        context.prec = 300  # nothing is rounded
        return sum(values[1:], start=values[0])


def _real_sum(values: Sequence[float]) -> float:
    """Rounded once, at the end."""
    special = [value for value in values if not math.isfinite(value)]
    return sum(special) if special else float(sum(map(Fraction, values), start=Fraction(0)))


def _mean(values: Sequence[Any]) -> float:
    total = _sum(values)
    if isinstance(total, float) and not math.isfinite(total):
        return total
    exact = [Fraction(value) if isinstance(value, int | Decimal) else Fraction(float(value)) for value in values]
    return float(sum(exact, start=Fraction(0)) / len(exact))


def _edge(bound: BoundEventQuery, event_sets: Sequence[EventSet], edge: WindowEdge) -> Any:
    """The start or end of the window: a value of the time column, or a position if windows count events."""
    start = event_sets[0].window
    assert start is not None
    match bound.query.bound:
        case EventWindows(length=event_count):
            return start if edge is WindowEdge.START else start + event_count
        case TimeWindows(length=length):
            at = start if edge is WindowEdge.START else start + length // timedelta(microseconds=1)
            return _as_time(at, next(event.row[bound.time] for event_set in event_sets for event in event_set.events))
        case _:
            raise NotImplementedError("the edge of a window without windows")


def _as_time(at_us: int, example: Any) -> Any:
    if not isinstance(example, date):
        return at_us
    aware = isinstance(example, datetime) and example.tzinfo is not None
    return datetime(1970, 1, 1, tzinfo=UTC if aware else None) + timedelta(microseconds=at_us)


def _match_rows(bound: BoundEventQuery, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of RETURN MATCHES. Matches are numbered within their group and window."""
    assert isinstance(bound.query.returns, ReturnMatches)
    windowed = isinstance(bound.query.bound, TimeWindows | EventWindows)
    output: list[dict[str, Any]] = []
    for event_sets in filter(None, by_window(bound, rows)):
        group = event_sets[0].group
        matches = in_order(bound, [run for event_set in event_sets for run in event_set.matches(bound.query.pattern)])
        for number, run in enumerate(matches[: bound.query.returns.limit], start=1):
            row = dict(zip(bound.group_by, group, strict=True)) | {"match_number": number}
            if windowed:
                row |= {edge.value: _edge(bound, event_sets, edge) for edge in WindowEdge}
            row |= {"match_start": run[0][0].row[bound.time], "match_end": run[-1][0].row[bound.time]}
            output.append(row | {"events": [(event.index, variable) for event, variable in run]})
    return output
