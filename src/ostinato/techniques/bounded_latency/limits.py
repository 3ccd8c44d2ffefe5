"""Measured latency, memory and time left -> which bounds are exceeded, and how much may be spent (constraint (3)).

The paper's rule keeps bound / latency of the present consumption. That alone swings: a drop shows in the latency only
when the partial matches that would have come of it don't come. So the cost model predicts what the kept state will
cost, what is measured beside what was predicted corrects it slowly, and the budget is the bound in units of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.techniques.bounded_latency.latency import overloaded
from ostinato.techniques.bounded_latency.selection import Limit
from ostinato.techniques.bounded_latency.sketch import Sketch
from ostinato.techniques.bounded_latency.worth import Estimates, step_share

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

TARGET = 0.98
"""Which part of a bound is aimed at."""
MEMORY_TARGET = 0.9
"""Of a memory bound: it is not to be passed even for a moment."""
TOGETHER = ("memory", "batch", "ratio")
"""What holds for all patterns together: the last entries of the arrays in Control."""


@dataclass(slots=True)
class Control:
    """[pattern, then TOGETHER]"""

    over: Bools
    measured: Reals
    predicted: Reals
    """Faded sums: an average of ratios would be too low or too high, for latencies have long tails."""

    @property
    def correction(self) -> Reals:
        """What a unit of the model is in fact; NaN before the first measurement."""
        known = self.predicted > 0
        return np.where(known, self.measured / np.where(known, self.predicted, 1.0), np.nan)


def new_control(patterns: int) -> Control:
    count = patterns + len(TOGETHER)
    return Control(np.zeros(count, np.bool_), np.zeros(count), np.zeros(count))


@dataclass(frozen=True, slots=True)
class Measured:
    """[pattern, then TOGETHER] what is, and what may be (infinite: anything; NaN: not yet known)."""

    value: Reals
    bound: Reals


@dataclass(frozen=True, slots=True)
class Costs:
    """[pattern, then TOGETHER][class, age] what keeping a slot whole costs, in units of the model."""

    by_limit: list[Reals]
    sketch: Sketch
    work: Reals

    def sheddable(self, pattern: int, calm: Bools) -> Reals:
        """Without the steps that are taken for a calm pattern anyway."""
        shape = self.sketch.shape
        own = np.asarray(~(shape.step_patterns & calm).any(axis=1))
        share = step_share(self.sketch, own)[self.sketch.node_of]
        return np.asarray(self.work * share[:, pattern, None])


def costs(sketch: Sketch, found: Estimates, window_rows: float) -> Costs:
    shape = sketch.shape
    share = step_share(sketch, np.ones(len(shape.step_source), np.bool_))[sketch.node_of]
    by_pattern = [found.work * share[:, pattern, None] for pattern in range(shape.patterns)]
    together = [found.living * (window_rows / sketch.ages), found.work, found.work]
    return Costs([*by_pattern, *together], sketch, found.work)


def new_limits(
    control: Control, of_slots: Costs, kept: Reals, measured: Measured, fade: float, ratio: float | None
) -> list[Limit]:
    """Changes `control`; gives a limit for each bound that is exceeded."""
    predicted = np.array([float((cost * kept).sum()) for cost in of_slots.by_limit])
    unshed = np.array([float(cost.sum()) for cost in of_slots.by_limit])
    _correct(control, measured.value, predicted, fade)
    correction = control.correction
    known = np.isfinite(correction) & np.isfinite(measured.bound)
    over = overloaded(control.over, measured.value, unshed * correction, measured.bound)
    control.over = np.where(known, over, False)
    control.over[-1] = ratio is not None
    patterns = len(unshed) - len(TOGETHER)
    calm = ~control.over[:patterns] & ~control.over[patterns:].any()
    limits = []
    for at in np.flatnonzero(control.over[:-1]).tolist():
        target = MEMORY_TARGET if at == patterns else TARGET
        budget = float(target * measured.bound[at] / max(correction[at], 1e-12))
        cost = of_slots.by_limit[at]
        if at < patterns and calm.any():
            cost = of_slots.sheddable(at, calm)
            budget -= unshed[at] - float(cost.sum())  # what is spent in any case
        limits.append(Limit(_who(at, patterns), cost, max(budget, 0.0)))
    if ratio is not None:
        limits.append(Limit(_who(patterns, patterns), of_slots.by_limit[-1], ratio * unshed[-1]))
    return limits


def _correct(control: Control, value: Reals, predicted: Reals, fade: float) -> None:
    sound = (predicted > 0) & np.isfinite(value)
    control.measured = np.where(sound, control.measured * fade + np.where(sound, value, 0.0), control.measured)
    control.predicted = np.where(sound, control.predicted * fade + predicted, control.predicted)


def _who(at: int, patterns: int) -> Bools:
    """One pattern, or all of them."""
    return np.arange(patterns) == at if at < patterns else np.ones(patterns, np.bool_)
