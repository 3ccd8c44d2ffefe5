"""The kernel alone, on one core: rows a second of the twelve queries, and how its time grows with the rows."""

from __future__ import annotations

import time

import pyarrow as pa

from benchmarks.experiment import SLOW_SECONDS, Scale, best_seconds, expect, interleaved_seconds
from benchmarks.match.kernel_run import KernelRun
from benchmarks.queries import KNOWN_COUNTS, QUERIES, Mode, PatternQuery, Shape, prices
from benchmarks.records import Baseline, Goal, Record, Sense

ROWS = 1_000_000
ROUNDS = 5
SLOWER_QUERIES = ("Q1", "Q3")
GROWTH_ROWS = {Scale.SMALL: 200_000, Scale.FULL: 1_000_000}
GROWTH_GOAL = Goal(Sense.AT_MOST, 11, of_ratio=True)
ORIENTATION = {
    # rows/s for the preferred match with SKIP TO NEXT ROW, from the issue: Flink 2.3, Esper 9 warm, naive backtracker
    "Q12": (169e3, 6.2e6, 19.7e6),
    "Q7": (161e3, 6.3e6, 27.9e6),
    "Q2": (199e3, 7.1e6, 26.2e6),
    "Q3": (59e3, 2.4e6, 5.6e6),
    "Q1": (48e3, 1.35e6, 3.0e6),
}


def goal_of(query: PatternQuery) -> Goal:
    """Rows a second that the issue asks for."""
    if query.shape is Shape.ROW_ONLY:
        return Goal(Sense.AT_LEAST, 100e6)
    return Goal(Sense.AT_LEAST, 10e6 if query.name in SLOWER_QUERIES else 20e6)


def case_of(query: PatternQuery, mode: Mode) -> str:
    return f"{query.name} {'preferred' if mode is Mode.PREFERRED else 'all matches'}"


def measure_kernel(scale: Scale) -> list[Record]:
    """The same at both scales: a million rows take little time."""
    pa.set_cpu_count(1)
    price = prices(ROWS)
    records = []
    for mode in Mode:
        for query in QUERIES:
            records += _speeds(query, mode, KernelRun(query, mode, price))
    return records


def _speeds(query: PatternQuery, mode: Mode, run: KernelRun) -> list[Record]:
    case = case_of(query, mode)
    started = time.perf_counter()
    matches = run.whole()
    first = time.perf_counter() - started
    known_matches = KNOWN_COUNTS.get((query.name, mode, ROWS))
    if known_matches is not None:
        expect(f"kernel, {case}", matches, known_matches)
    whole = best_seconds(run.whole, ROUNDS)
    matching = best_seconds(lambda: run.match(run.given_masks), ROUNDS)
    return [
        Record(
            "match", "kernel", case, "speed", ROWS / whole, "rows/s", goal=goal_of(query), notes=_notes(query, mode)
        ),
        Record("match", "kernel", case, "speed, row conditions given", ROWS / matching, "rows/s"),
        Record("match", "kernel", case, "compiling: first call above later ones", max(first - whole, 0.0), "s"),
    ]


def _notes(query: PatternQuery, mode: Mode) -> tuple[str, ...]:
    known = ORIENTATION.get(query.name)
    if known is None or mode is not Mode.PREFERRED:
        return ()
    flink, esper, naive = (f"{speed / 1e6:.3g} M" for speed in known)
    return (f"for orientation, not measured here (source: issue text): Flink {flink}, Esper {esper}, naive {naive}",)


def measure_growth(scale: Scale) -> list[Record]:
    """Ten times the rows should take ten times as long."""
    pa.set_cpu_count(1)
    few = GROWTH_ROWS[scale]
    price = prices(10 * few)
    records = []
    for query in QUERIES:
        short, long = (KernelRun(query, Mode.PREFERRED, price[:rows]) for rows in (few, 10 * few))
        actions = {"short": short.whole, "long": long.whole}
        times = interleaved_seconds(actions, ROUNDS, enough_seconds=SLOW_SECONDS)
        records.append(_growth_record(query, few, times["short"], times["long"]))
    return records


def _growth_record(query: PatternQuery, few: int, short: float, long: float) -> Record:
    return Record(
        "match",
        "growth",
        case_of(query, Mode.PREFERRED),
        f"time of {10 * few:,} rows",
        long,
        "s",
        baseline=Baseline(f"{few:,} rows", short),
        goal=GROWTH_GOAL,
    )
