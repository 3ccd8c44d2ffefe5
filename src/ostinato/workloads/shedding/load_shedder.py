"""Ledger and time of each chunk -> KeepMasks: overload detection, cost model and selection together (SHARP, Alg. 1).

A chunk is a number of rows of the stream, not of the call. So a run with a virtual clock doesn't depend on how its
input is cut into calls. The load shedder measures every chunk, which costs next to nothing. Learning and choosing take
time. They are done as often as `chunks.MAX_OVERHEAD` of the matching time allows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.bounds import Bounds
from ostinato.kernels.clock import Work
from ostinato.workloads.matcher.ledger import AGES, Buckets, KeepMasks, buckets_of
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.class_edges import (
    LearntEdges,
    buckets_per_feature,
    no_edges,
    regroup_sketch,
    updated_edges,
)
from ostinato.workloads.shedding.latency import Calibration, LatencyMeter
from ostinato.workloads.shedding.ledger_growth import ChunkCounts, LedgerGrowth, new_growth
from ostinato.workloads.shedding.limits import (
    Control,
    Measurements,
    adjust_targets,
    measurements_of,
    new_control,
    new_limits,
    slot_costs,
)
from ostinato.workloads.shedding.policy import SheddingPolicy
from ostinato.workloads.shedding.population import unshed_population
from ostinato.workloads.shedding.sketch import WINDOW_GUESS, Sketch, next_window
from ostinato.workloads.shedding.state_selection import KEEP_ALL, Limit
from ostinato.workloads.shedding.tariff import EVENT, Tariff
from ostinato.workloads.shedding.utility import CostModel, Estimates
from ostinato.workloads.shedding.utility_kernel import PRIOR_VISITS

Reals = NDArray[np.float64]
RATES_HALF_LIFE, CHAINS_HALF_LIFE, LATENCY_HALF_LIFE, CONTROL_HALF_LIFE, CUT_HALF_LIFE = 1.0, 32.0, 0.5, 1.0, 0.125
"""Half-lives in windows: of rates, chains, the latency, the correction, and the distance to a new cut."""
MAX_CUT_STEP = 0.5
"""Largest fraction of the distance to a new cut that is applied in one step. While parents are being dropped, the yield
of their children is unknown, so cuts move slowly."""
EDGE_CHECK_WINDOWS = 0.25
"""Windows between two checks whether classes have to be learnt anew."""
TARIFF_FADE = 0.97
"""Factor by which each further chunk fades the prices of earlier ones."""
MIN_CHAINS_FADE = 0.9
"""Smallest factor by which chains fade from one update to the next, however many windows lie between them."""
DRIFTED_WEIGHT = 0.05
"""Factor for the chains of a node whose values have drifted."""


@dataclass(slots=True)
class LoadShedder:
    """The statistics and decisions of a stream, changed in place chunk by chunk. Partial matches are in the matcher."""

    shape: PlanShape
    bounds: Bounds
    policy: SheddingPolicy
    features: tuple[int, ...]
    """[node] number of features."""
    ages: int = AGES
    learnt_edges: LearntEdges = field(init=False)
    sketch: Sketch = field(init=False)
    growth: LedgerGrowth | None = None
    meter: LatencyMeter = field(init=False)
    control: Control = field(init=False)
    cut: Reals = field(init=False)
    kept_share: Reals = field(init=False)
    """[class, age] fraction of the partial matches that the present keep masks keep for at least one pattern."""
    full_share: Reals = field(init=False)
    """[class, age] fraction that they keep for all patterns."""
    keep_masks: KeepMasks | None = None
    """None: everything is kept."""
    estimates: Estimates | None = None
    """Computed from the sketch. None: the sketch has changed since."""
    dropped_at: Reals = field(init=False)
    """[pattern] row at which a drop was last noticed; minus infinity: never."""
    chosen_at: int = 0
    """Row of the last decision about the state."""
    regrouped_at: int = 0
    """Row at which classes last changed. Their statistics start there."""
    looked_at: int = 0
    """Row of the last check whether classes have to be learnt anew."""
    window_rows: float = WINDOW_GUESS
    rows_seen: int = 0
    calibration: Calibration = field(init=False)
    memory_bytes: float = 0.0
    """Bytes of all partial matches when they were last measured."""
    total_ns: float = 0.0
    """Moving average of the time for an event, all patterns together."""
    tariff: Tariff = field(default_factory=Tariff)
    chunk: ChunkCounts = field(init=False)
    chunk_rows: int = 256

    def __post_init__(self) -> None:
        self.learnt_edges = no_edges(self.features)
        self.start_classes()
        bound_ns = [np.inf if b is None else np.nan if b.ns is None else b.ns for b in self.bounds.latency]
        self.meter = LatencyMeter(np.array(bound_ns, np.float64))
        self.control = new_control(self.shape.patterns)
        self.dropped_at = np.full(self.shape.patterns, -np.inf)
        self.calibration = Calibration(np.array([b.ratio if b and b.ratio else np.nan for b in self.bounds.latency]))
        self.next_chunk(self.chunk_rows)

    @property
    def bounded(self) -> NDArray[np.bool_]:
        """[pattern] whether it has a bound."""
        return np.array(self.bounds.bounded, np.bool_)

    @property
    def buckets(self) -> Buckets:
        return buckets_of(self.learnt_edges.edges, self.shape.pairs)

    def start_classes(self) -> None:
        """Starts a new sketch for the classes of `learnt_edges`."""
        self.sketch = Sketch(self.shape, self.buckets.class_at, self.ages)
        self._keep_all()

    def _keep_all(self) -> None:
        self.cut = np.full(self.shape.patterns, KEEP_ALL)
        self.kept_share = self.full_share = np.ones((int(self.sketch.class_at[-1]), self.ages))
        self.keep_masks = None

    @property
    def chunk_left(self) -> int:
        return self.chunk_rows - self.chunk.rows

    def end_chunk(self) -> None:
        """Ends the chunk before it has all of its rows."""
        self.chunk_rows = self.chunk.rows

    def add_to_chunk(self, work: Work, spent_ns: int, calling_ns: int, step_work: NDArray[np.int64]) -> None:
        """Adds matched rows to the chunk. `calling_ns`: part of `spent_ns`, for calling the kernel."""
        self.chunk.add(work, spent_ns, calling_ns, step_work)
        assert self.growth is not None
        self.growth.rows += work.events

    def next_chunk(self, rows: int) -> None:
        self.chunk, self.chunk_rows = ChunkCounts(step_work=np.zeros(len(self.shape.step_source), np.int64)), rows

    def close_chunk(self) -> None:
        """Measures the latency of each pattern in the chunk."""
        rows, spent_ns, step_work = self.chunk.rows, self.chunk.spent_ns, self.chunk.step_work
        total = float(step_work.sum())
        work_share = step_work @ self.shape.step_patterns / total if total else np.ones(self.shape.patterns)
        latency = spent_ns / rows * work_share
        half_life_rows = LATENCY_HALF_LIFE * self.window_rows
        self.meter.observe(latency, rows, half_life_rows)
        if rows >= self.window_rows:
            adjust_targets(self.control, latency, self.meter.bound_ns)
        moved = 1.0 - 0.5 ** (rows / half_life_rows) if self.rows_seen else 1.0
        self.total_ns += moved * (spent_ns / rows - self.total_ns)
        if self.policy.input_shedding is not None:
            self.policy.input_shedding.observe_chunk(self, rows, spent_ns)
        self.rows_seen += rows
        self.tariff.observe(self.chunk.work, spent_ns - self.chunk.calling_ns, TARIFF_FADE)
        self._calibrate(latency, rows)

    @property
    def min_bound_ns(self) -> float:
        """Smallest latency bound; infinite without one."""
        return float(np.nanmin(self.meter.bound_ns, initial=np.inf))

    @property
    def has_bounds(self) -> bool:
        """Whether a bound is known. One given as a ratio has to be calibrated first."""
        shared_bounds = (self.bounds.memory_bytes, self.bounds.batch_budget_ns, self.bounds.selection_ratio)
        return bool(np.isfinite(self.meter.bound_ns).any()) or any(bound is not None for bound in shared_bounds)

    @property
    def overload_begins(self) -> bool:
        calm = ~self.control.over[: self.shape.patterns]
        return bool((calm & (self.meter.average_ns > self.meter.bound_ns)).any())

    def _calibrate(self, latency: Reals, rows: int) -> None:
        unknown = np.isnan(self.meter.bound_ns)
        if unknown.any():
            bound_ns = self.calibration.observe(latency, rows, self.rows_seen, self.window_rows)
            if bound_ns is not None:
                self.meter.bound_ns = np.where(unknown, bound_ns, self.meter.bound_ns)

    def learn(self, run: MatcherRun) -> None:
        """Adds the ledger's new counts to the sketch. Every few windows, the matcher gets new buckets where values are
        new or have drifted."""
        assert self.growth is not None
        ledger, rows = run.ledger, self.growth.rows
        counted = self.growth.since_update(ledger)
        self.dropped_at[counted.dropped.any(axis=0)] = self.rows_seen
        rates = self.fade(rows, RATES_HALF_LIFE)
        chains = max(self.fade(rows, CHAINS_HALF_LIFE), MIN_CHAINS_FADE)
        self.sketch.observe(counted, rows, self.kept_share, self.full_share, rates, chains)
        is_guess = self.keep_masks is not None  # dropped partial matches aren't there to be counted
        self.window_rows = next_window(self.window_rows, self.sketch.window_rows(counted.live), rows, is_guess)
        self.growth.restart(ledger)
        self.estimates = None
        if self.rows_seen - self.looked_at >= EDGE_CHECK_WINDOWS * self.window_rows:
            self.looked_at = self.rows_seen
            self._learn_classes(run)

    def nothing_lost(self, pattern: int) -> bool:
        """At the end of a call: whether no match can be missing, in this call and in all calls before it."""
        assert self.growth is not None
        if self.policy.input_shedding is not None and self.bounds.bounded[pattern]:
            return False
        return bool(np.isneginf(self.dropped_at[pattern]) and not self.growth.carried.dropped[:, pattern].any())

    def fade(self, rows: int, half_life_windows: float = RATES_HALF_LIFE) -> float:
        """Weight of counts from `rows` events ago."""
        return float(0.5 ** (rows / (half_life_windows * self.window_rows)))

    def _learn_classes(self, run: MatcherRun) -> None:
        samples = {node: run.feature_samples(node) for node in np.flatnonzero(self.features).tolist()}
        bucket_counts = buckets_per_feature(self.shape, self.features)
        self.learnt_edges, drifted, changed = updated_edges(self.learnt_edges, samples, bucket_counts)
        for node in drifted:
            run.samples.counts[node] = 0
            self.sketch.discount(node, DRIFTED_WEIGHT)
        if changed:
            buckets = self.buckets
            self.sketch = regroup_sketch(self.sketch, buckets.class_at, changed, PRIOR_VISITS)
            run.rebucket(buckets)
            self.growth = new_growth(run.ledger)
            self.estimates, self.regrouped_at = None, self.rows_seen
            self._keep_all()

    def choose(self, batch_ns: float) -> None:
        """The policy selects the partial matches to keep. `batch_ns`: time that an event may take so that the batch is
        done in time; infinite without a budget."""
        chosen = self.policy.choose(self, self._measurements(batch_ns))
        if chosen is None:
            self._keep_all()
        else:
            self.cut, self.keep_masks = chosen.cut, chosen.keep_masks
            self.kept_share, self.full_share = chosen.kept_share, chosen.full_share

    def cost_model(self) -> CostModel:
        """Matches of patterns that aren't overloaded have weight 0. If no pattern is overloaded, all matches have their
        weight."""
        over = self.control.over[: self.shape.patterns] | self.control.over[self.shape.patterns :].any()
        weights = np.array(self.bounds.weights)
        weights /= weights.max()  # buckets of utility have a lowest and a highest
        weights = weights * (over if over.any() else 1.0)
        return CostModel(weights, self.bounds.memory_weight, self.tariff.prices())

    def new_limits(self, estimates: Estimates, measured: Measurements) -> tuple[list[Limit], float]:
        """Returns a limit for each exceeded bound, and the fraction of the distance to the new cuts that is applied."""
        of_slots = slot_costs(self.sketch, estimates, self.window_rows)
        if 0 < self.chosen_at < self.regrouped_at:  # the measurements are of classes that no longer exist
            measured = replace(measured, value=np.where(self.control.over, np.nan, measured.value))
        rows, self.chosen_at = self.rows_seen - self.chosen_at, self.rows_seen
        fade, cut_step = self.fade(rows, CONTROL_HALF_LIFE), min(1.0 - self.fade(rows, CUT_HALF_LIFE), MAX_CUT_STEP)
        ratio = self.bounds.selection_ratio
        max_living = None if ratio is None or ratio >= 1.0 else ratio * float(unshed_population(self.sketch).sum())
        return new_limits(self.control, of_slots, self.kept_share, measured, fade, max_living), cut_step

    def _measurements(self, batch_ns: float) -> Measurements:
        most = np.inf if self.bounds.memory_bytes is None else float(self.bounds.memory_bytes)
        value = np.array([*self.meter.average_ns, self.memory_bytes, self.total_ns, np.nan])
        bound = np.array([*self.meter.bound_ns, most, batch_ns, np.inf])
        return measurements_of(value, bound, float(self.tariff.prices()[EVENT]) / max(self.total_ns, 1.0))
