"""A DEFINE condition is split into conditions over the row alone, over its neighbours, and over the run."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.condition_parts import may_fail, split_condition
from ostinato.explanation.readable import readable
from ostinato.expressions.syntax import Expr


def bound(condition: str) -> Expr:
    """The condition of B in the pattern A B C."""
    text = f"ORDER BY t ALL ROWS PER MATCH PATTERN (A B C) DEFINE B AS {condition}"
    return bind(parse_clause(text), ["t", "x", "y", "s"]).conditions["B"]


def split(condition: str) -> dict[str, str]:
    """The conditions that aren't empty, as text."""
    scopes = split_condition(bound(condition), "B")
    named = {"row": scopes.row, "neighbours": scopes.neighbours, "run": scopes.run}
    return {name: readable(expr) for name, expr in named.items() if expr is not None}


@pytest.mark.parametrize("condition", ["x > 1", "B.x > 1", "LAST(x) > 1", "LAST(B.x) > 1"])
def test_the_row_that_is_tried_decides_alone(condition: str) -> None:
    assert split(condition) == {"row": "x > 1"}


@pytest.mark.parametrize("condition", ["x > PREV(x)", "B.x > PREV(B.x)"])
def test_neighbours_lie_at_a_fixed_distance(condition: str) -> None:
    assert split(condition) == {"neighbours": "x > PREV(x)"}


@pytest.mark.parametrize(
    ("condition", "run"),
    [
        ("x > A.x", "x > LAST(A.x)"),
        ("x > PREV(A.x)", "x > PREV(A.x)"),
        ("x > FIRST(x)", "x > FIRST(x)"),
        ("x > sum(A.x)", "x > sum(A.x)"),
        ("PREV(CLASSIFIER()) = 'A'", "PREV(CLASSIFIER()) = 'A'"),
    ],
)
def test_conditions_on_earlier_rows_of_the_match_belong_to_the_run(condition: str, run: str) -> None:
    assert split(condition) == {"run": run}


def test_conjuncts_are_split_and_disjuncts_are_not() -> None:
    assert split("x > 1 AND x > PREV(x) AND x > A.x AND s = 'a'") == {
        "row": "x > 1 AND s = 'a'",
        "neighbours": "x > PREV(x)",
        "run": "x > LAST(A.x)",
    }
    assert split("x > 1 OR x > A.x") == {"run": "x > 1 OR x > LAST(A.x)"}


def test_the_label_of_the_row_that_is_tried_is_known() -> None:
    assert split("CLASSIFIER() = 'A'") == {"row": "'B' = 'A'"}
    assert split("NEXT(CLASSIFIER()) = 'A'") == {"neighbours": "NEXT(NULL = 'A')"}  # no later row has a label yet


# --- conditions that may fail -----------------------------------------------------------------------------------------


def test_a_conjunct_that_may_fail_stays_with_the_conjuncts_before_it() -> None:
    """Earlier conjuncts may guard it. Without x <> 0, the division would fail for a row that the query excludes."""
    assert split("x <> 0 AND 10 / x > 1") == {"row": "x <> 0 AND 10 / x > 1"}
    assert split("x <> 0 AND 10 / x > PREV(x)") == {"row": "x <> 0", "neighbours": "x <> 0 AND 10 / x > PREV(x)"}
    assert split("A.x > 1 AND 10 / x > 1") == {"run": "LAST(A.x > 1) AND 10 / x > 1"}


def test_a_conjunct_behind_it_is_no_guard() -> None:
    assert split("10 / x > PREV(x) AND x <> 0") == {"row": "x <> 0", "neighbours": "10 / x > PREV(x)"}


@pytest.mark.parametrize("condition", ["1 / x > 1", "x % 2 = 1", "CAST(s AS INT) = 1", "element_at(s, 1) = 1"])
def test_divisions_casts_and_element_access_may_fail(condition: str) -> None:
    assert may_fail(bound(condition))


@pytest.mark.parametrize("condition", ["x + y > 1", "try_cast(s AS INT) = 1", "upper(s) = 'A'"])
def test_other_expressions_do_not_fail(condition: str) -> None:
    assert not may_fail(bound(condition))


# --- lifting: expressions over one row are computed before matching ---------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "run"),
    [
        ("x > A.x + A.y", "x > LAST(A.x + A.y)"),
        ("upper(s) = upper(A.s)", "upper(s) = LAST(upper(A.s))"),
        ("x + y > A.x + y", "x + y > LAST(A.x) + y"),  # two rows: each by itself
    ],
)
def test_expressions_over_one_row_are_computed_together(condition: str, run: str) -> None:
    assert split(condition) == {"run": run}


def test_a_guarded_division_is_not_computed_for_every_row() -> None:
    assert split("A.x <> 0 AND 10 / A.x > y") == {"run": "LAST(A.x <> 0) AND 10 / LAST(A.x) > y"}


@pytest.mark.parametrize(
    ("condition", "scopes"),
    [
        ("10 / PREV(x) > 0", {"neighbours": "10 / PREV(x) > 0"}),
        ("(x + 10) / NEXT(x + y) > 0", {"neighbours": "(x + 10) / NEXT(x + y) > 0"}),
        ("CAST(PREV(s) AS INT) > 0", {"neighbours": "CAST(PREV(s) AS INT) > 0"}),
        ("10 / FIRST(A.x + A.y) > 0", {"run": "10 / FIRST(A.x + A.y) > 0"}),
        ("coalesce(10 % A.x, 0) > 0", {"run": "coalesce(10 % LAST(A.x), 0) > 0"}),
        ("hex(PREV(x)) / PREV(x) > 0", {"neighbours": "HEX / PREV(x) > 0"}),
    ],
)
def test_what_fails_for_another_row_is_computed_where_it_is_read(condition: str, scopes: dict[str, str]) -> None:
    """Otherwise the last row of a key could fail, although no row reads it."""
    hexed = "CASE WHEN EXISTS(PREV(*)) THEN PREV(hex(x)) ELSE hex(NULL) END"
    assert split(condition) == {scope: text.replace("HEX", hexed) for scope, text in scopes.items()}


@pytest.mark.parametrize(
    ("condition", "scopes"),
    [
        ("PREV(x) / 2 > 0", {"neighbours": "PREV(x / 2 > 0)"}),
        ("PREV(10 / x) > 0", {"neighbours": "PREV(10 / x > 0)"}),
        ("10 / x > PREV(x)", {"neighbours": "10 / x > PREV(x)"}),
        ("to_date(PREV(s), 'y') > DATE '2024-01-01'", {"neighbours": "PREV(to_date(s, 'y') > DATE '2024-01-01')"}),
        ("CAST(A.s AS INT) > 0", {"run": "LAST(CAST(A.s AS INT) > 0)"}),
    ],
)
def test_what_cannot_fail_or_only_spark_evaluates_is_computed_for_every_row(
    condition: str, scopes: dict[str, str]
) -> None:
    assert split(condition) == scopes


def test_where_the_row_may_be_missing_the_value_is_not_always_null() -> None:
    assert split("coalesce(A.x, 0) > x") == {"run": "coalesce(LAST(A.x), 0) > x"}
    assert split("concat_ws(PREV(s), PREV(s)) = 'a'") == {
        "neighbours": "CASE WHEN EXISTS(PREV(*)) THEN PREV(concat_ws(s, s)) ELSE concat_ws(NULL, NULL) END = 'a'"
    }
