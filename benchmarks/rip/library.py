"""The library's own lines: `ost.match` from table to table, on one thread (SEQ) and in slices on two (RB+) -> records.

Arrow gets one thread, so that the library on one unit is the work of one core.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

import ostinato as ost
from benchmarks.experiment import WrongAnswer, expect, interleaved_seconds
from benchmarks.match.kernel_run import price_table
from benchmarks.queries import Mode, PatternQuery
from benchmarks.records import Baseline, Goal, Record
from benchmarks.rip.run_based import Prices
from benchmarks.rip.variants import ENOUGH_SECONDS, ROUNDS, case_of

LIBRARY = "library"
METRIC = "speed, table to table"
"""Its lines time more than the variants' do: parsing, planning, ordering and output too."""
WORKERS = (1, 2)


def measure_library(
    figure: str,
    query: PatternQuery,
    price: Prices,
    match_count: int,
    *,
    speed_goal: Goal | None = None,
    speed_up_goal: Goal | None = None,
) -> list[Record]:
    """Rows a second, two workers beside one. Both must find as many matches as the variants, and the same rows."""
    pa.set_cpu_count(1)
    clause, table = query.clause(Mode.ALL), price_table(price)
    actions = {workers: partial(ost.match, clause, table, workers=workers) for workers in WORKERS}
    found = {workers: action() for workers, action in actions.items()}
    expect(f"{figure}, {query.name}, {LIBRARY}", found[1].num_rows, match_count)
    if not all(rows.equals(found[1]) for rows in found.values()):
        raise WrongAnswer(f"{figure}, {query.name}: the {LIBRARY} answers otherwise in slices")
    by_name = {str(workers): action for workers, action in actions.items()}
    times = interleaved_seconds(by_name, ROUNDS, warm_up=False, enough_seconds=ENOUGH_SECONDS)
    speed = {workers: len(price) / times[str(workers)] for workers in WORKERS}
    return [
        Record(
            "rip",
            figure,
            case_of(query.name, LIBRARY, workers),
            METRIC,
            speed[workers],
            "rows/s",
            baseline=None if workers == 1 else Baseline(f"{LIBRARY}, 1 unit", speed[1]),
            goal=speed_goal if workers == 1 else speed_up_goal,
        )
        for workers in WORKERS
    ]
