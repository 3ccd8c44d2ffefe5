"""Matches, lines and their axis -> one self-contained SVG: the clearest matches as charts, and a strip for each key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.key_strips import KeyStrip, key_strips, strips_height
from ostinato.pictures.match_chart import ChartSize, match_chart
from ostinato.pictures.plot_axis import Axis
from ostinato.pictures.plot_tones import Tones, legend
from ostinato.pictures.plotted_matches import Line, PlottedMatch
from ostinato.pictures.svg import element, text

_WIDTH, _MARGIN, _GAP = 980.0, 16.0, 14.0
_WIDE = ChartSize(_WIDTH - 2 * _MARGIN, 300.0)
_HALF = ChartSize((_WIDE.width - _GAP) / 2, 240.0)


@dataclass(frozen=True, slots=True)
class MatchPlot:
    """The parts of a plot; `title` says what is seen, and `notes` what isn't."""

    title: str
    notes: Sequence[str]
    axis: Axis
    tones: Tones
    charts: Sequence[tuple[PlottedMatch, Line]]
    strips: Sequence[KeyStrip]


def draw_plot(plot: MatchPlot) -> str:
    """The whole picture. It has its own background, so it is readable on light and dark pages."""
    body = [text(shortened(plot.title, 100), _MARGIN, 32.0, class_="head")]
    below = 42.0
    for note in plot.notes:
        body.append(text(shortened(note, 140), _MARGIN, below + 10))
        below += 18
    elements, height = legend(plot.tones, _MARGIN, below, _WIDE.width)
    body += elements
    below += height + 6
    for row, (match, line) in enumerate(plot.charts):
        size = _HALF if row else _WIDE
        is_right = row > 0 and row % 2 == 0
        chart = match_chart(match, line, plot.axis, plot.tones, size)
        left = _MARGIN + (_HALF.width + _GAP if is_right else 0)
        body.append(element("g", chart, transform=f"translate({left:.1f} {below:.1f})"))
        if row == 0 or is_right or row == len(plot.charts) - 1:
            below += size.height + _GAP
    if plot.strips:
        strips = key_strips(plot.strips, plot.axis, plot.tones, _WIDE.width)
        body.append(element("g", strips, transform=f"translate({_MARGIN:.1f} {below:.1f})"))
        below += strips_height(len(plot.strips))
    below += _MARGIN
    style = files("ostinato.pictures").joinpath("plot.css").read_text(encoding="utf-8")
    sheet = element("rect", x=0.5, y=0.5, width=_WIDTH - 1, height=below - 1, rx=10, class_="sheet")
    return element(
        "svg",
        element("style", style) + sheet + "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        class_="ost-plot",
        viewBox=f"0 0 {_WIDTH:.0f} {below:.0f}",
        width=f"{_WIDTH:.0f}",
        role="group",
        aria_label=plot.title,
        style="max-width:100%;height:auto",
    )
