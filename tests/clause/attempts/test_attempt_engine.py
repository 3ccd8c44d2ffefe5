"""Attempts over letters: how far each start comes, in which way, and what refuses the next row."""

from __future__ import annotations

import pytest
from tests.clause.attempts.letters import attempts, outcomes, parts, reasons

from ostinato.clause.attempts.attempt import LabelRun


def path(pattern: str, text: str, start: int = 0, **options: str) -> str:
    """The labels of an attempt, a letter each."""
    found = attempts(pattern, text, **options)  # type: ignore[arg-type]
    (attempt,) = (each for each in found.attempts if each.start == start)
    return "".join(run.variable * run.rows for run in attempt.labels)


@pytest.mark.parametrize(
    ("pattern", "text", "after", "expected"),
    [
        ("A B C", "ABXABC", "", "200mii"),
        ("A B+ C", "ABBX", "", "3000"),
        ("A B", "ABAB", "AFTER MATCH SKIP TO NEXT ROW", "m0m0"),
        ("A B C B", "ABCBX", "AFTER MATCH SKIP TO LAST C", "mi000"),
        ("A*", "AAXA", "", "mimm"),  # the empty match at X is a match
        ("A+", "AAXA", "ALL MATCHES", "mm0m"),
        ("A+", "AAXA", "MAXIMAL MATCHES", "mm0m"),
        ("A+ B", "AABX", "INCREMENTAL MATCHES", "mm00"),
        ("^ A B", "AXAB", "", "1000"),
        ("A B $", "ABAB", "", "20m" + "i"),
        ("A B", "", "", ""),
    ],
)
def test_outcomes(pattern: str, text: str, after: str, expected: str) -> None:
    assert outcomes(attempts(pattern, text, after=after)) == expected


def test_matches_have_their_numbers_and_rows() -> None:
    starts = attempts("A B", "ABXAB").starts
    assert starts.match.tolist() == [1, 1, 0, 2, 2]
    assert starts.rows.tolist() == [2, 0, 0, 2, 0]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("A B C", "ABX", ["condition C"]),
        ("A B+ C", "ABX", ["condition B", "condition C"]),
        ("A (B | C) D", "AX", ["condition B", "condition C"]),
        ("PERMUTE(A, B, C)", "AX", ["condition B", "condition C"]),
        ("A (B | C)* D", "ABC", ["end of rows B C D"]),
        ("A B $", "ABX", ["rows follow"]),
        ("A B* $", "ABX", ["rows follow", "condition B"]),
        ("A ^ B", "AB", []),
    ],
)
def test_reasons(pattern: str, text: str, expected: list[str]) -> None:
    assert sorted(reasons(attempts(pattern, text), 0)) == sorted(expected)


def test_bounds_come_before_conditions() -> None:
    assert reasons(attempts("A B+ C", "ABBBX", define="DEFINE B AS kind = 'B', C AS kind = 'C'"), 0) == [
        "condition B",
        "condition C",
    ]
    within = attempts("A B+ C", "ABBBX", define=_within(2))
    assert outcomes(within) == "30000"
    (refusal,) = within.attempts[0].refusals
    assert (refusal.reason.value, refusal.variables, str(refusal.excess)) == ("WITHIN", ("B", "C"), "0:01:00")
    assert reasons(attempts("A B+ C", "ABBBX", define="MAXLENGTH 2 DEFINE B AS kind = 'B', C AS kind = 'C'"), 0) == [
        "MAXLENGTH B C"
    ]


def _within(minutes: int) -> str:
    return f"WITHIN INTERVAL '{minutes}' MINUTE DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"


def test_the_parts_of_a_condition_with_their_values() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'B' AND n > A.n + 5 AND (PREV(n, 7) = 1 OR n IN (8, 9))"
    (refusal,) = attempts("A B", "AB", define=define).attempts[0].refusals
    assert refusal.condition == "kind = 'B' AND n > A.n + 5 AND (PREV(n, 7) = 1 OR n IN (8, 9))"
    assert parts(refusal) == [
        "n > A.n + 5 FALSE [('n', 1), ('A.n', 0)]",
        "(PREV(n, 7) = 1 OR n IN (8, 9)) NULL [('PREV(n, 7)', None), ('n', 1)]",
    ]


