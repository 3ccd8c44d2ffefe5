"""The picture of paths: well-formed, complete up to its room, with nothing of the data taken for markup."""

from __future__ import annotations

from xml.etree import ElementTree

from ostinato.pictures.paths_svg import MOST_NODES, ShownPath, draw_paths

PATHS = [
    ShownPath("a / ^a", ["s", "m <1>", "e1"], ["a", "^a"]),
    ShownPath("a / ^a", ["s", "m <1>", "e2"], ["a", "^a"]),
    ShownPath("b", ["s", "e1"], ["b"]),
]


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_nodes_edges_and_queries_are_there() -> None:
    svg = draw_paths(PATHS)
    words = texts(svg)
    assert words.count("s") == 1
    assert {"m <1>", "e1", "e2", "a →", "← a", "b →", "a / ^a", "b", "3 paths"} <= set(words)
    assert svg.count('class="edge"') == 4
    assert svg.count('class="start"') == 1


def test_what_does_not_fit_is_said() -> None:
    many = [ShownPath("q", ["s", f"n{i}"], ["r"]) for i in range(1_000)]
    words = texts(draw_paths(many))
    assert f"1,000 paths, {1_000 - (MOST_NODES - 1)} not drawn" in words


def test_nothing_found() -> None:
    assert "0 paths" in texts(draw_paths([]))
