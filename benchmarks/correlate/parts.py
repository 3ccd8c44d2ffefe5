"""`python -m benchmarks correlate`: the parts in the order in which they run."""

from __future__ import annotations

from benchmarks.correlate.answers import check_answers
from benchmarks.correlate.buffer import measure_buffer, measure_sizes
from benchmarks.correlate.figures import (
    measure_cost,
    measure_eager,
    measure_hot_spots,
    measure_overlap,
    measure_planner,
    measure_quotes,
    measure_ratio,
    measure_regions,
)
from benchmarks.correlate.plot import draw
from benchmarks.correlate.spark import measure_spark
from benchmarks.experiment import Experiment, Part

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("figure 9", measure_buffer),
        Part("figure 10", measure_regions),
        Part("table 5", measure_sizes),
        Part("figure 11", measure_eager),
        Part("figure 12a", measure_overlap),
        Part("figure 12b", measure_cost),
        Part("figure 13a", measure_ratio),
        Part("figure 13b", measure_hot_spots),
        Part("figure 14", measure_quotes),
        Part("planner", measure_planner),
        Part("spark", measure_spark),
    ),
    draw=draw,
)
