"""Numbers -> SVG text: elements, scales and paths, for any drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.calls.shown_objects import escape


def element(tag: str, content: str = "", /, **attributes: object) -> str:
    """One element. `class_` becomes `class`, other underscores become hyphens, and None is left out.

    >>> element("circle", cx=1, cy=2.50, class_="dot", stroke_width=None)
    '<circle cx="1" cy="2.5" class="dot"/>'
    """
    attribute_text = "".join(
        f' {_attribute_name(name)}="{escape(_number(value) if isinstance(value, float) else str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{attribute_text}>{content}</{tag}>" if content else f"<{tag}{attribute_text}/>"


def _attribute_name(name: str) -> str:
    if name in ("viewBox", "preserveAspectRatio"):
        return name
    return name.rstrip("_").replace("_", "-")


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(content: str, x: float, y: float, **attributes: object) -> str:
    """A text element with its content escaped."""
    return element("text", escape(content), x=x, y=y, **attributes)


def line_path(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line through the points.

    >>> line_path([(0.0, 1.0), (2.0, 3.456)])
    'M0 1L2 3.46'
    """
    return "".join(f"{'L' if i else 'M'}{_number(x)} {_number(y)}" for i, (x, y) in enumerate(points))


def area_path(points: Sequence[tuple[float, float]], floor: float) -> str:
    """The `d` of the area between a line and a floor."""
    return f"{line_path(points)}L{_number(points[-1][0])} {_number(floor)}L{_number(points[0][0])} {_number(floor)}Z"


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from `low..high` to `start..end`; an empty domain maps to the middle."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def round_ticks(low: float, high: float, about: int) -> list[float]:
    """About `about` round values within low..high.

    >>> round_ticks(134.2, 135.8, 4)
    [134.5, 135.0, 135.5]
    """
    raw = (high - low) / about
    if raw <= 1e-12 * max(abs(low), abs(high), 1e-290):  # no room for round values
        return [low]
    digits = math.floor(math.log10(raw))
    power = 10.0**digits
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, max(0, 2 - digits)) for i in range(first, last + 1)]


__all__ = ["Scale", "area_path", "element", "escape", "line_path", "round_ticks", "text"]
