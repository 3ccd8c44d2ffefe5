"""The steps of a funnel -> one self-contained SVG: a bar for each step. It follows the reader's light or dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.pictures.svg import element, escape, text

_WIDTH, _MARGIN, _ROW, _BAR, _NAMES = 760.0, 18.0, 46.0, 18.0, 150.0
_LEFT, _RIGHT = _MARGIN + _NAMES, 742.0
_LONGEST_NAME = 20
# Every text has a contrast of at least 4.5:1 to the sheet, in both modes (tests/pictures/test_funnel_svg.py).
_STYLE = """
.ost-funnel{--sheet:#ffffff;--edge:#d5dbe2;--ink:#1d2733;--quiet:#55606b;--bar:#2171b5;--track:#e4e9ee}
@media (prefers-color-scheme:dark){
.ost-funnel{--sheet:#14181d;--edge:#333c46;--ink:#e6ebf0;--quiet:#a3adb8;--bar:#6aaed6;--track:#29313a}}
.ost-funnel text{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif;font-size:12px;fill:var(--ink)}
.ost-funnel .name{font-size:13px;font-weight:600}
.ost-funnel .quiet{fill:var(--quiet)}
.ost-funnel .sheet{fill:var(--sheet);stroke:var(--edge)}
.ost-funnel .track{fill:var(--track)}
.ost-funnel .bar{fill:var(--bar)}
"""


@dataclass(frozen=True, slots=True)
class FunnelBar:
    """One step: the keys that reached it, their share of the keys of the first step, and a remark."""

    name: str
    keys: int
    share: float
    remark: str


def draw_funnel(bars: Sequence[FunnelBar]) -> str:
    """The SVG text."""
    height = 2 * _MARGIN + _ROW * len(bars)
    words = ", ".join(f"{bar.name} {bar.keys:,} ({100 * bar.share:.1f} %)" for bar in bars)
    content = [
        element("title", escape(f"Funnel of {len(bars)} steps, keys that reached each: {words}")),
        element("style", _STYLE),
        element("rect", x=0.5, y=0.5, width=_WIDTH - 1, height=height - 1, rx=9, class_="sheet"),
    ]
    for number, bar in enumerate(bars):
        content += _row(bar, _MARGIN + _ROW * number)
    # SVG files need this name. Nothing is loaded from it.
    name, box = "http://www.w3.org/2000/svg", f"0 0 {_WIDTH:g} {height:g}"
    return element(
        "svg", "".join(content), xmlns=name, viewBox=box, width=_WIDTH, height=height, role="img", class_="ost-funnel"
    )


def _row(bar: FunnelBar, top: float) -> list[str]:
    shown_name = bar.name if len(bar.name) <= _LONGEST_NAME else bar.name[: _LONGEST_NAME - 1] + "…"
    y, full = top + 4, _RIGHT - _LEFT
    figures = f"{bar.keys:,} keys, {100 * bar.share:.1f} %"
    return [
        text(shown_name, _MARGIN, y + _BAR - 4, class_="name"),
        element("rect", x=_LEFT, y=y, width=full, height=_BAR, rx=3, class_="track"),
        element(
            "rect",
            element("title", escape(bar.name)),
            x=_LEFT,
            y=y,
            width=full * bar.share,
            height=_BAR,
            rx=3,
            class_="bar",
        ),
        text(figures, _LEFT, y + _BAR + 15),
        text(bar.remark, _RIGHT, y + _BAR + 15, class_="quiet", style="text-anchor:end"),
    ]
