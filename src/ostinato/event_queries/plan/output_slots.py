"""The items of RETURN -> slots for engines, and the output columns computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.event_queries.automaton.trend_automaton import TrendAutomaton
from ostinato.event_queries.language.event_query import (
    ComputedItem,
    GroupColumn,
    OutputItem,
    TrendAggregate,
    TrendFunction,
    WindowEdge,
)
from ostinato.event_queries.plan.event_program import Slot, SlotKind
from ostinato.expressions.syntax import Expr


@dataclass(frozen=True, slots=True)
class CountOutput:
    """COUNT(*): the number of matches."""


@dataclass(frozen=True, slots=True)
class SlotOutput:
    """An output that is a slot, by its number."""

    slot: int


@dataclass(frozen=True, slots=True)
class AverageOutput:
    """AVG: the slot with the sum divided by the slot with the count."""

    total: int
    number: int


AggregateOutput = CountOutput | SlotOutput | AverageOutput


@dataclass(frozen=True, slots=True)
class ComputedOutput:
    """Arithmetic over aggregates; see `ComputedItem`."""

    expression: Expr
    aggregates: tuple[AggregateOutput, ...]


Output = GroupColumn | WindowEdge | AggregateOutput | ComputedOutput


class OutputSlots:
    """The aggregates of one query, each computed once. `numbered` gives a value its number in the plan."""

    def __init__(self, automaton: TrendAutomaton, numbered: Callable[[Expr], int]) -> None:
        self.labels = {name: label for label, name in enumerate(automaton.labels)}
        self.numbered = numbered
        self.numbers: dict[Slot, int] = {}

    def output(self, item: OutputItem) -> Output:
        match item:
            case TrendAggregate():
                return self.aggregate(item)
            case ComputedItem(expression, aggregates):
                return ComputedOutput(expression, tuple(self.aggregate(each) for each in aggregates))
            case _:
                return item

    def aggregate(self, item: TrendAggregate) -> AggregateOutput:
        if item.variables is None:
            return CountOutput()
        if item.function is TrendFunction.AVG:
            return AverageOutput(self.slot(SlotKind.SUM, item), self.slot(SlotKind.COUNT, item))
        return SlotOutput(self.slot(SlotKind(item.function.value), item))

    def slot(self, kind: SlotKind, item: TrendAggregate) -> int:
        labels = frozenset(self.labels[name] for name in item.variables or ())
        slot = Slot(kind, labels) if item.value is None else Slot(kind, labels, self.numbered(item.value))
        return self.numbers.setdefault(slot, len(self.numbers))
