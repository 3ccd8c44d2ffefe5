"""The pictures of the README and of the page on summaries."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from benchmarks.pictures.readme_picture import FALL_AND_RISE, readme_picture
from benchmarks.pictures.summary_picture import summary_picture


def test_the_picture_of_the_readme_is_svg_and_the_same_each_time() -> None:
    picture = readme_picture()
    assert picture == readme_picture()
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    labels = {node.text for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert labels >= set(FALL_AND_RISE.marked)
    assert picture.replace("http://www.w3.org/2000/svg", "").count("http") == 0


def test_the_picture_of_a_summary_needs_nothing_from_elsewhere() -> None:
    svg = summary_picture()
    assert svg == summary_picture()
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in svg
    assert svg.count('class="event"') + svg.count('class="idle"') == 60
