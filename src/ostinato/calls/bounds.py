"""Bounds as the user writes them -> Bounds: times in nanoseconds, sizes in bytes, one latency for each pattern."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ostinato.calls.options import is_number, shown
from ostinato.errors import QueryError

Duration = str | timedelta
LatencyRequest = Duration | float | Mapping[str, Duration | float]
"""A time, a fraction of the latency without a bound, or one of these by the pattern's name."""

_AMOUNT = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*([^\W\d_]+)\s*")
_NANOSECONDS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "\N{GREEK SMALL LETTER MU}s", "microsecond", "microseconds"), 1_000),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000_000),
    **dict.fromkeys(("s", "second", "seconds"), 1_000_000_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000_000),
}
_DECIMAL_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES = {**_DECIMAL_BYTES, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_TOO_MUCH = 2**63
"""Reports have nanoseconds and bytes as 64-bit integers."""
CALIBRATION_WINDOWS, CALIBRATION_EVENTS = 4.0, 4096
"""Smallest length of the calibration of a ratio, in windows and in events. The first window isn't measured."""


@dataclass(frozen=True, slots=True)
class LatencyBound:
    """Either a time for each event, or a fraction of the latency without a bound."""

    ns: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """One entry for each pattern in `names`, `latency` and `weights`; the others hold for all patterns together."""

    names: tuple[str, ...]
    latency: tuple[LatencyBound | None, ...]
    weights: tuple[float, ...]
    memory_bytes: int | None = None
    selection_ratio: float | None = None
    """Keep this fraction of the state, whatever the latency."""
    batch_budget_ns: int | None = None

    @property
    def is_none(self) -> bool:
        return not any(self.bounded)

    @property
    def bounded(self) -> tuple[bool, ...]:
        """For each pattern whether its matches may be dropped."""
        common = (self.memory_bytes, self.selection_ratio, self.batch_budget_ns)
        if any(bound is not None for bound in common):
            return (True,) * len(self.names)
        return tuple(bound is not None for bound in self.latency)

    @property
    def memory_weight(self) -> float:
        """Alpha in SHARP's Theta (Section 5): 0 without a memory bound, 1 with only that, 0.5 with a time bound too."""
        if self.memory_bytes is None:
            return 0.0
        by_time = self.batch_budget_ns is not None or any(bound is not None for bound in self.latency)
        return 0.5 if by_time else 1.0

    def of(self, patterns: Sequence[int]) -> Bounds:
        """The bounds of some of the patterns, in the order given."""
        return Bounds(
            tuple(self.names[p] for p in patterns),
            tuple(self.latency[p] for p in patterns),
            tuple(self.weights[p] for p in patterns),
            self.memory_bytes,
            self.selection_ratio,
            self.batch_budget_ns,
        )

    def split(self, engines: int, buckets: int = 1) -> Bounds:
        """The bounds of one engine in one bucket. All engines of a task share the memory; all engines and all buckets
        of a stream share the time budget."""
        memory, budget = self.memory_bytes, self.batch_budget_ns
        return replace(
            self,
            memory_bytes=None if memory is None else max(1, memory // engines),
            batch_budget_ns=None if budget is None else max(1, budget // (engines * buckets)),
        )


def read_bounds(
    names: Sequence[str],
    *,
    latency_bound: LatencyRequest | None = None,
    memory_bound: str | int | None = None,
    selection_ratio: float | None = None,
    batch_budget: Duration | None = None,
    weights: Mapping[str, float] | None = None,
) -> Bounds:
    """Raises INVALID_BOUND for a bound that has no meaning, INVALID_OPTION for such names and weights.

    >>> read_bounds(["q1", "q2"], latency_bound={"q2": "5 ms"}).latency
    (None, LatencyBound(ns=5000000.0, ratio=None))
    """
    if selection_ratio is not None and latency_bound is not None:
        raise QueryError(
            "INVALID_OPTION",
            "selection_ratio keeps a fixed share, whatever the latency: it can't stand beside latency_bound",
            hint="leave one of the two out",
        )
    return Bounds(
        tuple(names),
        _latencies(names, latency_bound),
        _weights(names, weights),
        None if memory_bound is None else _read_bytes(memory_bound),
        None if selection_ratio is None else _read_ratio("selection_ratio", selection_ratio),
        None if batch_budget is None else math.ceil(read_duration("batch_budget", batch_budget)),
    )


def _latencies(names: Sequence[str], value: LatencyRequest | None) -> tuple[LatencyBound | None, ...]:
    if value is None:
        return (None,) * len(names)
    if isinstance(value, Mapping):
        _check_names("latency_bound", names, value)
        by_name = {name: _read_latency(f"latency_bound of {name}", bound) for name, bound in value.items()}
        return tuple(by_name.get(name) for name in names)
    return (_read_latency("latency_bound", value),) * len(names)


def _weights(names: Sequence[str], value: Mapping[str, float] | None) -> tuple[float, ...]:
    if value is not None and not isinstance(value, Mapping):
        raise QueryError(
            "INVALID_OPTION",
            f"weights are {shown(value)}: expected a number by the name of a query",
            hint=f"weights={{{names[0]!r}: 2}}",
        )
    _check_names("weights", names, value or {})
    for name, weight in (value or {}).items():
        if not is_number(weight) or not 0 < weight <= sys.float_info.max:
            message = f"the weight of {name} is {shown(weight)}: it must be a number above 0"
            raise QueryError("INVALID_OPTION", message, hint=f"weights={{{names[0]!r}: 2}}")
    return tuple(float((value or {}).get(name, 1.0)) for name in names)


def _check_names(option: str, names: Sequence[str], value: Mapping[str, object]) -> None:
    unknown = [name for name in value if name not in names]
    if unknown:
        raise QueryError(
            "INVALID_OPTION",
            f"{option} names {', '.join(map(shown, unknown))}, which isn't a query of this workload",
            hint=f"the queries are {', '.join(names)}",
        )


def _read_latency(option: str, value: object) -> LatencyBound:
    if is_number(value):
        return LatencyBound(ratio=_read_ratio(option, value))
    return LatencyBound(ns=read_duration(option, value))


def _read_ratio(option: str, value: object) -> float:
    if not is_number(value) or not 0 < value <= 1:
        raise QueryError(
            "INVALID_BOUND",
            f"{option} is {shown(value)}: a number here is a share, above 0 and at most 1",
            hint="0.5 keeps half" if option == "selection_ratio" else "a time has a unit: '5 ms'",
        )
    return float(value)


def read_duration(option: str, value: object) -> float:
    """Nanoseconds of a text ("5 ms") or a timedelta. Raises INVALID_BOUND for anything else."""
    if isinstance(value, timedelta):
        nanoseconds = value.total_seconds() * 1e9
    else:
        nanoseconds = _amount(option, value, _NANOSECONDS, "'10 seconds', '5 ms', '200 us'")
    return _in_range(option, value, nanoseconds)


def _read_bytes(value: object) -> int:
    size = value if is_number(value) else _amount("memory_bound", value, _BYTES, "'512 MB', '64 KiB'")
    return math.ceil(_in_range("memory_bound", value, size))


def _amount(option: str, value: object, units: Mapping[str, int], examples: str) -> float:
    amount = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    # There are two letters for micro, and several spellings of "MB", all with one meaning.
    unit = None if amount is None else units.get(unicodedata.normalize("NFKC", amount[2]).lower())
    if amount is None or unit is None:
        raise QueryError(
            "INVALID_BOUND",
            f"{option} is {shown(value)}: not an amount and a unit",
            hint="leave it out for no bound" if value is None else f"such as {examples}",
        )
    return float(amount[1]) * unit


def _in_range(option: str, value: object, amount: float) -> float:
    if not 0 < amount < _TOO_MUCH:
        why = "it is more than can be counted" if amount > 0 else "it must be above 0"
        raise QueryError("INVALID_BOUND", f"{option} is {shown(value)}: {why}", hint="leave it out for no bound")
    return amount
