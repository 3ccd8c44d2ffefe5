"""Figure 15: V of one type is drawn from another range from event 9,000 on; recall of Q3 and Q4 around that.

At half of the mean latency of the whole stream without a bound, by the tariff. A match counts where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.bounded.comparing import SHARP
from benchmarks.bounded.queries import q3_q4
from benchmarks.bounded.running import TARIFF, Outcome, bounded_run, without_bound
from benchmarks.bounded.streams import drifting
from benchmarks.bounded.workloads import event_work
from benchmarks.experiment import Scale
from benchmarks.records import Goal, Record, Sense
from ostinato.workloads.matcher.materialise import PatternMatches

EVENTS, CHANGE, FIRST_SHOWN = 14_000, 9_000, 8_000
PIECE = 500
"""Events to a point of the figure."""
WINDOWS = (1_000, 1_500, 2_000)
"""Ten keys and six further events make matches grow with the sixth power: half of the least has none, twice the
longest has millions."""
SEEDS = {Scale.SMALL: (1, 2), Scale.FULL: tuple(range(1, 11))}
SHARE = 0.5
RECOVERED = Goal(Sense.AT_LEAST, 0.95)
Counts = NDArray[np.int64]


def measure_drift(scale: Scale) -> list[Record]:
    records = []
    for window in WINDOWS:
        found, whole = (np.zeros((2, EVENTS), np.int64) for _ in range(2))
        for seed in SEEDS[scale]:
            work = event_work(q3_q4(window), drifting(EVENTS, CHANGE, seed)).work
            without = without_bound(work, TARIFF)
            whole += ends_of(without.outcome, work.events.time)
            found += ends_of(bounded_run(work, SHARE, SHARP, TARIFF, without), work.events.time)
        for query, name in enumerate(("Q3", "Q4")):
            records += _around(f"{name}, window {window:,}", found[query], whole[query], window)
    return records


def ends_of(outcome: Outcome, time: NDArray[np.int64]) -> Counts:
    """[pattern, time] how many matches end there."""
    return np.stack([_ends(matches, time) for matches in outcome.matches])


def _ends(matches: PatternMatches, time: NDArray[np.int64]) -> Counts:
    return np.bincount(time[matches.rows[matches.offsets[1:] - 1]], minlength=EVENTS)


def _around(case: str, found: Counts, whole: Counts, window: int) -> list[Record]:
    records = [
        Record("bounded", "figure 15", f"{case}, event {first:,}", "recall", share, "")
        for first in range(FIRST_SHOWN, EVENTS, PIECE)
        if (share := _share(found, whole, range(first, first + PIECE))) is not None
    ]
    for metric, first, end, goal in (
        ("recall before", window, CHANGE, None),
        ("recall in the first window", CHANGE, CHANGE + window, None),
        ("recall after one window", CHANGE + window, CHANGE + 2 * window, RECOVERED),
    ):
        share = _share(found, whole, range(first, end))
        if share is not None:
            records.append(Record("bounded", "figure 15", case, metric, share, "", goal=goal))
    return records


def _share(found: Counts, whole: Counts, times: Sequence[int]) -> float | None:
    """None where there is nothing to find."""
    there = int(whole[times[0] : times[-1] + 1].sum())
    return float(found[times[0] : times[-1] + 1].sum() / there) if there else None
