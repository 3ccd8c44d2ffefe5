"""The bounds of an `ost.Workload` -> a checked, picklable request that tasks turn into the bounds of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from ostinato.calls.bounds import Bounds, Duration, LatencyRequest, read_bounds
from ostinato.errors import QueryError
from ostinato.kernels.clock import Clock, RealClock, VirtualClock, check_clock
from ostinato.streams.stored_state import check


@dataclass(frozen=True, slots=True)
class BoundRequest:
    """The bounds as they were given. By default nothing is bounded.

    `latency_bound`: compute time per event and query. `memory_bound`: bytes of partial matches in a task.
    `selection_ratio`: the fraction of partial matches that is kept, whatever they cost. `batch_budget`: compute time of
    a task's batch, or of a bucket's part of a micro-batch. `weights`: the weight of a match of each query. `clock`: a
    virtual one makes runs repeatable; None: the real one.
    """

    latency_bound: LatencyRequest | None = None
    memory_bound: str | int | None = None
    selection_ratio: float | None = None
    batch_budget: Duration | None = None
    weights: Mapping[str, float] | None = None
    clock: Clock | None = None

    def __post_init__(self) -> None:
        check_clock(self.clock)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is bounded."""
        bounds = (self.latency_bound, self.memory_bound, self.selection_ratio, self.batch_budget)
        return all(bound is None for bound in bounds)

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
        """The same request, without the bounds and weights of other queries."""
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
        """Plain values, for JSON. Raises INVALID_OPTION for a clock that can't be restored from plain values."""
        names = [field.name for field in fields(self) if field.name != "clock"]
        plain = {name: _plain(getattr(self, name)) for name in names}
        return {**plain, "clock": _clock_values(self.clock)}

    def state_needs(self, names: Sequence[str]) -> dict[str, Any]:
        """The values that the state of a stream of these queries depends on. Amounts of time and memory, weights and
        the clock may change on a restart. Changing a ratio needs a new checkpoint."""
        bounds = None if self.is_empty else self.bounds(names)
        ratios = [] if bounds is None else [None if b is None else b.ratio for b in bounds.latency]
        bounded = bounds is not None and bounds.bounded  # queries with a bound have states of their own
        return {"bounded": bounded, "ratios": ratios}

    @staticmethod
    def from_values(values: Mapping[str, Any]) -> BoundRequest:
        """Raises STATE_FORMAT for options of earlier versions, unless they had the values of `_REMOVED_OPTIONS`."""
        options = {name: value for name, value in values.items() if (name, value) not in _REMOVED_OPTIONS}
        unknown = options.keys() - BoundRequest.__slots__
        check(not unknown, "the definition of this stream", f"it has {', '.join(sorted(unknown))}")
        clock = options["clock"]
        return BoundRequest(**{**options, "clock": None if clock is None else VirtualClock(**clock)})


_REMOVED_OPTIONS = (("shedding", "sharp"), ("state", "view"))
"""Options that a workload had before 0.1.0, with the only values that are still supported."""


def _clock_values(clock: Clock | None) -> dict[str, int] | None:
    """The values that restore the clock; None: the real clock."""
    if clock is None or type(clock) is RealClock:
        return None
    if type(clock) is VirtualClock:
        return clock.to_values()
    raise QueryError(
        "INVALID_OPTION",
        f"a stream can't keep this clock in its checkpoint: {clock!r}",
        hint="on a stream the clock is an ost.VirtualClock(...), or the real one",
    )


def _plain(value: Any) -> Any:
    """An amount as JSON takes it."""
    if isinstance(value, Mapping):
        return {name: _plain(amount) for name, amount in value.items()}
    return f"{value // timedelta(microseconds=1)} us" if isinstance(value, timedelta) else value


UNBOUNDED = BoundRequest()
