"""The paper's two workloads as programs of the engines, and as text for Spark. Conditions are numbered by type.

The queries are chains of types, some under Kleene plus, as SEQ(Request, Travel+, Dropoff). Workload 1: all share
Travel+, and window, conditions and aggregates are the same. Workload 2: one to three types in a row under Kleene plus,
windows of 5 to 20 minutes, conditions and aggregates of several kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from benchmarks.trends.streams import MINUTE_US
from ostinato.event_queries.automaton.trend_automaton import Transition, TrendAutomaton
from ostinato.event_queries.plan.event_program import NO_VALUE, BoundKind, EdgeTest, Extent, Program, Slot, SlotKind

SHARED = 0
"""The number of the type that all queries have under Kleene plus."""


@dataclass(frozen=True, slots=True)
class Step:
    """One type of a chain; `kleene`: one or more events of it."""

    kind: int
    kleene: bool = False


@dataclass(frozen=True, slots=True)
class ChainQuery:
    """SEQ over the steps, windows in microseconds; slots and edges speak of steps by their place."""

    steps: tuple[Step, ...]
    window_us: int
    slide_us: int
    slots: tuple[Slot, ...] = ()
    edges: tuple[EdgeTest, ...] = ()
    values: tuple[str, ...] = field(default=())
    """The columns that slots and edges number."""

    def program(self) -> Program:
        """State i + 1 is reached by an event of step i."""
        places = range(len(self.steps))
        transitions = [Transition(place, place, place + 1) for place in places]
        transitions += [Transition(place + 1, place, place + 1) for place in places if self.steps[place].kleene]
        automaton = TrendAutomaton(
            labels=tuple(f"v{place}" for place in places),
            states=len(self.steps) + 1,
            transitions=tuple(transitions),
            accepting=frozenset({len(self.steps)}),
        )
        return Program(
            automaton=automaton,
            qualifies=tuple(step.kind for step in self.steps),
            edges=self.edges,
            slots=self.slots,
            extent=Extent(BoundKind.WINDOWS, length=self.window_us, slide=self.slide_us),
        )

    def text(self, types: Sequence[str]) -> str:
        """As a user writes it, for tables of `Stream.table`."""
        steps = ", ".join(f"{types[step.kind]}{'+' if step.kleene else ''} v{i}" for i, step in enumerate(self.steps))
        conditions = [self._condition(edge) for edge in self.edges]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        returned = ", ".join(["COUNT(*)", *(self._aggregate(slot) for slot in self.slots)])
        window = f"WITHIN {self.window_us // MINUTE_US} MINUTES SLIDE {self.slide_us // MINUTE_US} MINUTES"
        return f"TYPE kind TIME ts PATTERN SEQ({steps}){where} GROUP BY key {window} RETURN key, {returned}"

    def _condition(self, edge: EdgeTest) -> str:
        later, earlier = self.values[edge.after_value], self.values[edge.before_value]
        return f"NEXT(v{edge.after}).{later} {edge.op} v{edge.before}.{earlier}"

    def _aggregate(self, slot: Slot) -> str:
        (label,) = slot.labels
        value = "" if slot.value == NO_VALUE else f".{self.values[slot.value]}"
        return f"{slot.kind.value.upper()}(v{label}{value})"


def alike(queries: int, types: int, window_us: int, slide_us: int | None = None) -> list[ChainQuery]:
    """Workload 1: SEQ(X, Travel+, Y) with another pair of types around Travel+ in each, COUNT(*), one window."""
    return [
        ChainQuery((Step(first), Step(SHARED, kleene=True), Step(last)), window_us, slide_us or window_us)
        for first, last in islice(_pairs(types), queries)
    ]


def apart(queries: int, window_us: int) -> list[ChainQuery]:
    """The same, but each query has two types around Travel+ that no other query has."""
    return [
        ChainQuery((Step(2 * number + 1), Step(SHARED, kleene=True), Step(2 * number + 2)), window_us, window_us)
        for number in range(queries)
    ]


def _pairs(types: int) -> list[tuple[int, int]]:
    """All ordered pairs of different types beside the shared one; each type occurs about equally often in a prefix."""
    others = types - 1
    return [(1 + first, 1 + (first + shift) % others) for shift in range(1, others) for first in range(others)]


WINDOW_MINUTES = (5, 10, 15, 20)
SLIDE_US = 5 * MINUTE_US


def diverse(
    queries: int, types: int, values: tuple[str, str, str, str], minute_us: int = MINUTE_US
) -> list[ChainQuery]:
    """Workload 2. The shared type stands first of one to three under Kleene plus. COUNT(*) and at most one aggregate
    over the first two of `values`. In every second query neighbours of the shared type meet a condition: the later
    one's first value is at most the third of the earlier one, or at least the fourth.

    `minute_us`: how long a minute is, to have small inputs with the same windows.
    """
    return [_diverse_query(number, types, values, minute_us) for number in islice(count(), queries)]


def _diverse_query(number: int, types: int, values: tuple[str, ...], minute_us: int) -> ChainQuery:
    first, *others = ((number * 7 + step * 5) % (types - 1) + 1 for step in range(4))
    kleenes = [Step(SHARED, kleene=True), *(Step(kind, kleene=True) for kind in others[: number % 3])]
    aggregates = (
        (),
        (Slot(SlotKind.COUNT, frozenset({1})),),
        (Slot(SlotKind.SUM, frozenset({1}), 1),),
        (Slot(SlotKind.MAX, frozenset({1}), 0),),
        (Slot(SlotKind.MIN, frozenset({1}), 1),),
    )
    edges = ((EdgeTest(1, 1, "<=", 2, 0),), (EdgeTest(1, 1, ">=", 3, 0),), (), ())
    return ChainQuery(
        steps=(Step(first), *kleenes),
        window_us=WINDOW_MINUTES[number % len(WINDOW_MINUTES)] * minute_us,
        slide_us=SLIDE_US // MINUTE_US * minute_us,
        slots=aggregates[number % len(aggregates)],
        edges=edges[number // 3 % len(edges)],
        values=values,
    )
