"""Planning a thousand different queries, a small query over and over, and the import of the package."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.experiment import Scale, expect, seconds
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.start.first_queries import CLAUSE, events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS, KEYS = 2_000, 10
QUERIES = {Scale.SMALL: 200, Scale.FULL: 1_000}
ON_SPARK_GOAL_SECONDS, IN_PROCESS_GOAL_SECONDS = 30.0, 5.0
"""For a thousand."""
SMALL_QUERY_GOAL = Goal(Sense.BELOW, 5.0)
CALLS = 200
IMPORTS = 5


def measure_planning(scale: Scale) -> list[Record]:
    """Many different queries on Spark, planned and not run; then in process, on a few rows."""
    spark = sparks.spark_session()
    count = QUERIES[scale]
    spark.range(1).mapInArrow(sparks.same, "id long").collect()
    frame = spark.createDataFrame(keyed_events(ROWS, KEYS))
    _plan(frame, count)
    on_spark = seconds(lambda: [_plan(frame, number) for number in range(count)])
    few = keyed_events(10, 2)
    _match(few, count)
    in_process = seconds(lambda: [_match(few, number) for number in range(count)])
    case = f"{count:,} different queries"
    return [
        Record("start", "planning", case, "on Spark", on_spark, "s", goal=_at_most(ON_SPARK_GOAL_SECONDS, count)),
        Record("start", "planning", case, "in process", in_process, "s", goal=_at_most(IN_PROCESS_GOAL_SECONDS, count)),
    ]


def _at_most(seconds_for_thousand: float, count: int) -> Goal:
    return Goal(Sense.AT_MOST, seconds_for_thousand * count / 1_000)


def measure_small_query(scale: Scale) -> list[Record]:
    """`ost.match` on a thousand rows, called again and again."""
    import ostinato as ost

    table, query = events(), ost.match_recognize(CLAUSE)
    right = ost.match(query, table)
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        found = ost.match(query, table)
        times.append(1_000 * (time.perf_counter() - began))
        expect("a small query", found, right)
    figure = ("start", "small query", "1,000 rows")
    return [Record(*figure, "median", statistics.median(times), "ms", goal=SMALL_QUERY_GOAL)]


def measure_imports(scale: Scale) -> list[Record]:
    """The import of the package, and of what a query loads, in fresh processes."""

    def best(statement: str) -> float:
        command = [sys.executable, "-c", statement]
        return min(seconds(lambda: subprocess.run(command, check=True)) for _ in range(IMPORTS))

    python = best("pass")
    return [
        Record("start", "import", f"import {name}", "time", best(f"import {name}") - python, "s", baseline)
        for name, baseline in (("ostinato", None), ("pyarrow", None), ("numba", Baseline("Python itself", python)))
    ]


def _match(table: pa.Table, number: int) -> pa.Table:
    import ostinato as ost

    return ost.match(_clause(number), table)


def _plan(frame: DataFrame, number: int) -> DataFrame:
    import ostinato as ost

    return ost.sql(f"SELECT * FROM events MATCH_RECOGNIZE ({_clause(number)})", events=frame)


def _clause(number: int) -> str:
    return f"""
        PARTITION BY key ORDER BY ts
        MEASURES FIRST(A.price) AS first_price, LAST(price) AS last_price
        PATTERN (A B+ C)
        DEFINE A AS price < {60 + number / 100}, B AS B.price > A.price AND price > PREV(price),
            C AS C.price < A.price + {number}"""
