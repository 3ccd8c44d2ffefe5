"""Ledger and time of each chunk -> Orders: the keeper joins overload detection, cost model and selection (SHARP, Alg.
1).

A chunk is a number of rows of the stream, not of the call. So a run with a virtual clock doesn't depend on how its
input is cut into calls. The keeper measures every chunk, which costs next to nothing. Learning and choosing take time.
The keeper does them as often as `MOST_OVERHEAD` of the matching time allows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.bounds import Bounds
from ostinato.kernels.clock import Work
from ostinato.workloads.matcher.ledger import AGES, Buckets, Orders
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.accounts import Accounts, ChunkSoFar, new_accounts
from ostinato.workloads.shedding.class_edges import (
    Learning,
    buckets_of,
    finest_buckets,
    learnt_more,
    nothing_learnt,
    regrouped,
)
from ostinato.workloads.shedding.latency import Calibration, LatencyMeter
from ostinato.workloads.shedding.limits import (
    Control,
    Measurements,
    aim,
    measurements_of,
    new_control,
    new_limits,
    slot_costs,
)
from ostinato.workloads.shedding.policy import SheddingPolicy
from ostinato.workloads.shedding.population import undropped
from ostinato.workloads.shedding.sketch import WINDOW_GUESS, Sketch, next_window
from ostinato.workloads.shedding.state_selection import KEEP_ALL, Limit
from ostinato.workloads.shedding.tariff import EVENT, Tariff
from ostinato.workloads.shedding.worth import CostModel, Estimates
from ostinato.workloads.shedding.worth_kernel import PRIOR_VISITS

Reals = NDArray[np.float64]
RATES_FADE, CHAINS_FADE, LATENCY_FADE, CONTROL_FADE, CUT_MOVES = 1.0, 32.0, 0.5, 1.0, 0.125
"""Half-lives in windows: of rates, of chains, of the latency, of the correction, and of the distance to a new cut."""
MOST_MOVED = 0.5
"""Largest fraction of the distance to a new cut that is applied in one step. While parents are being dropped, the yield
of their children is unknown, so cuts move slowly."""
LOOK_AFTER = 0.25
"""Windows between two checks whether classes have to be learnt anew."""
TARIFF_FADE = 0.97
"""Factor by which each further chunk fades the prices of earlier ones."""
LEAST_KNOWLEDGE = 0.9
"""Smallest factor by which chains fade from one lesson to the next, however many windows lie between them."""
AFTER_A_DRIFT = 0.05
"""Factor for the chains of a node whose values have drifted."""


@dataclass(slots=True)
class Keeper:
    """Everything that an engine remembers of a stream beside the partial matches. Changed in place, chunk by chunk."""

    shape: PlanShape
    bounds: Bounds
    policy: SheddingPolicy
    features: tuple[int, ...]
    """[node] number of features."""
    ages: int = AGES
    learning: Learning = field(init=False)
    sketch: Sketch = field(init=False)
    accounts: Accounts | None = None
    meter: LatencyMeter = field(init=False)
    control: Control = field(init=False)
    cut: Reals = field(init=False)
    kept_share: Reals = field(init=False)
    """[class, age] fraction of the partial matches that the present orders keep for at least one pattern."""
    full_share: Reals = field(init=False)
    """[class, age] fraction that they keep for all patterns."""
    orders: Orders | None = None
    estimates: Estimates | None = None
    """Made from the sketch. None: the sketch has learnt since."""
    dropped_at: Reals = field(init=False)
    """[pattern] row at which a drop was last noticed; minus infinity: never."""
    chosen_at: int = 0
    """Row of the last decision about the state."""
    regrouped_at: int = 0
    """Row at which classes last changed. Knowledge about them starts there."""
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
    chunk: ChunkSoFar = field(init=False)
    chunk_rows: int = 256

    def __post_init__(self) -> None:
        self.learning = nothing_learnt(self.features)
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
        return buckets_of(self.learning.edges, self.shape.pairs)

    def start_classes(self) -> None:
        """Takes the classes of `learning`. Nothing is known of them yet."""
        self.sketch = Sketch(self.shape, self.buckets.class_at, self.ages)
        self._keep_all()

    def _keep_all(self) -> None:
        self.cut = np.full(self.shape.patterns, KEEP_ALL)
        self.kept_share = self.full_share = np.ones((int(self.sketch.class_at[-1]), self.ages))
        self.orders = None

    @property
    def chunk_left(self) -> int:
        return self.chunk_rows - self.chunk.rows

    def end_chunk(self) -> None:
        """Ends the chunk before it has all of its rows."""
        self.chunk_rows = self.chunk.rows

    def took(self, work: Work, spent_ns: int, calling_ns: int, step_work: NDArray[np.int64]) -> None:
        """Adds rows that were matched to the chunk. `calling_ns` of the time went into calling the kernel."""
        self.chunk.add(work, spent_ns, calling_ns, step_work)
        assert self.accounts is not None
        self.accounts.rows += work.events

    def next_chunk(self, rows: int) -> None:
        self.chunk, self.chunk_rows = ChunkSoFar(step_work=np.zeros(len(self.shape.step_source), np.int64)), rows

    def close_chunk(self) -> None:
        """Measures the latency of each pattern in the chunk."""
        rows, spent_ns, step_work = self.chunk.rows, self.chunk.spent_ns, self.chunk.step_work
        total = float(step_work.sum())
        work_share = step_work @ self.shape.step_patterns / total if total else np.ones(self.shape.patterns)
        latency = spent_ns / rows * work_share
        half_life_rows = LATENCY_FADE * self.window_rows
        self.meter.observe(latency, rows, half_life_rows)
        if rows >= self.window_rows:
            aim(self.control, latency, self.meter.bound_ns)
        moved = 1.0 - 0.5 ** (rows / half_life_rows) if self.rows_seen else 1.0
        self.total_ns += moved * (spent_ns / rows - self.total_ns)
        if self.policy.input_shedding is not None:
            self.policy.input_shedding.observe_chunk(self, rows, spent_ns)
        self.rows_seen += rows
        self.tariff.observe(self.chunk.work, spent_ns - self.chunk.calling_ns, TARIFF_FADE)
        self._calibrate(latency, rows)

    @property
    def least_bound(self) -> float:
        return float(np.nanmin(self.meter.bound_ns, initial=np.inf))

    @property
    def has_bounds(self) -> bool:
        """Whether a bound is known. One given as a ratio has to be calibrated first."""
        together = (self.bounds.memory_bytes, self.bounds.batch_budget_ns, self.bounds.selection_ratio)
        return bool(np.isfinite(self.meter.bound_ns).any()) or any(bound is not None for bound in together)

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
        assert self.accounts is not None
        ledger, rows = run.ledger, self.accounts.rows
        counted = self.accounts.counted(ledger)
        self.dropped_at[counted.dropped.any(axis=0)] = self.rows_seen
        rates, chains = self.fade(rows, RATES_FADE), max(self.fade(rows, CHAINS_FADE), LEAST_KNOWLEDGE)
        self.sketch.observe(counted, rows, self.kept_share, self.full_share, rates, chains)
        is_guess = self.orders is not None  # dropped partial matches aren't there to be counted
        self.window_rows = next_window(self.window_rows, self.sketch.window_rows(counted.live), rows, is_guess)
        self.accounts.looked(ledger)
        self.estimates = None
        if self.rows_seen - self.looked_at >= LOOK_AFTER * self.window_rows:
            self.looked_at = self.rows_seen
            self._learn_classes(run)

    def nothing_lost(self, pattern: int) -> bool:
        """Asked at the end of a call: whether no match can be missing, in this call and in all calls before it."""
        assert self.accounts is not None
        if self.policy.input_shedding is not None and self.bounds.bounded[pattern]:
            return False
        return bool(np.isneginf(self.dropped_at[pattern]) and not self.accounts.carried.dropped[:, pattern].any())

    def fade(self, rows: int, windows: float = RATES_FADE) -> float:
        """Weight of counts from `rows` events ago. `windows` is their half-life."""
        return float(0.5 ** (rows / (windows * self.window_rows)))

    def _learn_classes(self, run: MatcherRun) -> None:
        samples = {node: run.feature_samples(node) for node in np.flatnonzero(self.features).tolist()}
        finest = finest_buckets(self.shape, self.features)
        self.learning, have_moved, changed = learnt_more(self.learning, samples, finest)
        for node in have_moved:  # knowledge about other values is no guide any more
            run.samples.seen[node] = 0
            self.sketch.doubt(node, AFTER_A_DRIFT)
        if changed:
            buckets = self.buckets
            self.sketch = regrouped(self.sketch, buckets.class_at, changed, PRIOR_VISITS)
            run.rebucket(buckets)
            self.accounts = new_accounts(run.ledger)
            self.estimates, self.regrouped_at = None, self.rows_seen
            self._keep_all()

    def choose(self, batch_ns: float) -> None:
        """The policy decides what is kept. `batch_ns`: time that an event may take so that the batch is done in time;
        infinite without a budget."""
        chosen = self.policy.choose(self, self._measurements(batch_ns))
        if chosen is None:
            self._keep_all()
        else:
            self.cut, self.orders = chosen.cut, chosen.orders
            self.kept_share, self.full_share = chosen.kept_share, chosen.full_share

    def cost_model(self) -> CostModel:
        """Only the matches of overloaded patterns are at stake, or those of all patterns where none is overloaded."""
        over = self.control.over[: self.shape.patterns] | self.control.over[self.shape.patterns :].any()
        weights = np.array(self.bounds.weights)
        weights /= weights.max()  # buckets of quality have a lowest and a highest
        at_stake = weights * (over if over.any() else 1.0)
        return CostModel(at_stake, self.bounds.memory_weight, self.tariff.prices())

    def new_limits(self, estimates: Estimates, now: Measurements) -> tuple[list[Limit], float]:
        """A limit for each bound that is exceeded, and the fraction by which cuts move towards their new values."""
        of_slots = slot_costs(self.sketch, estimates, self.window_rows)
        if 0 < self.chosen_at < self.regrouped_at:  # the measurements are of classes that no longer exist
            now = replace(now, value=np.where(self.control.over, np.nan, now.value))
        since, self.chosen_at = self.rows_seen - self.chosen_at, self.rows_seen
        fade, moved = self.fade(since, CONTROL_FADE), min(1.0 - self.fade(since, CUT_MOVES), MOST_MOVED)
        ratio = self.bounds.selection_ratio
        most_living = None if ratio is None or ratio >= 1.0 else ratio * float(undropped(self.sketch).sum())
        return new_limits(self.control, of_slots, self.kept_share, now, fade, most_living), moved

    def _measurements(self, batch_ns: float) -> Measurements:
        most = np.inf if self.bounds.memory_bytes is None else float(self.bounds.memory_bytes)
        value = np.array([*self.meter.average_ns, self.memory_bytes, self.total_ns, np.nan])
        bound = np.array([*self.meter.bound_ns, most, batch_ns, np.inf])
        return measurements_of(value, bound, float(self.tariff.prices()[EVENT]) / max(self.total_ns, 1.0))
