"""The paper's cost model beside what was measured: C_SB = max C_i, C_RB = C / X (Section 4.3).

C is the time of SEQ; C_i that of state i's unit, with everything it receives and sends, all units on one thread in
turns. The model gives each state a core. This machine has few, so C_SB is also told with the work of all states spread
over its cores.
"""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.queries import PatternQuery, Q, prices
from benchmarks.records import Baseline, Record, this_machine
from benchmarks.rip.linear_query import linear_query
from benchmarks.rip.state_based import state_seconds
from benchmarks.rip.state_figures import BALANCED
from benchmarks.rip.variants import ROWS, SEQ, Timed, Variant, rb_plus, sb, timed

MODELLED: tuple[PatternQuery, ...] = (Q["Q1"], Q["Q3"], Q["Q7"], Q["Q9"], Q["Q11"], BALANCED)
ROUNDS = 3
UNITS = 2


def predicted_speed_up(seconds: float, state_times: list[float], cores: int | None = None) -> float:
    """C / C_SB; with `cores` the pipeline can't be faster than its work spread over them.

    >>> predicted_speed_up(9.0, [2.0, 3.0, 4.0]), predicted_speed_up(9.0, [2.0, 3.0, 4.0], cores=1)
    (2.25, 1.0)
    """
    slowest = max(state_times)
    return seconds / (slowest if cores is None else max(slowest, sum(state_times) / cores))


def measure_cost_model(scale: Scale) -> list[Record]:
    """Speed-ups over SEQ: the model's as baselines of the measured."""
    records = []
    for pattern_query in MODELLED:
        query, price = linear_query(pattern_query), prices(ROWS[scale])
        pipeline, slices = sb(query), rb_plus(UNITS)
        times = timed(query, price, [pipeline, slices])
        rounds = [state_seconds(query, price) for _ in range(ROUNDS)]
        state_times = [min(found) for found in zip(*rounds, strict=True)]
        records += _records(query.name, times, pipeline, slices, state_times)
    return records


def _records(name: str, times: Timed, pipeline: Variant, slices: Variant, state_times: list[float]) -> list[Record]:
    seconds, cores = times.seconds[SEQ], this_machine().cores

    def measured(variant: Variant, model: str, predicted: float) -> Record:
        speed_up = seconds / times.seconds[variant]
        baseline = Baseline(model, predicted)
        return Record("rip", "cost model", variant.case(name), "speed-up", speed_up, "x", baseline)

    return [
        measured(pipeline, "C / max C_i", predicted_speed_up(seconds, state_times)),
        measured(pipeline, f"the same on {cores} cores", predicted_speed_up(seconds, state_times, cores)),
        measured(slices, "X", float(min(UNITS, cores))),
    ]
