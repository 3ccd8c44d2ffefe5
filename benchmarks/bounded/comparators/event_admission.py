"""Conditions of events -> the events that may become part of a match, for policies that shed input.

The use of an event is the number of matches that it is likely to be in. Events that a pattern without a bound asks for
are always admitted, so such a pattern stays exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import interpreted
from ostinato.kernels.mixing import ALL_BITS, GOLDEN, mixed
from ostinato.streams.stored_state import check, check_shapes
from ostinato.workloads.matcher.matcher_state_checks import COUNT, SHARE, check_like, check_limits
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.load_shedder import LoadShedder
from ostinato.workloads.shedding.packed import Value
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.utility import CostModel, estimate

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEAST_SHARE = 1e-3
_STATE = "what was learnt of events"


@dataclass(frozen=True, slots=True)
class Admission:
    """Admits events of more than `least_use`, and a random `fraction_at_least` of those that have exactly that use."""

    least_use: float = 0.0
    fraction_at_least: float = 1.0

    def of(self, use: Reals, event_numbers: NDArray[np.int64]) -> Bools:
        """`event_numbers`: the numbers of the events in the stream."""
        is_drawn = (use == self.least_use) & (drawn(event_numbers) < self.fraction_at_least)
        return np.asarray((use > self.least_use) | is_drawn)


def admission(share: float, use: Reals, happened: Reals) -> Admission:
    """Admits the best `share` of all events, given how often each use happened."""
    order = np.argsort(-use, kind="stable")
    taken = np.cumsum(happened[order])
    if share >= 1.0 or not taken[-1] > 0:
        return Admission()
    last = int(np.searchsorted(taken, share * taken[-1]))
    least = float(use[order[last]])
    above, at = happened[use > least].sum(), happened[use == least].sum()
    return Admission(least, float(np.clip((share * taken[-1] - above) / at, 0.0, 1.0)) if at else 1.0)


def drawn(event_numbers: NDArray[np.int64]) -> Reals:
    """A pseudo-random number in [0, 1) for each event number, the same in every run."""
    bits = interpreted(mixed)(event_numbers.astype(np.uint64) * GOLDEN, ALL_BITS)
    return np.asarray((bits >> np.uint64(11)) / float(1 << 53))


@dataclass(slots=True)
class EventAdmission:
    """The `InputShedding` of all comparators that leave out events. Changed in place, chunk by chunk."""

    admission: Admission = field(default_factory=Admission)
    use: Reals = field(default_factory=lambda: np.zeros(0))
    """[condition] the use of an event that fulfils it."""
    happened: Reals = field(default_factory=lambda: np.zeros(0))
    """[condition] faded number of events that fulfilled it."""
    waiting_ns: float = 0.0
    """Length of the queue, if events arrived as fast as the bound allows."""

    def admit(self, shedder: LoadShedder, conditions: Bools, event_numbers: NDArray[np.int64]) -> Bools:
        if not len(self.use):
            self.use, self.happened = np.zeros(len(conditions)), np.zeros(len(conditions))
        check(len(self.use) == len(conditions), _STATE, "it is of other conditions")
        self.happened = self.happened * shedder.fade(conditions.shape[1]) + conditions.sum(axis=1)
        always = asked_conditions(shedder.shape, ~shedder.bounded)
        is_admitted = self.admission.of(self.use @ conditions, event_numbers)
        return np.asarray(is_admitted | conditions[always].any(axis=0))

    def observe_chunk(self, shedder: LoadShedder, rows: int, spent_ns: int) -> None:
        if np.isfinite(shedder.min_bound_ns):
            self.waiting_ns = max(0.0, self.waiting_ns + spent_ns - rows * shedder.min_bound_ns)

    def choose(self, share: float, sketch: Sketch, *, by_use: bool) -> None:
        """From here on this share of the events is admitted: those of most use, or a random choice."""
        if by_use and len(self.use):
            self.use = condition_use(sketch, self.happened)
            self.admission = admission(share, self.use, self.happened)
        else:
            self.admission = Admission(0.0, share)

    def queue_share(self, bound_ns: float, window_rows: float) -> float:
        """DARLING: the longer the queue, the fewer events are admitted. A queue of a quarter window halves them."""
        return float(max(LEAST_SHARE, 1.0 / (1.0 + self.waiting_ns / (bound_ns * window_rows / 4))))

    def to_values(self) -> dict[str, Value]:
        return {
            "use": self.use,
            "happened": self.happened,
            "waiting_ns": self.waiting_ns,
            "least_use": self.admission.least_use,
            "fraction_at_least": self.admission.fraction_at_least,
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        use, happened = values["use"], values["happened"]
        check_shapes(_STATE, {"use": (use, (len(use),), np.float64), "happened": (happened, (len(use),), np.float64)})
        for name in ("waiting_ns", "least_use", "fraction_at_least"):
            check_like(_STATE, name, values[name], 0.0)
        limits = {**dict.fromkeys(self.to_values(), COUNT), "fraction_at_least": SHARE}
        check_limits(_STATE, dict(values), limits)
        self.use, self.happened, self.waiting_ns = use, happened, values["waiting_ns"]
        self.admission = Admission(values["least_use"], values["fraction_at_least"])


def asked_conditions(shape: PlanShape, patterns: Bools) -> NDArray[np.int64]:
    """The conditions of the events that these patterns are made of."""
    return np.unique(shape.step_condition[(shape.step_patterns & patterns).any(axis=1)])


def condition_use(sketch: Sketch, happened: Reals) -> Reals:
    """[condition] the matches that an event which fulfils it is likely to be in: the sum over all steps of the partial
    matches made there and their worth. `happened`: the number of such events."""
    shape = sketch.shape
    estimates = estimate(sketch, CostModel(np.ones(shape.patterns)), np.zeros((shape.nodes, shape.patterns)))
    born = sketch.by_node(sketch.attempts.sum(axis=1))
    total = np.diff(np.concatenate([[0.0], np.cumsum(estimates.contribution)])[estimates.contribution_at])
    worth = total / (np.diff(sketch.class_at) * sketch.ages)
    use = np.zeros(len(happened))
    for target, condition in set(zip(shape.step_target.tolist(), shape.step_condition.tolist(), strict=True)):
        use[condition] += born[target] * worth[target]
    return use / np.maximum(happened, 1.0)
