"""Factors whose costs can be worked out by hand."""

from __future__ import annotations

from ostinato.correlations.strategies.cost_model import Factors

FACTORS = Factors(
    rows=1_000,
    live_cost=2,
    archive_cost=3,
    live_cost_in_regions=5,
    archive_cost_in_regions=7,
    join_cost=0.5,
    live_matches=20,
    archive_matches=10,
    results=40,
    live_region=100,
    archive_region=90,
    live_region_step=50,
    archive_region_step=95,
)
