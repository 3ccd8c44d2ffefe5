"""The payments of a card around a fraud -> an SVG chart: one stem for each payment, on a logarithmic scale."""

from __future__ import annotations

import math

from ostinato.pictures.phases import Shape
from ostinato.pictures.price_chart import Excerpt, Size
from ostinato.pictures.svg import Scale, element, escape, text

_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 14.0, 30.0, 26.0
_LOWEST = 0.3


def payment_chart(excerpt: Excerpt, shape: Shape, size: Size, *, title: str, class_: str | None = "chart") -> str:
    """The chart as an `<svg>` element. Payments are evenly spaced: minutes and weeks don't fit one time axis."""
    top = math.log10(max(*excerpt.values, 100.0) * 1.1)
    floor = size.height - _BOTTOM
    x = Scale(-0.5, len(excerpt.values) - 0.5, _LEFT, size.width - _RIGHT)
    y = Scale(math.log10(_LOWEST), top, floor, _TOP)
    elements = _axes(y, top, size)
    left, right = x(excerpt.first - 0.5), x(excerpt.last + 0.5)
    elements.append(
        element("rect", x=left, width=right - left, y=_TOP - 18, height=floor - _TOP + 18, rx=3, class_="band")
    )
    minutes = (excerpt.times[excerpt.last] - excerpt.times[excerpt.first]).total_seconds() / 60
    elements.append(text(f"{minutes:.0f} minutes", (left + right) / 2, size.height - 8, class_="middle"))
    for row, value in enumerate(excerpt.values):
        elements += _stem(excerpt, shape, row, x(row), y(math.log10(max(value, _LOWEST))), floor)
    for row in {0, len(excerpt.values) - 1}:
        anchor = "middle" if row == 0 else "end"
        if excerpt.label(row) is None:
            at = x(row) if row == 0 else size.width - _RIGHT
            elements.append(text(f"{excerpt.times[row]:%d %b}", at, size.height - 8, class_=anchor))
    content = element("title", escape(title)) + "".join(elements)
    return element("svg", content, viewBox=f"0 0 {size.width:g} {size.height:g}", role="img", class_=class_)


def _axes(y: Scale, top: float, size: Size) -> list[str]:
    elements = []
    for power in range(math.floor(top) + 1):
        height = y(power)
        elements.append(element("line", x1=_LEFT, x2=size.width - _RIGHT, y1=height, y2=height, class_="rule"))
        elements.append(text(f"{10**power:,}", _LEFT - 8, height + 4, class_="end"))
    return elements


def _stem(excerpt: Excerpt, shape: Shape, row: int, x: float, y: float, floor: float) -> list[str]:
    label = excerpt.label(row)
    tone = shape.tone(label) if label else 0
    words = [label] if label else []
    words += [f"{excerpt.values[row]:,.2f}", f"{excerpt.times[row]:%d %b %Y, %H:%M:%S}"]
    words += [excerpt.notes[row]] if excerpt.notes else []
    elements = [
        element("line", x1=x, x2=x, y1=floor, y2=y, class_=f"stem tone-{tone}"),
        element("circle", cx=x, cy=y, r=5 if label else 3.5, class_=f"knot tone-{tone}"),
    ]
    if label in shape.marked:
        elements.append(text(f"{excerpt.values[row]:,.0f}", x, y - 10, class_=f"label tone-{tone}"))
    elements.append(element("circle", element("title", escape(" · ".join(words))), cx=x, cy=y, r=9, class_="hit"))
    return elements
