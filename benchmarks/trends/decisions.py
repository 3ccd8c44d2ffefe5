"""What deciding costs: the time in which the optimizer chooses for each burst who shares it, as a part of the run.

The queries of figure 12 that have conditions between neighbours; without them there is nothing to decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.experiment import Scale, expect
from benchmarks.records import Goal, Record, Sense
from benchmarks.trends.figures import setting_of
from benchmarks.trends.static_sharing import USUAL_PER_MINUTE, USUAL_QUERIES, workload
from benchmarks.trends.techniques import SHARED, forget_engines
from ostinato.event_queries.plan.event_program import Events, Program

FIGURE = "decisions"
GOAL = Goal(Sense.BELOW, 0.2)


def measure_decisions(scale: Scale) -> list[Record]:
    """Of the second run: the first warms up."""
    asked, stream = workload(USUAL_PER_MINUTE, USUAL_QUERIES, scale)
    programs = [query.program() for query in asked if query.edges]
    events = stream.events(asked[0].values)
    whole, deciding, decisions = seconds_deciding(programs, events)
    case = f"{setting_of(USUAL_PER_MINUTE, len(programs))} with conditions"
    return [
        Record("trends", FIGURE, case, "part of the run time", 100 * deciding / whole, "%", goal=GOAL),
        Record("trends", FIGURE, case, "time of a decision", deciding / max(decisions, 1), "s"),
        Record("trends", FIGURE, case, "decisions", decisions, ""),
    ]


def seconds_deciding(programs: Sequence[Program], events: Events) -> tuple[float, float, int]:
    """Seconds of a run, seconds within the optimizer, and how often it was asked."""
    from ostinato.event_queries.trends.graphlets import graphlet_engine

    taken: list[float] = []
    names = vars(graphlet_engine)
    original = names["decide"]
    names["decide"] = _timing(original, taken)
    forget_engines()  # an engine takes the function when it is made
    try:
        SHARED.run(programs, events)
        taken.clear()
        started = time.perf_counter()
        SHARED.run(programs, events)
        whole = time.perf_counter() - started
    finally:
        names["decide"] = original
        forget_engines()
    expect("the optimizer was asked", bool(taken), True)
    return whole, sum(taken), len(taken)


def _timing(function: Callable[..., Any], taken: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            taken.append(time.perf_counter() - started)

    return timed
