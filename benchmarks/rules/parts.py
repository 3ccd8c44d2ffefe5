"""`python -m benchmarks rules`: the parts in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.experiment import Experiment, Part
from benchmarks.records import Record
from benchmarks.rules.console import measure_console
from benchmarks.rules.rule_tests import measure_rule_tests


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """There is no picture: the figures are four numbers."""
    return []


EXPERIMENT = Experiment(parts=(Part("tests", measure_rule_tests), Part("console", measure_console)), draw=draw)
