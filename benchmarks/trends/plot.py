"""Records -> the paper's figures 9 to 13, drawn from our numbers, and how time grows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import Record
from benchmarks.trends import techniques
from benchmarks.trends.techniques import Technique

_SETTING = re.compile(
    r"^(?:(?P<data>[^,]+), )?(?P<rate>[\d,]+) events/min, (?P<queries>\d+) queries: (?P<technique>.+)$"
)
_GROWTH = re.compile(r"^(?P<queries>\d+) queries, (?P<window>[\d,]+) events a window, (?P<data>.*): (?P<technique>.+)$")
_SIZE = (5.2, 3.8)
"""Inches of one panel."""
_NAMES = [value.name for value in vars(techniques).values() if isinstance(value, Technique)]
COLOURS = {name: f"C{place % 10}" for place, name in enumerate(_NAMES)}
AXES = {"rate": "events a minute", "queries": "queries", "window": "events a window"}
PICTURES = (
    ("figure 9", "Figure 9: ridesharing, all techniques", ("latency of a window", "throughput"), ("rate", "queries")),
    ("figure 10", "Figure 10: ridesharing, memory", ("peak memory",), ("rate", "queries")),
    ("figure 11", "Figure 11: real streams", ("latency of a window", "throughput"), ("rate", "queries")),
    (
        "figure 12",
        "Figure 12: dynamic and static sharing, stocks",
        ("latency of a window", "throughput"),
        ("rate", "queries"),
    ),
    ("figure 13", "Figure 13: dynamic and static sharing, memory", ("peak memory",), ("rate", "queries")),
    ("growth with queries", "Growth with queries", ("time",), ("queries",)),
    ("growth with windows", "Growth with the events of a window", ("time for an event",), ("window",)),
)
"""(figure, title, what is measured: a row of panels for each, what varies: a panel for each)."""


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for figure, title, metrics, axes in PICTURES:
        of_figure = [record for record in records if record.figure == figure]
        for data, shown in _by_data(of_figure).items():
            size = (_SIZE[0] * len(axes), _SIZE[1] * len(metrics))
            picture, panels = pyplot.subplots(
                len(metrics), len(axes), figsize=size, layout="constrained", squeeze=False
            )
            for row, metric in enumerate(metrics):
                for column, axis in enumerate(axes):
                    _fill(panels[row][column], [record for record in shown if record.metric == metric], axis, metric)
            picture.suptitle(f"{title}{data and f', {data}'}", fontsize=11)
            name = re.sub("[^a-z0-9]+", "-", f"trends {figure} {data}".lower().strip())
            path = folder / f"{name}.png"
            picture.savefig(path, dpi=130)
            pyplot.close(picture)
            drawn.append(path)
    return drawn


def _parts(record: Record) -> dict[str, str] | None:
    """What a case is made of; None for cases that no figure shows."""
    found = _SETTING.match(record.case) or _GROWTH.match(record.case)
    return None if found is None else {name: part or "" for name, part in found.groupdict().items()}


def _by_data(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Figure 11 has two data sets, growth two mixes of types; the others are one without a name."""
    found: dict[str, list[Record]] = {}
    for record in records:
        parts = _parts(record)
        if parts is not None and parts["technique"] in COLOURS:
            found.setdefault(parts.get("data", ""), []).append(record)
    return found


def _fill(panel: Any, records: Sequence[Record], axis: str, metric: str) -> None:
    """A line for each technique along one axis, the other where most points are."""
    points: dict[str, list[tuple[int, float]]] = {}
    for record in _along(records, axis):
        parts = _parts(record)
        assert parts is not None
        points.setdefault(parts["technique"], []).append((int(parts[axis].replace(",", "")), record.value))
    for technique, line in points.items():
        panel.plot(
            *zip(*sorted(line), strict=True), marker="o", markersize=4, color=COLOURS[technique], label=technique
        )
    panel.set_yscale("log")
    if axis == "window":
        panel.set_xscale("log")
    panel.set_xlabel(AXES[axis])
    panel.set_ylabel(f"{metric} ({records[0].unit})" if records else metric)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.3)
    if points:
        panel.legend(fontsize=7)


def _along(records: Sequence[Record], axis: str) -> list[Record]:
    """Those records that differ in the axis only: of the other settings, the ones that occur with most values of it."""
    lines: dict[tuple[str, ...], dict[str, list[Record]]] = {}
    for record in records:
        parts = _parts(record)
        assert parts is not None
        others = tuple(value for name, value in parts.items() if name not in (axis, "technique", "data"))
        lines.setdefault(others, {}).setdefault(parts[axis], []).append(record)
    if not lines:
        return []
    longest = max(lines.values(), key=len)
    return [record for of_value in longest.values() for record in of_value]
