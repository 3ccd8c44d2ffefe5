"""Figures 10 and 13: the most memory that a technique holds while it runs, beside the events themselves.

As Python's own tracer sees it, which NumPy reports its arrays to. The kernels of all techniques work in arrays that
are made outside of them, so nothing of size escapes it. (The resident size of a process doesn't show a few hundred
kilobytes.)
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence

from benchmarks.experiment import Scale
from benchmarks.records import Baseline, Record
from benchmarks.trends import ridesharing, static_sharing
from benchmarks.trends.figures import case_of, setting_of
from benchmarks.trends.streams import Stream
from benchmarks.trends.techniques import ALWAYS, GRETA, Technique
from benchmarks.trends.workloads import ChainQuery

Workload = Callable[[int, int, Scale], tuple[list[ChainQuery], Stream]]
"""(events a minute, queries, scale) -> the queries and a stream."""


def measure_ridesharing_memory(scale: Scale) -> list[Record]:
    """Figure 10, beside GRETA's."""
    return _measure(
        "figure 10", ridesharing.workload, scale, ridesharing.settings(scale), ridesharing.TECHNIQUES, GRETA
    )


def measure_stocks_memory(scale: Scale) -> list[Record]:
    """Figure 13, beside that of sharing always."""
    settings = static_sharing.settings(scale)
    if scale is Scale.SMALL:  # the tracer makes Python several times slower
        settings = settings[::3]
    return _measure("figure 13", static_sharing.workload, scale, settings, static_sharing.TECHNIQUES, ALWAYS)


def _measure(
    figure: str,
    workload: Workload,
    scale: Scale,
    settings: Sequence[tuple[int, int]],
    compared: Sequence[Technique],
    baseline: Technique,
) -> list[Record]:
    records = []
    for per_minute, queries in settings:
        asked, stream = workload(per_minute, queries, scale)
        found = {technique.name: peak_bytes(technique, asked, stream) for technique in compared}
        beside = Baseline(baseline.name, found[baseline.name])
        for technique, peak in found.items():
            case = case_of(setting_of(per_minute, queries), technique)
            is_baseline = technique == baseline.name
            records.append(
                Record("trends", figure, case, "peak memory", peak, "B", baseline=None if is_baseline else beside)
            )
    return records


def peak_bytes(technique: Technique, queries: Sequence[ChainQuery], stream: Stream) -> int:
    """Run once before, so that what is kept for ever isn't counted."""
    programs, events = [query.program() for query in queries], stream.events(queries[0].values)
    technique.run(programs, events)
    tracemalloc.start()
    try:
        technique.run(programs, events)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
