"""MergedPlan -> PlanTables: the arrays that the matcher's kernel reads. No rows and no values here.

Steps get new numbers: first the steps that an event takes, by its condition, then those that a segment takes.
Conditions over one event get new numbers too, if a step or an absence needs them. There are several small tables, so
that each function of the kernel gets only the tables that it reads: passing more makes compiling slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import BoundKind, Extent
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, Guard, MergedPlan, PlanStep
from ostinato.workloads.merging.pattern_program import EdgeCheck

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WORD_BITS = 64
UNBOUNDED, SPAN, WINDOWS = range(3)
"""Kinds of extents."""
LARGEST_LENGTH = (1 << 62) - 1
EDGE_OPS = ("<", "<=", ">", ">=", "=", "<>")


class StepTable(NamedTuple):
    """Entry i has `x[x_at[i]:x_at[i + 1]]`."""

    at: Ints
    """[condition, renumbered] the steps that an event takes."""
    number: Ints
    """[step] its number in `MergedPlan.steps`."""
    source: Ints
    target: Ints
    join_at: Ints
    join: Ints
    """[node] the steps that its partial matches take as a segment."""
    check_count: Ints
    """[step] number of its run conditions and edge checks, guards included."""


class GapTable(NamedTuple):
    """Conditions of a step on the rows between its two events."""

    adjacent: Bools
    absent_at: Ints
    absent: Ints
    """Numbers of absences, as in `PlanTables.absence_of`."""
    leave_at: Ints
    leave: Ints
    """[node] the steps that leave it."""
    only_adjacent: Bools
    """[node] whether all of them are adjacent."""


class CheckTable(NamedTuple):
    """Run conditions and edge checks. Their owners are first all steps, then all guards."""

    check_at: Ints
    check: Ints
    """Numbers of run conditions."""
    edge_at: Ints
    edge_op: Ints
    edge_before: Ints
    edge_after: Ints
    """Numbers of columns of `EdgeValues`."""
    edge_real: Bools
    guard_at: Ints
    """[step] its guards. The conditions of guard g are at (number of steps) + g."""
    guard_patterns: Ints
    """[guard, word]"""


class NodeTable(NamedTuple):
    label: Ints
    patterns: Ints
    """[node, word] the bit set of patterns, as signed words."""
    is_sink: Bools
    """Whether no step leaves the node: a partial match there is a match, and isn't kept."""


class ExtentTable(NamedTuple):
    """[node] the largest extent of a match."""

    by_place: Bools
    kind: Ints
    length: Ints
    slide: Ints
    positions: NDArray[np.float64]
    """Positions of the longest match, which ages divide."""
    ages: NDArray[np.float64]
    """Ages per position, rounded up a little: a multiplication replaces the division, and must not end below a whole
    age."""


class EndTable(NamedTuple):
    """[node] its ends, and [end] its run conditions."""

    at: Ints
    pattern: Ints
    check_at: Ints
    check: Ints


class PlanTables(NamedTuple):
    steps: StepTable
    gaps: GapTable
    check_table: CheckTable
    nodes: NodeTable
    extents: ExtentTable
    ends: EndTable
    absence_of: Ints
    """By condition (renumbered) the number of the absence that it breaks, or -1."""

    @property
    def node_count(self) -> int:
        return len(self.nodes.label)


class EdgeColumn(NamedTuple):
    """A value that edge checks compare, as whole or as real numbers."""

    value: int
    real: bool


class PreparedPlan(NamedTuple):
    """A plan ready for the kernel."""

    tables: PlanTables
    conditions: tuple[int, ...]
    """The numbers of the conditions over one event, in the order of their new ones."""
    absences: int
    edge_columns: tuple[EdgeColumn, ...]

    @property
    def segments_check_absences(self) -> bool:
        joins = self.tables.steps.join
        return bool((np.diff(self.tables.gaps.absent_at)[joins] > 0).any())


def prepare_plan(plan: MergedPlan, real_values: Sequence[bool], ages: int) -> PreparedPlan:
    """`real_values`: for each value of edge checks, whether it is a double. `ages` as in the ledger."""
    by_event = [i for i, step in enumerate(plan.steps) if step.segment == NO_SEGMENT]
    joining = [i for i, step in enumerate(plan.steps) if step.segment != NO_SEGMENT]
    absent = sorted({number for step in plan.steps for number in step.absent})
    conditions = sorted({plan.steps[i].condition for i in by_event} | set(absent))
    new_number = {number: at for at, number in enumerate(conditions)}
    by_event.sort(key=lambda i: new_number[plan.steps[i].condition])
    steps = [plan.steps[i] for i in (*by_event, *joining)]
    columns: dict[EdgeColumn, int] = {}
    joins: list[list[int]] = [[] for _ in plan.nodes]
    for number, step in enumerate(steps):
        if step.segment != NO_SEGMENT:
            joins[step.segment].append(number)
    tables = PlanTables(
        steps=StepTable(
            np.searchsorted([new_number[plan.steps[i].condition] for i in by_event], np.arange(len(conditions) + 1)),
            _ints([*by_event, *joining]),
            _ints([step.source for step in steps]),
            _ints([step.target for step in steps]),
            *flat_lists(joins),
            _ints([len(step.all_checks) + len(step.all_edges) for step in steps]),
        ),
        gaps=_gaps(steps, absent, plan),
        check_table=_check_table(steps, len(plan.names), real_values, columns),
        nodes=_nodes(plan),
        extents=_extents([node.extent for node in plan.nodes], ages),
        ends=_ends(plan),
        absence_of=_ints([absent.index(number) if number in absent else -1 for number in conditions]),
    )
    return PreparedPlan(tables, tuple(conditions), len(absent), tuple(columns))


