"""What `explain` can say of a window with a row pattern."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.window_plan import plan_window
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.explanation.window_lines import window_pairs


@pytest.mark.parametrize(
    ("text", "frame_end", "seek", "lines"),
    [
        (
            "PATTERN (A B+) DEFINE B AS x < PREV(x)",
            None,
            False,
            [
                "frame: from the current row to the end of the partition",
                "match: begins at the current row (INITIAL)",
                "cost: linear in rows",
            ],
        ),
        (
            "PATTERN (A B+) DEFINE B AS x < PREV(x)",
            None,
            True,
            [
                "frame: from the current row to the end of the partition",
                "match: the first one in the frame (SEEK); the next match of INITIAL, because nothing before a match"
                " is read",
                "cost: linear in rows",
            ],
        ),
        (
            "AFTER MATCH SKIP TO NEXT ROW PATTERN (B+) DEFINE B AS x < PREV(x) AND count(*) < 3",
            1,
            False,
            [
                "frame: from the current row to 1 row after it",
                "match: begins at the current row (INITIAL)",
                "PREV and NEXT: end at the frame: 2 states instead of 1, by their distance from its start",
                "cost: rows plus all trials: conditions over the run are tested by the search, which may turn back",
            ],
        ),
    ],
)
def test_lines(text: str, frame_end: int | None, seek: bool, lines: list[str]) -> None:
    window = WindowPattern(parse_clause(f"ORDER BY id MEASURES count(*) AS n {text}"), frame_end, seek)
    assert told(window) == lines


def told(window: WindowPattern) -> list[str]:
    return [f"{label}: {text}" for label, text in window_pairs(plan_window(window, ["id", "x"]), window)]


def test_a_hidden_loop_is_told() -> None:
    clause = parse_clause("ORDER BY id MEASURES count(*) AS n PATTERN (A B) DEFINE B AS x < PREV(x)")
    lines = told(WindowPattern(clause, 5, True))
    assert lines[1].endswith("(SEEK); the search of a row passes over the rows before its match")
    assert lines[-1] == "cost: rows times the distance to the end of their match"
