"""Events of a summary -> one self-contained SVG: a time line coloured by contribution, and the matches lost.

The picture has its own background, light or dark by the colour scheme of the reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.pictures.svg import Scale, element, escape, text

_WIDTH, _MARGIN, _LABELS, _HEAD, _LANE, _FOOT, _LOSS = 880.0, 18.0, 92.0, 66.0, 26.0, 58.0, 46.0
_RIGHT = _WIDTH - _MARGIN - 10
"""Right end of the time line."""
_TONES = {
    "light": ((84, 141, 192), (55, 122, 184), (24, 88, 150), (8, 48, 107)),
    "dark": ((70, 118, 176), (104, 158, 214), (158, 200, 240), (222, 240, 255)),
}
"""From the smallest contribution to the largest, for each colour scheme."""
_STEPS = 12
_PERCENT_BELOW_ORDERS = 2.0
"""Losses below this number of orders of magnitude are given in per cent."""
_STYLE = """
.ost-summary{--ink:#1d2733;--quiet:#5b6773;--paper:#ffffff;--rule:#d5dbe2;--lane:#e4e9ee;--window:#f3f0e6;--edge:#8a7235;
--now:#b4550a;--idle:#7d8894;--found:#2171b5;--lost:#c27a45;LIGHT}
@media (prefers-color-scheme: dark){.ost-summary{--ink:#e8eaef;--quiet:#98a0b0;--paper:#171a21;--rule:#3a4150;
--lane:#2b303b;--window:#26241c;--edge:#b59b55;--now:#f2a65a;--idle:#8a93a3;--found:#74a7ff;--lost:#a8703f;DARK}}
.ost-summary text{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif;fill:var(--ink);font-size:11.5px}
.ost-summary .title{font-size:15px;font-weight:600;font-family:ui-monospace,Menlo,Consolas,monospace}
.ost-summary .head{font-size:13px}
.ost-summary .quiet{fill:var(--quiet)}
.ost-summary .sheet{fill:var(--paper);stroke:var(--rule)}
.ost-summary .lane{stroke:var(--lane)}
.ost-summary .window{fill:var(--window)}
.ost-summary .edge{stroke:var(--edge);stroke-dasharray:4 3}
.ost-summary .now{stroke:var(--now);stroke-width:1.6}
.ost-summary .event{stroke:var(--paper);stroke-width:.8}
.ost-summary .idle{fill:var(--paper);stroke:var(--idle);stroke-width:1.2}
.ost-summary .found{fill:var(--found)}
.ost-summary .lost{fill:var(--lost)}
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
        element("desc", escape(_description(picture, lanes))),
        element("style", style()),
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


def style() -> str:
    """The style sheet, with the colours of both schemes."""
    return _STYLE.replace("LIGHT", _tone_variables("light")).replace("DARK", _tone_variables("dark"))


def _description(picture: SummaryPicture, lanes: Sequence[str]) -> str:
    """The alt text, in sentences."""
    loss = "" if picture.exact is None else f" {loss_words(picture.count, picture.exact)}."
    if not picture.types:
        return "No event is kept." + loss
    tones = _Tones.of(picture.contributions)
    involved = sum(contribution > 0 for contribution in picture.contributions)
    counts = f": the stronger the tone, the more, from {count_words(tones.least)} to {count_words(tones.most)}"
    return (
        f"A time line of {len(picture.types):,} events of the types {', '.join(lanes)}, from {picture.labels[0]} to "
        f"{picture.now_label}. {involved:,} of them are in matches{counts if involved else ''}.{loss}"
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
            return _tone(_STEPS - 1)
        low, high = math.log(self.least), math.log(self.most)
        return _tone(round((math.log(contribution) - low) / (high - low) * (_STEPS - 1)))


def _tone(step: int) -> str:
    return f"var(--tone-{step})"


def _tone_variables(scheme: str) -> str:
    return "".join(f"--tone-{step}:{mixed(step / (_STEPS - 1), scheme)};" for step in range(_STEPS))


def mixed(share: float, scheme: str) -> str:
    """A colour of the scale.

    >>> mixed(0.0, "light"), mixed(1.0, "light")
    ('#548dc0', '#08306b')
    """
    tones = _TONES[scheme]
    offset = share * (len(tones) - 1)
    below = min(int(offset), len(tones) - 2)
    channels = (a + (b - a) * (offset - below) for a, b in zip(tones[below], tones[below + 1], strict=True))
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


def _legend(scale: _Tones) -> list[str]:
    """The scale, at the top right."""
    width, right = 132.0, _RIGHT
    if not scale.most:
        return [_text("no kept event is in a match", right, 26, "quiet", "end")]
    most, least = count_words(scale.most), count_words(scale.least)
    if scale.least == scale.most:
        return [_text(f"matches with the event: {most} or none", right, 26, "quiet", "end")]
    left = right - 7 * len(most) - 8 - width
    words = f"matches with the event: {least}"
    elements = [_text(words, left - 6, 26, "quiet", "end"), _text(most, right, 26, "quiet", "end")]
    for step in range(_STEPS):
        x = left + step * width / _STEPS
        elements.append(element("rect", x=x, y=17, width=width / _STEPS + 0.5, height=11, fill=_tone(step)))
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
