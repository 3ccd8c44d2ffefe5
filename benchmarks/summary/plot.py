"""Records -> the paper's figures 7, 8, 10, 11, 12 and 13, drawn from our numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.records import Record

_CASE = re.compile(r"^(?P<data>.+), n (?P<n>[\d,]+), window (?P<window>[\d,]+)(?:: (?:over )?(?P<technique>.+))?$")
_BLOCKS = re.compile(r"^ABCD, i = (?P<i>\d+)$")
_SIZE = (5.2, 3.8)
"""Inches of one panel."""
_STYLES = {"present": "--", "enumerating": "--", "hindsight": ":"}
"""Styles of lines by the beginning of their name. Others are solid."""


@dataclass(frozen=True, slots=True)
class Line:
    """The position of a record in a picture: panel, line and x."""

    panel: str
    line: str
    x: int


@dataclass(frozen=True, slots=True)
class Picture:
    figure: str
    metric: str
    title: str
    x: str
    y: str
    line_of: Callable[[Record], Line | None]
    log_y: bool = False
    log_x: bool = False


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _by_size(record: Record) -> Line | None:
    """A panel for each kind of stream and technique, a line for each window."""
    case = _CASE.match(record.case)
    if case is None or case["technique"] is None:
        return None
    return Line(f"{case['data']}, {case['technique']}", f"window {case['window']}", _number(case["n"]))


def _by_window(record: Record) -> Line | None:
    case = _CASE.match(record.case)
    if case is None or case["technique"] is None:
        return None
    return Line(f"{case['data']}, {case['technique']}", f"n {case['n']}", _number(case["window"]))


def _recall(record: Record) -> Line | None:
    """A panel for each kind of stream; a line for each window and technique."""
    case = _CASE.match(record.case)
    if case is None or case["technique"] not in ("capped", "present", "hindsight"):
        return None
    return Line(case["data"], f"{case['technique']}, window {case['window']}", _number(case["n"]))


def _blocks(record: Record) -> Line | None:
    case = _BLOCKS.match(record.case)
    return None if case is None else Line("ABCD", "summary", int(case["i"]))


PICTURES = (
    Picture(
        "figure 7",
        "relative recall",
        "Figure 7: how many times the matches of others, as a power of ten",
        "n",
        "orders of magnitude",
        _by_size,
        log_x=True,
    ),
    Picture(
        "figure 8b",
        "absolute recall when full",
        "Figure 8b: absolute recall, summary full",
        "n",
        "share of all matches",
        _recall,
    ),
    Picture("figure 8c", "detected matches", "Figure 8c: detected matches", "n", "share of all matches", _recall),
    Picture(
        "figure 10", "time for an event", "Figure 10: time for an event", "n", "µs", _by_size, log_y=True, log_x=True
    ),
    Picture("figure 11", "time", "Figure 11: the state summary alone", "i", "s", _blocks, log_y=True, log_x=True),
    Picture("figure 12", "relative recall", "Figure 12: Citi Bike", "window", "orders of magnitude", _by_window),
    Picture("figure 13", "relative recall", "Figure 13: NASDAQ", "window", "orders of magnitude", _by_window),
)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One picture for each figure that was measured. Needs matplotlib (extra: bench)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for picture in PICTURES:
        panels = _panels(picture, records)
        if not panels:
            continue
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        size = (_SIZE[0] * columns, _SIZE[1] * rows)
        sheet, axes = pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, sharey=True)
        for panel in axes.flat[len(panels) :]:
            panel.set_visible(False)
        for panel, (name, lines) in zip(axes.flat, panels.items(), strict=False):
            _fill(panel, name, lines, picture)
        sheet.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        sheet.suptitle(picture.title, fontsize=11)
        path = folder / f"summary-{picture.figure.replace(' ', '-')}.png"
        sheet.savefig(path, dpi=110)
        pyplot.close(sheet)
        drawn.append(path)
    return drawn


Lines = dict[str, list[tuple[int, float]]]


def _panels(picture: Picture, records: Sequence[Record]) -> dict[str, Lines]:
    panels: dict[str, Lines] = {}
    for record in records:
        if record.figure != picture.figure or record.metric != picture.metric:
            continue
        line = picture.line_of(record)
        if line is not None:
            lines = panels.setdefault(line.panel, {})
            lines.setdefault(line.line, []).append((line.x, record.value))
            if record.baseline is not None and record.baseline.is_measured:
                lines.setdefault(record.baseline.name, []).append((line.x, record.baseline.value))
    return panels


def _fill(panel: Any, name: str, lines: Lines, picture: Picture) -> None:
    """Colours tell windows (or sizes) apart, styles techniques."""
    ends = list(dict.fromkeys(label.rpartition(", ")[2] for label in lines))
    for label, points in lines.items():
        style = next((style for start, style in _STYLES.items() if label.startswith(start)), "-")
        colour = f"C{ends.index(label.rpartition(', ')[2])}"
        panel.plot(*zip(*sorted(points), strict=True), style, color=colour, marker="o", markersize=4, label=label)
    if picture.log_y:
        panel.set_yscale("log")
    if picture.log_x:
        panel.set_xscale("log")
    panel.set_title(name, fontsize=9)
    panel.set_xlabel(picture.x)
    panel.set_ylabel(picture.y)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.3)