def words_for(patterns: int) -> int:
    """Number of words of a bit set of patterns."""
    return max(1, -(-patterns // WORD_BITS))


def _ints(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, np.int64)


def flat_lists(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Returns the start of each list and the end of the last one, and all lists one after the other."""
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return starts, _ints([number for numbers in lists for number in numbers])


def _bit_sets(sets: Sequence[int], words: int) -> Ints:
    """Bit sets as signed 64-bit words, the lowest first."""
    rows = [[(bits >> (WORD_BITS * word)) & ((1 << WORD_BITS) - 1) for word in range(words)] for bits in sets]
    return np.array(rows, np.uint64).reshape(len(sets), words).view(np.int64)


def _gaps(steps: Sequence[PlanStep], absent: Sequence[int], plan: MergedPlan) -> GapTable:
    leaving: list[list[int]] = [[] for _ in plan.nodes]
    for number, step in enumerate(steps):
        leaving[step.source].append(number)
    return GapTable(
        np.array([step.adjacent for step in steps], np.bool_),
        *flat_lists([[absent.index(number) for number in step.absent] for step in steps]),
        *flat_lists(leaving),
        np.array([all(steps[i].adjacent for i in of_node) for of_node in leaving], np.bool_),
    )


def _check_table(
    steps: Sequence[PlanStep], patterns: int, real_values: Sequence[bool], columns: dict[EdgeColumn, int]
) -> CheckTable:
    """Adds the values that edge checks compare to `columns`."""
    guards = [guard for step in steps for guard in step.guards]
    owners: list[PlanStep | Guard] = [*steps, *guards]
    edges: list[EdgeCheck] = [edge for owner in owners for edge in owner.edges]
    real = [real_values[edge.before_value] or real_values[edge.after_value] for edge in edges]

    def column(value: int, as_real: bool) -> int:
        return columns.setdefault(EdgeColumn(value, as_real), len(columns))

    return CheckTable(
        *flat_lists([owner.checks for owner in owners]),
        flat_lists([[0] * len(owner.edges) for owner in owners])[0],
        _ints([EDGE_OPS.index(edge.op) for edge in edges]),
        _ints([column(edge.before_value, is_real) for edge, is_real in zip(edges, real, strict=True)]),
        _ints([column(edge.after_value, is_real) for edge, is_real in zip(edges, real, strict=True)]),
        np.array(real, np.bool_),
        flat_lists([[0] * len(step.guards) for step in steps])[0],
        _bit_sets([guard.patterns for guard in guards], words_for(patterns)),
    )


def _ends(plan: MergedPlan) -> EndTable:
    ends = sorted(plan.ends, key=lambda end: end.node)
    return EndTable(
        np.searchsorted([end.node for end in ends], np.arange(len(plan.nodes) + 1)),
        _ints([end.pattern for end in ends]),
        *flat_lists([end.checks for end in ends]),
    )


def _nodes(plan: MergedPlan) -> NodeTable:
    left = {step.source for step in plan.steps} | {step.segment for step in plan.steps}
    return NodeTable(
        _ints([node.label for node in plan.nodes]),
        _bit_sets([node.patterns for node in plan.nodes], words_for(len(plan.names))),
        np.array([number not in left and number != ROOT for number in range(len(plan.nodes))], np.bool_),
    )


def _extents(extents: Sequence[Extent], ages: int) -> ExtentTable:
    kinds = {BoundKind.NONE: UNBOUNDED, BoundKind.SPAN: SPAN, BoundKind.WINDOWS: WINDOWS}
    positions = [extent.length + (extent.kind is BoundKind.SPAN) for extent in extents]
    return ExtentTable(
        np.array([extent.by_place for extent in extents], np.bool_),
        _ints([kinds[extent.kind] for extent in extents]),
        _ints([min(extent.length, LARGEST_LENGTH) for extent in extents]),
        _ints([max(extent.slide, 1) for extent in extents]),
        np.array(positions, np.float64),
        np.array([ages / count * (1 + 1e-12) if count else 0.0 for count in positions], np.float64),
    )
