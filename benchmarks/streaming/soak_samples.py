"""Samples of a stream that runs for long -> lines, CSV, slopes and a picture. Nothing of Spark here."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.records import Goal, Record, Sense, amount

WARM_UP = 1 / 3
"""The part of the run that isn't judged: code is compiled, and the heap grows to what it was given."""
CONSTANT = Goal(Sense.AT_MOST, 10)
"""Growth in percent, from the end of the warm-up to the end of the run, along the least-squares line."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A stream at one moment; times of batches are of those that ended since the sample before."""

    seconds: float
    batches: int
    batch_seconds: float
    """The mean."""
    rows: int
    open_runs: int
    state_bytes: int
    jvm_bytes: int
    worker_bytes: int
    driver_bytes: int

    def line(self) -> str:
        sizes = (self.state_bytes, self.jvm_bytes, self.worker_bytes, self.driver_bytes)
        state, jvm, workers, driver = (amount(size, "B") for size in sizes)
        return (
            f"{self.seconds:7.0f} s  {self.batches:3d} batches of {self.batch_seconds:.2f} s, {self.rows:,} rows;"
            f" {self.open_runs:,} open runs, state {state}; JVM {jvm}, workers {workers}, driver {driver}"
        )


def write_csv(samples: Sequence[Sample], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Sample))
        writer.writerows(astuple(sample) for sample in samples)


# --- slopes -----------------------------------------------------------------------------------------------------------

JUDGED = {
    "batch_seconds": "batch time",
    "state_bytes": "state",
    "jvm_bytes": "memory of the JVM",
    "worker_bytes": "memory of the Python workers",
    "driver_bytes": "memory of the driver",
}


def judged(samples: Sequence[Sample]) -> list[Sample]:
    """Those behind the warm-up."""
    if not samples:
        return []
    first = samples[0].seconds + WARM_UP * (samples[-1].seconds - samples[0].seconds)
    return [sample for sample in samples if sample.seconds >= first]


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Of the least-squares line; 0 where one can't be drawn.

    >>> slope([0, 1, 2], [5, 7, 9])
    2.0
    """
    t = np.asarray(times, np.float64)
    v = np.asarray(values, np.float64)
    spread = float(((t - t.mean()) ** 2).sum()) if len(t) else 0.0
    return float(((t - t.mean()) * (v - v.mean())).sum()) / spread if spread else 0.0


def growth_percent(samples: Sequence[Sample], name: str) -> float:
    """How much the line has risen by the end, in percent of the mean."""
    times = [sample.seconds for sample in samples]
    values = [asdict(sample)[name] for sample in samples]
    mean = sum(values) / len(values) if values else 0
    return 100 * slope(times, values) * (times[-1] - times[0]) / mean if mean else 0.0


def records_of(samples: Sequence[Sample], case: str) -> list[Record]:
    """The growth of everything that should stay as it is."""
    shown = judged(samples)
    records = []
    for name, what in JUDGED.items():
        unit = "s" if name == "batch_seconds" else "B"
        per_hour = 3600 * slope([sample.seconds for sample in shown], [asdict(sample)[name] for sample in shown])
        mean = float(np.mean([asdict(sample)[name] for sample in shown])) if shown else 0.0
        note = f"{amount(round(mean, 3), unit)} on average, {amount(round(per_hour, 3), unit)} more each hour"
        growth = growth_percent(shown, name)
        records.append(Record("streaming", "soak", case, f"growth of {what}", growth, "%", None, CONSTANT, (note,)))
    return records


# --- picture ----------------------------------------------------------------------------------------------------------


def draw(samples: Sequence[Sample], path: Path) -> Path:
    """Batch time, state and memory over the minutes. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    minutes = [sample.seconds / 60 for sample in samples]
    figure, (times, states, memory) = pyplot.subplots(3, 1, figsize=(7.5, 7), sharex=True, layout="constrained")
    times.plot(minutes, [sample.batch_seconds for sample in samples], color="#3b6ea5")
    times.set_ylabel("batch, s")
    states.plot(minutes, [sample.state_bytes / 1e6 for sample in samples], color="#3b6ea5")
    states.set_ylabel("state, MB")
    for name, colour in (("jvm_bytes", "#c9773b"), ("worker_bytes", "#3b6ea5"), ("driver_bytes", "#7a9a4a")):
        values = [asdict(sample)[name] / 1e6 for sample in samples]
        memory.plot(minutes, values, color=colour, label=JUDGED[name].removeprefix("memory of the "))
    memory.set_ylabel("resident, MB")
    memory.set_xlabel("minutes")
    memory.legend(fontsize=8)
    for panel in (times, states, memory):
        panel.set_ylim(bottom=0)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path
