"""Measured steps -> the strategy of the next step. The decision is `correlations/strategies/strategy_planner.py`'s."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ostinato.correlations.strategies.cost_model import (
    CHOICES,
    Factors,
    Observed,
    PlannerChoice,
    RegionSums,
    Searches,
    factors_of,
)
from ostinato.correlations.strategies.sides import SearchCost
from ostinato.correlations.strategies.step_matches import StepOutcome
from ostinato.correlations.strategies.strategy_planner import (
    Decision,
    decide,
    first_decision,
    is_trial_due,
    postponed,
    rows_to_try,
)
from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask
from ostinato.errors import QueryError

DECAY = 0.9
"""Factor by which earlier observations are multiplied after each step."""
NOTHING_OBSERVED = Observed()


def declined_strategies(task: CorrelationTask) -> dict[str, str]:
    """Strategies that can't run this query, with the reason."""
    if not task.live.reads_number:
        return {}
    reason = "MATCH_NUMBER() of a live match counts all live matches before it"
    return {"archive_first": reason}


def candidates_of(task: CorrelationTask, options: CorrelationOptions) -> tuple[PlannerChoice, ...]:
    """The choices that may run. Raises CORRELATION_STRATEGY if the named strategy can't run the query."""
    declined = declined_strategies(task)
    if options.strategy in declined:
        raise QueryError(
            "CORRELATION_STRATEGY",
            f"{options.strategy} can't run this query: {declined[options.strategy]}",
            hint='leave the choice to strategy="auto", or take "live_first"',
        )
    if options.strategy != "auto":
        return (PlannerChoice(options.strategy, options.cache),)
    return tuple(
        choice
        for choice in CHOICES
        if choice.strategy not in declined and (choice.strategy == "eager" or choice.cache == options.cache)
    )


@dataclass(frozen=True, slots=True)
class PlannerState:
    """Observations and the decision so far, as part of the state."""

    decision: Decision
    observed: Observed = NOTHING_OBSERVED
    rows: int = 0

    @property
    def choice(self) -> PlannerChoice:
        return self.decision.choice

    @property
    def factors(self) -> Factors | None:
        return factors_of(self.observed)


def first_planner_state(candidates: tuple[PlannerChoice, ...]) -> PlannerState:
    decision = first_decision(candidates)
    return PlannerState(replace(decision, reason="set by the option strategy") if len(candidates) == 1 else decision)


def trial_rows(planner_state: PlannerState, candidates: tuple[PlannerChoice, ...], rows: int, *, finished: bool) -> int:
    """Number of a step's rows that a trial searches before a strategy is chosen; 0: no trial."""
    if len(candidates) == 1 or not is_trial_due(planner_state.decision, planner_state.rows):
        return 0
    return rows_to_try(rows, finished=finished)


def after_trial(planner_state: PlannerState, measured: Observed, candidates: tuple[PlannerChoice, ...]) -> PlannerState:
    """Decides after a trial. Its rows don't count as processed rows."""
    observed = planner_state.observed.plus(measured, DECAY)
    factors = factors_of(observed)
    if factors is None:  # one side has no rows yet
        return planner_state
    decision = decide(planner_state.decision, factors, candidates)
    return replace(planner_state, decision=postponed(decision, planner_state.rows), observed=observed)


def after_step(planner_state: PlannerState, measured: Observed, candidates: tuple[PlannerChoice, ...]) -> PlannerState:
    """Decides after a step. Steps before the first trial aren't measured: they mostly load kernels."""
    if len(candidates) > 1 and not planner_state.decision.next_trial:
        return replace(planner_state, rows=planner_state.rows + int(measured.rows))
    observed = planner_state.observed.plus(measured, DECAY)
    decision = planner_state.decision
    if len(candidates) > 1:
        decision = decide(decision, factors_of(observed), candidates)
    return replace(planner_state, decision=decision, observed=observed, rows=planner_state.rows + int(measured.rows))


def observed_of(
    choice: PlannerChoice, outcome: StepOutcome, live: SearchCost, archive: SearchCost, rows: int, join_seconds: float
) -> Observed:
    """The observations of a step, by the strategy that ran."""
    live_searches = Searches(live.rows, live.seconds, len(outcome.live.key))
    archive_searches = Searches(archive.rows, archive.seconds, outcome.growths.new_starts)
    common = Observed(rows=rows, results=len(outcome.live_of_pair), join_seconds=join_seconds)
    match choice.strategy:
        case "eager":
            return replace(common, live=live_searches, archive=archive_searches)
        case "live_first":
            regions = outcome.live_regions
            return replace(common, live=live_searches, archive_in_regions=archive_searches, live_regions=regions)
        case "archive_first":
            regions = outcome.archive_regions
            return replace(common, archive=archive_searches, live_in_regions=live_searches, archive_regions=regions)


# --- to and from JSON -------------------------------------------------------------------------------------------------


def planner_to_json(planner_state: PlannerState) -> dict[str, Any]:
    decision = planner_state.decision
    return {
        "choice": list(decision.choice),
        "reason": decision.reason,
        "factors": None if decision.factors is None else asdict(decision.factors),
        "costs": None if decision.costs is None else [[*choice, cost] for choice, cost in decision.costs.items()],
        "next_trial": decision.next_trial,
        "observed": asdict(planner_state.observed),
        "rows": planner_state.rows,
    }


def planner_from_json(stored: dict[str, Any], candidates: tuple[PlannerChoice, ...]) -> PlannerState:
    """Starts again if the stored choice is no longer a candidate."""
    if not stored or PlannerChoice(*stored["choice"]) not in candidates:
        return first_planner_state(candidates)
    costs = (
        None if stored["costs"] is None else {PlannerChoice(name, cache): cost for name, cache, cost in stored["costs"]}
    )
    factors = None if stored["factors"] is None else Factors(**stored["factors"])
    decision = Decision(PlannerChoice(*stored["choice"]), stored["reason"], factors, costs, stored["next_trial"])
    observed: dict[str, Any] = {
        name: Searches(*value) if name in _SEARCHES else RegionSums(*value) if name in _REGIONS else value
        for name, value in stored["observed"].items()
    }
    return PlannerState(decision, Observed(**observed), stored["rows"])


_SEARCHES = frozenset({"live", "archive", "live_in_regions", "archive_in_regions"})
_REGIONS = frozenset({"live_regions", "archive_regions"})