def test_a_part_behind_its_guard_is_not_evaluated() -> None:
    define = "DEFINE A AS kind = 'A', B AS n <> 1 AND 1 / (n - 1) > 0 AND kind = 'X'"
    (refusal,) = attempts("A B", "AB", define=define).attempts[0].refusals
    assert [part.text for part in refusal.parts] == ["n <> 1", "kind = 'X'"]


def test_a_condition_that_fails_is_told() -> None:
    """Matching never evaluates it: no row may be C, so no start is tried beyond A."""
    define = "DEFINE A AS kind = 'A', B AS 1 / (n - FIRST(A.n) - 1) > 0, C AS kind = 'C'"
    (refusal,) = (
        each for each in attempts("A+ B C", "AX", define=define).attempts[0].refusals if each.variables == ("B",)
    )
    (part,) = refusal.parts
    assert part.verdict.value == "error"
    assert "zero" in (part.error or "")


def test_aggregates_labels_and_match_numbers() -> None:
    define = (
        "DEFINE A AS kind = 'A', B AS count(*) > 9 AND sum(A.n) > 3 AND PREV(CLASSIFIER()) = 'B' AND MATCH_NUMBER() = 7"
    )
    (refusal,) = attempts("A B", "XAX", define=define, rows=1).attempts[0].refusals
    assert parts(refusal) == [
        "count(*) > 9 FALSE [('count(*)', 2)]",
        "sum(A.n) > 3 FALSE [('sum(A.n)', 1)]",
        "PREV(CLASSIFIER()) = 'B' FALSE [('PREV(CLASSIFIER())', 'A')]",
        "MATCH_NUMBER() = 7 FALSE [('MATCH_NUMBER()', 1)]",
    ]


def test_the_path_is_the_nearest_to_a_match() -> None:
    """The greedy X takes all rows, too. The path with B lacks one row less."""
    define = "DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"
    found = attempts("A X* B X* C", "AXBX", define=define)
    assert found.attempts[0].labels == (LabelRun("A", 1), LabelRun("X", 1), LabelRun("B", 1), LabelRun("X", 1))
    assert found.attempts[0].missing == 1


def test_of_equal_paths_the_preferred_one_is_told() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'A', C AS kind = 'C'"
    assert path("A* B* C", "AAA", define=define) == "AAA"
    assert path("A*? B* C", "AAA", define=define) == "BBB"
    assert path("(B | A)* C", "AAA", define=define) == "BBB"
    assert path("A (B A | A B)* C", "AAA", define=define) == "ABA"


def test_a_near_miss_is_the_last_row_that_could_have_been_nearer() -> None:
    define = "DEFINE A AS kind = 'A', C AS kind = 'C' AND n > 9"
    (attempt,) = (each for each in attempts("A X* C", "AXCXX", define=define).attempts if each.start == 0)
    assert attempt.near_miss is not None
    assert attempt.near_miss.row == 4
    assert [refusal.variables for refusal in attempt.near_miss.refusals] == [("C",)]
    assert attempts("A B C", "AX").attempts[0].near_miss is None  # a condition refused the next row


def test_the_furthest_attempts_come_first() -> None:
    found = attempts("A B C", "AXABXAAB", max_attempts=3)
    assert [(attempt.start, attempt.rows) for attempt in found.attempts] == [(2, 2), (6, 2), (0, 1)]


@pytest.mark.parametrize(
    ("rows", "expected"), [(range(2, 4), [2, 3]), ([3, 0, 3], [0, 3]), (slice(None, None, 4), [0, 4])]
)
def test_only_the_rows_asked_for(rows: object, expected: list[int]) -> None:
    found = attempts("A B C", "AXABX", rows=rows)  # type: ignore[arg-type]
    assert found.starts.row.tolist() == expected


def test_many_rows_are_measured_in_one_pass() -> None:
    """Quadratic in the number of rows, this would take hours."""
    count = 100_000
    found = attempts("A+ B", "A" * count, max_attempts=2)
    assert found.starts.rows.tolist() == list(range(count, 0, -1))
    assert [attempt.labels for attempt in found.attempts] == [(LabelRun("A", count),), (LabelRun("A", count - 1),)]
    assert found.trials is None and found.complete


# --- conditions over the run ------------------------------------------------------------------------------------------

