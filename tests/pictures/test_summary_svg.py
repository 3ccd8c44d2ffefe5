"""The picture of an answer: every kept event, the window, the scale, the loss."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.pictures.summary_svg import draw_summary

SVG = "{http://www.w3.org/2000/svg}"


def answer(letters: str, **options: Any) -> ost.SummaryAnswer:
    times = [datetime(2024, 1, 1) + timedelta(minutes=at) for at in range(len(letters))]
    table = pa.table({"ts": times, "kind": pa.array(list(letters), pa.string()), "x": [1.5] * len(letters)})
    given = {"type": "kind", "time": "ts", "within": "5 minutes", "size": 20}
    return ost.summary("A B* C", **{**given, **options}).feed(table).ask()


def drawn(svg: str, tag: str, class_: str) -> list[ET.Element]:
    return [part for part in ET.fromstring(svg).iter(SVG + tag) if part.get("class") == class_]


def words(svg: str) -> str:
    return " ".join(part.text or "" for part in ET.fromstring(svg).iter(SVG + "text"))


def test_every_kept_event_is_a_dot() -> None:
    """A B B C A: the last A is in no match yet."""
    svg = answer("ABBCA").svg()
    dots = drawn(svg, "circle", "event")
    assert len(dots) == 4
    assert len(drawn(svg, "circle", "idle")) == 1
    places = [float(dot.get("cx", "")) for dot in dots]
    assert places == sorted(places)
    by_color = [dot.get("fill") for dot in dots]
    assert by_color[0] == by_color[3] != by_color[1] == by_color[2]
    assert [title.text for title in dots[0].iter(SVG + "title")] == ["A, 2024-01-01 00:00:00: in 4 matches"]


def test_the_window_and_the_moment() -> None:
    svg = answer("ABCXXXXXA").svg()  # a window of 5 minutes at 00:08 begins at 00:03
    edge, now = drawn(svg, "line", "edge")[0], drawn(svg, "line", "now")[0]
    first, last = (
        float(dot.get("cx", "")) for dot in (drawn(svg, "circle", "event")[0], drawn(svg, "circle", "idle")[0])
    )
    assert float(now.get("x1", "")) == last
    assert float(edge.get("x1", "")) == pytest.approx(first + (last - first) * 3 / 8, abs=0.02)
    assert "asked at 2024-01-01 00:08:00" in words(svg)
    assert "window 0:05:00" in words(svg)


def test_all_within_the_window() -> None:
    svg = answer("ABC").svg()
    assert not drawn(svg, "line", "edge")
    assert "all of them within it" in words(svg)


def test_the_headline() -> None:
    assert "4 matches among 4 of 5 events" in words(answer("ABXBC").svg())
    assert "SUM(x) = 18, 4 matches" in words(answer("ABXBC", aggregate="SUM(x)").svg())
    assert "SUM(x) = NULL, 0 matches" in words(answer("AB", aggregate="SUM(x)").svg())


@pytest.mark.parametrize(
    ("exact", "said", "filled"),
    [
        (8, "4 of 8 matches found: 50.0 % lost", 0.5),
        (4, "4 of 4 matches found: nothing lost", 1.0),
        (4 * 10**6, "6.0 orders of magnitude lost", 0.0912),
        (10**400, "399.4 orders of magnitude lost", 0.0015),
    ],
)
def test_the_loss(exact: int, said: str, filled: float) -> None:
    svg = answer("ABXBC").svg(exact=exact)
    assert said in words(svg)
    found, whole = (drawn(svg, "rect", name)[0] for name in ("found", "lost"))
    assert float(found.get("width", "")) / float(whole.get("width", "")) == pytest.approx(filled, abs=1e-3)


def test_no_loss_without_an_exact_count() -> None:
    assert not drawn(answer("ABC").svg(), "rect", "lost")
    assert "all lost" in words(answer("AB").svg(exact=7))


def test_numbers_that_no_double_holds() -> None:
    big = answer("A" + "B" * 1200 + "C", size=1300, within="2 days")
    assert big.count == 2**1200
    assert "1.7·10^361 matches among 1,202 of 1,202 events" in words(big.svg())


def test_texts_are_escaped() -> None:
    table = pa.table({"ts": [1], "kind": ["<b>"], "k": ['"&']})
    summary = ost.summary("`<b>`", type="kind", time="ts", within=1, size=2, keys="k")
    svg = summary.feed(table).ask('"&').svg()
    assert '`<b>`   (k = "&)' in words(svg)


def test_notebooks_show_it() -> None:
    shown = answer("ABC")
    assert shown.svg() == draw_summary(shown._picture(None))
    assert shown.svg() in shown._repr_html_()
    assert repr(shown).startswith("SummaryAnswer(")
