"""A match and the rows around it -> an SVG chart: the price line, with the match in the colours of its phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from ostinato.pictures.phases import Shape
from ostinato.pictures.svg import Scale, area_path, element, escape, line_path, round_ticks, text


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive rows of one key with a match inside: rows `first .. first + len(labels) - 1` have the labels."""

    key: str
    times: Sequence[datetime]
    values: Sequence[float]
    labels: Sequence[str]
    first: int
    notes: Sequence[str] | None = None
    """Further text for the tooltip of each row."""

    @property
    def last(self) -> int:
        return self.first + len(self.labels) - 1

    def label(self, row: int) -> str | None:
        return self.labels[row - self.first] if self.first <= row <= self.last else None


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a drawing in its own units, and the number of ticks."""

    width: float
    height: float
    price_ticks: int = 4
    time_ticks: int = 4


WIDE = Size(960, 340, 5, 7)
COMPACT = Size(430, 260, 4, 3)

_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 14.0, 24.0, 26.0


def price_chart(excerpt: Excerpt, shape: Shape, size: Size, *, title: str, class_: str | None = "chart") -> str:
    """The chart as an `<svg>` element for an HTML page; screen readers use `title`."""
    low, high = min(excerpt.values), max(excerpt.values)
    x = Scale(0, len(excerpt.values) - 1, _LEFT, size.width - _RIGHT)
    y = Scale(low, high, size.height - _BOTTOM - 22, _TOP + 8)
    body = (
        *_axes(excerpt, x, y, size),
        *_match(excerpt, shape, x, y, size),
        *_tooltips(excerpt, x, y, size),
    )
    content = element("title", escape(title)) + "".join(body)
    return element("svg", content, viewBox=f"0 0 {size.width:g} {size.height:g}", role="img", class_=class_)


def _axes(excerpt: Excerpt, x: Scale, y: Scale, size: Size) -> list[str]:
    elements = []
    ticks = round_ticks(y.low, y.high, size.price_ticks)
    digits = 2 if any(abs(tick - round(tick, 1)) > 1e-9 for tick in ticks) else 1
    for tick in ticks:
        height = y(tick)
        elements.append(element("line", x1=_LEFT, x2=size.width - _RIGHT, y1=height, y2=height, class_="rule"))
        elements.append(text(f"{tick:.{digits}f}", _LEFT - 8, height + 4, class_="end"))
    for row in time_ticks(excerpt.times, size.time_ticks):
        elements.append(text(f"{excerpt.times[row]:%H:%M}", x(row), size.height - 8, class_="middle"))
    return elements


def time_ticks(times: Sequence[datetime], about: int) -> list[int]:
    """The rows that get a time label: evenly spaced, and away from the edges, so that no text is cut."""
    count = len(times)
    if count <= about:
        return list(range(count))
    return [round((i + 0.5) * (count - 1) / about) for i in range(about)]


def _match(excerpt: Excerpt, shape: Shape, x: Scale, y: Scale, size: Size) -> list[str]:
    points = [(x(row), y(value)) for row, value in enumerate(excerpt.values)]
    inside = points[excerpt.first : excerpt.last + 1]
    floor = size.height - _BOTTOM
    band = element(
        "rect",
        x=inside[0][0],
        width=inside[-1][0] - inside[0][0],
        y=_TOP - 12,
        height=floor - _TOP + 12,
        rx=3,
        class_="band",
    )
    elements = [band]
    for context in (points[: excerpt.first + 1], points[excerpt.last :]):
        if len(context) > 1:
            elements.append(element("path", d=line_path(context), class_="context"))
    elements += _neckline(excerpt, points)
    for tone, rows in groupby(
        range(excerpt.first, excerpt.last + 1), key=lambda row: shape.tone(excerpt.label(row) or "")
    ):
        run = list(rows)
        leg = points[max(run[0] - 1, excerpt.first) : run[-1] + 1]  # a leg starts at the end of the one before
        if len(leg) > 1:
            shade = element("path", d=area_path(leg, floor), fill=f"var(--tone-{tone})", opacity=0.08)
            elements += [shade, element("path", d=line_path(leg), class_=f"path tone-{tone}")]
    for row in marked_rows(excerpt, shape):
        label = excerpt.label(row) or ""
        tone = shape.tone(label)
        elements.append(element("circle", cx=points[row][0], cy=points[row][1], r=4, class_=f"knot tone-{tone}"))
        dy = 17.0 if _is_low(excerpt, row) else -9.0
        elements.append(text(label, points[row][0], points[row][1] + dy, class_=f"label tone-{tone}"))
    return elements


def _neckline(excerpt: Excerpt, points: Sequence[tuple[float, float]]) -> list[str]:
    """The line through the lows beside the head, up to the end of the match; nothing without a head."""
    lows = [excerpt.first + i for i, label in enumerate(excerpt.labels) if label in ("E", "I")]
    if len(lows) != 2 or "G" not in excerpt.labels:
        return []
    (x1, y1), (x2, y2) = points[lows[0]], points[lows[1]]
    slope = (y2 - y1) / (x2 - x1)
    end = points[excerpt.last][0]
    return [element("path", d=line_path([(x1, y1), (end, y1 + slope * (end - x1))]), class_="neckline")]


def marked_rows(excerpt: Excerpt, shape: Shape) -> list[int]:
    """The rows that get a dot and a label."""
    last_of = {label: excerpt.first + i for i, label in enumerate(excerpt.labels)}
    return [last_of[label] for label in shape.marked if label in last_of]


def _is_low(excerpt: Excerpt, row: int) -> bool:
    """Whether the price is higher on both sides. A label above would then cover the line."""
    before = excerpt.values[max(row - 2, excerpt.first)]
    after = excerpt.values[min(row + 2, excerpt.last)]
    return (before + after) / 2 > excerpt.values[row]


def _tooltips(excerpt: Excerpt, x: Scale, y: Scale, size: Size) -> list[str]:
    elements = []
    for row, (moment, value) in enumerate(zip(excerpt.times, excerpt.values, strict=True)):
        label = excerpt.label(row)
        words = [label] if label else []
        words += [f"{value:,.2f}", f"{moment:%d %b %Y, %H:%M:%S}", *([excerpt.notes[row]] if excerpt.notes else [])]
        tip = element("title", escape(" · ".join(words)))
        elements.append(element("circle", tip, cx=x(row), cy=y(value), r=7 if size.width > 600 else 5, class_="hit"))
    return elements


def overview_chart(values: Sequence[float], starts: Sequence[int], *, title: str) -> str:
    """A whole price line without text, stretched to any width, with a tick at the start of each match."""
    width, height, columns = 1000.0, 72.0, 500
    x = Scale(0, max(len(values) - 1, 1), 0, width)
    y = Scale(min(values), max(values), height - 14, 4)
    step = max(1, len(values) // columns)
    rows = sorted({row for start in range(0, len(values), step) for row in _extremes(values, start, start + step)})
    line = element("path", d=line_path([(x(row), y(values[row])) for row in rows]), class_="overview")
    ticks = "".join(element("line", x1=x(row), x2=x(row), y1=height - 8, y2=height, class_="tick") for row in starts)
    content = element("title", escape(title)) + line + ticks
    box = f"0 0 {width:g} {height:g}"
    return element("svg", content, viewBox=box, preserveAspectRatio="none", role="img", class_="chart strip")


def _extremes(values: Sequence[float], start: int, end: int) -> tuple[int, int]:
    """The rows of the lowest and the highest value in a range, which a thinned line must keep."""
    rows = range(start, min(end, len(values)))
    return min(rows, key=values.__getitem__), max(rows, key=values.__getitem__)
