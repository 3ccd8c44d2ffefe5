"""The colours of a plot can be read and told apart, on light and dark pages, also by people who see fewer colours."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import pytest

from ostinato.pictures.plot_tones import TONES, legend, tones_of

CSS = files("ostinato.pictures").joinpath("plot.css").read_text(encoding="utf-8")
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in CSS.split("@media"))
VISION = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
"""Matrices of Machado, Oliveira and Fernandes (2009)."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(rgb: list[float]) -> float:
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(linear(one)), luminance(linear(other))))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: list[float]) -> tuple[float, float, float]:
    x = (0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047
    z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883
    fx, fy, fz = (max(part, 0) ** (1 / 3) for part in (x, luminance(rgb), z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen(colour: str, vision: str) -> list[float]:
    rgb = linear(colour)
    return [sum(weight * part for weight, part in zip(row, rgb, strict=True)) for row in VISION[vision]]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_has_enough_contrast(theme) -> None:
    for name in ("ink", "quiet", *(f"tone-{tone}" for tone in range(1, TONES + 1))):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_tones_differ(theme, vision) -> None:
    tones = [theme[f"tone-{tone}"] for tone in range(1, TONES + 1)]
    for one, other in itertools.combinations(tones, 2):
        difference = sum((a - b) ** 2 for a, b in zip(lab(seen(one, vision)), lab(seen(other, vision)), strict=True))
        assert difference**0.5 > 20, (one, other)


def test_twenty_variables_differ_in_colour_or_shape() -> None:
    tones = tones_of(f"V{number}" for number in range(20))
    assert len({tones.mark(label, 0.0, 0.0) for label in tones.labels}) == 20


def test_a_long_legend_has_several_lines() -> None:
    elements, height = legend(tones_of(f"variable {number}" for number in range(40)), 0.0, 0.0, 400.0)
    assert len(elements) == 80
    assert height > 200
    assert legend(tones_of([]), 0.0, 0.0, 400.0) == ([], 0.0)
