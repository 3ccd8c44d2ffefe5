"""Starting measured: import, first results with and without compiled kernels, planning, wheels.

Fresh processes come before this process starts a Spark of its own. They use the kernels of the package: `make kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiment import Experiment, Part
from benchmarks.records import Record
from benchmarks.start.first_results import measure_in_process, measure_on_spark
from benchmarks.start.planning import measure_imports, measure_planning, measure_small_query
from benchmarks.start.wheels import measure_wheels


def _draw(records: Sequence[Record], folder: Path) -> list[Path]:
    return []  # a table says it all


EXPERIMENT = Experiment(
    parts=(
        Part("import", measure_imports),
        Part("in process", measure_in_process),
        Part("on Spark", measure_on_spark),
        Part("small query", measure_small_query),
        Part("planning", measure_planning),
        Part("wheel", measure_wheels),
    ),
    draw=_draw,
)
