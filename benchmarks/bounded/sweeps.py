"""Figures 9, 10, 11 and 14: how recall and speed depend on selectivity, length, window, and where patterns share.

All at half of the latency without a bound.
"""

from __future__ import annotations

from benchmarks.bounded.comparing import POLICIES, SHARP, SWEEP_LENGTHS, compared, setting
from benchmarks.bounded.queries import SHORTEST, q1_q2_of_length, q3_q4
from benchmarks.bounded.streams import ds1, ds2
from benchmarks.bounded.workloads import event_work
from benchmarks.experiment import Scale
from benchmarks.records import Record

SHARE = 0.5
SEED = 2
MOST_V = (1, 3, 5, 7, 9)
"""Millions."""
LONGEST = 8
LENGTH_WINDOW = 500
"""Events, for the sweep of lengths: choices of five B among those of a window are many."""
WINDOWS = {Scale.SMALL: (1, 2, 4), Scale.FULL: (1, 2, 4, 8)}
"""Thousands of events. Matches grow with the cube of the window: at 16,000 there are some hundred million."""
OFFSETS = (0, 1, 2, 3)
PLACED = (SHARP, "random_state", "random_input")


def measure_selectivity(scale: Scale) -> list[Record]:
    records = []
    for most in MOST_V:
        at = setting(
            f"max V {most} M",
            lambda length, most=most: ds1(length, SEED, most * 1e6),
            lambda table: event_work(q3_q4(), table).work,
            SWEEP_LENGTHS[scale],
        )
        records += compared("figure 9", f"DS1, V to {most} M", at, SHARE, tuple(POLICIES))
    return records


def measure_lengths(scale: Scale) -> list[Record]:
    """The Kleene closure of Q1 and Q2 with one to five events."""
    records = []
    for length in range(SHORTEST, LONGEST + 1):
        texts = q1_q2_of_length(length, LENGTH_WINDOW)
        at = setting(
            f"length {length}",
            lambda events: ds1(events, SEED),
            lambda table, texts=texts: event_work(texts, table).work,
            SWEEP_LENGTHS[scale],
        )
        records += compared("figure 10", f"DS1, length {length}", at, SHARE, tuple(POLICIES))
    return records


def measure_windows(scale: Scale) -> list[Record]:
    """Q1 and Q2 with closures of one event on DS2, which lacks the types of Q3 and Q4."""
    records = []
    for thousands in WINDOWS[scale]:
        texts = q1_q2_of_length(SHORTEST, thousands * 1_000)
        at = setting(
            f"window {thousands},000",
            lambda events: ds2(events, SEED),
            lambda table, texts=texts: event_work(texts, table).work,
            WINDOW_LENGTHS,
        )
        records += compared("figure 11", f"DS2, window {thousands},000", at, SHARE, tuple(POLICIES))
    return records


WINDOW_LENGTHS = (10_000, 20_000)


def measure_offsets(scale: Scale) -> list[Record]:
    """What Q3 and Q4 share stands 0 to 3 events behind their start."""
    records = []
    for offset in OFFSETS:
        texts = q3_q4(offset=offset)
        at = setting(
            f"offset {offset}",
            lambda events: ds1(events, SEED),
            lambda table, texts=texts: event_work(texts, table).work,
            SWEEP_LENGTHS[scale],
        )
        records += compared("figure 14", f"DS1, offset {offset}", at, SHARE, PLACED)
    return records
