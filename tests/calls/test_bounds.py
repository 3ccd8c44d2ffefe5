"""Bounds as the user writes them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ostinato.calls.bounds import LatencyBound, read_bounds
from ostinato.errors import QueryError

NAMES = ("q1", "q2")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("5 ms", LatencyBound(ns=5e6)),
        ("1.5s", LatencyBound(ns=1.5e9)),
        ("200 us", LatencyBound(ns=2e5)),
        ("5 \N{MICRO SIGN}s", LatencyBound(ns=5e3)),
        ("5 \N{GREEK SMALL LETTER MU}s", LatencyBound(ns=5e3)),
        ("1 h", LatencyBound(ns=3.6e12)),
        ("2 Hours", LatencyBound(ns=7.2e12)),
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


@pytest.mark.parametrize(
    ("written", "meant"),
    [("512 MB", 512_000_000), ("64 KiB", 65536), (1000, 1000), ("1 TB", 10**12), ("1 TiB", 2**40)],
)
def test_memory_is_counted_in_bytes(written: Any, meant: int) -> None:
    bounds = read_bounds(NAMES, memory_bound=written)
    assert (bounds.memory_bytes, bounds.bounded) == (meant, (True, True))


def test_nothing_asked_for_is_no_bound() -> None:
    assert read_bounds(NAMES).is_none


@pytest.mark.parametrize(
    "options",
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
        {"memory_bound": float("inf")},
        {"memory_bound": float("nan")},
        {"memory_bound": 10**400},
        {"memory_bound": "1 parsec"},
        {"selection_ratio": 0.0},
        {"selection_ratio": "half"},
        {"batch_budget": "0 s"},
        {"batch_budget": "9" * 400 + " s"},
        {"batch_budget": timedelta.max},
    ],
)
def test_bounds_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="INVALID_BOUND"):
        read_bounds(NAMES, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"latency_bound": {"q3": "5 ms"}},
        {"weights": {"q3": 1.0}},
        {"weights": {"q1": 0}},
        {"weights": [1, 2]},
        {"latency_bound": "5 ms", "selection_ratio": 0.5},
    ],
)
def test_options_that_dont_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        read_bounds(NAMES, **options)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"latency_bound": {"q2": None}}, "latency_bound of q2 is None", "leave it out for no bound"),
        ({"latency_bound": {"q2": 0}}, "latency_bound of q2 is 0: a number here is a share", "a time has a unit"),
        ({"memory_bound": "1 Parsec"}, "memory_bound is '1 Parsec': not an amount and a unit", "such as '512 MB'"),
        ({"memory_bound": float("inf")}, "memory_bound is inf: it is more than can be counted", "leave it out"),
        ({"memory_bound": 10**5000}, "memory_bound is a number of more than 100 digits", "leave it out"),
        ({"latency_bound": "10 secnds"}, "latency_bound is '10 secnds': not an amount", "such as '10 seconds'"),
        ({"weights": {"q2": 10**400}}, "the weight of q2 is a number of more than 100 digits", "weights={'q1': 2}"),
        ({"selection_ratio": 2}, "selection_ratio is 2", "0.5 keeps half"),
        ({"weights": [1, 2]}, "weights are [1, 2]: expected a number by the name of a query", "weights={'q1': 2}"),
    ],
)
def test_errors_say_what_was_written_and_of_whom(options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_bounds(NAMES, **options)
    assert caught.value.message.startswith(message)
    assert caught.value.hint is not None and caught.value.hint.startswith(hint)


def test_engines_of_a_task_share_memory_and_time_and_buckets_time_only() -> None:
    bounds = read_bounds(NAMES, memory_bound=900, batch_budget="1 ms", latency_bound="5 us")
    share = bounds.split(engines=3, buckets=4)
    assert (share.memory_bytes, share.batch_budget_ns) == (300, 83_333)
    assert (share.latency, share.names, share.weights) == (bounds.latency, bounds.names, bounds.weights)
    assert bounds.split(1) == bounds
    assert read_bounds(NAMES, memory_bound=1, batch_budget="1 ns").split(9, 9).memory_bytes == 1
    assert read_bounds(NAMES).split(3, 4).is_none
