"""Automata -> one self-contained SVG, in light and in dark colours."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa
from ostinato.clause.query.window_pattern import shown_variable
from ostinato.pictures.automaton_layout import (
    START_AT_FIRST_ROW,
    AutomatonEdge,
    AutomatonLayout,
    Route,
    lay_out,
    state_names,
)
from ostinato.pictures.svg import escape

_HEIGHT = 38.0
_GAP = 68.0
_ROW = 108.0
_LANE = 15.0
_MAX_LANES = 24
_LOOP = 30.0
_MARGIN = 22.0
_CONDITION = 30.0
_LETTER = 8.4
_DOT = 8.0
_PORT = 11.0
_LEAVING = {Route.AHEAD: 0, Route.UP: 1, Route.NEXT: 2, Route.DOWN: 3, Route.BACK: 4}
_ARRIVING = {Route.AHEAD: 0, Route.DOWN: 1, Route.NEXT: 2, Route.UP: 3, Route.BACK: 4}

STYLE = """
.ost-automaton{--ink:#1d2733;--quiet:#5b6773;--paper:#ffffff;--line:#7d8894;--state:#eaf0fc;--state-edge:#2f6fde;
--rank:#a84e08;background:var(--paper);font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif}
@media (prefers-color-scheme: dark){.ost-automaton{--ink:#e4e9f0;--quiet:#a3adba;--paper:#12171e;--line:#7f8997;
--state:#1e2836;--state-edge:#79a8ff;--rank:#f2a65a}}
.ost-automaton .state{fill:var(--state);stroke:var(--state-edge);stroke-width:1.4}
.ost-automaton .excluded{stroke-dasharray:5 3.5;fill:none}
.ost-automaton .edge{fill:none;stroke:var(--line);stroke-width:1.2}
.ost-automaton .tip{fill:var(--line)}
.ost-automaton .end{fill:none;stroke:var(--ink);stroke-width:1.4}
.ost-automaton .dot{fill:var(--ink)}
.ost-automaton text{fill:var(--ink);text-anchor:middle}
.ost-automaton .name{font-size:14px;font-weight:600}
.ost-automaton .condition{font-size:10px;fill:var(--quiet);font-family:ui-monospace,Menlo,Consolas,monospace}
.ost-automaton .word{font-size:10.5px;fill:var(--quiet)}
.ost-automaton .rank{font-size:9.5px;font-weight:700;fill:var(--rank);paint-order:stroke;stroke:var(--paper);
stroke-width:3px}
.ost-automaton .caption{font-size:12.5px;font-weight:600;text-anchor:start}
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One automaton to draw, with the text of its variables' conditions."""

    nfa: Nfa
    conditions: Mapping[str, str]
    caption: str = ""
    ranked: bool = True
    """Whether the order of a state's choices has a meaning."""


def draw_automata(pictures: Sequence[Picture]) -> str:
    """All automata, one below the other.

    >>> from ostinato.clause.automaton.nfa import build_nfa
    >>> from ostinato.clause.language.pattern_parser import parse_row_pattern
    >>> draw_automata([Picture(build_nfa(parse_row_pattern("A B* C")), {"B": "price < 3"})])[:44]
    '<svg xmlns="http://www.w3.org/2000/svg" clas'
    """
    elements, words, width, height = [], [], 0.0, 0.0
    for picture in pictures:
        drawing = _Drawing(picture)
        words.append(drawing.description())
        elements.append(f'<g transform="translate(0 {_number(height)})">{drawing.body()}</g>')
        width, height = max(width, drawing.width), height + drawing.height
    arrow = (
        '<marker id="ost-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 .8 7.4 4 0 7.2Z"/></marker>'
    )
    size = f'width="{_number(width)}" height="{_number(height)}" viewBox="0 0 {_number(width)} {_number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ost-automaton" role="img" {size}>'
        f"<title>The automaton of the pattern</title><desc>{escape(' '.join(words))}</desc>"
        f"<style>{STYLE}</style><defs>{arrow}</defs>"
        f"{''.join(elements)}</svg>"
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """The centre of a node, and half its size."""

    x: float
    y: float
    half_width: float
    half_height: float


class _Drawing:
    """One automaton; coordinates start at its own top left corner."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.layout: AutomatonLayout = lay_out(picture.nfa)
        self.names = state_names(picture.nfa)
        edges = self.layout.edges
        self.loops = {edge.source for edge in edges if edge.route is Route.SELF}
        boxes = self._boxes()
        lanes = {**self._lanes(Route.AHEAD, boxes), **self._lanes(Route.BACK, boxes)}
        top = min([self._top(node, box) for node, box in boxes.items()] + list(lanes.values()))
        down = _MARGIN + (20.0 if picture.caption else 0.0) - top
        self.boxes = {node: replace(box, y=box.y + down) for node, box in boxes.items()}
        self.lanes = {edge: y + down for edge, y in lanes.items()}
        bottom = max([self._bottom(box) for box in self.boxes.values()] + list(self.lanes.values()))
        self.height = bottom + (26.0 if self.layout.omitted else 0.0) + _MARGIN / 2
        self.width = max(box.x + max(box.half_width, 42.0) for box in self.boxes.values()) + _MARGIN / 2
        self.leaving, self.arriving = self._ports()

    # --- boxes and lanes ---

    def _name(self, node: int) -> str:
        name = shown_variable(self.picture.nfa.states[node].variable)
        return name if len(name) <= 16 else name[:15] + "…"

    def _number_of(self, node: int) -> str:
        """`#2` for the second of several states of a variable, as in the text of the explanation."""
        _, mark, number = self.names[node].rpartition("#")
        return mark + number.removesuffix(" -}") if mark and number.removesuffix(" -}").isdigit() else ""

    def _half_width(self, node: int) -> float:
        return (
            _DOT
            if node < 0
            else max(46.0, (len(self._name(node)) + 0.8 * len(self._number_of(node))) * _LETTER + 24) / 2
        )

    def _half_height(self, node: int) -> float:
        """Start and end nodes grow with the number of their edges."""
        edges = sum(1 for edge in self.layout.edges if node in (edge.source, edge.target))
        if node < 0:
            return max(_DOT, min(edges, 9) * _PORT / 2)
        return _HEIGHT / 2

    def _top(self, node: int, box: _Box) -> float:
        return box.y - box.half_height - (_LOOP if node in self.loops else 0.0)

    def _bottom(self, box: _Box) -> float:
        return box.y + box.half_height + _CONDITION

    def _boxes(self) -> dict[int, _Box]:
        """The boxes of the nodes, with the middle row at height 0."""
        positions = self.layout.positions
        middle: list[float] = []
        left = _MARGIN + 20
        for column in range(self.layout.columns):
            half = max(self._half_width(node) for node, at in positions.items() if at.column == column)
            middle.append(left + half)
            left += 2 * half + _GAP
        return {
            node: _Box(middle[at.column], at.row * _ROW, self._half_width(node), self._half_height(node))
            for node, at in positions.items()
        }

    def _lanes(self, route: Route, boxes: Mapping[int, _Box]) -> dict[AutomatonEdge, float]:
        """The height of each edge above or below the states between. Overlapping edges have different heights."""
        positions = self.layout.positions
        spans = {
            edge: sorted((positions[edge.source].column, positions[edge.target].column))
            for edge in self.layout.edges
            if edge.route is route
        }
        taken: list[tuple[int, int, float]] = []
        lanes: dict[AutomatonEdge, float] = {}
        for edge, (low, high) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[1])):
            if route is Route.AHEAD:
                between = [node for node, at in positions.items() if low < at.column < high]
                y, step = min(self._top(node, boxes[node]) for node in between) - 12, -_LANE
            else:
                between = [node for node, at in positions.items() if low <= at.column <= high]
                y, step = max(self._bottom(boxes[node]) for node in between) + 2, _LANE
            others = [other for a, b, other in taken if low < b and a < high]
            free = (y + i * step for i in range(_MAX_LANES) if all(abs(y + i * step - o) >= _LANE for o in others))
            lanes[edge] = next(free, y + _MAX_LANES * step)
            taken.append((low, high, lanes[edge]))
        return lanes

    def _ports(self) -> tuple[dict[AutomatonEdge, float], dict[AutomatonEdge, float]]:
        """The heights at which each edge leaves and arrives. Edges of one node have different heights."""
        leaving: dict[AutomatonEdge, float] = {}
        arriving: dict[AutomatonEdge, float] = {}
        edges = [edge for edge in self.layout.edges if edge.route is not Route.SELF]
        for node, box in self.boxes.items():
            for on_left in (False, True):
                side: list[tuple[tuple[int, float], AutomatonEdge, bool]] = []
                for edge in edges:
                    if edge.source == node and (edge.route is Route.UP) == on_left:
                        side.append((self._order(edge, edge.target, _LEAVING), edge, True))
                    if edge.target == node and (edge.route is not Route.DOWN) == on_left:
                        side.append((self._order(edge, edge.source, _ARRIVING), edge, False))
                side.sort(key=lambda port: port[0])
                step = min(_PORT, 2 * (box.half_height - 3) / max(1, len(side) - 1))
                for i, (_, edge, leaves) in enumerate(side):
                    y = box.y + (i - (len(side) - 1) / 2) * step
                    (leaving if leaves else arriving)[edge] = y
        return leaving, arriving

    def _order(self, edge: AutomatonEdge, other: int, order: Mapping[Route, int]) -> tuple[int, float]:
        """Sort key from top to bottom: by route, then so that edges with the same route don't cross."""
        if edge in self.lanes:
            return order[edge.route], self.lanes[edge] if edge.route is Route.AHEAD else -self.lanes[edge]
        return order[edge.route], self.boxes[other].y

    # --- drawing ---

    def body(self) -> str:
        elements = []
        if self.picture.caption:
            elements.append(
                f'<text class="caption" x="{_number(_MARGIN)}" y="20">{escape(self.picture.caption)}</text>'
            )
        elements += [self._edge(edge) for edge in self.layout.edges]
        elements += [self._node(node) for node in self.boxes]
        elements += [self._rank(edge) for edge in self.layout.edges if edge.choices > 1 and self.picture.ranked]
        if self.layout.omitted:
            count = len(self.picture.nfa.states)
            note = f"the first {count - self.layout.omitted} of {count:,} states"
            elements.append(
                f'<text class="caption" x="{_number(_MARGIN)}" y="{_number(self.height - 8)}">{note}</text>'
            )
        return "".join(elements)

    def description(self) -> str:
        """The states and what may follow each, in the order of preference."""
        following: dict[int, list[str]] = {}
        for edge in self.layout.edges:
            following.setdefault(edge.source, []).append(self._word(edge.target))
        steps = "; ".join(f"{self._word(node)}, then {' or '.join(after)}" for node, after in following.items())
        return f"{self.picture.caption}: {steps}." if self.picture.caption else f"{steps}."

    def _word(self, node: int) -> str:
        """A node as people call it."""
        if node >= 0:
            return self.names[node]
        if node in (ACCEPT, ACCEPT_AT_END):
            return "match" if node == ACCEPT else "match at the end"
        only = START_AT_FIRST_ROW not in self.boxes
        return "start" if only else "first row" if node == START_AT_FIRST_ROW else "other rows"

    def _edge(self, edge: AutomatonEdge) -> str:
        source, target = self.boxes[edge.source], self.boxes[edge.target]
        if edge.route is Route.SELF:
            x, top = source.x, source.y - source.half_height
            over = f"{_at(x - 25, top - _LOOP)} {_at(x + 25, top - _LOOP)}"
            return _path(f"M{_at(x - 9, top)}C{over} {_at(x + 9, top - 1)}")
        y1, y2 = self.leaving[edge], self.arriving[edge]
        x1, x2 = source.x + source.half_width, target.x - target.half_width
        match edge.route:
            case Route.NEXT:
                bend = (x2 - x1) / 2
                return _path(f"M{_at(x1, y1)}C{_at(x1 + bend, y1)} {_at(x2 - bend, y2)} {_at(x2, y2)}")
            case Route.AHEAD:
                lane = self.lanes[edge]
                return _path(
                    f"M{_at(x1, y1)}C{_at(x1 + 34, y1)} {_at(x1 + 14, lane)} {_at(x1 + _GAP, lane)}"
                    f"L{_at(x2 - _GAP, lane)}C{_at(x2 - 14, lane)} {_at(x2 - 34, y2)} {_at(x2, y2)}"
                )
            case Route.BACK:
                lane = self.lanes[edge]
                return _path(
                    f"M{_at(x1, y1)}C{_at(x1 + 42, y1)} {_at(x1 + 42, lane)} {_at(x1, lane)}"
                    f"L{_at(x2, lane)}C{_at(x2 - 42, lane)} {_at(x2 - 42, y2)} {_at(x2, y2)}"
                )
            case _:  # within a column: down on the right side, up on the left side
                side = 1 if edge.route is Route.DOWN else -1
                x1, x2 = source.x + side * source.half_width, target.x + side * target.half_width
                out = side * (
                    26 + 6 * abs(self.layout.positions[edge.source].row - self.layout.positions[edge.target].row)
                )
                return _path(f"M{_at(x1, y1)}C{_at(x1 + out, y1)} {_at(x2 + out, y2)} {_at(x2, y2)}")

    def _rank(self, edge: AutomatonEdge) -> str:
        box = self.boxes[edge.source]
        if edge.route is Route.SELF:
            x, y = box.x, box.y - box.half_height - _LOOP + 11
        elif edge.route is Route.UP:
            x, y = box.x - box.half_width - 8, self.leaving[edge] + 3
        else:
            x, y = box.x + box.half_width + 9, self.leaving[edge] + 3
        return f'<text class="rank" x="{_number(x)}" y="{_number(y)}">{edge.rank}</text>'

    def _node(self, node: int) -> str:
        box = self.boxes[node]
        if node >= 0:
            return self._state(node, box)
        is_end = node in (ACCEPT, ACCEPT_AT_END)
        mark = _pill("end", box, 0.0) + _pill("dot", box, 3.5) if is_end else _pill("dot", box, 0.0)
        y = box.y + box.half_height + 15
        return f'{mark}<text class="word" x="{_number(box.x)}" y="{_number(y)}">{self._word(node)}</text>'

    def _state(self, node: int, box: _Box) -> str:
        state = self.picture.nfa.states[node]
        condition = self.picture.conditions.get(state.variable, "")
        css = "state excluded" if state.excluded else "state"
        number = self._number_of(node)
        name, hidden = shown_variable(state.variable), " (not shown in the output)" if state.excluded else ""
        elements = [
            f"<g><title>{escape(name + hidden + (': ' + condition if condition else ': every row'))}</title>",
            _pill(css, box, 0.0, 10.0),
            f'<text class="name" x="{_number(box.x)}" y="{_number(box.y + 5)}">{escape(self._name(node))}'
            + (f'<tspan class="word" font-weight="400">{number}</tspan></text>' if number else "</text>"),
        ]
        letters = int((2 * box.half_width + _GAP - 14) / 6.1)
        for i, line in enumerate(_shortened(condition, letters)):
            y = box.y + box.half_height + 13 + 12 * i
            elements.append(f'<text class="condition" x="{_number(box.x)}" y="{_number(y)}">{escape(line)}</text>')
        return "".join([*elements, "</g>"])


def _shortened(condition: str, letters: int) -> list[str]:
    """At most two lines."""
    lines = textwrap.wrap(condition, max(8, letters), break_long_words=True)
    if len(lines) > 2:
        second = lines[1]
        lines = [lines[0], (second if len(second) < letters else second[: letters - 1]) + "…"]
    return lines


def _pill(css: str, box: _Box, inset: float, corner: float | None = None) -> str:
    """A rectangle with round corners, `inset` smaller than the box on each side."""
    half_width, half_height = box.half_width - inset, box.half_height - inset
    return (
        f'<rect class="{css}" x="{_number(box.x - half_width)}" y="{_number(box.y - half_height)}" '
        f'width="{_number(2 * half_width)}" height="{_number(2 * half_height)}" rx="{_number(corner or half_width)}"/>'
    )


def _path(d: str) -> str:
    return f'<path class="edge" d="{d}" marker-end="url(#ost-tip)"/>'


def _at(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


__all__ = ["Picture", "draw_automata"]
