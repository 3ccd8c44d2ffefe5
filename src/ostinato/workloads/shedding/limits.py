"""Measured latency, memory and time left -> which bounds are exceeded, and how much may be spent (constraint (3)).

The paper's rule keeps bound / latency of the present consumption. That alone swings: a drop shows in the latency only
when the partial matches that would have come of it don't come. So the cost model predicts what the kept state will
cost, what is measured beside what was predicted corrects it slowly, and the budget is the bound in units of the model.
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
"""Which part of a bound is aimed at, at most."""
LEAST_TARGET, LOWERED, RAISED = 0.9, 0.98, 1.004
"""A machine's clock is uneven. Whenever a whole window took longer than the bound, less is aimed at from then on; with
each that kept it, a little more. Both together settle where one in six is too long."""
MEMORY_TARGET = 0.9
"""Of a memory bound: it is not to be passed even for a moment."""
LEAST_VARIABLE = 0.1
"""So much of a latency at least is taken to depend on what is kept."""
MOST_FIXED = 0.9
"""Which part of a bound the price of an event alone is taken to be, at most: early on prices can't be told apart."""
MOST_CORRECTED = 4.0
"""How many times what is predicted, or which part of it, a time is taken to be. Where next to nothing is kept, all that
is measured is something else; a correction by that would drop the rest, and be greater the next time."""
LEAST_KEPT = 0.5
"""An overload isn't over before so much of what is counted is kept."""
TOGETHER = ("memory", "batch", "ratio")
"""What holds for all patterns together: the last entries of the arrays in Control."""


@dataclass(slots=True)
class Control:
    """[pattern, then TOGETHER]"""

    over: Bools
    measured: Reals
    predicted: Reals
    """Faded sums: an average of ratios would be too low or too high, for latencies have long tails."""
    target: Reals
    """Which part of each bound is aimed at."""

    @property
    def correction(self) -> Reals:
        """What a unit of the model is in fact; NaN before the first measurement."""
        known = self.predicted > 0
        return np.where(known, self.measured / np.where(known, self.predicted, 1.0), np.nan)


def new_control(patterns: int) -> Control:
    count = patterns + len(TOGETHER)
    target = np.full(count, TARGET)
    target[patterns] = MEMORY_TARGET
    return Control(np.zeros(count, np.bool_), np.zeros(count), np.zeros(count), target)


def aim(control: Control, latency_ns: Reals, bound_ns: Reals) -> None:
    """After a window, or more, under orders: [pattern] what an event took in it. Changes the targets."""
    patterns = slice(0, len(latency_ns))
    moved = control.target[patterns] * np.where(latency_ns > bound_ns, LOWERED, RAISED)
    shedding = control.over[patterns]
    control.target[patterns] = np.where(shedding, np.clip(moved, LEAST_TARGET, TARGET), control.target[patterns])


@dataclass(frozen=True, slots=True)
class Measured:
    """[pattern, then TOGETHER] what is, what may be (infinite: anything; NaN: not yet known), and which part of it an
    event takes whatever is kept."""

    value: Reals
    bound: Reals
    fixed: Reals


def measured(value: Reals, bound: Reals, event_part: float) -> Measured:
    """`event_part`: of all time, what an event alone takes by its price."""
    fixed = np.minimum(event_part * value, MOST_FIXED * bound)
    fixed[-len(TOGETHER)] = 0.0  # memory
    return Measured(value, bound, np.nan_to_num(fixed))


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
    together = [found.living * (window_rows / sketch.ages), found.work, found.living]
    return Costs([*by_pattern, *together], sketch, found.work)


def new_limits(
    control: Control, of_slots: Costs, kept: Reals, now: Measured, fade: float, most_living: float | None
) -> list[Limit]:
    """Changes `control`; gives a limit for each bound that is exceeded. `most_living`: how many partial matches may
    live for each event, where a share of them is kept."""
    predicted = np.array([float((cost * kept).sum()) for cost in of_slots.by_limit])
    unshed = np.array([float(cost.sum()) for cost in of_slots.by_limit])
    _correct(control, now, predicted, fade)
    correction = control.correction
    known = np.isfinite(correction) & np.isfinite(now.bound)
    over = overloaded(control.over, now.value, unshed * correction + now.fixed, now.bound)
    # What isn't kept isn't counted with all that would come of it.
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
            budget -= unshed[at] - float(cost.sum())  # what is spent in any case
        limits.append(Limit(_who(at, patterns), cost, max(budget, 0.0)))
    if most_living is not None:
        limits.append(Limit(_who(patterns, patterns), of_slots.by_limit[-1], most_living))
    return limits


def _correct(control: Control, now: Measured, predicted: Reals, fade: float) -> None:
    value = np.maximum(now.value - now.fixed, LEAST_VARIABLE * now.value)
    sound = (predicted > 0) & np.isfinite(value)
    control.measured = np.where(sound, control.measured * fade + np.where(sound, value, 0.0), control.measured)
    control.predicted = np.where(sound, control.predicted * fade + predicted, control.predicted)
    is_time = np.arange(len(predicted)) != len(predicted) - len(TOGETHER)
    within = np.clip(control.measured, control.predicted / MOST_CORRECTED, control.predicted * MOST_CORRECTED)
    control.measured = np.where(is_time, within, control.measured)  # memory is measured in bytes


def _who(at: int, patterns: int) -> Bools:
    """One pattern, or all of them."""
    return np.arange(patterns) == at if at < patterns else np.ones(patterns, np.bool_)
