"""Records -> the paper's figures 4 to 6 and 8 to 15, and the sharing of many patterns, drawn from our numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bounded.comparing import CORE_RECALL, NO_BOUND, RECALL, SPEED
from benchmarks.records import Record

_SIZE = (4.4, 3.4)
"""Inches of one panel."""
_NUMBER = re.compile(r"[\d,]+")


@dataclass(frozen=True, slots=True)
class Picture:
    """`metrics` are panels; a case is "where, x: line", where x is the last number before the colon."""

    figure: str
    title: str
    x: str
    metrics: tuple[str, ...] = (RECALL, CORE_RECALL, SPEED)


_SHARE = "latency allowed (% of that without a bound)"
PICTURES = (
    Picture("figure 4", "Figure 4: Q3 and Q4 on DS1", _SHARE),
    Picture("figure 5", "Figure 5: Q3 and Q4 on Citi Bike", _SHARE),
    Picture("figure 6", "Figure 6: Q5 and Q6 as MATCH_RECOGNIZE on crimes", _SHARE),
    Picture("figure 8", "Figure 8: a fixed share of the state", "share kept (%)", (RECALL,)),
    Picture("figure 9", "Figure 9: selectivity, at 50 %", "largest V (millions)"),
    Picture("figure 10", "Figure 10: pattern length, at 50 %", "events of Q1 and Q2"),
    Picture("figure 11", "Figure 11: window, at 50 %", "events of the window"),
    Picture("figure 12", "Figure 12: how state is kept, Q3 and Q4 on DS1", _SHARE),
    Picture("figure 13", "Figure 13: how state is kept, MATCH_RECOGNIZE on crimes", _SHARE),
    Picture("figure 14", "Figure 14: place of what is shared, at 50 %", "events before it", (RECALL, CORE_RECALL)),
    Picture("figure 15", "Figure 15: V drifts at event 9,000, at 50 %", "event", (RECALL,)),
    Picture("sharing", "Exact matching of many patterns", "patterns", ("partial matches", "time, shared")),
)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One file for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for picture in PICTURES:
        panels = {metric: lines for metric in picture.metrics if (lines := lines_of(picture.figure, metric, records))}
        if not panels:
            continue
        size = (_SIZE[0] * len(panels), _SIZE[1])
        sheet, axes = pyplot.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
        for panel, (metric, lines) in zip(axes.flat, panels.items(), strict=True):
            _fill(panel, metric, lines, picture)
        sheet.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        sheet.suptitle(picture.title, fontsize=11)
        path = folder / f"bounded-{picture.figure.replace(' ', '-')}.png"
        sheet.savefig(path, dpi=110)
        pyplot.close(sheet)
        drawn.append(path)
    return drawn


Lines = dict[str, list[tuple[int, float]]]


def lines_of(figure: str, metric: str, records: Sequence[Record]) -> Lines:
    """By name the points of each line; what a value is compared with is a line of its own."""
    lines: Lines = {}
    for record in records:
        if record.figure != figure or record.metric != metric or NO_BOUND in record.case:
            continue
        place, _, line = record.case.partition(": ")
        if figure == "figure 15":
            line, _, place = record.case.rpartition(", ")
        x = int(_NUMBER.findall(place)[-1].replace(",", ""))
        lines.setdefault(line or "shared", []).append((x, record.value))
        if record.baseline is not None and record.baseline.is_measured:
            lines.setdefault(record.baseline.name, []).append((x, record.baseline.value))
    return lines


def _fill(panel: Any, metric: str, lines: Lines, picture: Picture) -> None:
    for label, points in lines.items():
        panel.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, label=label)
    if picture.figure == "sharing":
        panel.set(xscale="log", yscale="log")
    elif metric == SPEED:
        panel.set_ylim(bottom=0)
    else:
        panel.set_ylim(0, 1.05)
    panel.set_xlabel(picture.x)
    panel.set_ylabel({SPEED: "events/s of one core", "time, shared": "time (s)"}.get(metric, metric))
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.3)
