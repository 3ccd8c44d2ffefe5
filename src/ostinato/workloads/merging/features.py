"""MergedPlan -> for each node the values by which its partial matches are told apart, and how much is still asked.

What becomes of a partial match depends on its events only through the conditions still to be decided. So its features
are the maximal sub-expressions, over what it has bound, of these conditions: for `b.v + c.v < d.v` that is `b.v` after
A B, and `b.v + c.v` after A B C. Aggregates count with their value so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Navigation, children, rebuild
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, PlanEnd, PlanStep
from ostinato.workloads.merging.renamed_conditions import IS_BOUND, events_read

MOST_FEATURES = 3
"""Of one node; those of conditions decided soonest are preferred."""
_LATER = frozenset[str]({""})
"""The variable of events that aren't there yet."""


@dataclass(frozen=True, slots=True)
class Features:
    """By node. Values are over `Navigation` and `Aggregate`, with the last event as the current row."""

    values: tuple[tuple[Expr, ...], ...]
    to_ask: tuple[int, ...]
    """How many different run conditions and edge checks lie ahead."""


def features_of(plan: MergedPlan, values: Sequence[Expr], can_compute: Callable[[Expr], bool]) -> Features:
    """`values` are what edge checks number; `can_compute`: whether the kernel has a number for an expression."""
    ahead = _Ahead(plan)
    found, to_ask = [], []
    computable: dict[Expr, bool] = {}
    for node in range(len(plan.nodes)):
        chosen: list[Expr] = []
        for expr in _independent(ahead.candidates(node, values)) if node != ROOT else ():
            if len(chosen) == MOST_FEATURES:
                break
            if expr not in computable:
                computable[expr] = can_compute(expr)
            if computable[expr]:
                chosen.append(expr)
        found.append(tuple(chosen))
        to_ask.append(ahead.count(node))
    return Features(tuple(found), tuple(to_ask))


class _Ahead:
    """What lies ahead of a node."""

    def __init__(self, plan: MergedPlan) -> None:
        self.plan = plan
        self.leaving: list[list[PlanStep]] = [[] for _ in plan.nodes]
        self.ends: list[list[PlanEnd]] = [[] for _ in plan.nodes]
        for step in plan.steps:
            self.leaving[step.source].append(step)
            if step.segment != NO_SEGMENT:
                self.leaving[step.segment].append(step)
        for end in plan.ends:
            self.ends[end.node].append(end)
        self.bound = _possibly_bound(plan)

    def nodes(self, node: int) -> Iterator[tuple[int, int]]:
        """(node, steps to it), nearest first, itself included."""
        seen = {node}
        waiting = deque([(node, 0)])
        while waiting:
            here, distance = waiting.popleft()
            yield here, distance
            for step in self.leaving[here]:
                if step.target not in seen:
                    seen.add(step.target)
                    waiting.append((step.target, distance + 1))

    def count(self, node: int) -> int:
        asked: set[object] = set()
        for here, _ in self.nodes(node):
            for step in self.leaving[here]:
                asked.update(step.asked_checks)
                asked.update(step.asked_edges)
            for end in self.ends[here]:
                asked.update(end.checks)
        return len(asked)

    def candidates(self, node: int, values: Sequence[Expr]) -> dict[Expr, None]:
        """The maximal sub-expressions over bound variables of what lies ahead, those decided soonest first."""
        found: dict[Expr, None] = {}
        bound = self.bound[node]
        run = self.plan.run
        for here, distance in self.nodes(node):
            for end in self.ends[here]:
                for check in end.checks:
                    found.update(dict.fromkeys(_parts(run[check].condition, bound)))
            for step in self.leaving[here]:
                if here == node == step.source:
                    edges = [edge.before_value for edge in step.asked_edges if edge.before_value < len(values)]
                    found.update({Navigation(values[edge], None, Anchor.LAST): None for edge in edges})
                label = self.plan.labels[self.plan.nodes[step.target].label]
                for check in step.asked_checks:
                    seen_from_here = _before_step(run[check].condition, label, is_next=distance == 0)
                    found.update(dict.fromkeys(_parts(seen_from_here, bound)))
        return found


def _possibly_bound(plan: MergedPlan) -> list[frozenset[str]]:
    """For each node the variables that some way to it binds."""
    bound: list[frozenset[str]] = [frozenset()] * len(plan.nodes)
    changed = True
    while changed:
        changed = False
        for step in plan.steps:
            here = bound[step.source] | {plan.labels[plan.nodes[step.target].label]}
            if step.segment != NO_SEGMENT:
                here |= bound[step.segment]
            if not here <= bound[step.target]:
                bound[step.target] |= here
                changed = True
    return bound


def _before_step(condition: Expr, label: str, *, is_next: bool) -> Expr:
    """A condition that a step asks as it reads before the step's event is there: the last event is then one nearer."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Aggregate):
            return node
        if not isinstance(node, Navigation):
            return rebuild(node, change)
        if node.anchor is Anchor.FIRST or (node.rows is not None and label not in node.rows):
            return node
        if is_next and node.skip > 0:
            return replace(node, skip=node.skip - 1)
        return replace(node, rows=_LATER)

    return change(condition)


def _parts(expr: Expr, bound: frozenset[str]) -> Iterator[Expr]:
    """The maximal sub-expressions that look at bound events only, and do look at one."""
    reads = tuple(events_read(expr))
    if any(read.rows is not None and not read.rows <= bound for read in reads) or _asks_presence(reads):
        if not isinstance(expr, Navigation | Aggregate):
            for part in children(expr):
                yield from _parts(part, bound)
    elif reads:
        yield expr


def _asks_presence(reads: Sequence[Navigation | Aggregate]) -> bool:
    return any(isinstance(read, Navigation) and read.operand == IS_BOUND for read in reads)


def _independent(candidates: dict[Expr, None]) -> Iterator[Expr]:
    """Without those that follow from others: `cos(d.x)` says nothing beside `d.x`."""
    plain = {expr for expr in candidates if isinstance(expr, Navigation | Aggregate)}
    for expr in candidates:
        if expr in plain or not plain.issuperset(events_read(expr)):
            yield expr
