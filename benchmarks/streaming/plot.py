"""Records of the parts -> pictures: the time of each stream over its floor, and the time of a batch by open runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import Record

OURS = "#3b6ea5"
FLOOR = "#8a8a8a"
GOAL = "#23878c"
_WIDTH = 0.38


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for figure, (metric, title, fill) in _PICTURES.items():
        shown = [record for record in records if record.figure == figure and record.metric == metric]
        if not shown:
            continue
        picture, panel = pyplot.subplots(figsize=(6.8, 4.2), layout="constrained")
        fill(panel, shown)
        panel.set_title(title, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
        path = folder / f"streaming-{figure}.png"
        picture.savefig(path, dpi=130)
        pyplot.close(picture)
        drawn.append(path)
    return drawn


def _beside_floor(panel: Any, records: Sequence[Record]) -> None:
    for place, record in enumerate(records):
        assert record.baseline is not None
        assert record.goal is not None
        first = {"label": "packed identity"} if not place else {}
        panel.bar(place - _WIDTH / 2, record.baseline.value, _WIDTH, color=FLOOR, **first)
        first = {"label": "stream"} if not place else {}
        panel.bar(place + _WIDTH / 2, record.value, _WIDTH, color=OURS, **first)
        bound = record.goal.bound * record.baseline.value
        first = {"label": f"goal: {record.goal.bound:g} x"} if not place else {}
        panel.hlines(bound, place, place + _WIDTH, color=GOAL, linewidth=2, **first)
    panel.set_xticks(range(len(records)), [record.case.replace(", ", "\n") for record in records], fontsize=8)
    panel.set_ylabel("seconds")
    panel.legend(fontsize=8)


def _by_open_runs(panel: Any, records: Sequence[Record]) -> None:
    counts = [int(record.case.split()[0].replace(",", "")) for record in records]
    panel.plot(counts, [record.value for record in records], marker="o", color=OURS, label="with open runs")
    assert records[0].baseline is not None
    panel.axhline(records[0].baseline.value, color=FLOOR, linestyle="--", label="without")
    panel.set_xscale("log")
    panel.set_xlabel("open runs")
    panel.set_ylabel("seconds of a batch")
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=8)


_PICTURES: dict[str, tuple[str, str, Callable[[Any, Sequence[Record]], None]]] = {
    "throughput": ("time", "Streams over a transformWithState that keeps as many bytes", _beside_floor),
    "state": ("time of a batch", "A batch of 1,000 rows beside open runs", _by_open_runs),
}
