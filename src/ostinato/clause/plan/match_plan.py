"""Bound clause -> MatchPlan: the columns to ship, where each condition runs, the slots that outputs are made of."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ostinato.clause.automaton.distinct_labels import one_state_per_label
from ostinato.clause.automaton.nfa import Nfa, build_nfa
from ostinato.clause.automaton.pattern_rewrites import Rewrite, rewrite
from ostinato.clause.plan.condition_parts import Condition, split_condition
from ostinato.clause.plan.fixed_length import at_offset, fixed_sequence
from ostinato.clause.plan.frame_distances import FrameDistance, FramedNfa, split_by_distance
from ostinato.clause.plan.navigations import depends_on_match, references, spread
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.clause import MatchMode
from ostinato.clause.query.pattern import Pattern
from ostinato.clause.query.window_pattern import BEFORE_MATCH, WindowPattern
from ostinato.errors import QueryError
from ostinato.expressions.syntax import (
    Aggregate,
    Column,
    Expr,
    Literal,
    MatchIdentity,
    MatchNumber,
    Navigation,
    RowClassifier,
    children,
    rebuild,
    string_literal,
    walk,
    with_label,
)
from ostinato.rows.column_names import KEY, PREFIX

MAX_PUSHED = 1_000
"""The most conditions and expressions over a single row; with more, Spark becomes very slow."""
NONE = -1


@dataclass(frozen=True, slots=True)
class PlanInput:
    """A column that matching or the measures need: from the input, or computed from a single row before matching."""

    name: str
    expr: Expr

    @property
    def is_computed(self) -> bool:
        return not isinstance(self.expr, Column)


@dataclass(frozen=True, slots=True)
class StateCondition:
    """Indexes into the plan's lists of conditions; NONE where the state has no such condition."""

    row: int = NONE
    neighbours: int = NONE
    run: int = NONE


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """A query split into the steps of its execution. Knows no types; see `TypedPlan`."""

    bound: BoundClause
    pattern: Pattern
    rewrites: tuple[Rewrite, ...]
    nfa: Nfa
    sequence: tuple[str, ...] | None
    """The variables of a pattern of fixed length whose conditions need no automaton."""
    row_conditions: tuple[Expr, ...]
    neighbour_conditions: tuple[Expr, ...]
    run_conditions: tuple[Expr, ...]
    state_conditions: tuple[StateCondition, ...]
    inputs: tuple[PlanInput, ...]
    slots: tuple[Expr, ...]
    """The values that matching returns for each output row: navigations, aggregates, match numbers."""
    outer: tuple[Expr, ...]
    """The measures as expressions over `slot_name(i)` columns."""
    shown: tuple[str, ...]
    """The input columns that the output shows."""
    window: WindowPattern | None = None
    """The window that is planned: each row is shown with its match. None: a clause."""
    declined: dict[str, str] = field(default_factory=dict)
    """Engines that can't run this query, and why."""

    @property
    def engine(self) -> str:
        return "shifts" if self.sequence is not None else "search"

    def input_name(self, expr: Expr) -> str:
        return next(item.name for item in self.inputs if item.expr == expr)

    def is_frame_function(self, measure: str) -> bool:
        """Whether the measure has a value for rows without a match, too."""
        return self.window is not None and measure in self.window.frame_functions

    @property
    def has_ids(self) -> bool:
        """Whether the output has ids of matches or runs."""
        return any(isinstance(slot, MatchIdentity) for slot in self.slots)

    @property
    def needs_path(self) -> bool:
        """Whether the output needs the labels of a match's rows."""
        if self.bound.shows_all_rows and self.window is None:
            return True
        if BEFORE_MATCH in self.bound.variables:  # the labels tell the rows before the match
            return True
        return any(
            isinstance(slot, Aggregate)
            or (isinstance(slot, MatchIdentity) and slot.kind == "match")
            or (isinstance(slot, Navigation) and (slot.rows is not None or depends_on_match(slot.operand)))
            for slot in self.slots
        )


def slot_name(i: int) -> str:
    return f"{PREFIX}m{i}"


def make_plan(bound: BoundClause, window: WindowPattern | None = None) -> MatchPlan:
    """Plans a clause, or the clause of a window. Raises RESERVED_NAME, PATTERN_TOO_LARGE, TOO_MANY_CONDITIONS."""
    for name in bound.columns:
        if name.lower().startswith(PREFIX) and not name.startswith(KEY):
            raise QueryError("RESERVED_NAME", f"column names that start with {PREFIX} are ours: '{name}'")
    pattern, rewrites = rewrite(bound.clause.pattern)
    nfa = build_nfa(pattern)
    if bound.clause.mode is MatchMode.ALL:
        nfa = one_state_per_label(nfa)
    framed = None if window is None else split_by_distance(nfa, bound.conditions.values(), window.frame_end)
    nfa = nfa if framed is None else framed.nfa
    sequence, conditions, declined = _state_conditions(bound, pattern, nfa, framed)
    lists = _Lists()
    state_conditions = tuple(lists.add(condition) for condition in conditions)
    inputs = _Inputs()
    shown = (*bound.partition_by, *bound.shown_order, *bound.shown_rest)
    if window is not None:  # first, because inputs order rows with equal keys: the same for all windows of an order
        inputs.show(shown)
    for condition in (*lists.neighbours, *lists.run):
        inputs.of_condition(condition, bound.variables)
    slots = SlotColumns(inputs)
    outer = tuple(slots.replace(measure.expression) for measure in bound.measures)
    inputs.show(name for name in shown if name not in bound.partition_by)
    pushed = len(lists.row) + sum(item.is_computed for item in inputs.by_expression.values())
    if pushed > MAX_PUSHED:
        raise QueryError(
            "TOO_MANY_CONDITIONS",
            f"the clause has {pushed:,} different conditions and expressions over one row; {MAX_PUSHED:,} is the most",
        )
    return MatchPlan(
        bound=bound,
        pattern=pattern,
        rewrites=rewrites,
        nfa=nfa,
        sequence=sequence,
        row_conditions=tuple(lists.row),
        neighbour_conditions=tuple(lists.neighbours),
        run_conditions=tuple(lists.run),
        state_conditions=state_conditions,
        inputs=tuple(inputs.by_expression.values()),
        slots=tuple(slots.slots),
        outer=outer,
        shown=shown,
        window=window,
        declined=declined,
    )


