"""Style sheets -> their colours in both schemes, and the contrast of two colours (WCAG 2.2)."""

from __future__ import annotations

import re

TEXT = 4.5
"""Least contrast of text."""
GRAPHIC = 3.0
"""Least contrast of lines and dots that carry meaning."""
_VARIABLE = re.compile(r"--([\w-]+):\s*(#[0-9a-f]{6})\b")


def schemes(css: str) -> dict[str, dict[str, str]]:
    """The variables of the light and of the dark scheme. The dark scheme is one block that overrides the light one."""
    light, _, rest = re.sub(r"\s+", " ", css).partition("(prefers-color-scheme: dark)")
    dark = rest[: rest.index("}")]
    colours = dict(_VARIABLE.findall(light))
    return {"light": colours, "dark": {**colours, **dict(_VARIABLE.findall(dark))}}


def contrast(one: str, other: str) -> float:
    """From 1 for equal colours to 21 for black on white."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def blended(over: str, under: str, opacity: float) -> str:
    """The colour that is seen where one lies over another."""
    pairs = zip(_channels(over), _channels(under), strict=True)
    return "#" + "".join(f"{round(opacity * a + (1 - opacity) * b):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    parts = [channel / 255 for channel in _channels(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
