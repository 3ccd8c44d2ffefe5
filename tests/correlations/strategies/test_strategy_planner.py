"""The choice of a strategy for made-up factors, and changes of this choice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.correlations.strategies.made_up_factors import FACTORS

from ostinato.correlations.strategies.cost_model import CHOICES, Factors, PlannerChoice, costs_of
from ostinato.correlations.strategies.strategy_planner import (
    EAGER,
    Decision,
    decide,
    drifted_factors,
    first_decision,
    is_trial_due,
    postponed,
    rows_to_try,
)

LIVE_FIRST, ARCHIVE_FIRST = PlannerChoice("live_first", True), PlannerChoice("archive_first", True)

RARE_LIVE = replace(FACTORS, live_matches=1)
RARE_ARCHIVE = replace(FACTORS, live_matches=200, archive_matches=1)
DEAR_REGIONS = replace(FACTORS, archive_cost_in_regions=99, live_cost_in_regions=99)


def decided(factors: Factors, before: Decision | None = None) -> Decision:
    return decide(before or first_decision(), factors, CHOICES)


@pytest.mark.parametrize(
    ("factors", "choice"), [(RARE_LIVE, LIVE_FIRST), (RARE_ARCHIVE, ARCHIVE_FIRST), (DEAR_REGIONS, EAGER)]
)
def test_the_cheapest_is_chosen(factors: Factors, choice: PlannerChoice) -> None:
    decision = decided(factors)
    assert decision.choice == choice
    assert decision.costs == costs_of(factors)


def test_only_candidates_are_chosen() -> None:
    candidates = [PlannerChoice("live_first", False), LIVE_FIRST]
    assert decide(first_decision(candidates), RARE_ARCHIVE, candidates).choice == LIVE_FIRST


def test_the_cache_is_free_if_regions_do_not_overlap() -> None:
    disjoint = replace(RARE_LIVE, live_region_step=RARE_LIVE.live_region)
    assert decided(disjoint).choice == LIVE_FIRST


@pytest.mark.parametrize(("matches", "choice"), [(7.1, LIVE_FIRST), (7.2, EAGER)])
def test_eager_is_chosen_unless_another_saves_a_tenth(matches: float, choice: PlannerChoice) -> None:
    """Eager costs 5,000. Live-first costs 2,000 and 350 per live match, so it saves a tenth up to 7.14 matches."""
    factors = replace(FACTORS, live_matches=matches, archive_matches=200, results=0)
    assert decided(factors).choice == choice


def test_without_measurements_live_first_is_chosen() -> None:
    decision = first_decision()
    assert decision.choice == LIVE_FIRST
    assert decide(decision, None, CHOICES) == decision


# --- drift ---


def test_small_changes_of_factors_do_not_change_the_decision() -> None:
    before = decided(RARE_LIVE)
    now = replace(RARE_LIVE, archive_cost=1.4 * 3, live_matches=1.2)
    assert decided(now, before) == replace(before, costs=costs_of(now))


def test_a_choice_changes_when_the_factors_have_drifted() -> None:
    after = decided(RARE_ARCHIVE, decided(RARE_LIVE))
    assert after.choice == ARCHIVE_FIRST
    assert after.reason == "live_matches, archive_matches changed: cheaper now than live-first with cache"
    assert after.factors == RARE_ARCHIVE


def test_small_changes_add_up() -> None:
    """Drift is measured from the factors of the decision, not from those of the previous step."""
    decision = decided(RARE_LIVE)
    for matches in (1.3, 1.45, 1.6):
        decision = decided(replace(RARE_LIVE, live_matches=matches), decision)
    assert decision.factors == replace(RARE_LIVE, live_matches=1.6)


def nearly_equal(live_cost: float) -> Factors:
    """Live-first costs 1,000 times `live_cost`, archive-first 1,000."""
    return replace(FACTORS, live_cost=live_cost, archive_cost=1, live_matches=0, archive_matches=0, results=0)


def test_a_choice_stays_when_another_is_hardly_cheaper() -> None:
    before = decided(nearly_equal(0.7))
    assert before.choice == LIVE_FIRST
    after = decided(nearly_equal(1.1), before)
    assert after.choice == LIVE_FIRST
    assert after.reason == "live_cost changed, but nothing is cheaper by more than 10%"
    assert after.costs == costs_of(nearly_equal(1.1))


def test_the_choice_does_not_follow_small_swings_of_costs() -> None:
    decision, choices = decided(nearly_equal(0.95)), set()
    for cost in (1.08, 0.93) * 5:
        decision = decide(decision, nearly_equal(cost), CHOICES, drift=1.01)
        choices.add(decision.choice)
    assert choices == {LIVE_FIRST}


def test_a_change_from_or_to_zero_is_a_drift() -> None:
    assert drifted_factors(replace(FACTORS, results=0), FACTORS, 1.5) == ("results",)
    assert drifted_factors(FACTORS, replace(FACTORS, results=0), 1.5) == ("results",)
    assert drifted_factors(replace(FACTORS, results=0), replace(FACTORS, results=0), 1.5) == ()


# --- trials ---


def test_there_is_a_trial_at_the_start_and_one_every_million_rows() -> None:
    decision = first_decision()
    assert is_trial_due(decision, 0)
    decision = postponed(decided(RARE_LIVE, decision), 2_000)
    assert decision.choice == LIVE_FIRST
    assert not is_trial_due(decision, 1_001_999)
    assert is_trial_due(decision, 1_002_000)
    assert decided(RARE_ARCHIVE, decision).next_trial == decision.next_trial


@pytest.mark.parametrize(
    ("rows", "finished", "tried"),
    [
        (399, False, 0),
        (400, False, 400),
        (9_999, False, 2_000),
        (19_999, True, 0),
        (20_000, True, 400),
        (10**6, True, 2_000),
    ],
)
def test_size_of_a_trial(rows: int, *, finished: bool, tried: int) -> None:
    """If more rows may follow, a trial pays off later. At the end it takes two percent of the rows."""
    assert rows_to_try(rows, finished=finished) == tried
