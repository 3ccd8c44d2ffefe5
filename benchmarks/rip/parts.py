"""RIP measured again: the paper's figures 8 to 15 and table 2, its cost model, a schedule of many workers, and Spark.

The first part checks every variant of every query against the library, and a wrong answer stops all.
"""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.rip.answers import check_answers
from benchmarks.rip.cost_model import measure_cost_model
from benchmarks.rip.plot import draw
from benchmarks.rip.run_figures import (
    measure_quotes,
    measure_run_based,
    measure_shared_part,
    measure_slice_size,
    measure_speed_up,
)
from benchmarks.rip.schedule import measure_schedule
from benchmarks.rip.spark import measure_spark
from benchmarks.rip.state_figures import (
    measure_balanced,
    measure_first_state_twice,
    measure_head_and_shoulders,
    measure_pipeline,
    measure_transfer_size,
)

EXPERIMENT = Experiment(
    parts=(
        Part("answers", check_answers),
        Part("figure 8", measure_run_based),
        Part("figure 9", measure_speed_up),
        Part("figure 10", measure_shared_part),
        Part("slice size", measure_slice_size),
        Part("figure 11", measure_pipeline),
        Part("figure 12", measure_transfer_size),
        Part("table 2", measure_first_state_twice),
        Part("figure 13", measure_balanced),
        Part("figure 14", measure_head_and_shoulders),
        Part("figure 15", measure_quotes),
        Part("cost model", measure_cost_model),
        Part("schedule", measure_schedule),
        Part("spark", measure_spark),
    ),
    draw=draw,
)
