"""Latency, memory and time left -> the bounds that are exceeded, and a budget for each (constraint (3)).

The paper's rule keeps bound / latency of the present consumption. That rule alone swings: a drop lowers the latency
only later, when its descendants are missing. So the cost model predicts the cost of the kept state. The ratio of
measured to predicted cost corrects the model slowly, and the budget is the bound in units of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.latency import overloaded
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import Limit
from ostinato.workloads.shedding.utility import Estimates, step_share

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

TARGET = 0.98
"""Largest target, as a fraction of the bound."""
MIN_TARGET, LOWERED, RAISED = 0.9, 0.98, 1.004
"""A machine's speed is uneven. A window that took longer than the bound lowers the target, and a window that kept it
raises it a little. With these factors about one window in six is too long."""
MEMORY_TARGET = 0.9
"""Target of a memory bound, which must not be passed even for a moment."""
MIN_VARIABLE = 0.1
"""Smallest fraction of a latency that is assumed to depend on the kept state."""
MAX_FIXED = 0.9
"""Largest fraction of a bound that the fixed price of an event may take. Early on prices can't be told apart."""
MAX_CORRECTED = 4.0
"""Largest factor by which predicted times are corrected, up or down. If almost nothing is kept, the measured time is
only overhead. Without a limit, the correction would then drop the remaining partial matches, and grow with each step.
"""
MIN_KEPT = 0.5
"""An overload ends only once this fraction of the counted cost is kept."""
SHARED_BOUNDS = ("memory", "batch", "ratio")
"""Bounds that hold for all patterns together: the last entries of the arrays in Control."""


@dataclass(slots=True)
class Control:
    """State of each bound: [pattern, then SHARED_BOUNDS]."""

    over: Bools
    """Whether the bound is exceeded."""
    measured: Reals
    predicted: Reals
    """`measured` and `predicted` are faded sums. An average of ratios would be biased, since latencies have long
    tails."""
    target: Reals
    """Target of each bound, as a fraction of it."""

    @property
    def correction(self) -> Reals:
        """Measured cost of one unit of the model; NaN before the first measurement."""
        has_prediction = self.predicted > 0
        return np.where(has_prediction, self.measured / np.where(has_prediction, self.predicted, 1.0), np.nan)


def new_control(patterns: int) -> Control:
    count = patterns + len(SHARED_BOUNDS)
    target = np.full(count, TARGET)
    target[patterns] = MEMORY_TARGET
    return Control(np.zeros(count, np.bool_), np.zeros(count), np.zeros(count), target)


def adjust_targets(control: Control, latency_ns: Reals, bound_ns: Reals) -> None:
    """Changes the targets after a window or more. `latency_ns`: [pattern] time per event in it."""
    patterns = slice(0, len(latency_ns))
    moved = control.target[patterns] * np.where(latency_ns > bound_ns, LOWERED, RAISED)
    shedding = control.over[patterns]
    control.target[patterns] = np.where(shedding, np.clip(moved, MIN_TARGET, TARGET), control.target[patterns])


@dataclass(frozen=True, slots=True)
class Measurements:
    """[pattern, then SHARED_BOUNDS]"""

    value: Reals
    """As measured."""
    bound: Reals
    """Infinite: none. NaN: not yet calibrated."""
    fixed: Reals
    """Fixed part of the value: an event costs that much whatever is kept."""


def measurements_of(value: Reals, bound: Reals, event_fraction: float) -> Measurements:
    """`event_fraction`: price of an event itself, as a fraction of all time."""
    fixed = np.minimum(event_fraction * value, MAX_FIXED * bound)
    fixed[-len(SHARED_BOUNDS)] = 0.0  # memory
    return Measurements(value, bound, np.nan_to_num(fixed))


@dataclass(frozen=True, slots=True)
class SlotCosts:
    """[pattern, then SHARED_BOUNDS][class, age] cost of keeping all of a slot, in units of the model."""

    by_limit: list[Reals]
    sketch: Sketch
    work: Reals

    def sheddable(self, pattern: int, calm: Bools) -> Reals:
        """Cost of a pattern, without the steps that are taken for a calm pattern anyway."""
        shape = self.sketch.shape
        own = np.asarray(~(shape.step_patterns & calm).any(axis=1))
        share = step_share(self.sketch, own)[self.sketch.node_of]
        return np.asarray(self.work * share[:, pattern, None])


def slot_costs(sketch: Sketch, estimates: Estimates, window_rows: float) -> SlotCosts:
    shape = sketch.shape
    share = step_share(sketch, np.ones(len(shape.step_source), np.bool_))[sketch.node_of]
    by_pattern = [estimates.work * share[:, pattern, None] for pattern in range(shape.patterns)]
    shared = [estimates.living * (window_rows / sketch.ages), estimates.work, estimates.living]
    return SlotCosts([*by_pattern, *shared], sketch, estimates.work)


def new_limits(
    control: Control,
    of_slots: SlotCosts,
    kept_share: Reals,
    measured: Measurements,
    fade: float,
    max_living: float | None,
) -> list[Limit]:
    """Changes `control`, and gives a limit for each bound that is exceeded. `max_living`: with a selection ratio, the
    largest number of living partial matches per event."""
    predicted = np.array([float((cost * kept_share).sum()) for cost in of_slots.by_limit])
    unshed = np.array([float(cost.sum()) for cost in of_slots.by_limit])
    _update_correction(control, measured, predicted, fade)
    correction = control.correction
    is_known = np.isfinite(correction) & np.isfinite(measured.bound)
    over = overloaded(control.over, measured.value, unshed * correction + measured.fixed, measured.bound)
    # `unshed` lacks the descendants of dropped partial matches.
    over |= control.over & (predicted < MIN_KEPT * unshed)
    control.over = np.where(is_known, over, False)
    control.over[-1] = max_living is not None
    patterns = len(unshed) - len(SHARED_BOUNDS)
    calm = ~control.over[:patterns] & ~control.over[patterns:].any()
    limits = []
    for at in np.flatnonzero(control.over[:-1]).tolist():
        left = control.target[at] * measured.bound[at] - measured.fixed[at]
        budget = float(left / max(correction[at], 1e-12))
        cost = of_slots.by_limit[at]
        if at < patterns and calm.any():
            cost = of_slots.sheddable(at, calm)
            budget -= unshed[at] - float(cost.sum())  # spent in any case
        limits.append(Limit(_patterns_of(at, patterns), cost, max(budget, 0.0)))
    if max_living is not None:
        limits.append(Limit(_patterns_of(patterns, patterns), of_slots.by_limit[-1], max_living))
    return limits


def _update_correction(control: Control, measured: Measurements, predicted: Reals, fade: float) -> None:
    value = np.maximum(measured.value - measured.fixed, MIN_VARIABLE * measured.value)
    sound = (predicted > 0) & np.isfinite(value)
    control.measured = np.where(sound, control.measured * fade + np.where(sound, value, 0.0), control.measured)
    control.predicted = np.where(sound, control.predicted * fade + predicted, control.predicted)
    is_time = np.arange(len(predicted)) != len(predicted) - len(SHARED_BOUNDS)
    within = np.clip(control.measured, control.predicted / MAX_CORRECTED, control.predicted * MAX_CORRECTED)
    control.measured = np.where(is_time, within, control.measured)  # memory is measured in bytes


def _patterns_of(at: int, patterns: int) -> Bools:
    """The patterns of a bound: one, or all of them."""
    return np.arange(patterns) == at if at < patterns else np.ones(patterns, np.bool_)
