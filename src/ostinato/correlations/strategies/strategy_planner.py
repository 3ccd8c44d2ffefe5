"""Measured factors -> the strategy of the next step, and the reason.

A choice stands until its factors have drifted. Then it changes only if another choice is cheaper by more than the noise
of measurements. A strategy measures only its own searches. So from time to time a trial (`trial.py`) searches a few
rows to measure the other factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.correlations.strategies.cost_model import CHOICES, Factors, PlannerChoice, costs_of

EAGER = PlannerChoice("eager", False)

DRIFT = 1.5
"""A factor has drifted when it has grown or shrunk by more than this ratio."""
LEAST_GAIN = 0.1
"""Fraction of the present cost that another choice has to save."""
TRIAL_ROWS = 2_000
"""Largest number of rows that a trial searches on each side."""
LEAST_TRIAL_ROWS = 400
"""A trial of fewer rows shows too little."""
TRIAL_FRACTION = 0.02
"""At end of input: largest fraction of a step's rows that a trial searches."""
ROWS_BETWEEN_TRIALS = 1_000_000


@dataclass(frozen=True, slots=True)
class Decision:
    """The present choice, the factors behind it, and the latest costs."""

    choice: PlannerChoice
    reason: str
    factors: Factors | None = None
    costs: Mapping[PlannerChoice, float] | None = None
    """Seconds for the observed rows."""
    next_trial: int = 0
    """The next trial is due when this many rows were seen."""


def first_decision(candidates: Sequence[PlannerChoice] = CHOICES) -> Decision:
    """The decision before any measurement."""
    return Decision(candidates[0], "too few rows so far to try the others on")


def is_trial_due(decision: Decision, rows_seen: int) -> bool:
    """Whether the next step begins with a trial."""
    return rows_seen >= decision.next_trial


def rows_to_try(rows: int, *, finished: bool) -> int:
    """Number of a step's rows that a trial searches. 0: it would cost more than it saves, or show too little."""
    affordable = min(TRIAL_ROWS, int(TRIAL_FRACTION * rows) if finished else rows)
    return affordable if affordable >= LEAST_TRIAL_ROWS else 0


def postponed(decision: Decision, rows_seen: int) -> Decision:
    """The same choice, with the next trial after ROWS_BETWEEN_TRIALS rows."""
    return replace(decision, next_trial=rows_seen + ROWS_BETWEEN_TRIALS)


def decide(
    decision: Decision, factors: Factors | None, candidates: Sequence[PlannerChoice], drift: float = DRIFT
) -> Decision:
    """Chooses the cheapest candidate; among equal ones the first."""
    if factors is None:
        return decision
    drifted = () if decision.factors is None else drifted_factors(decision.factors, factors, drift)
    costs = costs_of(factors)
    if decision.factors is not None and not drifted:
        return replace(decision, costs=costs)
    best = _cheapest(costs, candidates)
    if decision.factors is None:
        return replace(decision, choice=best, reason="the cheapest as measured", factors=factors, costs=costs)
    because = f"{', '.join(drifted)} changed"
    if costs[best] >= (1 - LEAST_GAIN) * costs[decision.choice]:
        reason = f"{because}, but nothing is cheaper by more than {LEAST_GAIN:.0%}"
        return replace(decision, reason=reason, factors=factors, costs=costs)
    reason = f"{because}: cheaper now than {decision.choice.label}"
    return replace(decision, choice=best, reason=reason, factors=factors, costs=costs)


def _cheapest(costs: Mapping[PlannerChoice, float], candidates: Sequence[PlannerChoice]) -> PlannerChoice:
    """Prefers eager if no other choice saves LEAST_GAIN: the equations leave out the cost of computing regions."""
    best = min(candidates, key=lambda choice: costs[choice])
    return EAGER if EAGER in candidates and costs[best] >= (1 - LEAST_GAIN) * costs[EAGER] else best


def drifted_factors(before: Factors, now: Factors, drift: float) -> tuple[str, ...]:
    """The names of factors that have grown or shrunk by more than `drift`, per row."""
    old, new = before.per_row(), now.per_row()
    return tuple(name for name in old if not (old[name] <= drift * new[name] and new[name] <= drift * old[name]))
