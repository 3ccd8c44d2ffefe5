"""Cold start: the first result of a new query in a fresh process, above Spark's own first job; planning many queries.

`python -m benchmarks.match.cold_start trivial|query` is the fresh process. Spark's own start is that of the session and
of a first job with an identity `mapInArrow` over the same rows; both jobs are timed in processes of their own, so that
neither warms up the other.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from benchmarks.experiment import Scale, expect, in_fresh_process, seconds
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events
from benchmarks.queries import Mode, Q
from benchmarks.records import Baseline, Goal, Record, Sense

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000
KEYS = 10
ROUNDS = {Scale.SMALL: 2, Scale.FULL: 5}
PLANNED_QUERIES = {Scale.SMALL: 200, Scale.FULL: 1_000}
ABOVE_SPARK_GOAL = Goal(Sense.BELOW, 1.0)
PLANNING_GOAL_SECONDS = 30.0
"""For a thousand."""


def measure_cold_start(scale: Scale) -> list[Record]:
    """The processes take turns; the first one fills an empty cache of kernels for the later ones."""
    with tempfile.TemporaryDirectory() as cache:
        empty = _fresh("query", cache)
        warm, trivial = [], []
        for _ in range(ROUNDS[scale]):
            trivial.append(_fresh("trivial", cache))
            warm.append(_fresh("query", cache))
    expect("cold start, matches", {found["rows"] for found in (empty, *warm)}, {right_count()})
    best_warm = min(found["job"] for found in warm)
    spark = min(found["job"] for found in trivial)
    session = min(found["session"] for found in trivial)
    figure = ("match", "cold start")
    return [
        Record(
            *figure,
            "Q1 in a fresh process",
            "first result above Spark's",
            best_warm - spark,
            "s",
            goal=ABOVE_SPARK_GOAL,
        ),
        Record(
            *figure, "Q1 in a fresh process", "first result", best_warm, "s", Baseline("identity mapInArrow", spark)
        ),
        Record(
            *figure, "Q1 in a fresh process", "compiling (empty cache, above a warm one)", empty["job"] - best_warm, "s"
        ),
        Record(*figure, "Spark's session", "start", session, "s"),
    ]


def _fresh(job: str, cache: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(
        in_fresh_process("benchmarks.match.cold_start", job, environment={"NUMBA_CACHE_DIR": cache})
    )
    return found


def measure_planning(scale: Scale) -> list[Record]:
    """Many different queries, asked and not run; the goal is for a thousand."""
    spark = sparks.spark_session()
    count = PLANNED_QUERIES[scale]
    spark.range(1).mapInArrow(sparks.same, "id long").collect()
    events = _events(spark)
    _plan(events, count)
    taken = seconds(lambda: [_plan(events, number) for number in range(count)])
    goal = Goal(Sense.AT_MOST, PLANNING_GOAL_SECONDS * count / 1_000)
    return [Record("match", "planning", f"{count:,} different queries", "time", taken, "s", goal=goal)]


def _plan(events: DataFrame, number: int) -> DataFrame:
    import ostinato as ost

    query = f"""
        SELECT * FROM events MATCH_RECOGNIZE (
            PARTITION BY key ORDER BY ts
            MEASURES FIRST(A.price) AS first_price, LAST(price) AS last_price
            PATTERN (A B+ C)
            DEFINE A AS price < {60 + number / 100}, B AS B.price > A.price AND price > PREV(price),
                C AS C.price < A.price + {number}
        )"""
    return ost.sql(query, events=events)


def _events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(keyed_events(ROWS, KEYS))


def right_count() -> int:
    """Matches of the fresh process's query, in this process."""
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table

    clause = parse_clause(Q["Q1"].clause(Mode.PREFERRED, partition_by="key"))
    return int(match_table(clause, keyed_events(ROWS, KEYS)).num_rows)


def run_alone(job: str) -> dict[str, float]:
    """Start Spark, then time one job from its text to its rows."""
    started = time.perf_counter()
    spark = sparks.spark_session()
    session = time.perf_counter() - started
    events = _events(spark)
    _ = events.schema
    started = time.perf_counter()
    if job == "trivial":
        rows = len(sparks.floor(events).collect())
    else:
        import ostinato as ost

        clause = Q["Q1"].clause(Mode.PREFERRED, partition_by="key")
        rows = len(ost.sql(f"SELECT * FROM events MATCH_RECOGNIZE ({clause})", events=events).collect())
    taken = time.perf_counter() - started
    spark.stop()
    return {"session": session, "job": taken, "rows": rows}


if __name__ == "__main__":
    print(json.dumps(run_alone(sys.argv[1])))
