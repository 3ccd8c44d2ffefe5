"""First results in fresh processes and on fresh Spark workers, with and without compiled kernels, for each system."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.experiment import Scale, expect, in_fresh_process
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.start.first_queries import QUERIES

MODULE = "benchmarks.start.first_queries"
ROUNDS = {Scale.SMALL: 1, Scale.FULL: 3}
IN_PROCESS_GOAL = Goal(Sense.BELOW, 1.0)
ABOVE_SPARK_GOAL = Goal(Sense.BELOW, 1.0)
NO_COMPILATION = Goal(Sense.AT_MOST, 0)


def measure_in_process(scale: Scale) -> list[Record]:
    """From `import ostinato` to the rows of a query over a thousand events."""
    return [record for name in QUERIES for record in _of(name, "local", scale)]


def measure_on_spark(scale: Scale) -> list[Record]:
    """From the query to its rows, in a session that has run no job. The workers are fresh, too."""
    identity, stages = (
        min(_run("", where, cache=None)["seconds"] for _ in range(ROUNDS[scale])) for where in ("identity", "stages")
    )
    case = ("start", "on Spark", "no query")
    return [
        Record(*case, "identity", identity, "s"),
        Record(*case, "the stages of a clause with numba", stages, "s", Baseline("identity", identity)),
        *(record for name in QUERIES for record in _of(name, "spark", scale, identity)),
    ]


def _of(name: str, where: str, scale: Scale, identity: float = 0.0) -> list[Record]:
    """With the package's kernels and an empty user's cache; then without either."""
    figure = ("start", "in process" if where == "local" else "on Spark", name)
    with tempfile.TemporaryDirectory() as cache:
        found = [_run(name, where, cache) for _ in range(ROUNDS[scale])]
        compiled = len(list(Path(cache).rglob("*.kernel")))
    with tempfile.TemporaryDirectory() as cache:
        without = _run(name, where, cache, OSTINATO_PACKAGE_KERNELS="off")
    expect(f"{name}: rows", {one["rows"] for one in (*found, without)}, {without["rows"]})
    expect(f"{name}: has rows", without["rows"] > 0, True)
    first = min(one["seconds"] for one in found)
    slow = Baseline("without compiled kernels", without["seconds"])
    records = [
        Record(*figure, "first result", first, "s", slow, IN_PROCESS_GOAL if where == "local" else None),
        Record(*figure, "kernels compiled", compiled, "", goal=NO_COMPILATION),
    ]
    if where == "spark":
        above = Record(*figure, "first result above an identity", first - identity, "s", goal=ABOVE_SPARK_GOAL)
        records.insert(1, above)
    return records


def _run(name: str, where: str, cache: str | None, **environment: str) -> dict[str, float]:
    # Empty: Python may store byte code, as everywhere but on machines that test.
    settings = {"PYTHONDONTWRITEBYTECODE": "", **environment}
    if cache:
        settings["NUMBA_CACHE_DIR"] = cache
    found: dict[str, float] = json.loads(in_fresh_process(MODULE, name, where, environment=settings))
    return found
