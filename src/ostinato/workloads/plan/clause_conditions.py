"""The conditions of a clause as a shared plan checks them: numbered tests of one row, and run conditions over node
labels.

In DEFINE a condition belongs to a variable and refers to variables. In a shared plan it belongs to the step to a node,
and refers to the labels of nodes on the paths there. So equal beginnings of two clauses have equal conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ostinato.clause.plan.condition_parts import may_fail
from ostinato.clause.plan.match_plan import NONE, MatchPlan
from ostinato.clause.plan.navigations import depends_on_match, references
from ostinato.event_queries.language.event_query import RunCondition
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Case,
    Column,
    Expr,
    Literal,
    MatchNumber,
    Navigation,
    Operator,
    RowSet,
    children,
    rebuild,
)
from ostinato.rows.column_names import PREFIX
from ostinato.workloads.plan.row_graph import PartitionPosition, RowGraph, RowNode

PLACE = f"{PREFIX}place"
"""A column that run conditions may read: the number of the row in its partition."""


@dataclass(frozen=True, slots=True)
class RowTest:
    """A test of one row: its conditions, and its allowed position in the partition.

    `is_timed`: the row must have a time. `is_negated`: the test holds where the rest doesn't (NULL counts as false).
    """

    row: Expr | None = None
    neighbours: Expr | None = None
    position: PartitionPosition = PartitionPosition.ANYWHERE
    at_end: bool = False
    is_timed: bool = False
    is_negated: bool = False


class RowTests:
    """The tests of a stream, each with one number."""

    def __init__(self) -> None:
        self.numbers: dict[RowTest, int] = {}

    def of_node(self, plan: MatchPlan, node: RowNode, is_timed: bool) -> int:
        """The number of the test for a row to be consumed in a node."""
        return self._numbered(
            replace(_state_test(plan, node.state), position=node.position, at_end=node.at_end, is_timed=is_timed)
        )

    def forbidden(self, plan: MatchPlan, state: int) -> tuple[int, ...]:
        """The number of the test that rows skipped in a state must not fulfil; none if every row may be skipped.

        Rows without a time needn't be forbidden. They are at one end of their partition, never between two rows with
        times.
        """
        test = _state_test(plan, state)
        return () if test == RowTest() else (self._numbered(replace(test, is_negated=True)),)

    def _numbered(self, test: RowTest) -> int:
        return self.numbers.setdefault(test, len(self.numbers))


def _state_test(plan: MatchPlan, state: int) -> RowTest:
    condition = plan.state_conditions[state]
    return RowTest(
        None if condition.row == NONE else plan.row_conditions[condition.row],
        None if condition.neighbours == NONE else plan.neighbour_conditions[condition.neighbours],
    )


# --- run conditions ---------------------------------------------------------------------------------------------------


def why_declined(plan: MatchPlan) -> str | None:
    """The first run condition that a shared plan can't check, in words."""
    for condition in plan.run_conditions:
        for node in references(condition):
            if isinstance(node, MatchNumber):
                return "DEFINE asks for MATCH_NUMBER()"
            if any(depends_on_match(operand) for operand in children(node)):
                return "DEFINE asks for the CLASSIFIER() of other rows"
            if isinstance(node, Aggregate) and node.distinct and node.name not in ("min", "max"):
                return f"DEFINE asks for {node.name.upper()}(DISTINCT ...)"
    return None


def may_skip(plan: MatchPlan) -> Callable[[int], bool]:
    """Whether no run condition reads the rows of a state, and the state has none itself."""
    read: set[str] = set()
    for condition in plan.run_conditions:
        for node in references(condition):
            if isinstance(node, Navigation | Aggregate) and not _is_at_an_end(node):
                read.update(plan.bound.variables if node.rows is None else node.rows)
    return lambda state: plan.state_conditions[state].run == NONE and plan.nfa.states[state].variable not in read


def _is_at_an_end(node: Navigation | Aggregate) -> bool:
    """Whether it starts at the first row of the match or at the present row, which are never skipped."""
    return isinstance(node, Navigation) and node.rows is None and node.skip == 0


