"""Events of a summary -> one self-contained SVG: a time line coloured by contribution, and the matches lost.

The picture has its own light background, so it is readable on white and on dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ostinato.pictures.svg import Scale, element, text

_WIDTH, _MARGIN, _LABELS, _HEAD, _LANE, _FOOT, _LOSS = 880.0, 18.0, 92.0, 66.0, 26.0, 58.0, 46.0
_RIGHT = _WIDTH - _MARGIN - 10
"""Right end of the time line."""
_TONES = ((178, 208, 234), (106, 174, 214), (33, 113, 181), (8, 48, 107))
"""From the smallest contribution to the largest."""
_PERCENT_BELOW_ORDERS = 2.0
"""Losses below this number of orders of magnitude are given in per cent."""
_STYLE = """
.ost-summary text{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif;fill:#1d2733;font-size:11.5px}
.ost-summary .title{font-size:15px;font-weight:600;font-family:ui-monospace,Menlo,Consolas,monospace}
.ost-summary .head{font-size:13px}
.ost-summary .quiet{fill:#5b6773}
.ost-summary .sheet{fill:#fff;stroke:#d5dbe2}
.ost-summary .lane{stroke:#e4e9ee}
.ost-summary .window{fill:#f3f0e6}
.ost-summary .edge{stroke:#9a8344;stroke-dasharray:4 3}
.ost-summary .now{stroke:#b4550a;stroke-width:1.6}
.ost-summary .event{stroke:#fff;stroke-width:.8}
.ost-summary .idle{fill:#fff;stroke:#9aa5b1;stroke-width:1.2}
.ost-summary .found{fill:#2171b5}
.ost-summary .lost{fill:#e9c9b1}
"""


@dataclass(frozen=True, slots=True)
class SummaryPicture:
    """The content of a picture. Events are ordered from the oldest; `positions` have the unit of `window`."""

    title: str
    headline: str
    types: Sequence[str]
    positions: Sequence[float]
    labels: Sequence[str]
    contributions: Sequence[int]
    now: float
    now_label: str
    window: float
    window_label: str
    count: int
    exact: int | None = None
    """The number of matches in the whole stream, if known."""


def draw_summary(picture: SummaryPicture) -> str:
    """The SVG text."""
    lanes = list(dict.fromkeys(sorted(picture.types)))
    bottom = _HEAD + _LANE * max(1, len(lanes))
    height = bottom + _FOOT + (_LOSS if picture.exact is not None else 0.0)
    content = [
        element("title", escape(f"{picture.title}: {picture.headline}")),
        element("style", _STYLE),
        element("rect", x=0.5, y=0.5, width=_WIDTH - 1, height=height - 1, rx=9, class_="sheet"),
        _text(picture.title, _MARGIN, 26, "title"),
        _text(picture.headline, _MARGIN, 46, "head"),
    ]
    if picture.types:
        content += [
            *_ground(picture, lanes, bottom),
            *_events(picture, lanes),
            *_legend(_Tones.of(picture.contributions)),
        ]
    if picture.exact is not None:
        content += _loss(picture.count, picture.exact, bottom + _FOOT)
    box = f"0 0 {_WIDTH:g} {height:g}"
    # SVG files need this name. Nothing is loaded from it.
    name = "http://www.w3.org/2000/svg"
    return element(
        "svg", "".join(content), xmlns=name, viewBox=box, width=_WIDTH, height=height, role="img", class_="ost-summary"
    )


# --- time line --------------------------------------------------------------------------------------------------------


def _time_line(picture: SummaryPicture) -> Scale:
    """From the first event, or from the start of the window if that is a little earlier, to the time of the answer."""
    first = picture.positions[0]
    nearly = first - 0.25 * (picture.now - first)
    edge = picture.now - picture.window
    return Scale(edge if nearly <= edge < first else first, picture.now, _MARGIN + _LABELS, _RIGHT)


def _ground(picture: SummaryPicture, lanes: Sequence[str], bottom: float) -> list[str]:
    """The window, the lanes, and the labels at the ends of the time line."""
    edge, x = picture.now - picture.window, _time_line(picture)
    left, right, is_edge_shown = x(max(edge, x.low)), x(picture.now), edge >= x.low
    elements = [element("rect", x=left, y=_HEAD, width=right - left, height=bottom - _HEAD, class_="window")]
    for lane, name in enumerate(lanes):
        y = _HEAD + _LANE * (lane + 0.5)
        elements.append(element("line", x1=_MARGIN + _LABELS, y1=y, x2=_RIGHT, y2=y, class_="lane"))
        elements.append(_text(name if len(name) <= 13 else name[:12] + "…", _MARGIN, y + 4))
    if is_edge_shown:
        elements.append(element("line", x1=left, y1=_HEAD, x2=left, y2=bottom + 4, class_="edge"))
    where = "" if is_edge_shown else ", all of them within it"
    elements.append(_text(f"window {picture.window_label}{where}", left, bottom + 32, "quiet", _anchor(left)))
    elements.append(element("line", x1=right, y1=_HEAD - 4, x2=right, y2=bottom + 4, class_="now"))
    elements.append(_text(f"asked at {picture.now_label}", right, bottom + 17, None, "end"))
    elements.append(_text(picture.labels[0], x(picture.positions[0]), bottom + 17, "quiet"))
    return elements


def _anchor(x: float) -> str | None:
    return "end" if x > _WIDTH / 2 else None


def _events(picture: SummaryPicture, lanes: Sequence[str]) -> list[str]:
    x, tones, elements = _time_line(picture), _Tones.of(picture.contributions), []
    columns = zip(picture.types, picture.positions, picture.labels, picture.contributions, strict=True)
    for type, position, label, contribution in columns:
        words = element("title", escape(f"{type}, {label}: in {count_words(contribution)} matches"))
        y = _HEAD + _LANE * (lanes.index(type) + 0.5)
        at = {"cx": x(position), "cy": y}
        if contribution:
            elements.append(element("circle", words, **at, r=6.0, fill=tones.tone(contribution), class_="event"))
        else:
            elements.append(element("circle", words, **at, r=4.0, class_="idle"))
    return elements


# --- contributions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tones:
    """The colour scale from the smallest contribution above 0 to the largest."""

    least: int
    most: int

    @classmethod
    def of(cls, contributions: Sequence[int]) -> _Tones:
        some = [count for count in contributions if count]
        return cls(min(some, default=0), max(some, default=0))

    def tone(self, contribution: int) -> str:
        """The colour of an event, by the logarithm of its contribution."""
        if self.least == self.most:
            return mixed(1.0)
        low, high = math.log(self.least), math.log(self.most)
        return mixed((math.log(contribution) - low) / (high - low))


def mixed(share: float) -> str:
    """A colour of the scale.

    >>> mixed(0.0), mixed(1.0)
    ('#b2d0ea', '#08306b')
    """
    offset = share * (len(_TONES) - 1)
    below = min(int(offset), len(_TONES) - 2)
    channels = (a + (b - a) * (offset - below) for a, b in zip(_TONES[below], _TONES[below + 1], strict=True))
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


def _legend(scale: _Tones) -> list[str]:
    """The scale, at the top right."""
    width, steps, right = 132.0, 12, _RIGHT
    if not scale.most:
        return [_text("no kept event is in a match", right, 26, "quiet", "end")]
    most, least = count_words(scale.most), count_words(scale.least)
    if scale.least == scale.most:
        return [_text(f"matches with the event: {most} or none", right, 26, "quiet", "end")]
    left = right - 7 * len(most) - 8 - width
    words = f"matches with the event: {least}"
    elements = [_text(words, left - 6, 26, "quiet", "end"), _text(most, right, 26, "quiet", "end")]
    for step in range(steps):
        x, fill = left + step * width / steps, mixed(step / (steps - 1))
        elements.append(element("rect", x=x, y=17, width=width / steps + 0.5, height=11, fill=fill))
    return elements


def count_words(count: int) -> str:
    """A count that may have hundreds of digits.

    >>> count_words(12345), count_words(3 * 10**40)
    ('12,345', '3.0·10^40')
    >>> count_words(10**12 - 1)
    '1.0·10^12'
    """
    if count < 10**9:
        return f"{count:,}"
    power = int(math.log10(count))
    leading = 10 ** (math.log10(count) - power)
    return f"{leading:.1f}·10^{power}" if leading < 9.95 else f"1.0·10^{power + 1}"


# --- loss -------------------------------------------------------------------------------------------------------------


def loss_words(found: int, exact: int) -> str:
    """The loss of a summary in words.

    >>> print(loss_words(75, 100), loss_words(3, 10**9), loss_words(0, 5), loss_words(7, 7), sep="\\n")
    75 of 100 matches found: 25.0 % lost
    3 of 1.0·10^9 matches found: 8.5 orders of magnitude lost (the bar shows logarithms)
    0 of 5 matches found: all lost
    7 of 7 matches found: nothing lost
    """
    words = f"{count_words(found)} of {count_words(exact)} matches found: "
    if found >= exact:
        return words + "nothing lost"
    if not found:
        return words + "all lost"
    orders = math.log10(exact) - math.log10(found)
    if orders < _PERCENT_BELOW_ORDERS:
        return words + f"{100 - 100 * 10**-orders:.1f} % lost"
    return words + f"{orders:.1f} orders of magnitude lost (the bar shows logarithms)"


def _share(found: int, exact: int) -> float:
    """The filled fraction of the bar."""
    if found >= exact or not found:
        return float(found >= exact)
    orders = math.log10(exact) - math.log10(found)
    return 10**-orders if orders < _PERCENT_BELOW_ORDERS else math.log10(found) / math.log10(exact)


def _loss(found: int, exact: int, top: float) -> list[str]:
    width = _WIDTH - 2 * _MARGIN - 10
    return [
        _text(loss_words(found, exact), _MARGIN, top + 4, "head"),
        _bar(top + 13, width, "lost"),
        _bar(top + 13, _share(found, exact) * width, "found"),
    ]


def _bar(y: float, width: float, class_: str) -> str:
    return element("rect", x=_MARGIN, y=y, width=width, height=10, rx=3, class_=class_)


def _text(content: str, x: float, y: float, class_: str | None = None, anchor: str | None = None) -> str:
    return text(content, x, y, class_=class_, style=None if anchor is None else f"text-anchor:{anchor}")


__all__ = ["SummaryPicture", "count_words", "draw_summary", "loss_words"]
