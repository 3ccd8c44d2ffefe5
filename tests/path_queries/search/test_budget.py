"""The rest of a bound, with a virtual and with a real clock."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

import ostinato as ost
from ostinato.kernels.clock import VirtualClock, Work
from ostinato.path_queries.search.budget import UNLIMITED, Budget, Meter


@dataclass
class Running:
    """A clock like the machine's, moved by hand, and by so much each time that it is read."""

    now: int = 0
    step: int = 0

    def now_ns(self) -> int:
        self.now += self.step
        return self.now

    def spent_ns(self, began_ns: int, work: Work) -> int:
        return self.now_ns() - began_ns


def test_a_tariff_says_what_work_costs_and_weighing_nothing() -> None:
    meter = Meter(Budget(latency_ns=100, clock=VirtualClock(ns_per_visit=4)))
    assert meter.left(0) == 25
    assert meter.left(20) == 5
    assert meter.weighable(20) == UNLIMITED
    meter.walked(1_000_000, 5_000)
    assert meter.left(20) == 5


def test_a_running_clock_is_learnt_from() -> None:
    clock = Running()
    meter = Meter(Budget(latency_ns=1_000_000, clock=clock))
    guess = meter.left(0)
    meter.walked(50_000, 10)  # too little to learn from: the call itself
    assert meter.left(10) == guess
    clock.now = 500_000
    meter.walked(500_000, 5_000)
    assert meter.left(5_000) == 5_000
    meter.weighed(1_000_000, 1_000)
    assert meter.weighable(5_000) == 125
    clock.now = 2_000_000
    assert meter.left(5_000) == 0
    assert meter.weighable(5_000) == 1


def test_without_a_bound_of_time_everything_is_allowed() -> None:
    meter = Meter(Budget(memory_bytes=100, clock=Running()))
    assert meter.left(7) == meter.weighable(7) == UNLIMITED


def test_a_frontier_that_takes_too_long_to_weigh_is_weighed_in_part() -> None:
    middle = [f"m{i:04}" for i in range(2000)]
    heads, tails = ["s"] * 2000 + middle, middle + ["end"] * 2000
    graph = ost.graph(pa.table({"head": heads, "relation": ["to"] * 2000 + ["on"] * 2000, "tail": tails}))
    found = ost.paths("to / on", start="s", latency_bound="1 ms", clock=Running(step=1_000)).run(graph)
    given_up = found.walk.given_up[0]
    assert 0 < given_up < 2000
    assert found.table.num_rows == 2000 - given_up
    assert found.table["nodes"][0].as_py() == ["s", "m0000", "end"]
