"""What the user allows -> Bounds: times in nanoseconds, sizes in bytes, one entry for each pattern."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeGuard

from ostinato.calls.options import shown
from ostinato.errors import QueryError

Duration = str | timedelta
LatencyRequest = Duration | float | Mapping[str, Duration | float]
"""A time, a share of the latency without a bound, or one of these by the pattern's name."""

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
"""Nanoseconds and bytes are told in reports as 64-bit integers."""


@dataclass(frozen=True, slots=True)
class LatencyBound:
    """One of the two: a time for each event, or a share of what an event takes without a bound."""

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
    """Keep this share of the state, whatever it costs."""
    batch_budget_ns: int | None = None

    @property
    def is_none(self) -> bool:
        return not any(self.bounded)

    @property
    def bounded(self) -> tuple[bool, ...]:
        """For each pattern whether matches of it may be given up."""
        common = (self.memory_bytes, self.selection_ratio, self.batch_budget_ns)
        if any(bound is not None for bound in common):
            return (True,) * len(self.names)
        return tuple(bound is not None for bound in self.latency)

    @property
    def memory_weight(self) -> float:
        """Alpha in SHARP's Theta (Section 5), which counts what is bounded: work, memory, or both alike."""
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
        """The part of one of the engines that run in one task, and of one of the buckets of a stream: memory is there
        for all engines together, and the budget for all engines and buckets."""
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
    """Raises INVALID_BOUND for a bound that can't mean anything, INVALID_OPTION for names and weights that can't.

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


def _latencies(names: Sequence[str], asked: LatencyRequest | None) -> tuple[LatencyBound | None, ...]:
    if asked is None:
        return (None,) * len(names)
    if isinstance(asked, Mapping):
        _check_names("latency_bound", names, asked)
        by_name = {name: _read_latency(f"latency_bound of {name}", bound) for name, bound in asked.items()}
        return tuple(by_name.get(name) for name in names)
    return (_read_latency("latency_bound", asked),) * len(names)


def _weights(names: Sequence[str], asked: Mapping[str, float] | None) -> tuple[float, ...]:
    if asked is not None and not isinstance(asked, Mapping):
        raise QueryError(
            "INVALID_OPTION",
            f"weights are {shown(asked)}: expected a number by the name of a query",
            hint=f"weights={{{names[0]!r}: 2}}",
        )
    _check_names("weights", names, asked or {})
    for name, weight in (asked or {}).items():
        if not _is_number(weight) or not 0 < weight <= sys.float_info.max:
            message = f"the weight of {name} is {shown(weight)}: it must be a number above 0"
            raise QueryError("INVALID_OPTION", message, hint=f"weights={{{names[0]!r}: 2}}")
    return tuple(float((asked or {}).get(name, 1.0)) for name in names)


def _check_names(option: str, names: Sequence[str], asked: Mapping[str, object]) -> None:
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise QueryError(
            "INVALID_OPTION",
            f"{option} names {', '.join(map(shown, unknown))}, which isn't a query of this workload",
            hint=f"the queries are {', '.join(names)}",
        )


def _read_latency(option: str, asked: object) -> LatencyBound:
    if _is_number(asked):
        return LatencyBound(ratio=_read_ratio(option, asked))
    return LatencyBound(ns=read_duration(option, asked))


def _read_ratio(option: str, asked: object) -> float:
    if not _is_number(asked) or not 0 < asked <= 1:
        raise QueryError(
            "INVALID_BOUND",
            f"{option} is {shown(asked)}: a number here is a share, above 0 and at most 1",
            hint="0.5 keeps half" if option == "selection_ratio" else "a time has a unit: '5 ms'",
        )
    return float(asked)


def read_duration(option: str, asked: object) -> float:
    """Nanoseconds of a text ("5 ms") or a timedelta. Raises INVALID_BOUND for what is no length of time."""
    if isinstance(asked, timedelta):
        nanoseconds = asked.total_seconds() * 1e9
    else:
        nanoseconds = _amount(option, asked, _NANOSECONDS, "'10 seconds', '5 ms', '200 us'")
    return _in_range(option, asked, nanoseconds)


def _read_bytes(asked: object) -> int:
    found = asked if _is_number(asked) else _amount("memory_bound", asked, _BYTES, "'512 MB', '64 KiB'")
    return math.ceil(_in_range("memory_bound", asked, found))


def _amount(option: str, asked: object, units: Mapping[str, int], examples: str) -> float:
    found = _AMOUNT.fullmatch(asked) if isinstance(asked, str) else None
    # There are two letters for micro, and several ways to write "MB"; none means anything else.
    unit = None if found is None else units.get(unicodedata.normalize("NFKC", found[2]).lower())
    if found is None or unit is None:
        raise QueryError(
            "INVALID_BOUND",
            f"{option} is {shown(asked)}: not an amount and a unit",
            hint="leave it out for no bound" if asked is None else f"such as {examples}",
        )
    return float(found[1]) * unit


def _in_range(option: str, asked: object, amount: float) -> float:
    if not 0 < amount < _TOO_MUCH:
        why = "it is more than can be counted" if amount > 0 else "it must be above 0"
        raise QueryError("INVALID_BOUND", f"{option} is {shown(asked)}: {why}", hint="leave it out for no bound")
    return amount


def _is_number(asked: object) -> TypeGuard[int | float]:
    return isinstance(asked, int | float) and not isinstance(asked, bool)
