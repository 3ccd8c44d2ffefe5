"""The rows around a match that a clause reads."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.rows_around import rows_around


def around(pattern: str, define: str = "", *, measures: str = "count(*) AS n", output: str = "") -> tuple[int, int]:
    text = f"ORDER BY t MEASURES {measures} {output} PATTERN ({pattern}) {define and f'DEFINE {define}'}"
    return tuple(rows_around(make_plan(bind(parse_clause(text), ["t", "p"]))))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("pattern", "define", "before"),
    [
        ("A B C", "B AS p > A.p", 0),
        ("A B C", "C AS p > PREV(p, 2)", 0),
        ("A B C", "B AS p > PREV(p, 2)", 1),
        ("A B+ C", "B AS p > PREV(p)", 0),
        ("A? B C", "B AS p > PREV(p)", 1),
        ("A{2,4} B", "B AS p > PREV(p, 3)", 1),
        ("(A | X Y) B", "B AS p > PREV(p, 2)", 1),
        ("A B | B A", "B AS p > PREV(p)", 1),
        ("A+ B", "B AS p > PREV(FIRST(A.p))", 1),
        ("A+ B", "B AS p > PREV(FIRST(A.p, 1))", 0),
        ("A+ B", "B AS p > PREV(LAST(A.p, 1))", 1),
        ("X A+ B", "B AS p > PREV(LAST(A.p, 1))", 0),
        ("A B+ C", "C AS p > PREV(FIRST(p)) + sum(B.p)", 1),
        ("A B+ C", "C AS p > PREV(LAST(p, 1)) + sum(B.p)", 0),
        ("PERMUTE(A, B)", "B AS p > PREV(p)", 1),
    ],
)
def test_conditions_look_back_by_position(pattern: str, define: str, before: int) -> None:
    assert around(pattern, define) == (before, 0)


@pytest.mark.parametrize(
    ("pattern", "measure", "margins"),
    [
        ("A B C", "PREV(p, 2)", (0, 0)),
        ("A B C", "PREV(p, 3)", (1, 0)),
        ("A? B C", "PREV(p, 2)", (1, 0)),
        ("A* B", "PREV(B.p)", (1, 0)),
        ("A+ B", "PREV(B.p)", (0, 0)),
        ("A B", "NEXT(A.p)", (0, 0)),
        ("A B", "NEXT(p)", (0, 1)),
        ("A B", "NEXT(FIRST(p), 2)", (0, 2)),
        ("A+ B", "NEXT(LAST(A.p, 1), 2)", (0, 0)),
        ("A B?", "NEXT(A.p)", (0, 1)),
    ],
)
def test_measures_look_around_by_position(pattern: str, measure: str, margins: tuple[int, int]) -> None:
    assert around(pattern, measures=f"{measure} AS m") == margins


def test_running_measures_read_from_every_row() -> None:
    assert around("A B C", measures="PREV(p) AS m") == (0, 0)
    assert around("A B C", measures="PREV(p) AS m", output="ALL ROWS PER MATCH") == (1, 0)
    assert around("A B C", measures="FINAL LAST(p) AS m", output="ALL ROWS PER MATCH") == (0, 0)


def test_a_partial_match_may_end_at_any_row() -> None:
    timeouts = "ONE ROW PER MATCH SHOW TIMEOUT MATCHES"
    within = "A B C) WITHIN INTERVAL '1' MINUTE DEFINE A AS (p > 0"
    assert around(within, measures="PREV(p) AS m") == (0, 0)
    assert around(within, measures="PREV(p) AS m", output=timeouts) == (1, 0)


def test_conditions_look_ahead_by_position() -> None:
    assert around("A B", "A AS p < NEXT(p)") == (0, 0)
    assert around("A B?", "A AS p < NEXT(p)") == (0, 1)
    assert around("A B", "A AS p < NEXT(p), B AS p < NEXT(p, 2)") == (0, 2)
