"""The cost equations of the paper, and their factors from made-up observations. Expected values are by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.correlations.strategies.made_up_factors import FACTORS

from ostinato.correlations.strategies.cost_model import (
    CHOICES,
    Factors,
    Observed,
    PlannerChoice,
    RegionSums,
    Searches,
    costs_of,
    factors_of,
)


@pytest.mark.parametrize(
    ("choice", "seconds"),
    [
        (PlannerChoice("eager", False), 1_000 * (2 + 3)),
        (PlannerChoice("live_first", False), 1_000 * 2 + 20 * 100 * 7),  # equation 1
        (PlannerChoice("live_first", True), 1_000 * 2 + 20 * 50 * 7),  # equations 2 and 3
        (PlannerChoice("archive_first", False), 1_000 * 3 + 10 * 90 * 5),
        (PlannerChoice("archive_first", True), 1_000 * 3 + 10 * 90 * 5),  # equation 4: the regions don't overlap
    ],
)
def test_the_equations(choice: PlannerChoice, seconds: float) -> None:
    assert costs_of(FACTORS)[choice] == seconds + 40 * 0.5


def test_every_choice_has_a_cost() -> None:
    assert set(costs_of(FACTORS)) == set(CHOICES)
    assert costs_of(replace(FACTORS, rows=0, live_matches=0, results=0))[PlannerChoice("eager", False)] == 0


# --- factors ---

LIVE_FIRST = Observed(
    rows=1_000,
    live=Searches(rows=1_000, seconds=4, matches=20),
    archive_in_regions=Searches(rows=800, seconds=1.6, matches=8),
    live_regions=RegionSums(amount=20, rows=2_000, covered=800),
    results=30,
    join_seconds=0.6,
)


def test_factors_of_live_first() -> None:
    assert factors_of(LIVE_FIRST) == Factors(
        rows=1_000,
        live_cost=0.004,
        archive_cost=0.002,  # same as in the regions
        live_cost_in_regions=0.004,  # same as in all rows
        archive_cost_in_regions=0.002,
        join_cost=0.02,
        live_matches=20,
        archive_matches=10,  # one in a hundred rows of the regions, so one in a hundred of all rows
        results=30,
        live_region=100,
        archive_region=100,  # same as for a live match
        live_region_step=40,
        archive_region_step=100,  # ten matches lie evenly in 1,000 rows
    )


def test_factors_of_live_first_and_archive_first() -> None:
    archive_first = Observed(
        rows=1_000,
        archive=Searches(rows=1_000, seconds=9, matches=5),
        live_in_regions=Searches(rows=500, seconds=0.5, matches=5),
        archive_regions=RegionSums(amount=5, rows=500, covered=300),
    )
    factors = factors_of(LIVE_FIRST.plus(archive_first))
    assert factors is not None
    assert (factors.rows, factors.archive_cost, factors.archive_cost_in_regions) == (2_000, 0.009, 0.002)
    assert (factors.live_cost, factors.live_cost_in_regions) == (0.004, 0.001)
    assert (factors.archive_matches, factors.archive_region, factors.archive_region_step) == (10, 100, 60)
    assert factors.live_matches == 40  # from the searches of all rows


def test_there_are_no_factors_before_both_sides_are_searched() -> None:
    assert factors_of(Observed()) is None
    no_live_match = Observed(rows=1_000, live=Searches(rows=1_000, seconds=4))
    assert factors_of(no_live_match) is None


def test_sides_without_matches() -> None:
    factors = factors_of(Observed(rows=10, live=Searches(10, 1), archive=Searches(10, 2)))
    assert factors is not None
    assert (factors.live_matches, factors.live_region, factors.live_region_step, factors.join_cost) == (0, 0, 0, 0)


def test_older_observations_have_less_weight() -> None:
    now = Observed(rows=1_000, live=Searches(rows=1_000, seconds=12, matches=0))
    later = LIVE_FIRST.plus(now, decay=0.5)
    assert later.rows == 1_500
    assert later.live == Searches(rows=1_500, seconds=14, matches=10)
    assert later.archive_in_regions == Searches(rows=400, seconds=0.8, matches=4)  # half the old weight


def test_factors_per_row_do_not_depend_on_the_number_of_rows() -> None:
    twice = replace(FACTORS, rows=2_000, live_matches=40, archive_matches=20, results=80)
    assert twice.per_row() == FACTORS.per_row()
    assert FACTORS.per_row()["live_matches"] == 0.02
    assert "rows" not in FACTORS.per_row()
