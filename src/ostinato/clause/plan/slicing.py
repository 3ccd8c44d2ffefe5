"""MatchPlan -> whether one partition can be cut into slices: the rows that two slices share, or the reason against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.shared_part import SharedPart, shared_part
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.expressions.syntax import Aggregate, Expr, MatchNumber, Navigation, walk


class Margins(NamedTuple):
    """The rows before and after a match that its conditions and measures may read."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a plan is cut into slices."""

    shared: SharedPart
    margins: Margins
    declined: str | None
    """The reason why the plan can't be cut, if there is one."""


def slicing_of(plan: MatchPlan) -> Slicing:
    clause = plan.bound.clause
    shared = shared_part(plan.nfa, clause.max_length, clause.within_us)
    return Slicing(shared, margins_of(plan), _declined(plan))


def _declined(plan: MatchPlan) -> str | None:
    if not plan.bound.order_by:
        return "without ORDER BY there is no order to cut"
    if any(isinstance(node, MatchNumber) for condition in plan.run_conditions for node in walk(condition)):
        return "MATCH_NUMBER() in DEFINE makes each match depend on all earlier ones"
    return None


def declined_by_tasks(plan: MatchPlan) -> str | None:
    """The reason why separate tasks can't match the slices. Tasks can't read one another's rows."""
    for slot in plan.slots:
        if isinstance(slot, Aggregate) and any(isinstance(node, MatchNumber) for node in walk(slot)):
            return "an aggregate over MATCH_NUMBER() depends on all earlier matches"
    return slicing_of(plan).declined


def declined_by_threads(typed: TypedPlan) -> str | None:
    """The reason why threads of one process can't match the slices."""
    if typed.general is not None:
        return f"conditions run row by row in Python: {typed.general.reasons[0]}"
    return slicing_of(typed.plan).declined


def useless_for_threads(plan: MatchPlan) -> str | None:
    """The reason why threads could match the slices, but not faster."""
    if plan.sequence is not None:
        return "a pattern of fixed length compares whole columns, and memory limits its speed"
    return None


def margins_of(plan: MatchPlan) -> Margins:
    """The largest distances by which PREV and NEXT lead out of a match."""
    shifts = [0, *_shifts((*plan.neighbour_conditions, *plan.run_conditions, *plan.slots))]
    return Margins(before=-min(shifts), after=max(shifts))


def _shifts(exprs: Iterable[Expr]) -> Iterable[int]:
    return (node.shift for expr in exprs for node in walk(expr) if isinstance(node, Navigation))
