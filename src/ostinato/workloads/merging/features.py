"""MergedPlan -> the features of each node: values that tell its partial matches apart. Also the number of conditions
ahead.

The future of a partial match depends on its events only through the undecided conditions. So its features are the
largest sub-expressions of these conditions over bound variables: for `b.v + c.v < d.v` that is `b.v` after A B, and
`b.v + c.v` after A B C. Aggregates have their value so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Navigation, children, rebuild
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, PlanEnd, PlanStep
from ostinato.workloads.merging.renamed_conditions import IS_BOUND, events_read

MOST_FEATURES = 3
"""Largest number of features of a node. Conditions that are decided soonest come first."""
_LATER = frozenset[str]({""})
"""The variable of future events."""


@dataclass(frozen=True, slots=True)
class Features:
    """[node] Values are over `Navigation` and `Aggregate`, with the last event as the current row."""

    values: tuple[tuple[Expr, ...], ...]
    to_ask: tuple[int, ...]
    """[node] number of different run conditions and edge checks ahead."""


def features_of(plan: MergedPlan, values: Sequence[Expr], can_compute: Callable[[Expr], bool]) -> Features:
    """`values`: the operands that edge checks refer to by number. `can_compute`: whether the kernel can compute an
    expression."""
    ahead = _Ahead(plan)
    features, to_ask = [], []
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
        features.append(tuple(chosen))
        to_ask.append(ahead.count(node))
    return Features(tuple(features), tuple(to_ask))


class _Ahead:
    """The nodes, steps and conditions ahead of a node."""

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
        conditions: set[object] = set()
        for here, _ in self.nodes(node):
            for step in self.leaving[here]:
                conditions.update(step.asked_checks)
                conditions.update(step.asked_edges)
            for end in self.ends[here]:
                conditions.update(end.checks)
        return len(conditions)

    def candidates(self, node: int, values: Sequence[Expr]) -> dict[Expr, None]:
        """The largest sub-expressions over bound variables of the conditions ahead, those decided soonest first."""
        expressions: dict[Expr, None] = {}
        bound = self.bound[node]
        run = self.plan.run
        for here, distance in self.nodes(node):
            for end in self.ends[here]:
                for check in end.checks:
                    expressions.update(dict.fromkeys(_bound_expressions(run[check].condition, bound)))
            for step in self.leaving[here]:
                if here == node == step.source:
                    edges = [edge.before_value for edge in step.asked_edges if edge.before_value < len(values)]
                    expressions.update({Navigation(values[edge], None, Anchor.LAST): None for edge in edges})
                label = self.plan.labels[self.plan.nodes[step.target].label]
                for check in step.asked_checks:
                    seen_from_here = _before_step(run[check].condition, label, is_next=distance == 0)
                    expressions.update(dict.fromkeys(_bound_expressions(seen_from_here, bound)))
        return expressions


def _possibly_bound(plan: MergedPlan) -> list[frozenset[str]]:
    """[node] the variables that at least one path to it binds."""
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
    """The condition of a step, as it reads before the step's event has come: the last event is then one step nearer."""

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


def _bound_expressions(expr: Expr, bound: frozenset[str]) -> Iterator[Expr]:
    """The largest sub-expressions that read bound events only, and at least one."""
    reads = tuple(events_read(expr))
    if any(read.rows is not None and not read.rows <= bound for read in reads) or _asks_presence(reads):
        if not isinstance(expr, Navigation | Aggregate):
            for operand in children(expr):
                yield from _bound_expressions(operand, bound)
    elif reads:
        yield expr


def _asks_presence(reads: Sequence[Navigation | Aggregate]) -> bool:
    return any(isinstance(read, Navigation) and read.operand == IS_BOUND for read in reads)


def _independent(candidates: dict[Expr, None]) -> Iterator[Expr]:
    """Without expressions that follow from others: `cos(d.x)` adds nothing to `d.x`."""
    plain = {expr for expr in candidates if isinstance(expr, Navigation | Aggregate)}
    for expr in candidates:
        if expr in plain or not plain.issuperset(events_read(expr)):
            yield expr
