"""What `ost.Workload` was asked to keep to -> a checked, picklable request that tasks turn into an engine's bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Literal, get_args

from ostinato.errors import QueryError, did_you_mean
from ostinato.sharing.bounds import Bounds, Duration, LatencyRequest, read_bounds
from ostinato.sharing.clock import Clock, RealClock, VirtualClock

Shedding = Literal["sharp", "random_state", "random_input", "selectivity", "icde20", "darling"]


@dataclass(frozen=True, slots=True)
class BoundRequest:
    """Bounds as they were given; nothing is bounded unless something is said.

    `latency_bound`: compute time per event and query. `memory_bound`: bytes of partial matches in a task.
    `selection_ratio`: the share of partial matches that is kept, whatever they cost. `batch_budget`: compute time of a
    task's whole batch, or of a bucket's part of a micro-batch. `weights`: what a match of each query is worth.
    `shedding`: who decides what is dropped. `clock`: a virtual one makes runs repeatable; None: the real one.
    """

    latency_bound: LatencyRequest | None = None
    memory_bound: str | int | None = None
    selection_ratio: float | None = None
    batch_budget: Duration | None = None
    weights: Mapping[str, float] | None = None
    shedding: Shedding = "sharp"
    clock: Clock | None = None

    def __post_init__(self) -> None:
        if self.shedding not in get_args(Shedding):
            raise QueryError(
                "INVALID_OPTION",
                f"shedding can't be {self.shedding!r}",
                hint=did_you_mean(str(self.shedding), get_args(Shedding))
                or f"it is one of {', '.join(map(repr, get_args(Shedding)))}",
            )
        if self.clock is not None and not all(hasattr(self.clock, name) for name in ("now_ns", "spent_ns")):
            raise QueryError(
                "INVALID_OPTION",
                f"clock= is no clock: {self.clock!r}",
                hint="ost.VirtualClock(), or leave it out for the real one",
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is bounded."""
        asked = (self.latency_bound, self.memory_bound, self.selection_ratio, self.batch_budget)
        return all(value is None for value in asked)

    def bounds(self, names: Sequence[str]) -> Bounds:
        """The bounds of these queries of the workload; raises for names that aren't queries, and for bad amounts."""
        return read_bounds(
            names,
            latency_bound=self.latency_bound,
            memory_bound=self.memory_bound,
            selection_ratio=self.selection_ratio,
            batch_budget=self.batch_budget,
            weights=self.weights,
        )

    def for_queries(self, names: Sequence[str]) -> BoundRequest:
        """The same request without what it says of other queries."""
        latency, weights = self.latency_bound, self.weights
        if isinstance(latency, Mapping):
            latency = {name: bound for name, bound in latency.items() if name in names} or None
        if weights is not None:
            weights = {name: weight for name, weight in weights.items() if name in names}
        return replace(self, latency_bound=latency, weights=weights or None)

    def new_clock(self) -> Clock:
        """The clock that a task reads."""
        return RealClock() if self.clock is None else self.clock

    # --- beside a stream's state ---

    def to_values(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "clock"}
        virtual = self.clock if isinstance(self.clock, VirtualClock) else None
        plain = {name: _plain(value) for name, value in values.items()}
        return {**plain, "clock": None if virtual is None else virtual.to_values()}

    @staticmethod
    def from_values(values: Mapping[str, Any]) -> BoundRequest:
        clock = values["clock"]
        return BoundRequest(**{**values, "clock": None if clock is None else VirtualClock(**clock)})


def _plain(value: Any) -> Any:
    """An amount as JSON takes it."""
    if isinstance(value, Mapping):
        return {name: _plain(amount) for name, amount in value.items()}
    return f"{value // timedelta(microseconds=1)} us" if isinstance(value, timedelta) else value


UNBOUNDED = BoundRequest()
