"""SHARP's own policy: all patterns together keep the partial matches of the highest utility (Alg. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.limits import Measurements
from ostinato.workloads.shedding.packed import Value
from ostinato.workloads.shedding.policy import InputShedding
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import StateSelection, min_utility_of, node_cut, select_best
from ostinato.workloads.shedding.utility import CostModel, Estimates, estimate

if TYPE_CHECKING:
    from ostinato.workloads.shedding.load_shedder import LoadShedder

Reals = NDArray[np.float64]


class Sharp:
    """A `SheddingPolicy` without a state of its own: the load shedder holds all that SHARP learns."""

    name = "sharp"
    input_shedding: InputShedding | None = None

    def estimate(self, sketch: Sketch, model: CostModel, min_utility: Reals) -> Estimates:
        """Contribution and cost of partial matches; see `utility.estimate`."""
        return estimate(sketch, model, min_utility)

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        model = shedder.cost_model()
        if shedder.estimates is None:
            min_utility = min_utility_of(node_cut(shedder.shape, shedder.cut))
            shedder.estimates = self.estimate(shedder.sketch, model, min_utility)
        limits, cut_step = shedder.new_limits(shedder.estimates, measured)
        if not limits:
            return None
        chosen, shedder.estimates = select_best(
            shedder.sketch, model, shedder.estimates, limits, shedder.cut, cut_step, self.estimate
        )
        return chosen

    def to_values(self) -> dict[str, Value]:
        return {}

    def restore(self, values: Mapping[str, Any]) -> None:
        pass
