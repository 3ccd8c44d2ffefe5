"""Correlations with a virtual clock. Its tariff defines the costs of searches, so that runs are reproducible."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.api.test_correlations import PAPER, prices, query

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.strategies.cost_model import factors_of
from ostinato.correlations.task.correlation_state import NEW
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import VirtualClock
from ostinato.local.local_correlations import LocalCorrelation

STOCK = prices(*(PAPER * 200))
CLOCK = VirtualClock(ns_per_event=1_000, ns_per_visit=10)


def new_correlator(**options: Any) -> tuple[Correlator, pa.Table]:
    local = LocalCorrelation(query(), STOCK.schema, None, Settings(), Limits())
    return Correlator(local.task, CorrelationOptions(**options), clock=CLOCK), local.live_rows(STOCK)


def test_equal_runs_have_equal_states() -> None:
    """The planner's measurements are part of the state. Its trial needs 400 rows."""

    def states() -> list[bytes]:
        correlator, rows = new_correlator()
        first = correlator.advance(None, rows.slice(0, 1_000), None, 999)
        return [first.state, correlator.advance(first.state, rows.slice(1_000), None, 1_999).state]

    assert states() == states()


@pytest.mark.parametrize("strategy", ["eager", "live_first"])
def test_rows_and_pairs_have_the_costs_of_the_tariff(strategy: str) -> None:
    correlator, rows = new_correlator(strategy=strategy)
    done = correlator.run(NEW, rows, None, 0, finished=True)
    totals, factors = done.state.totals, factors_of(done.planner_state.observed)
    assert totals.live_rows_searched == STOCK.num_rows
    assert totals.live_seconds == pytest.approx(totals.live_rows_searched * 1e-6)
    assert totals.archive_seconds == pytest.approx(totals.archive_rows_searched * 1e-6)
    assert factors is not None
    assert (factors.live_cost, factors.join_cost) == (pytest.approx(1e-6), pytest.approx(1e-8))
