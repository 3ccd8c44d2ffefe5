"""Records -> the paper's figures 9 to 14, drawn from our numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.correlate.running import ARCHIVE, ARCHIVE_CACHED, AUTO, EAGER, LIVE, LIVE_CACHED, WINDOW_FIRST
from benchmarks.records import Record

_CASE = re.compile(r"^(?P<panel>.+), (?P<axis>[a-z]+) (?P<x>[\d:]+): (?P<line>.+)$")
_SIZE = (5.4, 3.9)
"""Inches of one panel."""
_LINES = {
    LIVE.name: ("#c9773b", "--"),
    LIVE_CACHED.name: ("#c9773b", "-"),
    ARCHIVE.name: ("#3b6ea5", "--"),
    ARCHIVE_CACHED.name: ("#3b6ea5", "-"),
    EAGER.name: ("#7a9a4a", "-"),
    WINDOW_FIRST.name: ("#8a8a8a", "--"),
    AUTO.name: ("#23878c", ":"),
}
"""A colour for each driving side, and a broken line without the cache."""


class _Picture(NamedTuple):
    title: str
    axis: str


PICTURES = {
    "figure 9": _Picture("Figure 9: the recent buffer, Q1, region 500", "rows in the recent buffer"),
    "figure 10": _Picture("Figures 10 and 11: the region, Q1", "rows in the region"),
    "figure 12a": _Picture("Figure 12a: distance of live matches, Q2, region 500", "rows between live matches"),
    "figure 12b": _Picture("Figure 12b: cost of the archive pattern, Q2, region 500", "length of slow rises"),
    "figure 13a": _Picture("Figure 13a: match ratio, Q2", "live matches : archive matches"),
    "figure 13b": _Picture("Figure 13b: whose hot spots, Q2", "share of the hot spot that is the archive's (%)"),
    "figure 14": _Picture("Figure 14: real quotes, Q1", "rows in the region"),
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for figure, picture in PICTURES.items():
        panels = panels_of([record for record in records if record.figure == figure and record.metric == "speed"])
        if not panels:
            continue
        size = (_SIZE[0] * len(panels), _SIZE[1])
        sheet, axes = pyplot.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False, sharey=True)
        for panel, (name, lines) in zip(axes.flat, panels.items(), strict=True):
            _fill(panel, name, lines, picture)
        axes.flat[0].legend(fontsize=7)
        sheet.suptitle(picture.title, fontsize=11)
        path = folder / f"correlate-{figure.replace(' ', '-')}.png"
        sheet.savefig(path, dpi=110)
        pyplot.close(sheet)
        drawn.append(path)
    return drawn


Lines = dict[str, list[tuple[str, float]]]


def panels_of(records: Sequence[Record]) -> dict[str, Lines]:
    """Panel -> line -> (x as text, value) in the order in which they were measured."""
    panels: dict[str, Lines] = {}
    for record in records:
        case = _CASE.match(record.case)
        if case is not None:
            lines = panels.setdefault(case["panel"], {})
            lines.setdefault(case["line"], []).append((case["x"], record.value))
    return panels


def _fill(panel: Any, name: str, lines: Lines, picture: _Picture) -> None:
    for line, points in lines.items():
        colour, style = _LINES.get(line, (None, "-"))
        panel.plot(*zip(*points, strict=True), style, color=colour, marker="o", markersize=4, label=line)
    panel.set_yscale("log")
    panel.set_title(name, fontsize=9)
    panel.set_xlabel(picture.axis)
    panel.set_ylabel("rows/s")
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.3)
