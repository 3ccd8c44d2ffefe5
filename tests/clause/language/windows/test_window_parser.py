"""The text of a window with a row pattern -> its parts, and the errors with their carets."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_render import render_pattern
from ostinato.clause.language.windows.select_blocks import StatementTokens
from ostinato.clause.language.windows.window_parser import WindowSpecification, parse_window
from ostinato.clause.query.clause import SkipKind
from ostinato.errors import QueryError
from ostinato.expressions.cursor import Cursor

PATTERN = "PATTERN (A B+) DEFINE B AS x > PREV(x)"
UNBOUNDED = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"


def window(body: str) -> WindowSpecification:
    return parse_window(Cursor(f"({body})"))


def test_all_parts() -> None:
    text = """SELECT m OVER (PARTITION BY k, upper(s) ORDER BY day DESC NULLS FIRST, id
        MEASURES LAST(B.x) AS m, CLASSIFIER() AS label ROWS BETWEEN CURRENT ROW AND 7 FOLLOWING EXCLUDE NO OTHERS
        AFTER MATCH SKIP TO LAST B SEEK PATTERN (A B*? | PERMUTE(A, B)) SUBSET U = (A, B)
        DEFINE B AS x > PREV(x)) FROM t"""
    read = parse_window(StatementTokens(text).cursor(3))
    assert [text[key.span.start : key.span.end] for key in (*read.partition_by, *read.order_by)] == [
        "k",
        "upper(s)",
        "day",
        "id",
    ]
    assert [(key.descending, key.nulls_first) for key in read.order_by] == [(True, True), (False, None)]
    assert text[read.span.start : read.span.end].endswith("PREV(x))")
    assert (read.frame_end, read.seek, read.base) == (7, True, None)
    assert read.clause is not None
    assert render_pattern(read.clause.pattern) == "A B*? | PERMUTE(A, B)"
    assert [measure.name for measure in read.clause.measures] == ["m", "label"]
    assert (read.clause.skip.kind, read.clause.skip.target) == (SkipKind.TO_LAST, "B")


@pytest.mark.parametrize(
    ("body", "base", "frame_end"),
    [
        (f"{UNBOUNDED} {PATTERN}", None, None),
        (f"ROWS BETWEEN CURRENT ROW AND CURRENT ROW INITIAL {PATTERN}", None, 0),
        (f"w ORDER BY id {UNBOUNDED} {PATTERN}", "w", None),
        (f"`order` {UNBOUNDED} {PATTERN}", "order", None),
    ],
)
def test_base_and_frame(body: str, base: str | None, frame_end: int | None) -> None:
    read = window(body)
    assert (None if read.base is None else read.base.text, read.frame_end, read.seek) == (base, frame_end, False)


REFUSED = {
    "no frame": (PATTERN, "INVALID_WINDOW", "PATTERN"),
    "a frame that begins earlier": (
        f"ROWS BETWEEN 1 PRECEDING AND CURRENT ROW {PATTERN}",
        "INVALID_WINDOW",
        "ROWS",
    ),
    "RANGE": (f"RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING {PATTERN}", "INVALID_WINDOW", "RANGE"),
    "a frame of a digit that isn't ASCII": (
        f"ROWS BETWEEN CURRENT ROW AND ² FOLLOWING {PATTERN}",
        "INVALID_WINDOW",
        "²",
    ),
    "a frame of a fraction": (f"ROWS BETWEEN CURRENT ROW AND 1.5 FOLLOWING {PATTERN}", "INVALID_WINDOW", "1.5"),
    "an end before the row": (f"ROWS BETWEEN CURRENT ROW AND 1 PRECEDING {PATTERN}", "INVALID_WINDOW", "1"),
    "EXCLUDE": (f"{UNBOUNDED} EXCLUDE TIES {PATTERN}", "INVALID_WINDOW", "EXCLUDE"),
    "rows per match": (f"MEASURES x AS m ONE ROW PER MATCH {UNBOUNDED} {PATTERN}", "UNSUPPORTED_IN_WINDOW", "ONE"),
    "a match mode": (f"{UNBOUNDED} ALL MATCHES {PATTERN}", "UNSUPPORTED_IN_WINDOW", "ALL"),
    "WITHIN": (f"{UNBOUNDED} PATTERN (A) WITHIN 1 DAY DEFINE A AS true", "UNSUPPORTED_IN_WINDOW", "WITHIN"),
    "an anchor": (f"{UNBOUNDED} PATTERN (^ A) DEFINE A AS true", "UNSUPPORTED_IN_WINDOW", "^"),
    "MATCH_NUMBER": (
        f"MEASURES MATCH_NUMBER() AS n {UNBOUNDED} {PATTERN}",
        "UNSUPPORTED_IN_WINDOW",
        "MATCH_NUMBER()",
    ),
    "no PATTERN": (f"{UNBOUNDED} DEFINE B AS true", "SYNTAX_ERROR", "DEFINE"),
    "no DEFINE": (f"{UNBOUNDED} PATTERN (A)", "SYNTAX_ERROR", ")"),
    "MEASURES behind the frame": (f"{UNBOUNDED} MEASURES x AS m {PATTERN}", "SYNTAX_ERROR", "MEASURES"),
    "an unknown variable": (f"{UNBOUNDED} PATTERN (A) DEFINE C AS true", "VARIABLE_NOT_IN_PATTERN", "C"),
}


@pytest.mark.parametrize(("body", "code", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_at_the_word(body: str, code: str, word: str) -> None:
    with pytest.raises(QueryError) as caught:
        window(body)
    error = caught.value
    assert error.code == code
    assert error.text is not None
    assert error.span is not None
    assert error.text[error.span.start : error.span.end] == word
