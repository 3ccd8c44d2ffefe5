"""Exact matching of 2 to 200 patterns that begin alike: one state for all, one for each, and one search after another.

Speeds are by processor time; partial matches are all that are made.
"""

from __future__ import annotations

import time

from benchmarks.bounded.queries import many
from benchmarks.bounded.running import TARIFF, exact_run, without_bound
from benchmarks.bounded.streams import ds1
from benchmarks.bounded.workloads import event_work
from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense

FIGURE = "sharing"
NUMBERS = {Scale.SMALL: (2, 10, 50, 200), Scale.FULL: (2, 5, 10, 20, 50, 100, 200)}
EVENTS = {Scale.SMALL: 5_000, Scale.FULL: 20_000}
WINDOW, SEED = 500, 3
FASTER = Goal(Sense.BELOW, 1.0, of_ratio=True)


def measure_many_patterns(scale: Scale) -> list[Record]:
    table = ds1(EVENTS[scale], SEED)
    records = []
    for number in NUMBERS[scale]:
        work = event_work(many(number, WINDOW), table).work
        exact_run(work), exact_run(work, separate=True)  # compile
        shared, apart = exact_run(work), exact_run(work, separate=True)
        work.count_exactly()
        began = time.thread_time()
        counts = work.count_exactly()
        one_by_one = time.thread_time() - began
        for name, outcome in (("shared", shared), ("separate", apart)):
            expect(f"matches of {number} patterns, {name}", tuple(m.count for m in outcome.matches), counts)
        case = f"{number} patterns"
        made = {mode: without_bound(work, TARIFF, mode).outcome.partial_matches for mode in ("view", "separate")}
        rival = Baseline("separate", made["separate"])
        beside = Baseline("separate", apart.seconds)
        notes = (
            f"{sum(counts):,} matches; {len(work.shared.nodes) - 1} states shared, {work.shared.states_apart} apart",
        )
        records += [
            Record("bounded", FIGURE, case, "partial matches", made["view"], "", rival, FASTER, notes),
            Record("bounded", FIGURE, case, "time, shared", shared.seconds, "s", beside, FASTER),
            Record("bounded", FIGURE, case, "time, one search after another", one_by_one, "s", beside),
        ]
    return records