INTERPRETED = "DEFINE A AS kind = 'A', B AS kind = 'B' AND n < A.n + 4, C AS kind = 'C'"
GENERAL = (
    "DEFINE A AS kind = 'A', B AS kind = 'B' AND upper(FIRST(kind) || kind) = 'AB' AND n < A.n + 4, C AS kind = 'C'"
)


@pytest.mark.parametrize("define", [INTERPRETED, GENERAL], ids=["interpreted", "general"])
def test_conditions_over_the_run_are_searched(define: str) -> None:
    found = attempts("A B+ C", "ABBBBB", define=define)
    assert outcomes(found) == "400000"
    refused = found.attempts[0].refusals
    assert parts(refused[0]) == ["n < A.n + 4 FALSE [('n', 4), ('A.n', 0)]"]
    assert found.complete and (found.trials or 0) > 4


def test_several_paths_of_a_run_each_tell_their_values() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'A', C AS n > 10 + LAST(A.n)"
    refused = attempts("A+ B+ C", "AAAX", define=define, rows=0).attempts[0].refusals
    values = [part.reads[1].value for refusal in refused if refusal.variables == ("C",) for part in refusal.parts]
    assert values == [1]  # the preferred path that ends in B: A A B
    assert ("B",) in [refusal.variables for refusal in refused]


def test_the_search_says_when_it_stopped() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'A', C AS kind = 'C' AND n > LAST(A.n)"
    stopped = attempts("A+ B+ A+ B+ C", "A" * 12, define=define, max_trials=20, rows=[0, 1])
    assert not stopped.complete
    assert stopped.trials == 40
    assert stopped.starts.complete.tolist() == [False, False]
    assert (
        stopped.attempts[0]
        == attempts("A+ B+ A+ B+ C", "A" * 12, define=define, max_trials=20, rows=[0, 1]).attempts[0]
    )
    whole = attempts("A+ B+ A+ B+ C", "A" * 12, define=define, max_trials=5_000, rows=[0, 1])
    assert whole.complete
    assert [attempt.rows for attempt in whole.attempts] == [12, 11]


def test_all_starts_together_have_thirty_times_the_trials_of_one() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'B' AND n > A.n"
    found = attempts("A+ B", "A" * 60, define=define, max_trials=15)
    assert found.trials == 450
    assert found.starts.rows.tolist() == [15] * 30 + [0] * 30
    assert found.starts.most_rows.tolist() == list(range(60, 0, -1))
    assert not found.starts.complete.any()


def test_conditions_over_labels_read_the_path() -> None:
    define = "DEFINE A AS kind = 'A', B AS kind = 'B' AND PREV(CLASSIFIER()) <> 'B', C AS kind = 'C' AND count(B.n) > 1"
    assert outcomes(attempts("A (B | C)* X", "ABBC", define=define + ", X AS kind = 'X'")) == "2000"
    assert outcomes(attempts("A (B | C)* X", "ABCC", define=define + ", X AS kind = 'X'")) == "2000"


def test_a_row_at_the_very_end_of_the_window_is_tried() -> None:
    assert reasons(attempts("A B C", "ABX", define=_within(2)), 0) == ["condition C"]
    assert outcomes(attempts("A B C", "ABC", define=_within(2))) == "mii"


@pytest.mark.parametrize(
    "condition",
    [
        "exp(FIRST(n) + 1e3 * n) > 5",
        "exp(FIRST(n) + 1e3 * n) <= 5",
        "sin(exp(FIRST(n) + 1e3 * n)) > 2",
        "sin(exp(FIRST(n) + 1e3 * n)) < 2",
        "9223372036854775800 + FIRST(n) + n > 5",
        "FIRST(n) - n < -1",
        "FIRST(n) * -3 div n < 0",
        "(FIRST(n) - 7) % 4 = -2",
        "sqrt(FIRST(n) - n) IS NULL",
        "power(FIRST(n) + 1e1, 400 * n) > 1",
    ],
)
def test_the_search_and_the_matcher_agree_on_numbers_at_their_limits(condition: str) -> None:
    """`A+ B` matches wherever B is admitted; with C behind it, the attempt consumes B in the same cases."""
    define = f"DEFINE A AS kind = 'A', B AS kind = 'B' AND {condition}"
    matched = outcomes(attempts("A+ B", "XAB", define=define))
    reached = outcomes(attempts("A+ B C", "XAB", define=f"{define}, C AS kind = 'C'"))
    assert reached == {"0mi": "020", "010": "010"}[matched]
