"""Clocks that are injected."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import QueryError
from ostinato.kernels.clock import VirtualClock, Work


def test_a_tariff_charges_for_each_kind_of_work() -> None:
    assert VirtualClock(1, 10, 100, 1_000).spent_ns(0, Work(events=2, visits=3, checks=4, births=5)) == 5_432
    assert VirtualClock(0, 0, 0, 0).spent_ns(0, Work(2, 3, 4, 5)) == 0


@pytest.mark.parametrize("charged", [-1, 1.5, True, "60", None])
def test_a_tariff_is_whole_numbers_from_0_on(charged: Any) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION: ns_per_visit is a whole number from 0 on"):
        VirtualClock(ns_per_visit=charged)
