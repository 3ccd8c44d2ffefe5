"""Compile the kernels once, before the tiers of tests start: `python -m tests.warm`.

Each job is a small query that needs kernels of its own. The jobs run in as many processes as there are cores. Without
this step, the processes of one tier would compile the same kernels side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pyarrow as pa

import ostinato as ost

EVENTS = pa.table(
    {
        "at": pa.array([second * 1_000_000 for second in range(60)], pa.timestamp("us", "UTC")),
        "kind": [*"ABCBCD"] * 10,
        "user": [1, 2, 1] * 20,
        "x": [float(second % 7) for second in range(60)],
        "n": [second % 5 for second in range(60)],
    }
)
MATCHES = (
    "TYPE kind TIME at PATTERN SEQ(A a, B+ b, {last}) WHERE SAME[user] AND SUM(b[i].x) < l.x {within} RETURN MATCHES"
)
TREND = "TYPE kind TIME at PATTERN SEQ({first} a, B+ b, D d) WITHIN 30 SECONDS SLIDE 10 SECONDS RETURN {aggregates}"
AGGREGATES = "COUNT(*), COUNT(b), SUM(b.x), AVG(b.n), MIN(b.x), MAX(b.n)"


def match_clauses() -> None:
    """The search with and without run conditions, fixed lengths, aggregates of measures, slices."""
    measures = "count(*) AS c, sum(n) AS s, sum(x) AS r, max_by(n, x) AS m, array_agg(DISTINCT n) AS l, avg(x) AS a"
    clauses = [
        "PATTERN (A B+ C) DEFINE B AS x > PREV(x), C AS n > 1",
        "PATTERN (A B C) DEFINE A AS kind = 'A'",
        "PATTERN (A B+ C) DEFINE B AS sum(B.x) < 20, C AS C.x > A.x",
        "PATTERN (A+ B) DEFINE A AS x > 1 AND sum(A.n) < 9 AND A.kind <> FIRST(A.kind)",
    ]
    for clause in clauses:
        for mode in ("", "ALL MATCHES ", "MAXIMAL MATCHES "):
            text = f"PARTITION BY user ORDER BY at MEASURES {measures} {mode}{clause}"
            for workers in (1, 2):
                ost.match(text, EVENTS, workers=workers, slice_rows=8)


def add_up_trends() -> None:
    """Each event query by itself, in its three kinds of numbers."""
    for aggregates in ("COUNT(*)", AGGREGATES):
        query = ost.events(TREND.format(first="A", aggregates=aggregates))
        ost.match(query, EVENTS)


def share_trends() -> None:
    """Event queries that share their Kleene part."""
    for aggregates in ("COUNT(*)", AGGREGATES):
        ost.Workload([TREND.format(first=first, aggregates=aggregates) for first in "AC"]).run(EVENTS)


def list_matches() -> None:
    """RETURN MATCHES of one query, then the shared matcher of two, without and with a bound."""
    queries = [MATCHES.format(last=f"{kind} l", within="WITHIN 20 SECONDS") for kind in "CD"]
    ost.match(ost.events(queries[0]), EVENTS)
    ost.Workload(queries).run(EVENTS)
    for bound in ({"selection_ratio": 0.5}, {"memory_bound": "10 KB"}):
        ost.Workload(queries, **bound).run(EVENTS)


def summarise() -> None:
    """A summary of one stream and one for each key, counted and summed."""
    options: dict[str, Any] = {"type": "kind", "time": "at", "within": "30 seconds", "size": 8}
    for more in ({}, {"aggregate": "SUM(n)"}):
        ost.summary("A(B|C)*D", **options, **more).feed(EVENTS).ask()
    ost.summary("A(B|C)*D", **options, keys="user").feed(EVENTS).ask_all()


def walk_and_correlate() -> None:
    """Paths over a graph, and a live pattern with its archive."""
    edges = pa.table({"head": ["a", "b", "c"], "relation": ["r", "r", "s"], "tail": ["b", "c", "a"]})
    ost.paths(["r+ / s", "r / r"], start="a").run(ost.graph(edges))
    rise = "ORDER BY at MEASURES LAST(x) AS top {mode} MATCHES PATTERN (A B+) DEFINE B AS x > PREV(x)"
    text = f"""SELECT live.top, archive.top FROM t MATCH_RECOGNIZE ({rise.format(mode="INCREMENTAL")}) AS live
        JOIN t MATCH_RECOGNIZE ({rise.format(mode="MAXIMAL")}) AS archive
        ON RECENT(archive, live, INTERVAL '9' SECOND)"""
    for strategy in ("live_first", "archive_first"):
        ost.correlate(text, strategy=strategy).run(EVENTS)


JOBS: tuple[Callable[[], None], ...] = (
    list_matches,
    share_trends,
    add_up_trends,
    summarise,
    match_clauses,
    walk_and_correlate,
)
"""The longest first."""


def main() -> None:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for running in [processes.submit(job) for job in JOBS]:
            running.result()


if __name__ == "__main__":
    main()
