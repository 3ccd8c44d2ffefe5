"""SHOW TIMEOUT MATCHES: a letter is a row of that kind at its minute, a dot a minute without a row."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.reference.letters import ask, kinds

MIDNIGHT = datetime(2024, 1, 1)


def minutes(text: str) -> list[dict[str, object]]:
    """A row per letter."""
    return [
        {"at": minute, "ts": MIDNIGHT + timedelta(minutes=minute), "kind": kind}
        for minute, kind in enumerate(text)
        if kind != "."
    ]


def shown(pattern: str, text: str, within: int, *, after: str = "", bound: str = "", define: str | None = None) -> str:
    """Matches and timeouts in the order of their numbers, each as its first minute and labels."""
    clause = f"""ORDER BY ts MEASURES match_number() AS m, first(at) AS f, array_agg(classifier()) AS labels
        ONE ROW PER MATCH SHOW TIMEOUT MATCHES {after} PATTERN ({pattern})
        WITHIN INTERVAL '{within}' MINUTE {bound} {kinds(pattern) if define is None else define}"""
    rows = ask(clause, minutes(text))
    assert [row["m"] for row in rows] == list(range(1, len(rows) + 1))
    return " ".join(f"{row['f'] if row['labels'] else ''}:{''.join(row['labels'])}" for row in rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("A B", "A...B", "0:A"),
        ("A B", "A", "0:A"),
        ("A B", "AX", ""),
        ("A B", "AB...A", "0:AB 5:A"),
        ("A B C", "AB...C", "0:AB"),
        ("A B C", "A....B", "0:A"),
        ("A+ B", "AA...B", "0:AA 1:A"),
        ("A+ B", "AA.B", "0:AA 1:AB"),
        ("A B?", "A...B", "0:A"),
        ("A B* C", "ABB...", "0:ABB"),
        ("A | A B C", "AB", "0:A"),
        ("A C | A B C", "AB", "0:AB"),
        ("B*", "A...B", ": 4:B"),
        ("X", "A...B", ""),
    ],
)
def test_within_two_minutes(pattern: str, text: str, expected: str) -> None:
    assert shown(pattern, text, within=2) == expected


def test_the_bound_belongs_to_the_window() -> None:
    assert shown("A B C", "A.B", within=2) == "0:AB"
    assert shown("A B C", "A..B", within=2) == "0:A"
    assert shown("A X C", "A.B", within=2) == "", "B stands in the window and fits nothing"


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW", "TO LAST B", "TO FIRST B"])
def test_the_search_goes_on_at_the_next_row_whatever_skip_says(skip: str) -> None:
    assert shown("A+ B", "AAA", within=2, after=f"AFTER MATCH SKIP {skip}") == "0:AAA 1:AA 2:A"


def test_the_first_open_run_in_order_of_preference() -> None:
    free = "DEFINE D AS kind = 'D'"
    assert shown("(A | B) (A | B) D", "xx", within=5, define=free) == "0:AA 1:A"
    assert shown("(A B | B A) D", "xx", within=5, define=free) == "0:AB 1:A"
    assert shown("A*? B D", "xx", within=5, define=free) == "0:AB 1:B"
    assert shown("A* B D", "xx", within=5, define=free) == "0:AA 1:A"


def test_a_more_preferred_run_that_is_not_open_is_passed_over() -> None:
    define = "DEFINE A AS kind = 'a', B AS kind = 'a', D AS kind = 'D'"
    assert shown("A $ D | B D", "a", within=5, define=define) == "0:B", "behind `$` there is no row to hope for"
    assert shown("A ^ D | B D", "a", within=5, define=define) == "0:B"
    assert shown("A D | B D", "a", within=5, define=define) == "0:A"


def test_an_end_that_has_not_come_is_not_open() -> None:
    assert shown("A $", "A...B", within=2) == "", "only `$` is missing: no row to take"
    assert shown("A B* $", "A...X", within=2) == "0:A"
    assert shown("A B* $", "A", within=2) == "0:A", "a match, not a timeout: one row and one number"


@pytest.mark.parametrize(("rows", "expected"), [(1, ""), (2, ""), (3, "0:AB")])
def test_a_run_that_has_used_up_maxlength_is_not_open(rows: int, expected: str) -> None:
    assert shown("A B C", "AB", within=5, bound=f"MAXLENGTH {rows}") == expected


def test_conditions_know_the_number_that_the_timeout_bears() -> None:
    define = "DEFINE A AS match_number() = 2 OR at = 0, B AS FALSE"
    assert shown("A B", "x...x...x", within=1, define=define) == "0:A 4:A"


TIMES = "MEASURES first(n) AS f, count(*) AS c ONE ROW PER MATCH SHOW TIMEOUT MATCHES"


@pytest.mark.parametrize(("order", "expected"), [("NULLS LAST", []), ("NULLS FIRST", [(1, 1)])])
def test_a_row_without_a_time_ends_runs_before_their_time(order: str, expected: list[tuple[int, int]]) -> None:
    rows: list[dict[str, object]] = [{"n": 1, "ts": MIDNIGHT, "kind": "A"}, {"n": 2, "ts": None, "kind": "A"}]
    clause = f"ORDER BY ts {order} {TIMES} PATTERN (A B) WITHIN INTERVAL '1' HOUR DEFINE B AS kind = 'B'"
    assert [tuple(row.values()) for row in ask(clause, rows)] == expected


def test_without_the_words_nothing_is_shown() -> None:
    clause = "ORDER BY ts MEASURES count(*) AS c PATTERN (A B) WITHIN INTERVAL '2' MINUTE DEFINE B AS kind = 'B'"
    assert ask(clause, minutes("A...A")) == []


def test_all_rows_of_a_timeout_are_running_and_final_as_in_a_match() -> None:
    clause = """ORDER BY ts
        MEASURES match_number() AS m, count(*) AS c, FINAL count(*) AS fc, count(C.*) AS cs, C.at AS ca
        ALL ROWS PER MATCH SHOW TIMEOUT MATCHES PATTERN (A {- B -} X C) WITHIN INTERVAL '3' MINUTE
        DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"""
    shown_rows = [(r["at"], r["m"], r["c"], r["fc"], r["cs"], r["ca"]) for r in ask(clause, minutes("ABX....ABC"))]
    assert shown_rows == [(0, 1, 1, 3, 0, None), (2, 1, 3, 3, 0, None), (7, 2, 1, 3, 0, None), (9, 2, 3, 3, 0, None)]
