"""Bounds as the user writes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ostinato.errors import QueryError
from ostinato.sharing.bounds import LatencyBound, read_bounds

NAMES = ("q1", "q2")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("5 ms", LatencyBound(ns=5e6)),
        ("1.5s", LatencyBound(ns=1.5e9)),
        ("200 us", LatencyBound(ns=2e5)),
        (timedelta(milliseconds=2), LatencyBound(ns=2e6)),
        (0.5, LatencyBound(ratio=0.5)),
        (1, LatencyBound(ratio=1.0)),
    ],
)
def test_a_latency_is_a_time_or_a_share(written: Any, meant: LatencyBound) -> None:
    assert read_bounds(NAMES, latency_bound=written).latency == (meant, meant)


def test_each_query_may_have_its_own() -> None:
    bounds = read_bounds(NAMES, latency_bound={"q2": 0.5}, weights={"q2": 3})
    assert bounds.latency == (None, LatencyBound(ratio=0.5))
    assert (bounds.weights, bounds.bounded, bounds.is_none) == ((1.0, 3.0), (False, True), False)
    assert bounds.of([1]).names == ("q2",)


@pytest.mark.parametrize(("written", "meant"), [("512 MB", 512_000_000), ("64 KiB", 65536), (1000, 1000)])
def test_memory_is_counted_in_bytes(written: Any, meant: int) -> None:
    bounds = read_bounds(NAMES, memory_bound=written)
    assert (bounds.memory_bytes, bounds.bounded) == (meant, (True, True))


def test_nothing_asked_for_is_no_bound() -> None:
    assert read_bounds(NAMES).is_none


@pytest.mark.parametrize(
    "asked",
    [
        {"latency_bound": 0},
        {"latency_bound": "0 ms"},
        {"latency_bound": "-5 ms"},
        {"latency_bound": 1.5},
        {"latency_bound": "5 parsecs"},
        {"latency_bound": "soon"},
        {"latency_bound": True},
        {"latency_bound": float("nan")},
        {"memory_bound": 0},
        {"memory_bound": "many"},
        {"selection_ratio": 0.0},
        {"selection_ratio": "half"},
        {"batch_budget": "0 s"},
    ],
)
def test_bounds_that_mean_nothing_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="INVALID_BOUND"):
        read_bounds(NAMES, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"latency_bound": {"q3": "5 ms"}},
        {"weights": {"q3": 1.0}},
        {"weights": {"q1": 0}},
        {"latency_bound": "5 ms", "selection_ratio": 0.5},
    ],
)
def test_options_that_dont_fit_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        read_bounds(NAMES, **asked)
