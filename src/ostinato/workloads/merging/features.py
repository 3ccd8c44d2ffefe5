"""MergedPlan -> the features of each node: values that tell its partial matches apart.

The future of a partial match depends on its events only through the undecided conditions. So its features are the
largest sub-expressions of these conditions over bound variables: for `b.v + c.v < d.v` that is `b.v` after A B, and
`b.v + c.v` after A B C. Aggregates have their value so far. A feature is an expression over `Navigation` and
`Aggregate`, with the last event as the current row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Navigation, children, rebuild
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, PlanEnd, PlanStep
from ostinato.workloads.merging.renamed_conditions import IS_BOUND, events_read

MAX_FEATURES = 3
"""Largest number of features of a node. Conditions that are decided soonest come first."""
_LATER = frozenset[str]({""})
"""The variable of future events."""


def features_of(
    plan: MergedPlan, values: Sequence[Expr], can_compute: Callable[[Expr], bool]
) -> tuple[tuple[Expr, ...], ...]:
    """[node] its features. `values`: the operands that edge checks refer to by number. `can_compute`: whether the
    kernel can compute an expression."""
    ahead = _ConditionsAhead(plan)
    features = []
    computable: dict[Expr, bool] = {}
    for node in range(len(plan.nodes)):
        chosen: list[Expr] = []
        for expr in _independent(ahead.candidates(node, values)) if node != ROOT else ():
            if len(chosen) == MAX_FEATURES:
                break
            if expr not in computable:
                computable[expr] = can_compute(expr)
            if computable[expr]:
                chosen.append(expr)
        features.append(tuple(chosen))
    return tuple(features)


class _ConditionsAhead:
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
            reached, distance = waiting.popleft()
            yield reached, distance
            for step in self.leaving[reached]:
                if step.target not in seen:
                    seen.add(step.target)
                    waiting.append((step.target, distance + 1))

    def candidates(self, node: int, values: Sequence[Expr]) -> dict[Expr, None]:
        """The largest sub-expressions over bound variables of the conditions ahead, those decided soonest first."""
        expressions: dict[Expr, None] = {}
        bound = self.bound[node]
        run = self.plan.run
        for reached, distance in self.nodes(node):
            for end in self.ends[reached]:
                for check in end.checks:
                    expressions.update(dict.fromkeys(_bound_expressions(run[check].condition, bound)))
            for step in self.leaving[reached]:
                if reached == node == step.source:
                    edges = [edge.before_value for edge in step.all_edges if edge.before_value < len(values)]
                    expressions.update({Navigation(values[edge], None, Anchor.LAST): None for edge in edges})
                label = self.plan.labels[self.plan.nodes[step.target].label]
                for check in step.all_checks:
                    condition = _before_step(run[check].condition, label, is_next=distance == 0)
                    expressions.update(dict.fromkeys(_bound_expressions(condition, bound)))
        return expressions


def _possibly_bound(plan: MergedPlan) -> list[frozenset[str]]:
    """[node] the variables that at least one path to it binds."""
    bound: list[frozenset[str]] = [frozenset()] * len(plan.nodes)
    changed = True
    while changed:
        changed = False
        for step in plan.steps:
            labels = bound[step.source] | {plan.labels[plan.nodes[step.target].label]}
            if step.segment != NO_SEGMENT:
                labels |= bound[step.segment]
            if not labels <= bound[step.target]:
                bound[step.target] |= labels
                changed = True
    return bound


def _before_step(condition: Expr, label: str, *, is_next: bool) -> Expr:
    """The condition of a step, as it reads before the step's event has arrived."""

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
    if any(navigation.rows is not None and not navigation.rows <= bound for navigation in reads) or _tests_presence(
        reads
    ):
        if not isinstance(expr, Navigation | Aggregate):
            for operand in children(expr):
                yield from _bound_expressions(operand, bound)
    elif reads:
        yield expr


def _tests_presence(reads: Sequence[Navigation | Aggregate]) -> bool:
    return any(isinstance(navigation, Navigation) and navigation.operand == IS_BOUND for navigation in reads)


def _independent(candidates: dict[Expr, None]) -> Iterator[Expr]:
    """Without expressions that follow from others: `cos(d.x)` adds nothing to `d.x`."""
    plain = {expr for expr in candidates if isinstance(expr, Navigation | Aggregate)}
    for expr in candidates:
        if expr in plain or not plain.issuperset(events_read(expr)):
            yield expr
