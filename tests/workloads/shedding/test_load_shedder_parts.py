"""Tests the components of the load shedder alone: latency meter, tariff, class edges, packed state."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.errors import MatchError
from ostinato.kernels.clock import VirtualClock, Work
from ostinato.rows.loss_report import MOST_PERIODS, Period, with_period
from ostinato.workloads.matcher.ledger import buckets_of, chain_begins, chain_offsets
from ostinato.workloads.shedding.class_edges import have_drifted, no_edges, quantile_edges
from ostinato.workloads.shedding.latency import LatencyMeter, overloaded
from ostinato.workloads.shedding.limits import MIN_TARGET, adjust_targets, new_control
from ostinato.workloads.shedding.packed import pack_values, unpack_values
from ostinato.workloads.shedding.tariff import Tariff


def test_overload_starts_above_the_bound_and_ends_when_nothing_need_be_dropped() -> None:
    bound, calm, busy = np.full(3, 100.0), np.zeros(3, np.bool_), np.ones(3, np.bool_)
    average = np.array([99.0, 101.0, 300.0])
    assert overloaded(calm, average, average, bound).tolist() == [False, True, True]
    unshed = np.array([89.0, 95.0, 300.0])
    assert overloaded(busy, np.full(3, 50.0), unshed, bound).tolist() == [False, True, True]


def test_quantiles_are_at_most_an_eighth_octave_too_high() -> None:
    meter = LatencyMeter(np.array([60.0]))
    for latency in range(1, 101):
        meter.observe(np.array([float(latency)]), 10, 100.0)
    for share in (0.5, 0.95, 0.99):
        assert 100 * share <= meter.quantile_ns(share)[0] <= 100 * share * 2 ** (1 / 8) * 1.01
    assert (meter.within / meter.bounded).tolist() == [0.6]


def test_quantiles_leave_out_the_calibration() -> None:
    """The report leaves out latencies from before the calibration, because the bound didn't apply yet."""
    meter = LatencyMeter(np.array([np.nan, np.inf]))
    meter.observe(np.array([900.0, 900.0]), 100, 10.0)
    assert meter.quantile_ns(0.5) == pytest.approx(900, rel=0.1)  # before the calibration, all events count
    meter.bound_ns = np.array([100.0, np.inf])
    meter.observe(np.array([80.0, 80.0]), 10, 10.0)
    meter.observe(np.array([90.0, 90.0]), 10, 10.0)
    assert meter.quantile_ns(0.99)[0] == pytest.approx(90, rel=0.1)
    assert meter.quantile_ns(0.5)[1] == pytest.approx(900, rel=0.1)  # a pattern without a bound: all events count
    assert (meter.within / meter.bounded)[0] == 1.0


def test_headroom_is_that_of_the_pattern_closest_to_its_bound() -> None:
    meter = LatencyMeter(np.array([60.0, 100.0, np.inf, np.nan]))
    assert meter.headroom == 1.0
    meter.observe(np.array([30.0, 80.0, 500.0, 500.0]), 10, 100.0)
    assert meter.headroom == 1.25


def test_a_miss_lowers_the_target() -> None:
    control, bound = new_control(2), np.array([100.0, 100.0])
    control.over[:2] = True, False
    before = control.target.copy()
    adjust_targets(control, np.array([101.0, 101.0]), bound)
    missed = control.target.copy()
    assert missed[0] < before[0] and missed[1] == before[1]  # the second pattern isn't overloaded
    adjust_targets(control, np.array([99.0, 99.0]), bound)
    assert missed[0] < control.target[0] < before[0]
    for _ in range(100):
        adjust_targets(control, np.array([500.0, 500.0]), bound)
    assert control.target[0] == MIN_TARGET


def test_each_pair_of_classes_has_its_own_cell_of_births() -> None:
    class_at, pairs = np.array([0, 1, 4, 6]), ((0, 1), (1, 2), (2, 2))
    begins, offsets = chain_begins(class_at, pairs), chain_offsets(class_at, pairs)
    assert begins.tolist() == [0, 3, 9, 13]
    cells = []
    for node, child in pairs:
        width = class_at[child + 1] - class_at[child]
        parents, children = range(class_at[node], class_at[node + 1]), range(class_at[child], class_at[child + 1])
        cells += [int(offsets[node, child] + p * width + c) for p in parents for c in children]
    assert cells == list(range(13))


def test_a_tariff_is_estimated_from_chunks() -> None:
    clock, tariff, rng = VirtualClock(50, 5, 20, 200), Tariff(), np.random.default_rng(1)
    for _ in range(400):
        work = Work(100, *(int(count) for count in rng.integers(50, 3000, 3)))
        tariff.observe(work, clock.spent_ns(0, work), 0.999)
    assert tariff.prices()[1:] == pytest.approx([5, 20, 200], rel=0.3)


def test_without_measurements_all_prices_are_equal() -> None:
    assert Tariff().prices().tolist() == [1, 1, 1, 1]


def test_edges_are_quantiles_and_every_value_counts_once() -> None:
    values = np.concatenate([np.arange(64.0), np.full(1000, 3.0)])
    (edges,) = quantile_edges(values[None, :], {1: 4})
    assert edges.tolist() == pytest.approx([15.75, 31.5, 47.25])
    buckets = buckets_of(((edges,), ()), ())
    assert buckets.class_at.tolist() == [0, 5, 6]  # four buckets and NULL; a node without features


def test_few_samples_make_few_buckets() -> None:
    assert [len(edges) for edges in quantile_edges(np.arange(7.0)[None, :], {1: 64})] == [0]
    assert [len(edges) for edges in quantile_edges(np.arange(32.0)[None, :], {1: 64})] == [3]


def test_values_have_drifted_if_many_are_out_of_range() -> None:
    edges = no_edges((1,)).learnt_from(0, np.arange(100.0)[None, :], {1: 8})
    assert not have_drifted(edges.ranges[0], np.arange(10.0, 60.0)[None, :])  # shedding narrows the range
    assert have_drifted(edges.ranges[0], np.arange(50.0, 150.0)[None, :])
    assert not have_drifted(edges.ranges[0], np.full((1, 500), 1e9))  # the value of one event in many partial matches


def test_packed_values_are_restored() -> None:
    values = {"a": np.arange(6.0).reshape(2, 3), "b": 3, "c": 0.1, "d": np.zeros(0, np.int64), "e": None}
    restored = unpack_values(pack_values(values))
    assert list(restored) == list(values)
    assert all(np.array_equal(restored[name], values[name]) for name in ("a", "d"))
    assert (restored["b"], restored["c"], restored["e"]) == (3, 0.1, None)
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        unpack_values(b"nonsense")


def test_many_periods_are_merged() -> None:
    periods: tuple[Period, ...] = ()
    for number in range(3 * MOST_PERIODS):
        periods = with_period(periods, Period(number, 1, (1,), (2,)))
    assert len(periods) <= MOST_PERIODS
    assert sum(period.events for period in periods) == sum(period.dropped[0] for period in periods) == 3 * MOST_PERIODS
