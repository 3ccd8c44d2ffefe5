"""`python -m benchmarks paths`: the parts in the order in which they run."""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.paths.answers import FIGURE as ANSWERS
from benchmarks.paths.answers import check_answers
from benchmarks.paths.bounds import LATENCY, MEMORY, measure_latency_bounds, measure_memory_bounds
from benchmarks.paths.plot import draw
from benchmarks.paths.sharing import FIGURE as SHARING
from benchmarks.paths.sharing import measure_sharing
from benchmarks.paths.speed import FIGURE as SPEED
from benchmarks.paths.speed import measure_speed

EXPERIMENT = Experiment(
    parts=(
        Part(ANSWERS, check_answers),
        Part(SHARING, measure_sharing),
        Part(LATENCY, measure_latency_bounds),
        Part(MEMORY, measure_memory_bounds),
        Part(SPEED, measure_speed),
    ),
    draw=draw,
)
