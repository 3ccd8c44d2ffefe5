"""Attempts -> one self-contained SVG: for each attempt its consumed rows as boxes, then the refused row and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.svg import element, escape, text

_WIDTH, _MARGIN, _BOX, _GAP, _LETTER, _LINE = 860.0, 18.0, 26.0, 6.0, 7.6, 17.0
_MOST_BOXES = 7
_LONGEST_NAME, _LONGEST_LINE, _LONGEST_DESCRIPTION = 12, 118, 2_000
STYLE = """
.ost-attempts{--sheet:#ffffff;--edge:#d5dbe2;--ink:#1d2733;--quiet:#55606b;--row:#e3ecf7;--row-edge:#2f6fde;
--stop:#fbe6e4;--stop-edge:#b3261e}
@media (prefers-color-scheme: dark){
.ost-attempts{--sheet:#14181d;--edge:#333c46;--ink:#e6ebf0;--quiet:#a3adb8;--row:#1e2c42;--row-edge:#79a8ff;
--stop:#3c1f1d;--stop-edge:#f2867c}}
.ost-attempts text{font-family:ui-sans-serif,system-ui,"Segoe UI",sans-serif;font-size:12px;fill:var(--ink)}
.ost-attempts .title{font-weight:600}
.ost-attempts .box{text-anchor:middle;font-weight:600}
.ost-attempts .reason{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:11px}
.ost-attempts .quiet{fill:var(--quiet)}
.ost-attempts .sheet{fill:var(--sheet);stroke:var(--edge)}
.ost-attempts .row{fill:var(--row);stroke:var(--row-edge)}
.ost-attempts .stop{fill:var(--stop);stroke:var(--stop-edge);stroke-dasharray:4 3}
"""


@dataclass(frozen=True, slots=True)
class DrawnAttempt:
    """One attempt: its title, the names on its boxes, the name on the refused box (None: no row is left), reasons."""

    title: str
    boxes: tuple[str, ...]
    refused: str | None
    reasons: tuple[str, ...]


def draw_attempts(attempts: Sequence[DrawnAttempt], caption: str) -> str:
    """The SVG text.

    >>> draw_attempts([DrawnAttempt("row 0", ("A", "B{3}"), "row 4", ("C: x > 3 is FALSE: x = 1",))], "2 starts")[:44]
    '<svg xmlns="http://www.w3.org/2000/svg" view'
    """
    content, y = [text(shortened(caption, _LONGEST_LINE), _MARGIN, _MARGIN + 12, class_="quiet")], _MARGIN + 34
    for attempt in attempts:
        drawn, y = _attempt(attempt, y)
        content += drawn
    words = "; ".join(f"{attempt.title}: {', '.join(attempt.reasons)}" for attempt in attempts)
    head = [
        element("title", escape(f"Attempts: {caption}")),
        element("desc", escape(shortened(words, _LONGEST_DESCRIPTION))),
        element("style", STYLE),
        element("rect", x=0.5, y=0.5, width=_WIDTH - 1, height=y - 1, rx=9, class_="sheet"),
    ]
    # SVG files need this name. Nothing is loaded from it.
    name, box = "http://www.w3.org/2000/svg", f"0 0 {_WIDTH:g} {y:g}"
    body = "".join([*head, *content])
    return element("svg", body, xmlns=name, viewBox=box, width=_WIDTH, height=y, role="img", class_="ost-attempts")


def _attempt(attempt: DrawnAttempt, y: float) -> tuple[list[str], float]:
    """The elements of one attempt, and where the next one begins."""
    drawn = [text(shortened(attempt.title, _LONGEST_LINE), _MARGIN, y, class_="title")]
    y += 8
    x = _MARGIN
    boxes = attempt.boxes
    if len(boxes) > _MOST_BOXES:
        boxes = (*boxes[:3], "…", *boxes[-3:])
    for name in boxes:
        drawn, x = _box(drawn, name, x, y, "row")
    if attempt.refused is not None:
        drawn, x = _box(drawn, attempt.refused, x, y, "stop")
    y += _BOX + 4
    for reason in attempt.reasons:
        y += _LINE
        drawn.append(text(_cut(reason), _MARGIN, y, class_="reason"))
    return drawn, y + 26


def _box(drawn: list[str], name: str, x: float, y: float, kind: str) -> tuple[list[str], float]:
    words = shortened(name, _LONGEST_NAME)
    width = max(_BOX, _LETTER * len(words) + 14)
    box = element("rect", element("title", escape(name)), x=x, y=y, width=width, height=_BOX, rx=5, class_=kind)
    label = text(words, x + width / 2, y + _BOX / 2 + 4.5, class_="box")
    return [*drawn, box, label], x + width + _GAP


def _cut(line: str) -> str:
    """The line with its indent, which XML would drop."""
    body = line.lstrip(" ")
    indent = len(line) - len(body)
    return "\N{NO-BREAK SPACE}" * indent + shortened(body, _LONGEST_LINE - indent)
