"""Reads a drawing back: its texts, its labels, and whether every element lies inside of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def read_svg(svg: str) -> Element:
    """The root of a well-formed drawing with coordinates inside its box. Raises AssertionError for others."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for tag, x, y in places(root, 0.0, 0.0):
        assert -1 <= x <= width + 1, (tag, x, y)
        assert -1 <= y <= height + 1, (tag, x, y)
    return root


def places(node: Element, dx: float, dy: float) -> Iterator[tuple[str, float, float]]:
    """The points of all elements, moved by the groups around them."""
    if "transform" in node.attrib:
        moved = [float(one) for one in NUMBER.findall(node.attrib["transform"])]
        dx, dy = dx + moved[0], dy + moved[1]
    names = node.attrib
    for x, y in (("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")):
        if x in names:
            yield node.tag, float(names[x]) + dx, float(names[y]) + dy
    for pairs in (names.get("d", ""), names.get("points", "")):
        numbers = [float(one) for one in NUMBER.findall(pairs.replace("h0", ""))]
        yield from ((node.tag, x + dx, y + dy) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
    for child in node:
        yield from places(child, dx, dy)


def texts(root: Element, css: str = "") -> list[str]:
    """The texts of all text elements, or of those with a class."""
    nodes = [node for node in root.iter() if node.tag.endswith("}text")]
    return [node.text or "" for node in nodes if not css or css in node.get("class", "").split()]


def marks(root: Element) -> list[str]:
    """The tooltips of all marks."""
    return [node.text or "" for node in root.iter() if node.tag.endswith("}title")]


def aria_labels(root: Element) -> list[str]:
    return [node.attrib["aria-label"] for node in root.iter() if "aria-label" in node.attrib]
