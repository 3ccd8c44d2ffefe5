"""What steps cost -> which strategy runs the next one, as `correlations/strategies/strategy_planner.py` decides."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ostinato.correlations.strategies.cost_model import (
    CHOICES,
    Choice,
    Factors,
    Observed,
    Regions,
    Searches,
    factors_of,
)
from ostinato.correlations.strategies.sides import SearchCost
from ostinato.correlations.strategies.step_matches import Outcome
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

FORGETS = 0.9
"""What a step's observations still count one step later."""
NOTHING_OBSERVED = Observed()


def declined_strategies(task: CorrelationTask) -> dict[str, str]:
    """Strategies that can't run this query, and why."""
    if not task.live.reads_number:
        return {}
    reason = "MATCH_NUMBER() of a live match counts all live matches before it"
    return {"archive_first": reason}


def candidates_of(task: CorrelationTask, options: CorrelationOptions) -> tuple[Choice, ...]:
    """What may run. Raises CORRELATION_STRATEGY where the one that is asked for can't."""
    declined = declined_strategies(task)
    if options.strategy in declined:
        raise QueryError(
            "CORRELATION_STRATEGY",
            f"{options.strategy} can't run this query: {declined[options.strategy]}",
            hint='leave the choice to strategy="auto", or take "live_first"',
        )
    if options.strategy != "auto":
        return (Choice(options.strategy, options.cache),)
    return tuple(
        choice
        for choice in CHOICES
        if choice.strategy not in declined and (choice.strategy == "eager" or choice.cache == options.cache)
    )


def keeps_growths(candidates: tuple[Choice, ...]) -> bool:
    """Whether archive starts that were searched needn't be searched again, whatever runs next."""
    return all(
        choice.strategy in ("eager", "archive_first") or (choice.strategy == "live_first" and choice.cache)
        for choice in candidates
    )


@dataclass(frozen=True, slots=True)
class Thought:
    """What was observed and decided so far; what a state remembers of it."""

    decision: Decision
    observed: Observed = NOTHING_OBSERVED
    rows: int = 0

    @property
    def choice(self) -> Choice:
        return self.decision.choice

    @property
    def factors(self) -> Factors | None:
        return factors_of(self.observed)


def first_thought(candidates: tuple[Choice, ...]) -> Thought:
    decision = first_decision(candidates)
    return Thought(replace(decision, reason="asked for") if len(candidates) == 1 else decision)


def trial_rows(thought: Thought, candidates: tuple[Choice, ...], rows: int, *, finished: bool) -> int:
    """How many of a step's rows are to be tried before a strategy is chosen for it; 0: no trial."""
    if len(candidates) == 1 or not is_trial_due(thought.decision, thought.rows):
        return 0
    return rows_to_try(rows, finished=finished)


def after_trial(thought: Thought, seen: Observed, candidates: tuple[Choice, ...]) -> Thought:
    """What is thought once a trial has shown what its rows cost; these aren't counted as rows that were done."""
    observed = thought.observed.plus(seen, FORGETS)
    factors = factors_of(observed)
    if factors is None:  # one side has no rows yet
        return thought
    decision = decide(thought.decision, factors, candidates)
    return replace(thought, decision=postponed(decision, thought.rows), observed=observed)


def after_step(thought: Thought, seen: Observed, candidates: tuple[Choice, ...]) -> Thought:
    """What is thought once a step has shown what it costs; before the first trial that is mostly loading kernels."""
    if len(candidates) > 1 and not thought.decision.next_trial:
        return replace(thought, rows=thought.rows + int(seen.rows))
    observed = thought.observed.plus(seen, FORGETS)
    decision = thought.decision
    if len(candidates) > 1:
        decision = decide(decision, factors_of(observed), candidates)
    return replace(thought, decision=decision, observed=observed, rows=thought.rows + int(seen.rows))


def observed_of(
    choice: Choice, outcome: Outcome, live: SearchCost, archive: SearchCost, rows: int, join_seconds: float
) -> Observed:
    """What a strategy showed in a step."""
    live_searches = Searches(live.rows, live.seconds, len(outcome.live.key))
    archive_searches = Searches(archive.rows, archive.seconds, outcome.growths.new_starts)
    common = Observed(rows=rows, results=len(outcome.live_of_pair), join_seconds=join_seconds)
    match choice.strategy:
        case "eager":
            return replace(common, live=live_searches, archive=archive_searches)
        case "live_first":
            regions = Regions(*outcome.live_regions)
            return replace(common, live=live_searches, archive_in_regions=archive_searches, live_regions=regions)
        case "archive_first":
            regions = Regions(*outcome.archive_regions)
            return replace(common, archive=archive_searches, live_in_regions=live_searches, archive_regions=regions)


# --- to and from what a state can hold --------------------------------------------------------------------------------


def thought_to_json(thought: Thought) -> dict[str, Any]:
    decision = thought.decision
    return {
        "choice": list(decision.choice),
        "reason": decision.reason,
        "factors": None if decision.factors is None else asdict(decision.factors),
        "costs": None if decision.costs is None else [[*choice, cost] for choice, cost in decision.costs.items()],
        "next_trial": decision.next_trial,
        "observed": asdict(thought.observed),
        "rows": thought.rows,
    }


def thought_from_json(kept: dict[str, Any], candidates: tuple[Choice, ...]) -> Thought:
    """Starts anew where the choice that was made isn't to be had any more."""
    if not kept or Choice(*kept["choice"]) not in candidates:
        return first_thought(candidates)
    costs = None if kept["costs"] is None else {Choice(name, cache): cost for name, cache, cost in kept["costs"]}
    factors = None if kept["factors"] is None else Factors(**kept["factors"])
    decision = Decision(Choice(*kept["choice"]), kept["reason"], factors, costs, kept["next_trial"])
    parts: dict[str, Any] = {
        name: Searches(*value) if name in _SEARCHES else Regions(*value) if name in _REGIONS else value
        for name, value in kept["observed"].items()
    }
    return Thought(decision, Observed(**parts), kept["rows"])


_SEARCHES = frozenset({"live", "archive", "live_in_regions", "archive_in_regions"})
_REGIONS = frozenset({"live_regions", "archive_regions"})
