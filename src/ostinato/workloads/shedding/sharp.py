"""SHARP's own policy: all patterns together keep the partial matches of the highest quality (Alg. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.limits import Measurements
from ostinato.workloads.shedding.packed import Value
from ostinato.workloads.shedding.policy import InputShedding
from ostinato.workloads.shedding.sketch import Sketch
from ostinato.workloads.shedding.state_selection import Selection, choose_best, node_cut, price_of
from ostinato.workloads.shedding.worth import CostModel, Estimates, estimate

if TYPE_CHECKING:
    from ostinato.workloads.shedding.keeper import Keeper

Reals = NDArray[np.float64]


class Sharp:
    """A `SheddingPolicy`. It remembers nothing: the keeper holds all that SHARP learns."""

    name = "sharp"
    input_shedding: InputShedding | None = None

    def estimate(self, sketch: Sketch, model: CostModel, price: Reals) -> Estimates:
        """Expected yield and cost of partial matches; see `worth.estimate`."""
        return estimate(sketch, model, price)

    def choose(self, keeper: Keeper, now: Measurements) -> Selection | None:
        model = keeper.cost_model()
        if keeper.estimates is None:
            price = price_of(node_cut(keeper.shape, keeper.cut))
            keeper.estimates = self.estimate(keeper.sketch, model, price)
        limits, moved = keeper.new_limits(keeper.estimates, now)
        if not limits:
            return None
        chosen, keeper.estimates = choose_best(
            keeper.sketch, model, keeper.estimates, limits, keeper.cut, moved, self.estimate
        )
        return chosen

    def to_values(self) -> dict[str, Value]:
        return {}

    def restore(self, values: Mapping[str, Any]) -> None:
        pass
