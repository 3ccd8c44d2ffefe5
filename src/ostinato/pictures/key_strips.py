"""Matches by key -> a strip for each key: its line, its matches, and one axis below all strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.match_chart import broken_path
from ostinato.pictures.plot_axis import Axis
from ostinato.pictures.plot_tones import Tones, text_width
from ostinato.pictures.plotted_matches import Key, Line, PlottedMatch, key_words
from ostinato.pictures.svg import Scale, element, text

_STRIP, _NAMES, _COUNTS, _MARGIN = 46.0, 130.0, 90.0, 14.0
_COLUMNS = 600
_MOST_POINTS = 600


@dataclass(frozen=True, slots=True)
class KeyStrip:
    """The drawn matches of one key, ordered by their first x; the line is empty if there are no values."""

    key: Key
    line: Line
    matches: Sequence[PlottedMatch]
    has_all: bool = True
    """Whether the key has no other matches, as far as is known."""


def strips_height(count: int) -> float:
    return count * _STRIP + 30


def key_strips(strips: Sequence[KeyStrip], axis: Axis, tones: Tones, width: float) -> str:
    """The strips as a `<g>`, from one end of all their x values to the other."""
    xs = [x for strip in strips for x in (strip.line.x, *(match.x for match in strip.matches)) if len(x)]
    if not xs:
        return ""
    low, high = min(one.min().item() for one in xs), max(one.max().item() for one in xs)
    x = Scale(low, high, _NAMES, width - _COUNTS)
    body = [_strip(strip, x, row * _STRIP, axis, tones, width) for row, strip in enumerate(strips)]
    bottom = len(strips) * _STRIP
    for value, words in axis.ticks(low, high, 6):
        half = text_width([words]) / 2
        at = min(max(x(value), _NAMES + half), width - _COUNTS - half)
        body.append(text(words, at, bottom + 18, class_="middle"))
    return "".join(body)


def _strip(strip: KeyStrip, x: Scale, top: float, axis: Axis, tones: Tones, width: float) -> str:
    count = len(strip.matches)
    counted = f"{count:,} {'match' if count == 1 else 'matches'}" if strip.has_all else f"{count:,} drawn"
    middle = top + _STRIP / 2
    body = [
        element("line", x1=_MARGIN, x2=width - _MARGIN, y1=top, y2=top, class_="rule"),
        text(shortened(key_words(strip.key), 18), _MARGIN, middle + 4, class_="title"),
        text(counted, width - _MARGIN, middle + 4, class_="right"),
        *_matches(strip.matches, x, top),
        _line(strip.line, x, top),
    ]
    if not len(strip.line.x):
        body.append(element("line", x1=x.start, x2=x.end, y1=middle, y2=middle, class_="rule"))
        body += _points(strip.matches, x, middle, tones)
    words = [shortened(key_words(strip.key), 100), counted]
    if strip.matches:
        words.append(axis.span_words(strip.matches[0].first, max(match.last for match in strip.matches)))
    return element("g", "".join(body), role="img", aria_label=", ".join(words))


def _matches(matches: Sequence[PlottedMatch], x: Scale, top: float) -> list[str]:
    """A bar at the bottom of the strip for each match. Matches in the same place are one bar."""
    spans = {(round(x(match.first), 1), round(x(match.last), 1)): None for match in matches}
    return [
        element("rect", x=left, y=top + _STRIP - 9, width=max(right - left, 2.0), height=5.0, rx=1, class_="found")
        for left, right in spans
    ]


def _line(line: Line, x: Scale, top: float) -> str:
    known = line.y[~np.isnan(line.y)]
    if not len(known):
        return ""
    y = Scale(float(known.min()), float(known.max()), top + _STRIP - 13, top + 6)
    shown = line.thinned(_COLUMNS)
    pairs = zip(shown.x.tolist(), shown.y.tolist(), strict=True)
    return broken_path([None if value != value else (x(at), y(value)) for at, value in pairs], "line thin")


def _points(matches: Sequence[PlottedMatch], x: Scale, middle: float, tones: Tones) -> list[str]:
    """The labelled rows of the matches, each place and label once."""
    places = dict.fromkeys(
        (round(x(at), 1), label)
        for match in matches
        for at, label in zip(match.x.tolist(), match.labels, strict=False)  # without labels there are no points
    )
    return [tones.mark(label, at, middle, 3.5) for at, label in list(places)[:_MOST_POINTS]]
