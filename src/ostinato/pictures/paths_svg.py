"""Paths -> one self-contained SVG: their nodes in columns by distance from the start, and their edges.

The picture has its own background, light or dark by the colour scheme of the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.pictures.svg import element, escape, text

_COLUMN, _ROW, _MARGIN, _HEAD, _BOX, _HALF = 290.0, 42.0, 24.0, 64.0, 150.0, 12.0
_APART = 2.5
"""Distance between the lines of two queries."""
_LETTERS = 22
_COLOURS = 8
"""Colours of queries. Further queries begin again with the first."""
MOST_NODES = 150
STYLE = """
.ost-paths{--ink:#1d2733;--quiet:#5b6773;--paper:#ffffff;--rule:#d5dbe2;--node:#f6f8fa;--node-edge:#7d8894;
--start:#fdf3e3;--start-edge:#b4550a;--end:#e8f1fa;--end-edge:#2171b5;--query-0:#2171b5;--query-1:#b4550a;
--query-2:#2e7d32;--query-3:#7b3fa0;--query-4:#a1273b;--query-5:#00797a;--query-6:#7a6a00;--query-7:#5b6773}
@media (prefers-color-scheme: dark){.ost-paths{--ink:#e8eaef;--quiet:#98a0b0;--paper:#171a21;--rule:#3a4150;
--node:#20252e;--node-edge:#7f8897;--start:#33271a;--start-edge:#f2a65a;--end:#1a2838;--end-edge:#74a7ff;
--query-0:#74a7ff;--query-1:#ff9e57;--query-2:#5fc26a;--query-3:#c792ea;--query-4:#ff7d97;--query-5:#4fd0d0;
--query-6:#d6c04a;--query-7:#98a0b0}}
.ost-paths text{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif;fill:var(--ink);font-size:11.5px}
.ost-paths .title{font-size:15px;font-weight:600}
.ost-paths .quiet{fill:var(--quiet)}
.ost-paths .sheet{fill:var(--paper);stroke:var(--rule)}
.ost-paths .node{fill:var(--node);stroke:var(--node-edge)}
.ost-paths .start{fill:var(--start);stroke:var(--start-edge)}
.ost-paths .end{fill:var(--end);stroke:var(--end-edge)}
.ost-paths .edge{fill:none;stroke-width:1.4}
.ost-paths .relation{font-size:10px;fill:var(--quiet)}
"""


@dataclass(frozen=True, slots=True)
class ShownPath:
    """One path; the best come first."""

    query: str
    nodes: Sequence[str]
    relations: Sequence[str]


def draw_paths(paths: Sequence[ShownPath]) -> str:
    """Draws as many paths as fit, and states the number of the others."""
    drawn, left_out = _fitting(paths)
    columns = _columns(drawn)
    positions = {
        (hop, node): (_MARGIN + hop * _COLUMN, _HEAD + row * _ROW + _HALF)
        for hop, nodes in enumerate(columns)
        for row, node in enumerate(nodes)
    }
    queries = list(dict.fromkeys(path.query for path in paths))
    width = 2 * _MARGIN + max(0, len(columns) - 1) * _COLUMN + _BOX
    height = _HEAD + max((len(nodes) for nodes in columns), default=1) * _ROW + _MARGIN + 16.0 * len(queries)
    words = f"{len(paths):,} paths" + (f", {left_out:,} not drawn" if left_out else "")
    elements = [
        element("title", escape(f"Paths found: {words}")),
        element("desc", escape(_description(drawn, columns))) if drawn else "",
        element("style", STYLE),
        element("rect", class_="sheet", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=8),
        text("Paths found", _MARGIN, 26.0, class_="title"),
        text(words, _MARGIN, 44.0, class_="quiet"),
        *_edges(drawn, positions, queries),
        *_nodes(drawn, positions),
        *_legend(queries, height),
    ]
    return element(
        "svg",
        "".join(elements),
        xmlns="http://www.w3.org/2000/svg",
        class_="ost-paths",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        role="img",
    )


def _description(drawn: Sequence[ShownPath], columns: Sequence[Sequence[str]]) -> str:
    """The alt text: the size of the picture, and the best path."""
    best = drawn[0]
    steps = "".join(f", {relation}, {node}" for relation, node in zip(best.relations, best.nodes[1:], strict=True))
    nodes = ", ".join(f"{len(column):,}" for column in columns)
    layout = f"Boxes in {len(columns)} columns from left to right ({nodes}), joined by relations."
    return f"{layout} Best: {best.nodes[0]}{steps}."


Positions = dict[tuple[int, str], tuple[float, float]]
"""Left end and middle height of each node, by hop and name."""


def _fitting(paths: Sequence[ShownPath]) -> tuple[list[ShownPath], int]:
    """The first paths with at most MOST_NODES nodes together, and the number of the others."""
    nodes: set[tuple[int, str]] = set()
    drawn = []
    for path in paths:
        more = nodes | set(enumerate(path.nodes))
        if len(more) > MOST_NODES:
            break
        nodes = more
        drawn.append(path)
    return drawn, len(paths) - len(drawn)


def _columns(paths: Sequence[ShownPath]) -> list[list[str]]:
    """The nodes at each distance, in the order of the paths."""
    columns: list[dict[str, None]] = []
    for path in paths:
        for hop, node in enumerate(path.nodes):
            if hop == len(columns):
                columns.append({})
            columns[hop][node] = None
    return [list(nodes) for nodes in columns]


def _edges(paths: Sequence[ShownPath], positions: Positions, queries: Sequence[str]) -> list[str]:
    lines: dict[tuple[str, str], str] = {}
    arrows: dict[tuple[float, float], dict[str, None]] = {}
    for path in paths:
        number = queries.index(path.query)
        colour = _colour(number)
        apart = _APART * (number % 5 - min(4, len(queries) - 1) / 2)
        for hop, relation in enumerate(path.relations):
            (x1, y1), (x2, y2) = positions[hop, path.nodes[hop]], positions[hop + 1, path.nodes[hop + 1]]
            arrow = f"← {relation[1:]}" if relation.startswith("^") else f"{relation} →"
            arrows.setdefault((x2, y2), {})[arrow] = None
            x1, y1, y2 = x1 + _BOX, y1 + apart, y2 + apart
            middle = (x1 + x2) / 2
            line = f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
            title = element("title", escape(f"{path.nodes[hop]} {relation} {path.nodes[hop + 1]}"))
            lines[line, colour] = element("path", title, class_="edge", d=line, stroke=colour)
    words = [
        text(_short(", ".join(relations), 24), x - 6, y - _HALF - 2, class_="relation", style="text-anchor:end")
        for (x, y), relations in arrows.items()
    ]
    return [*lines.values(), *words]


def _nodes(paths: Sequence[ShownPath], positions: Positions) -> list[str]:
    ends = {(len(path.nodes) - 1, path.nodes[-1]) for path in paths}
    elements = []
    for (hop, node), (x, y) in positions.items():
        kind = "start" if hop == 0 else "end" if (hop, node) in ends else "node"
        box = element("rect", class_=kind, x=x, y=y - _HALF, width=_BOX, height=2 * _HALF, rx=6)
        elements.append(element("g", element("title", escape(node)) + box + text(_short(node), x + 8, y + 4)))
    return elements


def _legend(queries: Sequence[str], height: float) -> list[str]:
    elements = []
    for number, query in enumerate(queries):
        y = height - 10 - 16.0 * (len(queries) - 1 - number)
        elements.append(element("rect", x=_MARGIN, y=y - 9, width=10, height=10, rx=2, fill=_colour(number)))
        elements.append(text(_short(query, 60), _MARGIN + 16, y, class_="quiet"))
    return elements


def _colour(number: int) -> str:
    return f"var(--query-{number % _COLOURS})"


def _short(words: str, letters: int = _LETTERS) -> str:
    return words if len(words) <= letters else words[: letters - 1] + "…"
