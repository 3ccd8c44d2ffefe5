"""RETURN -> output columns by name: GROUP BY columns, window edges, aggregates over the matches, and arithmetic."""

from __future__ import annotations

from typing import NoReturn, TypeGuard

from ostinato.clause.language import vocabulary
from ostinato.errors import Span
from ostinato.event_queries.language.event_names import EventNames
from ostinato.event_queries.language.event_query import (
    ComputedItem,
    EventQuery,
    EventWindows,
    GroupColumn,
    OutputItem,
    ReturnItem,
    ReturnMatches,
    TimeWindows,
    TrendAggregate,
    TrendFunction,
    WindowEdge,
    aggregate_name,
)
from ostinato.event_queries.language.event_terms import AGGREGATES, TermReader
from ostinato.expressions.syntax import Call, Column, ColumnRef, Expr, Literal, Operator, Star, rebuild, walk

MATCH_COLUMNS = ("match_number", "match_start", "match_end", "events")
"""The columns of RETURN MATCHES besides those of GROUP BY."""

ARITHMETIC = ("+", "-", "*", "/", "neg", "pos")
"""The operators between aggregates."""

Outputs = tuple[tuple[str, OutputItem], ...]


def bind_outputs(query: EventQuery, names: EventNames, group_by: tuple[str, ...]) -> Outputs:
    """The columns in order. Window edges that RETURN doesn't list come first. Empty for RETURN MATCHES."""
    windows = isinstance(query.bound, TimeWindows | EventWindows)
    edges = tuple(WindowEdge) if windows else ()
    for edge in edges:
        if names.columns.fold(edge.value) in map(names.columns.fold, group_by):
            message = f"'{edge.value}' is both a column of GROUP BY and an edge of the windows"
            names.fail("AMBIGUOUS_COLUMN", message, None, "rename the column")
    if isinstance(query.returns, ReturnMatches):
        _check_names((*group_by, *(edge.value for edge in edges), *MATCH_COLUMNS), names)
        return ()
    binder = _OutputBinder(names, group_by, windows)
    listed = tuple(binder.item(item) for item in query.returns.items)
    shown = {output for _, output in listed}
    outputs = (*((edge.value, edge) for edge in edges if edge not in shown), *listed)
    _check_names(tuple(name for name, _ in outputs), names)
    return outputs


def _check_names(outputs: tuple[str, ...], names: EventNames) -> None:
    seen: set[str] = set()
    for name in outputs:
        if names.columns.fold(name) in seen:
            hint = "give one of them another name with AS"
            names.fail("DUPLICATE_COLUMN", f"two output columns are named '{name}'", None, hint)
        seen.add(names.columns.fold(name))


