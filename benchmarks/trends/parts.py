"""`python -m benchmarks trends`: the parts in the order in which they run."""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.trends.answers import check_answers
from benchmarks.trends.decisions import measure_decisions
from benchmarks.trends.fifty_queries import measure_fifty_queries
from benchmarks.trends.growth import measure_growth_with_queries, measure_growth_with_windows
from benchmarks.trends.matches import measure_matches
from benchmarks.trends.memory import measure_ridesharing_memory, measure_stocks_memory
from benchmarks.trends.plot import draw
from benchmarks.trends.real_data import measure_real_data
from benchmarks.trends.ridesharing import measure_ridesharing
from benchmarks.trends.spark import measure_spark
from benchmarks.trends.static_sharing import measure_static_sharing

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("50 queries", measure_fifty_queries),
        Part("growth with queries", measure_growth_with_queries),
        Part("growth with windows", measure_growth_with_windows),
        Part("figure 9", measure_ridesharing),
        Part("figure 10", measure_ridesharing_memory),
        Part("figure 11", measure_real_data),
        Part("figure 12", measure_static_sharing),
        Part("figure 13", measure_stocks_memory),
        Part("decisions", measure_decisions),
        Part("matches", measure_matches),
        Part("spark", measure_spark),
    ),
    draw=draw,
)
