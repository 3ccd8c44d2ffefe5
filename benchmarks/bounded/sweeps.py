"""Figures 9, 10, 11 and 14: how recall and speed depend on selectivity, length, window, and where patterns share.

All at half of the latency without a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa

from benchmarks.bounded.comparing import POLICIES, SHARP, SWEEP_LENGTHS, Setting, compared, setting
from benchmarks.bounded.queries import SHORTEST, q1_q2_of_length, q3_q4
from benchmarks.bounded.streams import ds1, ds2
from benchmarks.bounded.workloads import event_work
from benchmarks.experiment import Scale
from benchmarks.records import Record

SHARE = 0.5
SEED = 2
MAX_V = (1, 3, 5, 7, 9)
"""Millions."""
PATTERN_LENGTHS = {Scale.SMALL: (4, 6, 8), Scale.FULL: (4, 5, 6, 7, 8)}
LENGTH_EVENTS = {Scale.SMALL: (6_000, 40_000), Scale.FULL: (20_000, 200_000)}
LENGTH_WINDOW = 500
"""Events, for the sweep of lengths: choices of five B among those of a window are many."""
WINDOWS = (1, 2, 4)
"""Thousands of events. Matches grow with the cube of the window: at 8,000 there are more than 50 million."""
WINDOW_LENGTHS = (10_000, 20_000)
OFFSETS = (0, 1, 2, 3)
PLACED = (SHARP, "random_state", "random_input")


def measure_selectivity(scale: Scale) -> list[Record]:
    records = []
    for most in MAX_V:
        stream = partial(ds1, seed=SEED, most_v=most * 1e6)
        at = _setting(f"DS1, V to {most} M", stream, q3_q4(), SWEEP_LENGTHS[scale])
        records += compared("figure 9", at.name, at, SHARE, tuple(POLICIES))
    return records


def measure_lengths(scale: Scale) -> list[Record]:
    """The Kleene closure of Q1 and Q2 with one to five events."""
    records = []
    for length in PATTERN_LENGTHS[scale]:
        texts = q1_q2_of_length(length, LENGTH_WINDOW)
        at = _setting(f"DS1, length {length}", partial(ds1, seed=SEED), texts, LENGTH_EVENTS[scale])
        records += compared("figure 10", at.name, at, SHARE, tuple(POLICIES))
    return records


def measure_windows(scale: Scale) -> list[Record]:
    """Q1 and Q2 with closures of one event on DS2, which lacks the types of Q3 and Q4."""
    records = []
    for thousands in WINDOWS:
        texts = q1_q2_of_length(SHORTEST, thousands * 1_000)
        at = _setting(f"DS2, window {thousands},000", partial(ds2, seed=SEED), texts, WINDOW_LENGTHS)
        records += compared("figure 11", at.name, at, SHARE, tuple(POLICIES))
    return records


def measure_offsets(scale: Scale) -> list[Record]:
    """What Q3 and Q4 share stands 0 to 3 events behind their start."""
    records = []
    for offset in OFFSETS:
        at = _setting(f"DS1, offset {offset}", partial(ds1, seed=SEED), q3_q4(offset=offset), SWEEP_LENGTHS[scale])
        records += compared("figure 14", at.name, at, SHARE, PLACED)
    return records


def _setting(name: str, stream: Callable[[int], pa.Table], texts: Sequence[str], lengths: tuple[int, int]) -> Setting:
    return setting(name, stream, lambda table: event_work(texts, table).work, lengths)
