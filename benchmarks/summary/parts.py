"""`python -m benchmarks summary`: the parts in the order in which they run."""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.summary.answers import check_answers
from benchmarks.summary.case_studies import measure_citi_bike, measure_nasdaq
from benchmarks.summary.guarantee import measure_guarantee
from benchmarks.summary.keys import measure_keys
from benchmarks.summary.plot import draw
from benchmarks.summary.recall import measure_absolute_recall, measure_detected_recall
from benchmarks.summary.relative_recall import (
    measure_lengths,
    measure_moments,
    measure_operators,
    measure_sizes_and_windows,
)
from benchmarks.summary.speed import measure_growth, measure_latency, measure_speed
from benchmarks.summary.state_summary import measure_state_summary
from benchmarks.summary.sums import measure_sums

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("speed", measure_speed),
        Part("figure 7", measure_sizes_and_windows),
        Part("figure 7c", measure_moments),
        Part("figure 7d", measure_lengths),
        Part("figure 8b", measure_absolute_recall),
        Part("figure 8c", measure_detected_recall),
        Part("figure 9", measure_operators),
        Part("guarantee", measure_guarantee),
        Part("sums", measure_sums),
        Part("figure 10", measure_growth),
        Part("latency", measure_latency),
        Part("figure 11", measure_state_summary),
        Part("figure 12", measure_citi_bike),
        Part("figure 13", measure_nasdaq),
        Part("keys", measure_keys),
    ),
    draw=draw,
)
