"""MergedPlan -> PlanShape: nodes, steps and patterns as the shedder reads them. No events here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.matcher.plan_tables import flat_lists
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PlanShape:
    """Nodes, steps and patterns by their numbers in the plan."""

    names: tuple[str, ...]
    reach: Bools
    """[node, pattern] the pattern-sharing degree (bitmap labels of SHARP, Alg. 2)."""
    ends: Bools
    """[node, pattern] whether partial matches of the node may be matches of the pattern."""
    step_source: Ints
    step_target: Ints
    step_condition: Ints
    step_patterns: Bools
    """[step, pattern] the patterns that a step leads to."""
    children: tuple[tuple[int, ...], ...]
    """[node] nodes that its partial matches grow into; none for ROOT, whose partial match is always kept."""
    joined: tuple[tuple[int, ...], ...]
    """[node] nodes that its partial matches join as a segment."""
    children_first: tuple[int, ...]
    """All nodes but ROOT, children before parents except in loops."""
    has_loops: bool
    first: Bools
    """[node] whether its partial matches are single first events."""

    @property
    def nodes(self) -> int:
        return len(self.children)

    @property
    def patterns(self) -> int:
        return len(self.names)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(node, child)"""
        return tuple((node, child) for node, children in enumerate(self.children) for child in children)


def shape_of(plan: MergedPlan) -> PlanShape:
    nodes, patterns = len(plan.nodes), len(plan.names)
    reach = np.array([_bits(node.patterns, patterns) for node in plan.nodes]).reshape(nodes, patterns)
    ends = np.zeros((nodes, patterns), np.bool_)
    for end in plan.ends:
        ends[end.node, end.pattern] = True
    children: list[list[int]] = [[] for _ in range(nodes)]
    joined: list[list[int]] = [[] for _ in range(nodes)]
    first = np.zeros(nodes, np.bool_)
    for step in plan.steps:
        if step.source == ROOT:
            first[step.target] = step.segment == NO_SEGMENT
        elif step.target not in children[step.source]:
            children[step.source].append(step.target)
        if step.segment != NO_SEGMENT and step.target not in joined[step.segment]:
            joined[step.segment].append(step.target)
    order = _children_first([[*c, *j] for c, j in zip(children, joined, strict=True)])
    return PlanShape(
        plan.names,
        reach,
        ends,
        np.array([step.source for step in plan.steps], np.int64),
        np.array([step.target for step in plan.steps], np.int64),
        np.array([step.condition for step in plan.steps], np.int64),
        reach[[step.target for step in plan.steps]].reshape(len(plan.steps), patterns),
        tuple(map(tuple, children)),
        tuple(map(tuple, joined)),
        order,
        _has_loops(order, children),
        first,
    )


def _bits(mask: int, count: int) -> list[bool]:
    return [bool(mask >> number & 1) for number in range(count)]


def _children_first(after: list[list[int]]) -> tuple[int, ...]:
    """Depth-first, without recursion: plans of long patterns are deep."""
    order: list[int] = []
    seen = {ROOT}
    for start in range(len(after)):
        stack = [] if start in seen else [(start, iter(after[start]))]
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            child = next((child for child in rest if child not in seen), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(after[child])))
    return tuple(order)


def _has_loops(children_first: tuple[int, ...], children: list[list[int]]) -> bool:
    position = {node: at for at, node in enumerate(children_first)}
    return any(position[child] >= position[node] for node in children_first for child in children[node])


class PlanLinks(NamedTuple):
    """A PlanShape for kernels. Node n has the entries of `x` from `x_at[n]` on."""

    order: Ints
    """Nodes, children first; twice where there are loops, since the second round needs the results of the first."""
    child_at: Ints
    child: Ints
    join_at: Ints
    join: Ints
    column_at: Ints
    column: Ints
    """[node] its patterns."""
    ends: NDArray[np.bool_]
    """[node, pattern]"""


def links_of(shape: PlanShape) -> PlanLinks:
    child_at, child = flat_lists(shape.children)
    join_at, join = flat_lists(shape.joined)
    column_at, column = flat_lists([np.flatnonzero(of_node).tolist() for of_node in shape.reach])
    order = np.array(shape.children_first * (2 if shape.has_loops else 1), np.int64)
    return PlanLinks(order, child_at, child, join_at, join, column_at, column, shape.ends)
