"""Errors of windows stand under the construct that windows don't have."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.windows.window_checks import check_window
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("ORDER BY id PATTERN (A $) DEFINE A AS TRUE", "$"),
        ("ORDER BY id PATTERN (A | ^ B) DEFINE A AS TRUE", "^"),
        ("ORDER BY id ONE ROW PER MATCH PATTERN (A) DEFINE A AS TRUE", "ONE ROW PER MATCH"),
        ("ORDER BY id ALL MATCHES PATTERN (A) DEFINE A AS TRUE", "ALL MATCHES"),
        ("ORDER BY id PATTERN (A) WITHIN 5 MINUTES DEFINE A AS TRUE", "WITHIN 5 MINUTES"),
        ("ORDER BY id MEASURES 1 + MATCH_NUMBER() AS n PATTERN (A) DEFINE A AS TRUE", "MATCH_NUMBER()"),
        ("ORDER BY id PATTERN (A) DEFINE A AS MATCH_NUMBER() > 1", "MATCH_NUMBER()"),
    ],
)
def test_carets(text: str, marked: str) -> None:
    with pytest.raises(QueryError) as caught:
        check_window(WindowPattern(parse_clause(text)))
    error = caught.value
    assert error.code == "UNSUPPORTED_IN_WINDOW"
    assert error.span is not None
    assert text[error.span.start : error.span.end] == marked


def test_a_frame_has_no_negative_end() -> None:
    with pytest.raises(QueryError, match="0 to 2,147,483,646 rows after the current one, not -1"):
        check_window(WindowPattern(parse_clause("PATTERN (A) DEFINE A AS TRUE"), frame_end=-1))
