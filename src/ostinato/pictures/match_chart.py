"""A match and the rows around it -> a chart: the line, and the match in the colours of its variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.plot_axis import Axis, number_words, tick_words
from ostinato.pictures.plot_tones import Tones, text_width
from ostinato.pictures.plotted_matches import Line, PlottedMatch, key_words
from ostinato.pictures.svg import Scale, element, escape, line_path, round_ticks, text

_RIGHT, _TOP, _BOTTOM = 18.0, 48.0, 28.0
_MOST_ROWS = 1_200
_MOST_MARKS = 40
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ChartSize:
    width: float
    height: float


def match_chart(match: PlottedMatch, line: Line, axis: Axis, tones: Tones, size: ChartSize) -> str:
    """The chart as a `<g>`. `line` has the rows around the match; it may be empty."""
    shown = Line(np.concatenate([line.x, match.x]), np.concatenate([line.y, match.y]))
    known = shown.y[~np.isnan(shown.y)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    ticks = round_ticks(low, high, 4)
    words = tick_words(ticks)
    x = Scale(shown.x.min().item(), shown.x.max().item(), text_width(words) + 22, size.width - _RIGHT)
    y = Scale(low, high, size.height - _BOTTOM - 20, _TOP + 16)
    drawing = _Drawing(x, y, axis, tones, size)
    rows = f"{len(match.x):,} {'row' if len(match.x) == 1 else 'rows'}"
    facts = " · ".join(part for part in (axis.span_words(match.first, match.last), axis.zone, rows) if part)
    body = [
        element("rect", x=0.5, y=0.5, width=size.width - 1, height=size.height - 1, rx=8, class_="frame"),
        text(shortened(key_words(match.key), 40), 14.0, 20.0, class_="title"),
        text(facts, 14.0, 36.0),
        *(drawing.level(tick, label) for tick, label in zip(ticks, words, strict=True)),
        *drawing.moments(),
        drawing.band(match),
        drawing.path(line.thinned(_MOST_ROWS), "line"),
        *(drawing.labelled(match) if match.labels else drawing.unlabelled(match)),
    ]
    return element("g", "".join(body), role="img", aria_label=f"{shortened(key_words(match.key), 100)}: {facts}")


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The scales of one chart, and its elements."""

    x: Scale
    y: Scale
    axis: Axis
    tones: Tones
    size: ChartSize

    @property
    def floor(self) -> float:
        return self.size.height - _BOTTOM

    def level(self, tick: float, words: str) -> str:
        height = self.y(tick)
        rule = element("line", x1=self.x.start, x2=self.x.end, y1=height, y2=height, class_="rule")
        return rule + text(words, self.x.start - 8, height + 4, class_="right")

    def moments(self) -> Iterable[str]:
        last_end = -math.inf
        for value, words in self.axis.ticks(self.x.low, self.x.high, 6 if self.size.width > 600 else 3):
            at, half = self.x(value), text_width([words]) / 2
            at = min(max(at, half + 4), self.size.width - half - 4)
            if at - half > last_end:
                last_end = at + half + 6
                yield text(words, at, self.size.height - 10, class_="middle")

    def band(self, match: PlottedMatch) -> str:
        left, right = self.x(match.first), self.x(match.last)
        wide = max(right - left, 4.0)
        left = (left + right - wide) / 2
        return element("rect", x=left, y=_TOP, width=wide, height=self.floor - _TOP, rx=3, class_="band")

    def points(self, rows: Line) -> list[Point | None]:
        """Places of the rows; None for a row without a value."""
        pairs = zip(rows.x.tolist(), rows.y.tolist(), strict=True)
        return [None if math.isnan(value) else (self.x(at), self.y(value)) for at, value in pairs]

    def path(self, rows: Line, css: str) -> str:
        return broken_path(self.points(rows), css)

    def unlabelled(self, match: PlottedMatch) -> list[str]:
        return [self.path(Line(match.x, match.y).thinned(_MOST_ROWS), "leg tone-1")]

    def labelled(self, match: PlottedMatch) -> list[str]:
        points = self.points(Line(match.x, match.y))
        legs, marks, names, boxes = [], [], [], list[Point]()
        every = max(1, len(points) // _MOST_MARKS)
        for label, group in groupby(range(len(points)), key=match.labels.__getitem__):
            rows = list(group)
            first = max(rows[0] - 1, 0)  # a leg starts at the end of the one before
            leg = Line(match.x[first : rows[-1] + 1], match.y[first : rows[-1] + 1])
            legs.append(self.path(leg.thinned(_MOST_ROWS), f"leg {self.tones.css(label)}"))
            for row in rows:
                if row == rows[-1] or (row - rows[0]) % every == 0:
                    marks.append(self._mark(match, row, points[row]))
            place = points[rows[-1]] or (self.x(match.x[rows[-1]].item()), self.floor)
            if (box := _free(place, label, boxes, self.size)) is not None:
                boxes.append(box)
                names.append(text(shortened(label, 16), *box, class_=f"name {self.tones.css(label)}"))
        return [*legs, *marks, *names]

    def _mark(self, match: PlottedMatch, row: int, point: Point | None) -> str:
        """The shape of the row's variable, on the line, or on the floor for a row without a value."""
        at = match.x[row].item()
        words = " · ".join((match.labels[row], number_words(float(match.y[row])), self.axis.words(at)))
        place = point or (self.x(at), self.floor)
        return element("g", element("title", escape(words)) + self.tones.mark(match.labels[row], *place))


def broken_path(points: Sequence[Point | None], css: str) -> str:
    """A line through the points, with a gap at each None. A point between gaps is a dot; no point is no element."""
    runs = [[*group] for is_known, group in groupby(points, key=lambda point: point is not None) if is_known]
    d = "".join(line_path([p for p in run if p]) + ("h0" if len(run) == 1 else "") for run in runs)
    return element("path", d=d, class_=css) if d else ""


def _free(place: Point, label: str, taken: Sequence[Point], size: ChartSize) -> Point | None:
    """Where to write a name near a point: above it, else below; None if other names are in both places."""
    half = text_width([shortened(label, 16)]) / 2
    at = min(max(place[0], half + 4), size.width - half - 4)
    for dy in (-10.0, 19.0):
        spot = (at, place[1] + dy)
        if all(abs(spot[0] - x) > 2 * half + 4 or abs(spot[1] - y) > 14 for x, y in taken):
            return spot
    return None
