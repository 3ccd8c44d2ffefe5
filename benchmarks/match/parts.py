"""MATCH_RECOGNIZE measured: answers, the kernel alone, memory, Spark end to end, and what people use today.

The parts run in this order: the first checks the counts that independent matchers found, and a wrong one stops all;
fresh processes come before this process starts a Spark of its own.
"""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.match.answers import check_answers
from benchmarks.match.kernel import measure_growth, measure_kernel
from benchmarks.match.memory import measure_memory
from benchmarks.match.plot import draw
from benchmarks.match.rivals import measure_rivals
from benchmarks.match.spark import measure_spark

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("kernel", measure_kernel),
        Part("growth", measure_growth),
        Part("memory", measure_memory),
        Part("spark", measure_spark),
        Part("rivals", measure_rivals),
    ),
    draw=draw,
)