class ClauseConditions:
    """The run conditions of one clause, over the labels of its graph's nodes."""

    def __init__(
        self, plan: MatchPlan, graph: RowGraph, labels: tuple[str, ...], neighbours: dict[Navigation, str]
    ) -> None:
        """`neighbours` collects the columns at fixed distances that conditions read."""
        self.plan = plan
        self.graph = graph
        self.labels = labels
        self.neighbours = neighbours
        self.run: dict[RunCondition, int] = {}
        self._upto = graph.upto()
        self._entries = graph.entries()

    def checks(self, node: int) -> tuple[int, ...]:
        """The numbers of the conditions on every step to a node."""
        conditions = []
        number = self.plan.state_conditions[self.graph.nodes[node].state].run
        if number != NONE:
            conjuncts = _conjuncts(self.plan.run_conditions[number])
            conditions += [self._over_labels(conjunct, node) for conjunct in conjuncts]
        clause = self.plan.bound.clause
        if clause.within is not None and clause.max_length is not None:
            conditions.append(self._over_labels(_not_longer(clause.max_length), node))
        return tuple(self._numbered(condition) for condition in conditions)

    def _numbered(self, condition: Expr) -> int:
        rows = (node.rows for node in references(condition) if isinstance(node, Navigation | Aggregate))
        run_condition = RunCondition(condition, frozenset().union(*(of for of in rows if of is not None)))
        return self.run.setdefault(run_condition, len(self.run))

    def _over_labels(self, expr: Expr, node: int) -> Expr:
        match expr:
            case Navigation(rows=None, anchor=Anchor.LAST, skip=0):
                return self._moved(replace(expr, rows=frozenset({self.labels[node]})))
            case Navigation(rows=None, anchor=Anchor.FIRST, skip=0):
                entries = self._entries & self._upto[node]
                return self._moved(replace(expr, rows=frozenset(self.labels[entry] for entry in entries)))
            case Navigation(rows=rows):
                return self._moved(replace(expr, rows=self._labels(rows, node)))
            case Aggregate(rows=rows):
                labels = self._labels(rows, node)
                return replace(expr, rows=labels) if labels else _of_nothing(expr, self.labels[node])
            case _:
                return rebuild(expr, lambda operand: self._over_labels(operand, node))

    def _labels(self, rows: RowSet, node: int) -> frozenset[str]:
        """The labels of a variable's rows in matches that have reached the node."""
        states, nodes = self.plan.nfa.states, self.graph.nodes
        return frozenset(
            self.labels[before]
            for before in self._upto[node]
            if rows is None or states[nodes[before].state].variable in rows
        )

    def _moved(self, navigation: Navigation) -> Navigation:
        """PREV and NEXT as a column of their own, since the matcher doesn't see a row's neighbours in its partition."""
        if navigation.shift == 0:
            return navigation
        fixed = Navigation(navigation.operand, None, Anchor.LAST, shift=navigation.shift)
        name = self.neighbours.setdefault(fixed, f"{PREFIX}n{len(self.neighbours)}")
        return replace(navigation, operand=Column(name), shift=0)


def _of_nothing(aggregate: Aggregate, label: str) -> Expr:
    """The aggregate over no row, in its own type. Programs need a label to know the column."""
    default = Literal("number", "0L") if aggregate.name in ("count", "count_if") else None
    never = Literal("boolean", "FALSE")
    return Case(None, ((never, replace(aggregate, rows=frozenset({label}))),), default)


def _conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The operands of AND, which clauses may share one by one. They stay together if one may protect another from
    failing."""
    if not isinstance(condition, Operator) or condition.op != "and" or any(map(may_fail, condition.args)):
        return (condition,)
    return condition.args


def _not_longer(max_length: int) -> Expr:
    """MAXLENGTH as a condition."""
    last = Navigation(Column(PLACE), None, Anchor.LAST)
    first = Navigation(Column(PLACE), None, Anchor.FIRST)
    return Operator("<=", (Operator("-", (last, first)), Literal("number", str(max_length - 1))))
