"""Measured time -> the latency of each pattern, the overloaded patterns, and how often bounds were kept.

The latency of a pattern is the chunk's time per event, times the fraction of the work on steps of that pattern. Work
that only other patterns cause doesn't count. The average moves slowly enough that one costly event is no overload.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.bounds import CALIBRATION_EVENTS, CALIBRATION_WINDOWS

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
_PER_OCTAVE = 8
_OCTAVES = 48
"""Range of the histogram: from one nanosecond to three days."""
OVERLOAD_ENDS = 0.9
"""Fraction of the bound below which an overload ends."""


@dataclass(slots=True)
class LatencyMeter:
    """One entry for each pattern. `bound_ns` is infinite without a bound, and NaN before calibration."""

    bound_ns: Reals
    average_ns: Reals = field(init=False)
    """Moving average; NaN before the first chunk."""
    histogram: Reals = field(init=False)
    """[pattern, bucket] events by the latency of their chunk. From the first chunk under a bound on, only such chunks
    count."""
    events: float = 0.0
    bounded: Reals = field(init=False)
    """[pattern] events that came while there was a bound."""
    within: Reals = field(init=False)
    """[pattern] those of them whose chunk kept the bound."""

    def __post_init__(self) -> None:
        patterns = len(self.bound_ns)
        self.average_ns = np.full(patterns, np.nan)
        self.histogram = np.zeros((patterns, _OCTAVES * _PER_OCTAVE))
        self.within, self.bounded = np.zeros(patterns), np.zeros(patterns)

    def observe(self, latency_ns: Reals, events: int, half_life_events: float) -> None:
        """`latency_ns`: per event of a chunk. `half_life_events`: half-life of the average."""
        share = 1.0 - 0.5 ** (events / max(half_life_events, 1.0))
        has_average = np.isfinite(self.average_ns)
        self.average_ns = np.where(has_average, self.average_ns + share * (latency_ns - self.average_ns), latency_ns)
        # Latencies from before the calibration don't belong beside the share of events within the bound.
        self.histogram[~np.isnan(self.bound_ns) & (self.bounded == 0)] = 0
        bucket = np.clip(np.log2(np.maximum(latency_ns, 1.0)) * _PER_OCTAVE, 0, self.histogram.shape[1] - 1)
        self.histogram[np.arange(len(latency_ns)), bucket.astype(np.int64)] += events
        self.within += np.where(latency_ns <= self.bound_ns, events, 0)
        self.bounded += np.where(np.isnan(self.bound_ns), 0, events)
        self.events += events

    @property
    def headroom(self) -> float:
        """Bound divided by latency, of the pattern that is closest to its bound; 1 without a bound."""
        ratio = self.bound_ns / np.maximum(self.average_ns, 1.0)
        bounded = ratio[np.isfinite(ratio)]
        return float(bounded.min()) if len(bounded) else 1.0

    def restart(self) -> None:
        """Starts the report of another call. The moving average goes on."""
        average = self.average_ns
        self.events = 0.0
        self.__post_init__()
        self.average_ns = average

    def quantile_ns(self, share: float) -> Reals:
        """Upper end of the bucket that holds this quantile: at most an eighth octave too high."""
        if not self.events:
            return np.full(len(self.bound_ns), np.nan)
        sums = np.cumsum(self.histogram, axis=1)
        reached = sums >= share * sums[:, -1:] * (1 - 1e-12)
        return np.asarray(2.0 ** ((reached.argmax(axis=1) + 1) / _PER_OCTAVE), np.float64)


@dataclass(slots=True)
class Calibration:
    """Measures the latency without shedding, for bounds that are given as a ratio of it."""

    ratio: Reals
    """[pattern] NaN without a ratio."""
    latency_sum: Reals = field(init=False)
    events: int = 0

    def __post_init__(self) -> None:
        self.latency_sum = np.zeros(len(self.ratio))

    def observe(self, latency_ns: Reals, events: int, stream_events: int, window_events: float) -> Reals | None:
        """Adds a chunk, the last of `stream_events`. Gives the bounds in nanoseconds after enough events."""
        if stream_events <= window_events:
            return None
        self.latency_sum = self.latency_sum + latency_ns * events
        self.events += events
        if stream_events < max(CALIBRATION_EVENTS, CALIBRATION_WINDOWS * window_events):
            return None
        return self.ratio * self.latency_sum / self.events


def overloaded(before: Bools, average: Reals, unshed: Reals, bound: Reals) -> Bools:
    """Overload begins above the bound. It ends when the predicted latency without shedding (`unshed`) is well below the
    bound. The measured latency can't tell: it is low because of the shedding."""
    return np.where(before, ~(unshed < OVERLOAD_ENDS * bound), average > bound)