def _state_conditions(
    bound: BoundClause, pattern: Pattern, nfa: Nfa, framed: FramedNfa | None
) -> tuple[tuple[str, ...] | None, list[Condition], dict[str, str]]:
    """The sequence of variables if shifts can run the query, the condition of every state, and why shifts can't."""
    declined: dict[str, str] = {}
    sequence = fixed_sequence(pattern)
    if sequence is None:
        declined["shifts"] = "matches differ in length or labels"
    elif bound.clause.show_timeouts:
        declined["shifts"] = "partial matches that timed out are shown"
    else:
        placed = [
            split_condition(
                at_offset(bound.conditions[name], sequence, offset), name, framed.exactly(offset) if framed else None
            )
            if name in bound.conditions
            else Condition()
            for offset, name in enumerate(sequence)
        ]
        if all(condition.run is None for condition in placed):
            return sequence, placed, declined
        declined["shifts"] = "a condition needs an aggregate or MATCH_NUMBER() of the run"
    distances: Sequence[FrameDistance | None] = [None] * len(nfa.states) if framed is None else framed.distances

    @functools.cache
    def split(name: str, distance: FrameDistance | None) -> Condition:
        condition = bound.conditions.get(name)
        return Condition() if condition is None else split_condition(condition, name, distance)

    conditions = [split(state.variable, distance) for state, distance in zip(nfa.states, distances, strict=True)]
    return None, conditions, declined


class _Lists:
    """The conditions of all states, each once."""

    def __init__(self) -> None:
        self.row: dict[Expr, int] = {}
        self.neighbours: dict[Expr, int] = {}
        self.run: dict[Expr, int] = {}

    def add(self, condition: Condition) -> StateCondition:
        return StateCondition(
            self._index(self.row, condition.row),
            self._index(self.neighbours, condition.neighbours),
            self._index(self.run, condition.run),
        )

    @staticmethod
    def _index(indexes: dict[Expr, int], condition: Expr | None) -> int:
        return NONE if condition is None else indexes.setdefault(condition, len(indexes))


class _Inputs:
    """The columns to ship, each once, in the order in which they were first needed."""

    def __init__(self) -> None:
        self.by_expression: dict[Expr, PlanInput] = {}

    def add(self, expr: Expr) -> None:
        if expr not in self.by_expression:
            name = expr.name if isinstance(expr, Column) else f"{PREFIX}d{len(self.by_expression)}"
            self.by_expression[expr] = PlanInput(name, expr)

    def show(self, names: Iterable[str]) -> None:
        for name in names:
            self.add(Column(name))

    def of_condition(self, condition: Expr, variables: tuple[str, ...]) -> None:
        for reference in references(condition):
            if isinstance(reference, Navigation):
                self.of_operand(reference.operand)
            elif isinstance(reference, Aggregate):
                for arg in children(reference):
                    self.of_operand(arg)
                    if not any(isinstance(node, MatchNumber) for node in walk(arg)):
                        for labelled in labelled_arguments(arg, variables):
                            self.of_operand(labelled)

    def of_operand(self, operand: Expr) -> None:
        """Ships the operand itself, or, if it depends on the match, those of its children that don't."""
        if not depends_on_match(operand):
            if not isinstance(operand, Literal):
                self.add(operand)
        elif not isinstance(operand, RowClassifier | MatchNumber):
            for child in children(operand):
                self.of_operand(child)


def labelled_arguments(arg: Expr, variables: tuple[str, ...]) -> list[Expr]:
    """The argument of an aggregate in DEFINE: once for each variable, with its name for CLASSIFIER()."""
    if not any(isinstance(node, RowClassifier) for node in walk(arg)):
        return [arg]
    return [with_label(arg, string_literal(name)) for name in variables]


class SlotColumns:
    """Replaces navigations, aggregates and match numbers by columns that matching fills."""

    def __init__(self, inputs: _Inputs | None = None) -> None:
        self.inputs = inputs
        self.slots: list[Expr] = []

    def replace(self, expr: Expr) -> Expr:
        return self._replaced(spread(expr))

    def _replaced(self, expr: Expr) -> Expr:
        if isinstance(expr, Navigation | Aggregate | MatchNumber | MatchIdentity):
            return self._slot(expr)
        return rebuild(expr, self._replaced)

    def _slot(self, expr: Expr) -> Expr:
        if expr not in self.slots:
            self.slots.append(expr)
            if self.inputs is not None:
                for child in children(expr):
                    self.inputs.of_operand(child)
        return Column(slot_name(self.slots.index(expr)))
