"""Work + a bound -> what an engine found, how long it took by which clock, and how it kept to the bound.

Bounds are shares of the mean latency of a pattern without a bound, by the same clock: the time of all matching, shared
out among patterns as the engine does it, by the steps that lead to them. So no prefix runs unbounded.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.bounded.comparators.instances import InstanceEngine, InstanceMatcher
from benchmarks.bounded.comparators.policies import POLICIES
from benchmarks.bounded.workloads import LIMITS, Work
from ostinato.calls.bounds import Bounds, LatencyBound
from ostinato.kernels.clock import Clock, VirtualClock
from ostinato.kernels.clock import Work as WorkDone
from ostinato.rows.loss_report import Report
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_shape import shape_of
from ostinato.workloads.matcher.shared_matcher import SharedMatcher, one_class_per_node
from ostinato.workloads.shedding.bounded_engine import BoundedEngine

Mode = Literal["view", "instance", "separate"]


@dataclass(frozen=True, slots=True)
class CoreClock:
    """The time of this core alone: other work on the machine doesn't count."""

    def now_ns(self) -> int:
        return time.thread_time_ns()

    def spent_ns(self, began_ns: int, work: WorkDone) -> int:
        return time.thread_time_ns() - began_ns


@dataclass(slots=True)
class MeteredClock:
    """Another clock, and all that it said was spent on matching."""

    clock: Clock
    total_ns: int = 0

    def now_ns(self) -> int:
        return self.clock.now_ns()

    def spent_ns(self, began_ns: int, work: WorkDone) -> int:
        spent = self.clock.spent_ns(began_ns, work)
        self.total_ns += spent
        return spent


TARIFF = VirtualClock(ns_per_event=20, ns_per_visit=25, ns_per_check=50, ns_per_birth=0)
"""The same in every run. Chosen, not measured: by the kernel's own times (DS1) an event takes about 60, a visit 25, a
condition 10 and a birth 80, which is the product's default. That leaves less of a tight bound for state
(docs/benchmarks.md has recall by other tariffs)."""
CORE = CoreClock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run over all events."""

    matches: tuple[PatternMatches, ...]
    seconds: float
    """Of one core, for matching and deciding."""
    matching_ns: float = 0.0
    """An event's, by the clock of the run."""
    report: Report | None = None
    partial_matches: int = 0
    """Made over the whole run; 0 where nobody counted."""

    @property
    def found(self) -> int:
        return sum(matches.count for matches in self.matches)

    def recall(self, whole: Outcome) -> float:
        """Of all matches of all patterns: what is found is a part of the whole, which the answers check."""
        return self.found / whole.found if whole.found else 1.0


@dataclass(frozen=True, slots=True)
class Whole:
    """A run without a bound, and the mean latency of each pattern in it."""

    outcome: Outcome
    event_ns: float
    """All patterns together."""
    latency_ns: NDArray[np.float64]


def without_bound(work: Work, clock: Clock, mode: Mode = "view") -> Whole:
    """All matches; counted as an engine with a bound counts, so that latencies compare."""
    plan, conditions = work.plan(separate=mode == "separate")
    matcher = (InstanceMatcher if mode == "instance" else SharedMatcher)(plan, conditions, limits=LIMITS)
    began = time.thread_time()
    run = matcher.begin(work.events, None, one_class_per_node(plan, conditions))
    began_ns = clock.now_ns()
    run.advance(len(work), None)
    ledger = run.ledger
    done = WorkDone(len(work), int(ledger.visits.sum()), int(ledger.checks.sum()), int(ledger.created.sum()))
    spent_ns = clock.spent_ns(began_ns, done)
    matches, _ = run.finish()
    event_ns = spent_ns / max(len(work), 1)
    outcome = Outcome(matches, time.thread_time() - began, event_ns, None, int(run.ledger.created.sum()))
    steps = run.ledger.step_work
    parts = steps @ shape_of(plan).step_patterns / max(int(steps.sum()), 1)
    return Whole(outcome, event_ns, parts * event_ns)


def allowed_recall(work: Work, share: float, whole: Whole) -> float:
    """What no policy exceeds that keeps to `share` of the latency by the tariff: each match takes at least the visit
    that completes it."""
    counts = [matches.count for matches in whole.outcome.matches]
    visits = share * whole.latency_ns * len(work) / TARIFF.ns_per_visit
    most = sum(min(count, room) for count, room in zip(counts, visits.tolist(), strict=True))
    return most / sum(counts) if sum(counts) else 1.0


def exact_run(work: Work, *, separate: bool = False) -> Outcome:
    """As a workload without bounds runs: nothing is counted for a shedder."""
    plan, conditions = work.plan(separate=separate)
    return _timed(BoundedEngine(plan, conditions, limits=LIMITS), work, MeteredClock(CORE))


def bounded_run(work: Work, share: float, policy: str, clock: Clock, whole: Whole, mode: Mode = "view") -> Outcome:
    """Each pattern may take `share` of its latency in `whole`."""
    latency = tuple(LatencyBound(ns=max(1.0, share * own)) for own in whole.latency_ns)
    return _run(work, Bounds(work.names, latency, (1.0,) * len(work.names)), policy, clock, mode)


def selecting_run(work: Work, ratio: float, policy: str, clock: Clock) -> Outcome:
    """A fixed share of the state is kept, whatever it costs."""
    none = (None,) * len(work.names)
    bounds = Bounds(work.names, none, (1.0,) * len(work.names), selection_ratio=ratio)
    return _run(work, bounds, policy, clock, "view")


def _run(work: Work, bounds: Bounds, policy: str, clock: Clock, mode: Mode) -> Outcome:
    plan, conditions = work.plan(separate=mode == "separate")
    meter = MeteredClock(clock)
    engine = InstanceEngine if mode == "instance" else BoundedEngine
    return _timed(engine(plan, conditions, bounds, policy=POLICIES[policy], clock=meter, limits=LIMITS), work, meter)


def _timed(engine: BoundedEngine, work: Work, meter: MeteredClock) -> Outcome:
    began = time.thread_time()
    step = engine.advance(work.events, None, finished=True)
    seconds = time.thread_time() - began
    return Outcome(step.matches, seconds, meter.total_ns / max(len(work), 1), step.report)
