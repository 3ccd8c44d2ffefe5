"""Run conditions with other variable names, and the events that they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.expressions.syntax import Aggregate, Expr, Literal, Navigation, RowSet, children, rebuild

IS_BOUND = Literal("boolean", "TRUE")
"""The operand of a navigation that only tests whether its event exists."""


def renamed(condition: RunCondition, names: Mapping[str, str]) -> RunCondition:
    """The same condition with other names of variables. Variables that aren't in `names` keep theirs."""

    def rename(name: str) -> str:
        return names.get(name, name)

    def row_set(rows: RowSet) -> RowSet:
        return None if rows is None else frozenset(map(rename, rows))

    def change(node: Expr) -> Expr:
        if isinstance(node, Navigation | Aggregate):  # below them is one event, which has no variables
            return replace(node, rows=row_set(node.rows))
        return rebuild(node, change)

    each = None if condition.each is None else rename(condition.each)
    return RunCondition(change(condition.condition), frozenset(map(rename, condition.variables)), each)


def events_read(expr: Expr) -> Iterator[Navigation | Aggregate]:
    """The sub-expressions that read events of the match."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Navigation | Aggregate):
            yield node
        else:
            waiting.extend(reversed(children(node)))
