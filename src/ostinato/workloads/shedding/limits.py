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
from ostinato.workloads.shedding.worth import Estimates, step_share

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

TARGET = 0.98
"""Largest target, as a fraction of the bound."""
LEAST_TARGET, LOWERED, RAISED = 0.9, 0.98, 1.004
"""A machine's speed is uneven. A window that took longer than the bound lowers the target, and a window that kept it
raises it a little. Together they settle where one window in six is too long."""
MEMORY_TARGET = 0.9
"""Target of a memory bound, which must not be passed even for a moment."""
LEAST_VARIABLE = 0.1
"""Smallest fraction of a latency that is assumed to depend on the kept state."""
MOST_FIXED = 0.9
"""Largest fraction of a bound that the fixed price of an event may take. Early on prices can't be told apart."""
MOST_CORRECTED = 4.0
"""Largest factor by which predicted times are corrected, up or down. Where next to nothing is kept, the measured time
is all overhead. A correction by that would drop the rest, and grow with each step."""
LEAST_KEPT = 0.5
"""An overload ends only once this fraction of the counted cost is kept."""
TOGETHER = ("memory", "batch", "ratio")
"""Bounds that hold for all patterns together: the last entries of the arrays in Control."""


@dataclass(slots=True)
class Control:
    """State of each bound, [pattern, then TOGETHER]."""

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
        known = self.predicted > 0
        return np.where(known, self.measured / np.where(known, self.predicted, 1.0), np.nan)


def new_control(patterns: int) -> Control:
    count = patterns + len(TOGETHER)
    target = np.full(count, TARGET)
    target[patterns] = MEMORY_TARGET
    return Control(np.zeros(count, np.bool_), np.zeros(count), np.zeros(count), target)


def aim(control: Control, latency_ns: Reals, bound_ns: Reals) -> None:
    """Changes the targets after a window or more. `latency_ns`: [pattern] time per event in it."""
    patterns = slice(0, len(latency_ns))
    moved = control.target[patterns] * np.where(latency_ns > bound_ns, LOWERED, RAISED)
    shedding = control.over[patterns]
    control.target[patterns] = np.where(shedding, np.clip(moved, LEAST_TARGET, TARGET), control.target[patterns])


@dataclass(frozen=True, slots=True)
class Measurements:
    """[pattern, then TOGETHER] the present value, its bound (infinite: none; NaN: not yet known), and the fixed part of
    the value, which an event takes whatever is kept."""

    value: Reals
    bound: Reals
    fixed: Reals


def measurements_of(value: Reals, bound: Reals, event_fraction: float) -> Measurements:
    """`event_fraction`: price of an event itself, as a fraction of all time."""
    fixed = np.minimum(event_fraction * value, MOST_FIXED * bound)
    fixed[-len(TOGETHER)] = 0.0  # memory
    return Measurements(value, bound, np.nan_to_num(fixed))


@dataclass(frozen=True, slots=True)
class SlotCosts:
    """[pattern, then TOGETHER][class, age] cost of keeping all of a slot, in units of the model."""

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
    together = [estimates.living * (window_rows / sketch.ages), estimates.work, estimates.living]
    return SlotCosts([*by_pattern, *together], sketch, estimates.work)


def new_limits(
    control: Control, of_slots: SlotCosts, kept_share: Reals, now: Measurements, fade: float, most_living: float | None
) -> list[Limit]:
    """Changes `control`, and gives a limit for each bound that is exceeded. `most_living`: partial matches that may
    live for each event, where a fixed share of them is kept."""
    predicted = np.array([float((cost * kept_share).sum()) for cost in of_slots.by_limit])
    unshed = np.array([float(cost.sum()) for cost in of_slots.by_limit])
    _correct(control, now, predicted, fade)
    correction = control.correction
    known = np.isfinite(correction) & np.isfinite(now.bound)
    over = overloaded(control.over, now.value, unshed * correction + now.fixed, now.bound)
    # `unshed` lacks the descendants of dropped partial matches.
    over |= control.over & (predicted < LEAST_KEPT * unshed)
    control.over = np.where(known, over, False)
    control.over[-1] = most_living is not None
    patterns = len(unshed) - len(TOGETHER)
    calm = ~control.over[:patterns] & ~control.over[patterns:].any()
    limits = []
    for at in np.flatnonzero(control.over[:-1]).tolist():
        left = control.target[at] * now.bound[at] - now.fixed[at]
        budget = float(left / max(correction[at], 1e-12))
        cost = of_slots.by_limit[at]
        if at < patterns and calm.any():
            cost = of_slots.sheddable(at, calm)
            budget -= unshed[at] - float(cost.sum())  # spent in any case
        limits.append(Limit(_patterns_of(at, patterns), cost, max(budget, 0.0)))
    if most_living is not None:
        limits.append(Limit(_patterns_of(patterns, patterns), of_slots.by_limit[-1], most_living))
    return limits


def _correct(control: Control, now: Measurements, predicted: Reals, fade: float) -> None:
    value = np.maximum(now.value - now.fixed, LEAST_VARIABLE * now.value)
    sound = (predicted > 0) & np.isfinite(value)
    control.measured = np.where(sound, control.measured * fade + np.where(sound, value, 0.0), control.measured)
    control.predicted = np.where(sound, control.predicted * fade + predicted, control.predicted)
    is_time = np.arange(len(predicted)) != len(predicted) - len(TOGETHER)
    within = np.clip(control.measured, control.predicted / MOST_CORRECTED, control.predicted * MOST_CORRECTED)
    control.measured = np.where(is_time, within, control.measured)  # memory is measured in bytes


def _patterns_of(at: int, patterns: int) -> Bools:
    """The patterns of a bound: one, or all of them."""
    return np.arange(patterns) == at if at < patterns else np.ones(patterns, np.bool_)
