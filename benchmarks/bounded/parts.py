"""`python -m benchmarks bounded`: the parts in the order in which they run."""

from __future__ import annotations

from benchmarks.bounded import bounds, materialising
from benchmarks.bounded.answers import check_answers
from benchmarks.bounded.drift import measure_drift
from benchmarks.bounded.many_patterns import FIGURE as SHARING
from benchmarks.bounded.many_patterns import measure_many_patterns
from benchmarks.bounded.plot import draw
from benchmarks.bounded.sweeps import measure_lengths, measure_offsets, measure_selectivity, measure_windows
from benchmarks.experiment import Experiment, Part

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("figure 4", bounds.measure_events),
        Part("figure 5", bounds.measure_bikes),
        Part("figure 6", bounds.measure_crimes),
        Part("figure 8", bounds.measure_selection),
        Part("figure 9", measure_selectivity),
        Part("figure 10", measure_lengths),
        Part("figure 11", measure_windows),
        Part("figure 12", materialising.measure_events),
        Part("figure 13", materialising.measure_clauses),
        Part("figure 14", measure_offsets),
        Part("figure 15", measure_drift),
        Part(SHARING, measure_many_patterns),
    ),
    draw=draw,
)
