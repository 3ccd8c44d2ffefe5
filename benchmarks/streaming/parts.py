"""Structured Streaming measured: throughput over a floor, micro-batches of several sizes, what open runs cost, why
keys are packed into buckets and into how many, and many rules in one operator.

Every part checks the answers of its streams before it reports their times. `benchmarks.streaming.soak` is a program
of its own, because it takes as long as it is told to.
"""

from __future__ import annotations

from benchmarks.experiment import Experiment, Part
from benchmarks.streaming.bucket_counts import measure_bucket_counts
from benchmarks.streaming.buckets import measure_buckets
from benchmarks.streaming.micro_batch import measure_micro_batches
from benchmarks.streaming.open_run_growth import measure_growth
from benchmarks.streaming.open_runs import measure_state
from benchmarks.streaming.plot import draw
from benchmarks.streaming.rules import measure_rules
from benchmarks.streaming.throughput import measure_throughput

EXPERIMENT = Experiment(
    parts=(
        Part("throughput", measure_throughput),
        Part("micro-batch", measure_micro_batches),
        Part("state", measure_state),
        Part("growth", measure_growth),
        Part("buckets", measure_buckets),
        Part("bucket counts", measure_bucket_counts),
        Part("rules", measure_rules),
    ),
    draw=draw,
)
