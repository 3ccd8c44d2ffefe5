"""Measurements -> records of one form: a table for people, JSON for machines. Nothing is measured here."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any


class Sense(Enum):
    """On which side of its bound a figure should be."""

    AT_LEAST = ">="
    AT_MOST = "<="
    BELOW = "<"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure from the issue. `of_ratio`: it bounds the ratio to the baseline, not the value."""

    sense: Sense
    bound: float
    of_ratio: bool = False

    def is_met(self, value: float, ratio: float | None) -> bool:
        figure = ratio if self.of_ratio else value
        if figure is None:
            return False
        match self.sense:
            case Sense.AT_LEAST:
                return figure >= self.bound
            case Sense.AT_MOST:
                return figure <= self.bound
            case Sense.BELOW:
                return figure < self.bound


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a value is compared with. Measured in the same run, unless `source` says from where it is."""

    name: str
    value: float
    source: str = "measured"

    @property
    def is_measured(self) -> bool:
        return self.source == "measured"


@dataclass(frozen=True, slots=True)
class Record:
    """One measured figure. Speeds are compared as value / baseline, times too: larger is faster or slower."""

    name: str
    """The benchmark."""
    figure: str
    """The part of it, as "kernel"."""
    case: str
    metric: str
    value: float
    unit: str
    baseline: Baseline | None = None
    goal: Goal | None = None
    notes: tuple[str, ...] = field(default=())
    """For the reader of the table."""

    @property
    def ratio(self) -> float | None:
        """value / baseline, of figures measured in this run only."""
        if self.baseline is None or not self.baseline.is_measured or self.baseline.value == 0:
            return None
        return self.value / self.baseline.value

    @property
    def met(self) -> bool | None:
        """None where nothing was asked for: the figure is only reported."""
        return None if self.goal is None else self.goal.is_met(self.value, self.ratio)

    def as_json(self, machine: Machine) -> dict[str, Any]:
        """The form that DESIGN fixes, for all benchmarks alike."""
        return {
            "name": self.name,
            "figure": self.figure,
            "case": self.case,
            "metric": self.metric,
            "value": self.value,
            "unit": self.unit,
            "baseline": _baseline_text(self),
            "ratio": self.ratio,
            "goal": _goal_text(self),
            "met": self.met,
            "machine": asdict(machine),
        }


@dataclass(frozen=True, slots=True)
class Machine:
    """What the figures depend on beside the code. No names, no paths."""

    cores: int
    cpu: str
    memory_gb: float
    system: str
    python: str
    numba: str
    numpy: str
    pyarrow: str
    pyspark: str

    def __str__(self) -> str:
        return (
            f"{self.cores} cores of {self.cpu}, {self.memory_gb:.0f} GB, {self.system}; Python {self.python}, "
            f"numba {self.numba}, numpy {self.numpy}, pyarrow {self.pyarrow}, Spark {self.pyspark}"
        )


def this_machine() -> Machine:
    """The machine that runs this."""
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        cpu=_cpu_model(),
        memory_gb=round(_memory_bytes() / 1e9, 1),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numba=_version("numba"),
        numpy=_version("numpy"),
        pyarrow=_version("pyarrow"),
        pyspark=_version("pyspark"),
    )


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


# --- writing ----------------------------------------------------------------------------------------------------------


def write_json(records: Sequence[Record], machine: Machine, path: Path) -> None:
    """A JSON list of records, one to a line."""
    lines = ",\n".join(json.dumps(record.as_json(machine)) for record in records)
    path.write_text(f"[\n{lines}\n]\n" if records else "[]\n")


_COLUMNS = ("figure", "case", "metric", "value", "baseline", "ratio", "goal", "met")
_MET = {True: "yes", False: "NO", None: ""}


def table(records: Sequence[Record]) -> str:
    """The records as aligned text, notes behind the rows that they belong to.

    >>> print(table([Record("match", "kernel", "Q12", "speed", 2.5e7, "rows/s", goal=Goal(Sense.AT_LEAST, 1e8))]))
    figure  case  metric  value         baseline  ratio  goal             met
    kernel  Q12   speed   25.0 M rows/s                  >= 100 M rows/s  NO
    """
    rows = [_cells(record) for record in records]
    widths = [max(len(row[i]) for row in (_COLUMNS, *rows)) for i in range(len(_COLUMNS))]
    lines = [_line(_COLUMNS, widths)]
    for record, row in zip(records, rows, strict=True):
        lines.append(_line(row, widths))
        lines += [f"    {note}" for note in record.notes]
    return "\n".join(lines)


def _cells(record: Record) -> tuple[str, ...]:
    ratio = "" if record.ratio is None else _short(record.ratio)
    return (
        record.figure,
        record.case,
        record.metric,
        amount(record.value, record.unit),
        _baseline_text(record) or "",
        ratio,
        _goal_text(record) or "",
        _MET[record.met],
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _baseline_text(record: Record) -> str | None:
    baseline = record.baseline
    if baseline is None:
        return None
    source = "" if baseline.is_measured else f" ({baseline.source})"
    return f"{baseline.name}: {amount(baseline.value, record.unit)}{source}"


def _goal_text(record: Record) -> str | None:
    goal = record.goal
    if goal is None:
        return None
    if goal.of_ratio:
        return f"ratio {goal.sense.value} {goal.bound:g}"
    bound = amount(goal.bound, record.unit).replace(".0 ", " ")
    return f"{goal.sense.value} {bound}"


_SCALES = ((1e9, "G"), (1e6, "M"), (1e3, "K"))


def amount(value: float, unit: str) -> str:
    """A number with its unit, in the size that one reads at a glance.

    >>> amount(27_400_000, "rows/s"), amount(0.0123, "s"), amount(23_297, "matches")
    ('27.4 M rows/s', '12.3 ms', '23,297 matches')
    """
    if unit == "s":
        if value != 0 and abs(value) < 1:
            return f"{value * 1e3:.1f} ms"
        return f"{value:.2f} s"
    if unit in ("rows/s", "B"):
        for size, letter in _SCALES:
            if abs(value) >= size:
                return f"{value / size:.1f} {letter}{'' if unit == 'B' else ' '}{unit}"
    if float(value).is_integer():
        return f"{int(value):,} {unit}".rstrip()
    return f"{_short(value)} {unit}".rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
