"""One match and the rows around it -> a small self-contained SVG, for a panel beside a list."""

from __future__ import annotations

from importlib.resources import files

from ostinato.pictures.match_chart import ChartSize, match_chart
from ostinato.pictures.plot_axis import Axis
from ostinato.pictures.plot_tones import legend, tones_of
from ostinato.pictures.plotted_matches import Line, PlottedMatch, key_words
from ostinato.pictures.svg import element

_SIZE = ChartSize(440.0, 260.0)
_MARGIN = 4.0


def draw_one_match(match: PlottedMatch, line: Line, axis: Axis) -> str:
    """The chart of the match, and a legend of its variables above it. `line` has the rows of the key.

    >>> import numpy as np
    >>> from ostinato.pictures.plot_axis import AxisKind
    >>> rows = Line(np.array([1, 2, 3]), np.array([9.0, 6.0, 8.0]))
    >>> match = PlottedMatch(("ACME",), rows.x, rows.y, ("TOP", "FALL", "RISE"))
    >>> draw_one_match(match, rows, Axis(AxisKind.NUMBER))[:4]
    '<svg'
    """
    tones = tones_of(match.labels)
    elements, height = legend(tones, _MARGIN, 0.0, _SIZE.width)
    shown = line.filled(match)
    chart = match_chart(shown, line.around(shown), axis, tones, _SIZE)
    style = files("ostinato.pictures").joinpath("plot.css").read_text(encoding="utf-8")
    full = height + _SIZE.height
    return element(
        "svg",
        element("style", style) + "".join(elements) + element("g", chart, transform=f"translate(0 {height:.0f})"),
        xmlns="http://www.w3.org/2000/svg",
        class_="ost-plot",
        viewBox=f"0 0 {_SIZE.width:.0f} {full:.0f}",
        width=f"{_SIZE.width:.0f}",
        height=f"{full:.0f}",
        role="group",
        aria_label=f"a match of {key_words(match.key)}",
    )
