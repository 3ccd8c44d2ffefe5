"""Point by point what implementations of MATCH_RECOGNIZE get wrong; the numbers are those of the project's list."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from math import isnan, nan

import pytest
from tests.reference.letters import EMPTY, ask, labels, letters, match

from ostinato.errors import MatchError, QueryError


def column(rows: list[dict[str, object]], name: str) -> list[object]:
    return [row[name] for row in rows]


def measure(
    expression: str, pattern: str, text: str, define: str = "", rows: str = "", extra: str = ""
) -> list[object]:
    """One measure over letters, by default of ONE ROW PER MATCH."""
    clause = f"ORDER BY n MEASURES {expression} AS m {rows} PATTERN ({pattern}) {extra} {define}"
    return column(ask(clause, letters(text)), "m")


ALL = "ALL ROWS PER MATCH"
AB = "DEFINE A AS kind = 'A', B AS kind = 'B'"


# --- 1 to 9: matches --------------------------------------------------------------------------------------------------


def test_2_an_empty_match_has_a_number_and_a_row() -> None:
    rows = "MEASURES match_number() AS m, classifier() AS c, sum(n) AS s, count(*) AS k, last(kind) AS l"
    define = "DEFINE A AS kind = 'A'"
    one = ask(f"ORDER BY n {rows} PATTERN (A*) {define}", letters("XAX"))
    assert [tuple(row.values()) for row in one] == [
        (1, None, None, 0, None),
        (2, "A", 1, 1, "A"),
        (3, None, None, 0, None),
    ]
    shown = ask(f"ORDER BY n {rows} {ALL} PATTERN (A*) {define}", letters("XAX"))
    assert shown[0] == {"n": 0, "m": 1, "c": None, "s": None, "k": 0, "l": None, "kind": None}
    assert list(shown[0]) == ["n", "m", "c", "s", "k", "l", "kind"]
    omitted = ask(f"ORDER BY n {rows} {ALL} OMIT EMPTY MATCHES PATTERN (A*) {define}", letters("XAXA"))
    assert column(omitted, "m") == [2, 4]


def test_2_a_reluctant_star_is_always_empty() -> None:
    assert match("A*?", "AA") == [EMPTY, EMPTY]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", [(0, 3), (4, 5)]),
        ("AFTER MATCH SKIP PAST LAST ROW", [(0, 3), (4, 5)]),
        ("AFTER MATCH SKIP TO NEXT ROW", [(0, 3), (1, 3), (2, 3), (4, 5)]),
        ("AFTER MATCH SKIP TO FIRST B", [(0, 3), (4, 5)]),
        ("AFTER MATCH SKIP TO LAST B", [(0, 3), (4, 5)]),
        ("AFTER MATCH SKIP TO B", [(0, 3), (4, 5)]),
    ],
)
def test_7_skipping(after: str, expected: list[tuple[int, int]]) -> None:
    assert match("A+ B", "AAABAB", after=after) == expected


def test_7_skip_to_first_and_last_of_several() -> None:
    assert match("A B+", "ABBB", after="AFTER MATCH SKIP TO FIRST B", define="") == [(0, 3), (1, 3), (2, 3)]
    assert match("A B+", "ABBBB", after="AFTER MATCH SKIP TO LAST B", define="") == [(0, 4)]


def test_7_skip_to_a_union_variable() -> None:
    clause = "ORDER BY n MEASURES first(n) AS f AFTER MATCH SKIP TO FIRST U PATTERN (A B C) SUBSET U = (B, C)"
    assert column(ask(clause, letters("xxxx")), "f") == [0, 1]


@pytest.mark.parametrize(
    ("pattern", "after", "code"),
    [
        ("A B*", "AFTER MATCH SKIP TO FIRST A", "SKIP_TO_FIRST_ROW"),
        ("A B*", "AFTER MATCH SKIP TO LAST B", "SKIP_TARGET_MISSING"),
    ],
)
def test_7_skip_errors(pattern: str, after: str, code: str) -> None:
    with pytest.raises(MatchError) as failure:
        match(pattern, "A", after=after)
    assert failure.value.code == code


def test_7_after_an_empty_match_the_search_goes_on_at_the_next_row() -> None:
    assert match("B*", "XB", after="AFTER MATCH SKIP TO LAST B", define="DEFINE B AS kind = 'Y'") == [EMPTY, EMPTY]


def test_8_null_is_no_match_and_undefined_is_true() -> None:
    rows = [{"n": 0, "x": None}, {"n": 1, "x": 1}]
    assert column(ask("ORDER BY n MEASURES n AS m PATTERN (A) DEFINE A AS x = 1", rows), "m") == [1]
    assert column(ask("ORDER BY n MEASURES n AS m PATTERN (A) DEFINE A AS NOT (x = 1)", rows), "m") == []
    assert match("A ANY", "AB") == [(0, 1)]


def test_9_null_and_nan_keys_are_partitions_and_keys_are_sorted() -> None:
    keys: list[object] = [2.0, None, nan, 2.0, None, nan, 1.0]
    rows = [{"k": key, "n": n} for n, key in enumerate(keys)]
    shown = ask("PARTITION BY k ORDER BY n MEASURES count(*) AS c PATTERN (A+)", rows)
    assert column(shown, "c") == [2, 1, 2, 2]
    assert column(shown, "k")[:3] == [None, 1.0, 2.0]
    assert isnan(shown[3]["k"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("x", [None, 1.0, 2.0, nan]),
        ("x DESC", [nan, 2.0, 1.0, None]),
        ("x NULLS LAST", [1.0, 2.0, nan, None]),
        ("x DESC NULLS FIRST", [None, nan, 2.0, 1.0]),
    ],
)
def test_9_order_of_nulls_and_nan(order: str, expected: list[float]) -> None:
    rows = [{"x": value} for value in (2.0, None, nan, 1.0)]
    shown = ask(f"ORDER BY {order} MEASURES match_number() AS m {ALL} PATTERN (A+)", rows)
    assert str(column(shown, "x")) == str(expected)


def test_9_ties_go_by_the_other_columns_and_without_order_rows_stay_as_they_came() -> None:
    rows = [{"t": 1, "x": "b"}, {"t": 1, "x": None}, {"t": 1, "x": "a"}, {"t": 0, "x": "z"}]
    assert column(ask(f"ORDER BY t {ALL} PATTERN (A+)", rows), "x") == ["z", None, "a", "b"]
    assert column(ask(f"{ALL} PATTERN (A+)", rows), "x") == ["b", None, "a", "z"]


# --- 10 to 17: navigation and functions -------------------------------------------------------------------------------


def test_10_a_bare_column_is_running_last() -> None:
    assert measure("n", "A+", "xxx", rows=ALL) == [0, 1, 2]
    assert measure("FINAL LAST(n)", "A+", "xxx", rows=ALL) == [2, 2, 2]
    assert measure("RUNNING LAST(A.n)", "A B A", "xxx", rows=ALL) == [0, 0, 2]
    assert measure("FINAL FIRST(A.n, 1)", "A B A", "xxx", rows=ALL) == [2, 2, 2]


def test_11_prev_and_next_leave_the_match_but_not_the_partition() -> None:
    assert measure("prev(n)", "A", "xAx", define="DEFINE A AS kind = 'A'") == [0]
    assert measure("next(n)", "A", "xAx", define="DEFINE A AS kind = 'A'") == [2]
    assert measure("prev(n, 2)", "A", "xAx", define="DEFINE A AS kind = 'A'") == [None]
    assert measure("next(A.n, 2)", "A B", "ABxy", define=AB) == [2]
    assert measure("prev(n, 0)", "A", "A") == [0]


def test_11_first_and_last_stay_among_the_rows_of_the_variable() -> None:
    assert measure("last(A.n, 1)", "A B A B", "xxxx") == [0]
    assert measure("last(A.n, 2)", "A B A B", "xxxx") == [None]
    assert measure("first(B.n, 1)", "A B A B", "xxxx") == [3]


def test_11_first_the_logical_step_then_the_physical_one() -> None:
    assert measure("prev(last(A.n, 1), 1)", "B A B A", "xxxx") == [0]
    assert measure("next(first(B.n), 3)", "A B C", "xxxxx") == [4]
    assert measure("prev(last(A.n, 5), 1)", "A B", "xx") == [None]
    assert measure("next(FINAL LAST(n))", "A B", "xxx", rows=ALL) == [2, 2]
    with pytest.raises(QueryError):
        measure("last(prev(n))", "A", "x")


def test_11_operands_may_be_expressions() -> None:
    assert measure("prev(A.n * 10 + A.n, 1)", "A B", "xxAB", define=AB) == [11]


def test_12_first_and_last_keep_nulls_and_a_variable_without_rows_is_null() -> None:
    rows = [{"n": 0, "x": None}, {"n": 1, "x": 5}, {"n": 2, "x": None}]
    shown = ask("ORDER BY n MEASURES first(x) AS f, last(x) AS l, B.x AS b PATTERN (A+ B?) DEFINE B AS false", rows)
    assert shown == [{"f": None, "l": None, "b": None}]


def test_13_classifier_of_a_union_and_of_the_next_row() -> None:
    union = "SUBSET U = (A, B)"
    assert measure("classifier(U)", "A B C", "xxx", extra=union, rows=ALL) == ["A", "B", "B"]
    assert measure("last(classifier(U), 1)", "A B C", "xxx", extra=union) == ["A"]
    assert measure("next(classifier())", "A B", "xxx", rows=ALL) == ["B", None]
    assert measure("prev(classifier())", "A B", "xxx", rows=ALL) == [None, "A"]
    assert match("A B", "xx", define="DEFINE A AS next(classifier()) IS NULL") == [(0, 1)]
    assert match("A B", "xx", define="DEFINE B AS prev(classifier()) = 'A' AND classifier() = 'B'") == [(0, 1)]


def test_14_aggregates_in_define_include_the_row_under_its_tentative_label() -> None:
    assert match("A+ B", "xxxxx", define="DEFINE A AS count(A.*) <= 2") == [(0, 2), (3, 4)]
    assert match("A+", "xxxx", define="DEFINE A AS sum(n) < 4") == [(0, 2), (3, 3)]
    # A is tried first and fails; what it counted is undone before B is tried.
    assert labels("(A|B)+", "xxxx", define="DEFINE A AS count(A.*) <= 1, B AS count(*) = count(A.*) + count(B.*)") == [
        "ABBB"
    ]


def test_14_conditions_see_the_rows_of_other_variables() -> None:
    rows = [{"n": n, "price": price} for n, price in enumerate([10, 8, 7, 9, 12, 11])]
    clause = "ORDER BY n MEASURES first(n) AS f, last(n) AS l PATTERN (S D+ U+) DEFINE D AS price < prev(price), "
    assert ask(clause + "U AS price > prev(price) AND price < S.price", rows) == [{"f": 0, "l": 3}]
    assert ask(clause + "U AS price > last(D.price)", rows) == [{"f": 0, "l": 5}]


def test_15_arguments_of_aggregates() -> None:
    rows = [{"n": 0, "x": None, "A": 1}, {"n": 1, "x": 2, "A": None}, {"n": 2, "x": 3, "A": None}]
    clause = "ORDER BY n MEASURES count(A.*) AS a, count(A.x) AS b, count(A) AS c, count(*) AS d PATTERN (A A B)"
    assert ask(clause, rows) == [{"a": 2, "b": 1, "c": 1, "d": 3}]
    assert measure("array_agg(classifier() || n)", "A B A", "xxx") == [["A0", "B1", "A2"]]
    assert measure("sum(n * match_number())", "A B", "xxxx") == [1, 10]
    assert measure("max(classifier(U))", "A B C", "xxx", extra="SUBSET U = (A, B)") == ["B"]
    assert measure("count(DISTINCT classifier())", "A B A", "xxx") == [2]
    assert measure("count(CASE WHEN classifier() = 'A' THEN 1 END)", "A B A", "xxx", rows=ALL) == [1, 1, 2]


def test_15_every_aggregate() -> None:
    values = [Decimal("1.50"), None, Decimal("2.25"), Decimal("1.50")]
    rows = [{"n": n, "x": value} for n, value in enumerate(values)]
    clause = """ORDER BY n MEASURES sum(x) AS s, avg(x) AS a, min(x) AS l, max(x) AS g, min_by(n, x) AS nl,
        max_by(n, x) AS ng, array_agg(x) AS r, count(DISTINCT x) AS d, avg(n) AS an PATTERN (A+)"""
    assert ask(clause, rows) == [
        {
            "s": Decimal("5.25"),
            "a": Decimal("1.750000"),
            "l": Decimal("1.50"),
            "g": Decimal("2.25"),
            "nl": 3,
            "ng": 2,
            "r": [Decimal("1.50"), Decimal("2.25"), Decimal("1.50")],
            "d": 2,
            "an": 1.5,
        }
    ]


def test_15_final_and_running_aggregates() -> None:
    assert measure("sum(n)", "A+", "xxx", rows=ALL) == [0, 1, 3]
    assert measure("FINAL sum(n)", "A+", "xxx", rows=ALL) == [3, 3, 3]
    assert measure("sum(U.n)", "A B C", "xxx", rows=ALL, extra="SUBSET U = (A, C)") == [0, 0, 2]


def test_16_arguments_can_t_mix_variables_but_expressions_can() -> None:
    assert measure("B.n - A.n", "A B", "xx") == [1]
    with pytest.raises(QueryError, match="MIXED_VARIABLES"):
        measure("last(A.n + B.n)", "A B", "xx")
    with pytest.raises(QueryError, match="MIXED_VARIABLES"):
        measure("sum(A.n + n)", "A B", "xx")


def test_17_names_fold_to_upper_case_unless_quoted() -> None:
    assert labels('a "b" C', "xxx") == ["AbC"]
    assert measure("a.N", 'a "b"', "xx") == [0]
    assert ask("PARTITION BY KIND ORDER BY N MEASURES last(N) AS top PATTERN (a)", letters("x")) == [
        {"kind": "x", "top": 0}
    ]


# --- 18 to 22: output -------------------------------------------------------------------------------------------------


def test_18_columns_and_their_order() -> None:
    rows = [{"rest": 1, "t": 2, "key": 3}]
    clause = "PARTITION BY key ORDER BY t MEASURES classifier() AS c {} PATTERN (A)"
    assert list(ask(clause.format(""), rows)[0]) == ["key", "c"]
    assert list(ask(clause.format(ALL), rows)[0]) == ["key", "t", "c", "rest"]


def test_19_unmatched_rows_show_null_measures_and_only_once() -> None:
    clause = f"ORDER BY n MEASURES count(*) AS c, match_number() AS m {ALL} WITH UNMATCHED ROWS {{}} PATTERN (A B) {AB}"
    shown = ask(clause.format(""), letters("XABX"))
    assert [tuple(row.values()) for row in shown] == [
        (0, None, None, "X"),
        (1, 1, 1, "A"),
        (2, 2, 1, "B"),
        (3, None, None, "X"),
    ]
    again = ask(clause.format("AFTER MATCH SKIP TO NEXT ROW"), letters("XABX"))
    assert column(again, "n") == [0, 1, 2, 3]


def test_20_excluded_rows_vanish_but_count() -> None:
    clause = (
        f"ORDER BY n MEASURES count(*) AS c, prev(classifier()) AS p, FINAL sum(n) AS s {ALL} PATTERN (A {{- B+ -}} C)"
    )
    assert [tuple(row.values()) for row in ask(clause, letters("wxyz"))] == [(0, 1, None, 6, "w"), (3, 4, "B", 6, "z")]
    assert column(ask(f"ORDER BY n {ALL} PATTERN ({{- A {{- B -}} C -}} A)", letters("wxyz")), "n") == [3]


def test_21_one_row_is_as_of_the_last_row() -> None:
    assert measure("classifier()", "A B", "xx") == ["B"]
    assert measure("first(n) + last(n)", "A+", "xxx") == [2]


# --- the extensions ---------------------------------------------------------------------------------------------------


def test_within_constrains_the_search() -> None:
    start = datetime(2024, 1, 1)
    rows = [
        {"ts": start + timedelta(minutes=m), "kind": kind} for m, kind in [(0, "A"), (4, "B"), (10, "B"), (11, "B")]
    ]
    clause = "ORDER BY ts MEASURES count(*) AS c PATTERN (A B+) WITHIN INTERVAL '10' MINUTE DEFINE B AS kind = 'B'"
    assert column(ask(clause, rows), "c") == [3]
    lazy = "ORDER BY ts MEASURES count(*) AS c PATTERN (A B+ C) WITHIN INTERVAL '3' MINUTE DEFINE B AS kind = 'B'"
    assert column(ask(lazy, rows), "c") == []


def test_maxlength_constrains_the_search() -> None:
    clause = f"ORDER BY n MEASURES first(n) AS f, last(n) AS l PATTERN (A+ B) MAXLENGTH {{}} {AB}"
    assert ask(clause.format(3), letters("AAAB")) == [{"f": 1, "l": 3}]
    assert ask(clause.format(4), letters("AAAB")) == [{"f": 0, "l": 3}]
    assert ask(clause.format(1), letters("AAAB")) == []
    assert match("A+", "AAA", define="MAXLENGTH 2") == [(0, 1), (2, 2)]


def test_all_matches_are_every_labeling_from_every_row() -> None:
    assert labels("(A|B) B", "xxx", after="ALL MATCHES") == ["AB", "BB", "AB", "BB"]
    assert labels("A+", "xxx", after="ALL MATCHES") == ["AAA", "AA", "A", "AA", "A", "A"]
    assert labels("A*", "x", after="ALL MATCHES") == ["A"], "no empty matches"
    assert labels("A | A", "x", after="ALL MATCHES") == ["A"], "each labeling once"
    assert labels("(A?)(A?)", "xx", after="ALL MATCHES") == ["AA", "A", "A"]


def test_all_matches_tell_excluded_rows_apart() -> None:
    assert labels("A | {- A -}", "x", after="ALL MATCHES") == ["A", "A"]


def test_maximal_matches_are_the_longest_per_first_row() -> None:
    assert match("A B*", "ABAB", after="MAXIMAL MATCHES", define="DEFINE B AS kind = 'B'") == [
        (0, 1),
        (1, 1),
        (2, 3),
        (3, 3),
    ]
    assert match("A | A B", "AB", after="MAXIMAL MATCHES") == [(0, 1)]
    assert labels("(A|B)(A|B)", "xx", after="MAXIMAL MATCHES") == ["AA"]


def test_incremental_matches_are_the_longest_per_last_row() -> None:
    assert match("A+ B*", "AABB", after="INCREMENTAL MATCHES") == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert match("A A? B?", "AAAB", after="INCREMENTAL MATCHES") == [(0, 0), (0, 1), (1, 2), (1, 3)]


def test_match_numbers_count_in_every_mode() -> None:
    clause = "PARTITION BY k ORDER BY n MEASURES match_number() AS m {} PATTERN (A B?)"
    rows = [{"k": n // 2, "n": n} for n in range(4)]
    assert column(ask(clause.format("ALL MATCHES"), rows), "m") == [1, 2, 3, 1, 2, 3]
    assert column(ask(clause.format("MAXIMAL MATCHES"), rows), "m") == [1, 2, 1, 2]


def test_match_number_in_define_is_that_of_the_match_looked_for() -> None:
    assert match("A B?", "xxxx", define="DEFINE B AS match_number() = 2") == [(0, 0), (1, 2), (3, 3)]


def test_an_empty_table_gives_nothing() -> None:
    assert ask("ORDER BY n MEASURES count(*) AS c PATTERN (A*)", []) == []