class _OutputBinder:
    def __init__(self, names: EventNames, group_by: tuple[str, ...], windows: bool) -> None:
        self.names = names
        self.terms = TermReader(names)
        self.group_by = group_by
        self.windows = windows

    def item(self, item: ReturnItem) -> tuple[str, OutputItem]:
        expr = item.expression
        if isinstance(expr, ColumnRef):
            return self._column(item, expr)
        if _is_aggregate(expr):
            return item.name, self._aggregate(expr)
        return item.name, self._computed(expr)

    def _computed(self, expr: Expr) -> ComputedItem:
        """Arithmetic over at least one aggregate, and numbers."""
        aggregates: dict[TrendAggregate, Expr] = {}

        def over_aggregates(node: Expr) -> Expr:
            if _is_aggregate(node):
                return aggregates.setdefault(self._aggregate(node), Column(aggregate_name(len(aggregates)), node.span))
            if isinstance(node, Operator) and node.op in ARITHMETIC:
                return rebuild(node, over_aggregates)
            if not isinstance(node, Literal) or node.kind != "number":
                self._refuse(node)
            return node

        expression = over_aggregates(expr)
        if not aggregates:
            self._refuse(expr)
        return ComputedItem(expression, tuple(aggregates))

    def _column(self, item: ReturnItem, expr: ColumnRef) -> tuple[str, OutputItem]:
        """With windows, WINDOW_START is the start of the window, even if the input has a column of that name."""
        name = expr.parts[0]
        edge = None
        if len(expr.parts) == 1 and (self.windows or not self.names.has_column(name)):
            edge = next((edge for edge in WindowEdge if edge.value == name.text.lower()), None)
        if edge is None:
            column = self._grouped(expr)
            return (column if item.name == name.text else item.name), GroupColumn(column)
        if not self.windows:
            self.names.fail(
                "NO_WINDOWS",
                f"{name.text.upper()} needs windows: WITHIN alone bounds each match",
                expr.span,
                "write WITHIN 30 MINUTES SLIDE 5 MINUTES, or TUMBLE",
            )
        return item.name, edge

    def _grouped(self, expr: ColumnRef) -> str:
        column = expr.parts[0]
        if len(expr.parts) > 1 or not self.names.has_column(column):
            self._refuse_column(expr)
        column_name = self.names.column(column, expr.span)
        if column_name not in self.group_by:
            self._refuse_column(expr)
        return column_name

    def _refuse_column(self, expr: ColumnRef) -> NoReturn:
        if len(expr.parts) == 1 and self.names.variables_of(expr.parts[0]) is not None:
            hint: str | None = f"COUNT({expr.parts[0].text}) is the number of its events"
        else:
            self.names.reference(expr)  # raises if there is no such column
            hint = "put it into GROUP BY, or take SUM, AVG, MIN or MAX of it"
        written = ".".join(part.text for part in expr.parts)
        self.names.fail("COLUMN_NOT_GROUPED", f"'{written}' isn't a column of GROUP BY", expr.span, hint)

    def _refuse(self, expr: Expr) -> NoReturn:
        calls = [node for node in walk(expr) if isinstance(node, Call)]
        for call in calls:
            if vocabulary.aggregate_name(call.name) in AGGREGATES:
                break
            self.terms.read(Call(call.name, (), call.distinct, call.semantics, call.span))
        self.names.fail(
            "INVALID_RETURN",
            "RETURN takes columns of GROUP BY, WINDOW_START, WINDOW_END, aggregates, and + - * / between aggregates",
            expr.span,
            "compute other expressions from the result" if calls else f"aggregates: {', '.join(AGGREGATES).upper()}",
        )

    def _aggregate(self, call: Call) -> TrendAggregate:
        function = TrendFunction(vocabulary.aggregate_name(call.name))
        self.terms.check_aggregate(call)
        argument = call.args[0]
        if isinstance(argument, Star) and argument.qualifier is None:
            if function is not TrendFunction.COUNT:
                self.names.fail("INVALID_ARGUMENTS", f"{call.name.upper()} needs a column", call.span)
            return TrendAggregate(function, span=call.span)
        variables = self.terms.event(argument)
        if variables is not None:
            if function is not TrendFunction.COUNT:
                hint = f"write {call.name.upper()}({_written(argument)}.column)"
                self.names.fail("INVALID_ARGUMENTS", f"{call.name.upper()} needs a column", call.span, hint)
            return TrendAggregate(function, self._bound(variables, call.span), span=call.span)
        value, variables = self.terms.value(argument, call.name.upper(), call.span)
        return TrendAggregate(function, self._bound(variables, call.span), value, call.span)

    def _bound(self, variables: frozenset[str], span: Span | None) -> frozenset[str]:
        bound = variables.intersection(self.names.variables)
        if not bound:
            name = ", ".join(sorted(variables))
            self.names.fail("VARIABLE_UNDER_NOT", f"'{name}' stands under NOT: no match binds it", span)
        return bound


def _is_aggregate(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and vocabulary.aggregate_name(expr.name) in AGGREGATES


def _written(argument: object) -> str:
    if isinstance(argument, ColumnRef):
        return argument.parts[0].text
    return argument.qualifier.text if isinstance(argument, Star) and argument.qualifier else "t"
