"""The shedding policies that SHARP is compared with, behind the interface that SHARP implements (`policy.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bounded.comparators.averaged_worth import averaged_estimate
from benchmarks.bounded.comparators.event_admission import EventAdmission
from benchmarks.bounded.comparators.state_choices import choice_of_each_pattern, next_share, random_choice
from ostinato.workloads.matcher.matcher_state_checks import SHARE, check_like, check_limits
from ostinato.workloads.shedding.limits import Measurements
from ostinato.workloads.shedding.load_shedder import LoadShedder
from ostinato.workloads.shedding.packed import Value
from ostinato.workloads.shedding.policy import SheddingPolicy
from ostinato.workloads.shedding.sharp import Sharp
from ostinato.workloads.shedding.state_selection import StateSelection, min_utility_of, node_cut


class Selectivity(Sharp):
    """SHARP's selection by the yield of a node alone: no classes, no ages, no costs."""

    name = "selectivity"
    estimate = staticmethod(partial(averaged_estimate, by_class=False, by_age=False, per_cost=False))  # type: ignore[assignment]


class _Drawing:
    """Draws, or admits events by, a share that follows the measurements."""

    name = ""

    def __init__(self) -> None:
        self.share = 1.0
        self.input_shedding: EventAdmission | None = None

    def draw_share(self, shedder: LoadShedder, measured: Measurements) -> None:
        ratio = shedder.bounds.selection_ratio
        self.share = next_share(self.share, measured) if ratio is None else ratio
        shedder.control.over[:] = self.share < 1.0

    def to_values(self) -> dict[str, Value]:
        of_input = {} if self.input_shedding is None else self.input_shedding.to_values()
        return {"share": self.share, **of_input}

    def restore(self, values: Mapping[str, Any]) -> None:
        check_like("the policy's state", "share", values["share"], self.share)
        check_limits("the policy's state", {"share": values["share"]}, {"share": SHARE})
        self.share = values["share"]
        if self.input_shedding is not None:
            self.input_shedding.restore(values)


class RandomState(_Drawing):
    """Keeps a random share of the partial matches."""

    name = "random_state"

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        self.draw_share(shedder, measured)
        return random_choice(shedder.sketch, self.share, shedder.bounded)


class _AdmittingEvents(_Drawing):
    def __init__(self) -> None:
        super().__init__()
        self.input_shedding: EventAdmission = EventAdmission()


class RandomInput(_AdmittingEvents):
    """Admits a random share of the events."""

    name = "random_input"

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        self.draw_share(shedder, measured)
        self.input_shedding.choose(self.share, shedder.sketch, by_use=False)
        return None


class Darling(_AdmittingEvents):
    """DARLING: admits the most useful events; their share follows the length of the queue."""

    name = "darling"

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        self.draw_share(shedder, measured)
        share = self.share
        if np.isfinite(shedder.min_bound_ns):
            share = self.input_shedding.queue_share(shedder.min_bound_ns, shedder.window_rows)
        self.input_shedding.choose(share, shedder.sketch, by_use=True)
        return None


class Icde20(_AdmittingEvents):
    """ICDE'20: half of the reduction falls on the input, the rest on the state, which each pattern selects alone."""

    name = "icde20"
    INPUT_PART = 0.5

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        if shedder.bounds.selection_ratio is None:
            self.draw_share(shedder, measured)
            self.input_shedding.choose(self.share**self.INPUT_PART, shedder.sketch, by_use=True)
        estimate = partial(averaged_estimate, by_age=False)
        model, min_utility = shedder.cost_model(), min_utility_of(node_cut(shedder.shape, shedder.cut))
        if shedder.estimates is None:
            shedder.estimates = estimate(shedder.sketch, model, min_utility)
        limits, _ = shedder.new_limits(shedder.estimates, measured)
        if not limits:
            return None
        return choice_of_each_pattern(shedder.sketch, model, min_utility, limits, shedder.bounded, estimate)


POLICIES: dict[str, Callable[[], SheddingPolicy]] = {
    "sharp": Sharp,
    "icde20": Icde20,
    "darling": Darling,
    "random_input": RandomInput,
    "random_state": RandomState,
    "selectivity": Selectivity,
}
