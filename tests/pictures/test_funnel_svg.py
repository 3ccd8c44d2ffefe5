"""The picture of a funnel: bars as long as their shares, texts that can be read and can't be markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from ostinato.pictures.funnel_svg import FunnelBar, draw_funnel

SVG = "{http://www.w3.org/2000/svg}"
BARS = [
    FunnelBar("view", 200, 1.0, ""),
    FunnelBar("<b>&'\"", 50, 0.25, "25.0 % of previous"),
    FunnelBar("n" * 99, 0, 0.0, ""),
]


def widths(class_: str) -> list[float]:
    drawn = ET.fromstring(draw_funnel(BARS)).iter(SVG + "rect")
    return [float(rect.get("width", "")) for rect in drawn if rect.get("class") == class_]


def test_bars_are_as_long_as_their_shares() -> None:
    full = widths("track")[0]
    assert widths("bar") == [full, full / 4, 0]


def test_the_title_tells_what_is_seen_and_names_are_text() -> None:
    picture = ET.fromstring(draw_funnel(BARS))
    title = picture.find(SVG + "title")
    assert title is not None
    assert (title.text or "").startswith(
        "Funnel of 3 steps, keys that reached each: view 200 (100.0 %), <b>&'\" 50 (25.0 %)"
    )
    words = [text.text for text in picture.iter(SVG + "text")]
    assert "<b>&'\"" in words and "n" * 19 + "…" in words


def luminance(color: str) -> float:
    """WCAG 2: relative luminance."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_texts_and_bars_stand_out(mode: int) -> None:
    palette = dict(re.findall(r"--(\w+):(#\w{6})", re.findall(r"\.ost-funnel\{(--[^}]*)\}", draw_funnel(BARS))[mode]))
    sheet = luminance(palette["sheet"])
    for name, least in (("ink", 4.5), ("quiet", 4.5), ("bar", 3.0)):
        light, dark = sorted((luminance(palette[name]), sheet), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least
