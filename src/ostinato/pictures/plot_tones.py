"""Pattern variables -> a colour and a shape for each, and the legend. Colour alone doesn't tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.svg import element, text

TONES, SHAPES = 5, 4
_LETTER = 6.6
"""Width of a letter of 12 px, about."""


@dataclass(frozen=True, slots=True)
class Tones:
    """The variables in their order. 20 of them differ; further ones repeat, and have their names in the chart."""

    labels: tuple[str, ...]

    def number(self, label: str) -> int:
        return self.labels.index(label)

    def css(self, label: str) -> str:
        return f"tone-{self.number(label) % TONES + 1}"

    def mark(self, label: str, x: float, y: float, size: float = 4.0) -> str:
        """The shape of a variable, with its middle at (x, y)."""
        css = f"mark {self.css(label)}"
        shape = self.number(label) % SHAPES
        if shape == 0:
            return element("circle", cx=x, cy=y, r=size, class_=css)
        if shape == 1:
            return element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, class_=css)
        low = y + size * (1.3 if shape == 2 else 0.9)
        corners = [(x, y - size * 1.3), (x + size * 1.3, y if shape == 2 else low), (x, low)]
        corners.append((x - size * 1.3, y if shape == 2 else low))
        return element("polygon", points=" ".join(f"{cx:.2f},{cy:.2f}" for cx, cy in corners), class_=css)


def tones_of(labels: Iterable[str]) -> Tones:
    """Colours in the order in which the labels first occur."""
    return Tones(tuple(dict.fromkeys(labels)))


def legend(tones: Tones, left: float, top: float, width: float) -> tuple[list[str], float]:
    """The elements of the legend in as many lines as it needs, and its height."""
    elements: list[str] = []
    x, y = left, top + 14.0
    for label in tones.labels:
        words = shortened(label, 32)
        wide = 18 + _LETTER * len(words) + 16
        if x > left and x + wide > left + width:
            x, y = left, y + 20
        elements += [tones.mark(label, x + 5, y - 4), text(words, x + 16, y, class_="legend")]
        x += wide
    return elements, y - top + 8 if tones.labels else 0.0


def text_width(words: Sequence[str]) -> float:
    """The width of the longest of these texts, about."""
    return max((_LETTER * len(one) for one in words), default=0.0)
