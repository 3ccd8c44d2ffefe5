"""The picture of attempts: boxes for rows inside the sheet, and texts that are no markup."""

from __future__ import annotations

from tests.pictures.drawings import read_svg, texts

from ostinato.pictures.attempts_svg import DrawnAttempt, draw_attempts

ATTEMPTS = [
    DrawnAttempt("row 0: 3 rows", ("A", "B{2}"), "row 3", ("C: x > 3 is FALSE: x = 1", "  x > 3 is FALSE")),
    DrawnAttempt("row 1: <b>", tuple("N" * 99 for _ in range(50)), "row 51", ("&" * 500,)),
    DrawnAttempt("row 2: all rows", ("A",), None, ("no row is left for B",)),
]


def widest(svg: str) -> float:
    boxes = [node.attrib for node in read_svg(svg).iter() if node.get("class") in ("row", "stop")]
    return max(float(box["x"]) + float(box["width"]) for box in boxes)


def test_everything_lies_inside() -> None:
    svg = draw_attempts(ATTEMPTS, "3 start rows")
    assert widest(svg) < float(read_svg(svg).attrib["width"])


def test_boxes_and_reasons() -> None:
    root = read_svg(draw_attempts(ATTEMPTS, "3 start rows"))
    boxes = texts(root, "box")
    assert boxes[:3] == ["A", "B{2}", "row 3"]
    assert boxes[3:11] == [*["N" * 11 + "…"] * 3, "…", *["N" * 11 + "…"] * 3, "row 51"]
    assert boxes[11:] == ["A"]
    assert "row 1: <b>" in texts(root, "title")
    assert "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}x > 3 is FALSE" in texts(root, "reason")
    assert max(map(len, texts(root))) < 130
