"""SEEK is planned as INITIAL where a match doesn't depend on the row that seeks it, and as a hidden loop elsewhere."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.window_plan import plan_window
from ostinato.clause.query.window_pattern import BEFORE_MATCH, WindowPattern
from ostinato.errors import QueryError


def planned(text: str, frame_end: int | None = None, *, seek: bool = True) -> MatchPlan:
    return plan_window(WindowPattern(parse_clause(f"ORDER BY id MEASURES {text}"), frame_end, seek), ["id", "x"])


DOWN = "count(*) AS n PATTERN (A B+) DEFINE B AS x < PREV(x)"


@pytest.mark.parametrize(
    ("text", "frame_end", "has_loop"),
    [
        (DOWN, None, False),
        (DOWN, 5, True),
        ("count(*) AS n PATTERN (B+) DEFINE B AS x < PREV(x)", None, True),
        ("PREV(A.x) AS before PATTERN (A B) DEFINE B AS x < PREV(x)", None, True),
        ("PREV(B.x) AS inside PATTERN (A B) DEFINE B AS x < PREV(x)", None, False),
    ],
)
def test_seek(text: str, frame_end: int | None, has_loop: bool) -> None:
    assert (BEFORE_MATCH in planned(text, frame_end).bound.variables) is has_loop


def test_initial_has_no_hidden_loop() -> None:
    plan = planned("count(*) AS n PATTERN (A) DEFINE A AS x < PREV(x)", 5, seek=False)
    assert plan.bound.variables == ("A",)
    assert plan.bound.clause.max_length == 6


def test_a_pattern_of_fixed_length_is_compared_by_columns() -> None:
    assert planned("count(*) AS n PATTERN (A B) DEFINE B AS x < PREV(x)", seek=False).engine == "shifts"


def test_a_value_with_the_name_of_a_column() -> None:
    with pytest.raises(QueryError, match="DUPLICATE_COLUMN") as caught:
        planned("count(*) AS x PATTERN (A) DEFINE A AS x > 1")
    assert caught.value.hint == "give the measure another name: the output also shows the input's columns"
