"""Whether the rows of one partition can be cut into slices: the rows that two slices share, or the reason against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.shared_part import SharedPart, shared_part
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.expressions.syntax import Aggregate, Expr, MatchNumber, Navigation, walk


class Margins(NamedTuple):
    """How many rows before and after those of a match conditions and measures may read."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a plan is cut into slices."""

    shared: SharedPart
    margins: Margins
    declined: str | None
    """Why it can't be."""


def slicing_of(plan: MatchPlan) -> Slicing:
    clause = plan.bound.clause
    within_us = None if clause.within is None else clause.within // timedelta(microseconds=1)
    shared = shared_part(plan.nfa, clause.max_length, within_us)
    return Slicing(shared, margins_of(plan), _declined(plan))


def _declined(plan: MatchPlan) -> str | None:
    if not plan.bound.order_by:
        return "without ORDER BY there is no order to cut"
    if any(isinstance(node, MatchNumber) for condition in plan.run_conditions for node in walk(condition)):
        return "MATCH_NUMBER() in DEFINE makes every match depend on all before it"
    return None


def declined_by_tasks(plan: MatchPlan) -> str | None:
    """Why tasks that can't read one another's rows couldn't do it."""
    for slot in plan.slots:
        if isinstance(slot, Aggregate) and any(isinstance(node, MatchNumber) for node in walk(slot)):
            return "an aggregate over MATCH_NUMBER() needs to know all matches before"
    return slicing_of(plan).declined


def declined_by_threads(typed: TypedPlan) -> str | None:
    """Why threads of one process wouldn't help."""
    if typed.general is not None:
        return f"conditions run row by row in Python: {typed.general.reason}"
    return slicing_of(typed.plan).declined


def useless_for_threads(plan: MatchPlan) -> str | None:
    """Why threads would gain nothing, though they could do it."""
    if plan.sequence is not None:
        return "a pattern of fixed length compares whole columns, which waits for memory and not for a thread"
    return None


def margins_of(plan: MatchPlan) -> Margins:
    """How far PREV and NEXT lead out of a match, at most."""
    shifts = [0, *_shifts((*plan.neighbour_conditions, *plan.run_conditions, *plan.slots))]
    return Margins(before=-min(shifts), after=max(shifts))


def _shifts(exprs: Iterable[Expr]) -> Iterable[int]:
    return (node.shift for expr in exprs for node in walk(expr) if isinstance(node, Navigation))
