"""Factors measured while running -> which strategy runs the next step, and why.

A choice stands until the factors that it was made with have drifted, and then changes only for one that is cheaper by
more than measurements scatter. What a strategy doesn't do it doesn't measure, so from time to time a few rows of a step
are searched in a trial (`trial.py`), for what that shows of the factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.correlations.strategies.cost_model import CHOICES, Choice, Factors, costs_of

EAGER = Choice("eager", False)


@dataclass(frozen=True, slots=True)
class Settings:
    """When to think again, and when to act on it."""

    drift: float = 1.5
    """A factor that has grown or shrunk by more than this is another one."""
    gain: float = 0.1
    """What another choice must save, as a share of the present one's cost."""
    trial_rows: int = 2_000
    """A trial searches so many rows at most."""
    least_trial_rows: int = 400
    """Of fewer a trial shows too little."""
    trial_share: float = 0.02
    """Where no rows follow: the share of a step's rows that a trial may search."""
    rows_between_trials: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Decision:
    """What runs now, the factors it was chosen with, and what was thought last."""

    choice: Choice
    reason: str
    factors: Factors | None = None
    costs: Mapping[Choice, float] | None = None
    """Seconds for the rows observed last."""
    next_trial: int = 0
    """The number of rows seen from which on a trial is due."""


def first_decision(candidates: Sequence[Choice] = CHOICES) -> Decision:
    """Before anything is measured."""
    return Decision(candidates[0], "too few rows so far to try the others on")


def is_trial_due(decision: Decision, rows_seen: int) -> bool:
    """Whether the next step should begin with a trial."""
    return rows_seen >= decision.next_trial


def rows_to_try(rows: int, settings: Settings, *, finished: bool) -> int:
    """How many of a step's rows a trial searches; 0: it costs more than it can save, or shows too little."""
    affordable = min(settings.trial_rows, int(settings.trial_share * rows) if finished else rows)
    return affordable if affordable >= settings.least_trial_rows else 0


def postponed(decision: Decision, rows_seen: int, settings: Settings) -> Decision:
    """The same choice, with the next trial a while away."""
    return replace(decision, next_trial=rows_seen + settings.rows_between_trials)


def decide(decision: Decision, factors: Factors | None, candidates: Sequence[Choice], settings: Settings) -> Decision:
    """What runs from now on; of choices that cost the same the first candidate."""
    if factors is None:
        return decision
    drifted = () if decision.factors is None else drifted_factors(decision.factors, factors, settings.drift)
    costs = costs_of(factors)
    if decision.factors is not None and not drifted:
        return replace(decision, costs=costs)
    best = _cheapest(costs, candidates, settings)
    if decision.factors is None:
        return replace(decision, choice=best, reason="the cheapest as measured", factors=factors, costs=costs)
    because = f"{', '.join(drifted)} changed"
    if costs[best] >= (1 - settings.gain) * costs[decision.choice]:
        reason = f"{because}, but nothing is cheaper by more than {settings.gain:.0%}"
        return replace(decision, reason=reason, factors=factors, costs=costs)
    reason = f"{because}: cheaper now than {_name(decision.choice)}"
    return replace(decision, choice=best, reason=reason, factors=factors, costs=costs)


def _cheapest(costs: Mapping[Choice, float], candidates: Sequence[Choice], settings: Settings) -> Choice:
    """Eager unless another saves something worth it: that regions have to be worked out isn't in the equations."""
    best = min(candidates, key=lambda choice: costs[choice])
    return EAGER if EAGER in candidates and costs[best] >= (1 - settings.gain) * costs[EAGER] else best


def drifted_factors(before: Factors, now: Factors, drift: float) -> tuple[str, ...]:
    """The names of the factors that have grown or shrunk by more than `drift`, for equal numbers of rows."""
    old, new = before.per_row(), now.per_row()
    return tuple(name for name in old if not (old[name] <= drift * new[name] and new[name] <= drift * old[name]))


def _name(choice: Choice) -> str:
    name = choice.strategy.replace("_", "-")
    return f"{name} with cache" if choice.cache else name
