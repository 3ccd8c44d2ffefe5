"""Conditions between events of a match -> tests of adjacent events, where the automaton shows that they are adjacent.

Input: AdjacentConditions and RunConditions of a bound query, and an automaton. Output: one `EdgeCondition` for each
pair of labels that may follow one another. It compares a value of the later event with a value of the earlier one, or
it is a condition over both events. `event_plan.py` numbers the conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ostinato.clause.plan.navigations import references
from ostinato.event_queries.automaton.trend_automaton import TrendAutomaton
from ostinato.event_queries.language.event_query import AdjacentCondition, RunCondition
from ostinato.expressions.syntax import Anchor, Case, Expr, Literal, Navigation, Operator, children, rebuild

BEFORE, AFTER = 1, 0
"""The `skip` of a Navigation to the earlier and to the later of two adjacent events."""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_ONE = Literal("number", "1")
_ZERO = Literal("number", "0")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`after` op `before`; each side is an expression over the columns of its event."""

    op: str
    after: Expr
    before: Expr


@dataclass(frozen=True, slots=True)
class EdgeCondition:
    """The test that two adjacent events bound to `before` and `after` must pass."""

    before: str
    after: str
    test: Comparison | Expr


# --- run conditions that are adjacent ones ----------------------------------------------------------------------------


def as_adjacent(condition: RunCondition, automaton: TrendAutomaton) -> tuple[AdjacentCondition, ...] | None:
    """The condition as conditions between adjacent events; None if it can't be expressed that way.

    It can if it names two variables that occur at most once in any match and, if both occur, next to each other. The
    result is empty if no match has both.
    """
    if not condition.variables <= set(automaton.labels):
        return ()
    if condition.each is not None or len(condition.variables) != 2:
        return None
    if not all(_is_one_event(node) for node in references(condition.condition)):
        return None
    one, other = (automaton.labels.index(name) for name in sorted(condition.variables))
    later = labels_behind(automaton)
    if not (_is_adjacent(automaton, later, one, other) and _is_adjacent(automaton, later, other, one)):
        return None
    names, possible = automaton.labels, label_pairs(automaton)
    return tuple(
        AdjacentCondition(names[before], names[after], _placed(condition.condition, names[before]))
        for before, after in ((one, other), (other, one))
        if (before, after) in possible
    )


def _is_one_event(node: Expr) -> bool:
    return isinstance(node, Navigation) and node.rows is not None and len(node.rows) == 1 and node.skip == 0


def _placed(condition: Expr, before: str) -> Expr:
    """The condition with the earlier and the later event in place of variables."""

    def placed(node: Expr) -> Expr:
        if isinstance(node, Navigation):
            skip = BEFORE if node.rows == frozenset((before,)) else AFTER
            return replace(node, rows=None, anchor=Anchor.LAST, skip=skip, final=False)
        return rebuild(node, placed)

    return placed(condition)


def _is_adjacent(automaton: TrendAutomaton, later: Sequence[int], one: int, other: int) -> bool:
    """Whether an event bound to `one` is never followed by another such event, and by `other` only directly."""
    entry = automaton.entry_labels()
    if any(later[state] >> one & 1 for state in range(automaton.states) if entry[state] == one):
        return False
    return not any(
        later[step.target] >> other & 1
        for step in automaton.transitions
        if entry[step.source] == one and step.label != other
    )


def labels_behind(automaton: TrendAutomaton) -> list[int]:
    """For each state, the labels of all events that may still follow, as bits."""
    behind = [0] * automaton.states
    sources: list[set[int]] = [set() for _ in range(automaton.states)]
    for step in automaton.transitions:
        behind[step.source] |= 1 << step.label
        sources[step.target].add(step.source)
    waiting = list(range(automaton.states))
    while waiting:
        state = waiting.pop()
        for source in sources[state]:
            if behind[state] & ~behind[source]:
                behind[source] |= behind[state]
                waiting.append(source)
    return behind


def label_pairs(automaton: TrendAutomaton) -> frozenset[tuple[int, int]]:
    """The labels (before, after) that may directly follow one another."""
    entry = automaton.entry_labels()
    return frozenset((entry[step.source], step.label) for step in automaton.transitions if entry[step.source] >= 0)


# --- adjacent conditions -> edges -------------------------------------------------------------------------------------


def edges_of(conditions: Iterable[AdjacentCondition], automaton: TrendAutomaton) -> tuple[EdgeCondition, ...]:
    """One edge for each pair of variables that has conditions and may follow one another."""
    label_of = {name: label for label, name in enumerate(automaton.labels)}
    possible = label_pairs(automaton)
    conditions_of: dict[tuple[str, str], dict[Expr, None]] = {}
    for item in conditions:
        if (label_of.get(item.before), label_of.get(item.after)) in possible:
            conditions_of.setdefault((item.before, item.after), {})[item.condition] = None
    return tuple(
        EdgeCondition(before, after, _test(tuple(conditions_between)))
        for (before, after), conditions_between in conditions_of.items()
    )


def _test(conjuncts: Sequence[Expr]) -> Comparison | Expr:
    if len(conjuncts) == 1:
        return compared(conjuncts[0]) or conjuncts[0]
    conjunction = conjuncts[0]
    for condition in conjuncts[1:]:
        conjunction = Operator("and", (conjunction, condition))
    if len(_events_of(conjunction)) == 1:  # all operands belong to one event
        return compared(conjunction) or conjunction
    return conjunction


def compared(condition: Expr) -> Comparison | None:
    """The condition as one comparison of the later event with the earlier one; None if it isn't one.

    A condition over one of the two events alone becomes a comparison of its truth value with 1.
    """
    events = _events_of(condition)
    if len(events) == 1:
        holds = Case(None, ((_of_event(condition), _ONE),), _ZERO)
        return Comparison("=", holds, _ONE) if events == {AFTER} else Comparison("=", _ONE, holds)
    if not isinstance(condition, Operator) or condition.op not in _FLIPPED:
        return None
    left, right = condition.args
    if (_events_of(left), _events_of(right)) == ({AFTER}, {BEFORE}):
        return Comparison(condition.op, _of_event(left), _of_event(right))
    if (_events_of(left), _events_of(right)) == ({BEFORE}, {AFTER}):
        return Comparison(_FLIPPED[condition.op], _of_event(right), _of_event(left))
    return None


def _events_of(expr: Expr) -> set[int]:
    return {node.skip for node in references(expr) if isinstance(node, Navigation)}


def _of_event(expr: Expr) -> Expr:
    """The expression over the columns of its one event."""
    return expr.operand if isinstance(expr, Navigation) else rebuild(expr, _of_event)


def as_pair_condition(test: Comparison) -> Expr:
    """A comparison as a condition over both events again."""
    after = Navigation(test.after, None, Anchor.LAST, AFTER)
    return Operator(test.op, (after, Navigation(test.before, None, Anchor.LAST, BEFORE)))


def operands(condition: Expr) -> Iterable[Expr]:
    """The single-event expressions in a condition: operands of navigations and arguments of aggregates, without
    literals."""
    for node in references(condition):
        for operand in children(node):
            if not isinstance(operand, Literal):
                yield operand
