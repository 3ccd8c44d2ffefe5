"""Conditions of events -> which events may become part of a match: for the policies that shed input.

What an event is worth is the matches that it is likely to be in. An event that a pattern without a bound asks for is
always taken, whatever it is worth to the others: such a pattern stays exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import check
from ostinato.workloads.matcher.plan_shape import PlanShape
from ostinato.workloads.shedding.baselines import LEAST_SHARE
from ostinato.workloads.shedding.policies import Admission, admission
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.worth import CostModel, estimate

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(slots=True)
class InputShedding:
    """Changed in place, chunk by chunk."""

    always: NDArray[np.int64]
    """Conditions whose events are always taken."""
    admission: Admission = field(default_factory=Admission)
    use: Reals = field(default_factory=lambda: np.zeros(0))
    happened: Reals = field(default_factory=lambda: np.zeros(0))
    """[condition] what an event that fulfils it is worth, and how many came."""
    waiting_ns: float = 0.0
    """The length of the queue, if events came as fast as the bound allows."""

    def admit(self, held: Bools, numbers: NDArray[np.int64], fade: float) -> Bools:
        """[condition, row] of the next rows, and their numbers in the stream -> which of them are taken."""
        if not len(self.use):
            self.use, self.happened = np.zeros(len(held)), np.zeros(len(held))
        check(len(self.use) == len(held), "what was learnt of events", "it is of other conditions")
        self.happened = self.happened * fade + held.sum(axis=1)
        return np.asarray(self.admission.of(self.use @ held, numbers) | held[self.always].any(axis=0))

    def choose(self, share: float, sketch: Sketch, by_utility: bool) -> None:
        """From here on so many events are taken: those of most use, or some at random."""
        if by_utility and len(self.use):
            self.use = condition_use(sketch, self.happened)
            self.admission = admission(share, self.use, self.happened)
        else:
            self.admission = Admission(0.0, share)

    def queue_share(self, bound_ns: float, window_rows: float) -> float:
        """DARLING: the longer the queue, the less is admitted; a queue of a quarter window halves it."""
        return float(max(LEAST_SHARE, 1.0 / (1.0 + self.waiting_ns / (bound_ns * window_rows / 4))))


def asked_conditions(shape: PlanShape, patterns: Bools) -> NDArray[np.int64]:
    """The conditions of the events that some of these patterns are made of."""
    return np.unique(shape.step_condition[(shape.step_patterns & patterns).any(axis=1)])


def condition_use(sketch: Sketch, happened: Reals) -> Reals:
    """[condition] the matches that an event which fulfils it is likely to be in: over all steps that it may take, what
    is born there and what that is worth. `happened`: how many such events there were."""
    shape = sketch.shape
    found = estimate(sketch, CostModel(np.ones(shape.patterns)), np.zeros((shape.nodes, shape.patterns)))
    born = sketch.by_node(sketch.attempts.sum(axis=1))
    total = np.diff(np.concatenate([[0.0], np.cumsum(found.worth)])[found.worth_at])
    worth = total / (np.diff(sketch.class_at) * sketch.ages)
    use = np.zeros(len(happened))
    for target, condition in set(zip(shape.step_target.tolist(), shape.step_condition.tolist(), strict=True)):
        use[condition] += born[target] * worth[target]
    return use / np.maximum(happened, 1.0)
