"""The rows that two slices share, and the rows that a slice owns."""

from __future__ import annotations

import pytest

from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.plan.shared_part import SharedPart, longest_match, shared_part
from ostinato.errors import QueryError

HOUR_US = 3_600_000_000


def longest(pattern: str) -> int | None:
    return longest_match(build_nfa(parse_row_pattern(pattern)))


def shared(pattern: str, max_length: int | None = None, within_us: int | None = None) -> SharedPart:
    return shared_part(build_nfa(parse_row_pattern(pattern)), max_length, within_us)


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("A", 1),
        ("A B C", 3),
        ("A B? C", 3),
        ("A | B C D", 3),
        ("(A B){2,4} C", 9),
        ("A{3} | B{,5}", 5),
        ("PERMUTE(A, B C, D)", 4),
        ("^ A B | C", 2),
        ("A B $", 2),
        ("{- A -} B", 2),
        ("()", 0),
    ],
)
def test_the_longest_match(pattern: str, rows: int) -> None:
    assert longest(pattern) == rows


@pytest.mark.parametrize("pattern", ["A*", "A+ B", "A (B C)* D", "A{3,}", "(A | B+) C", "A | B C*", "^ A+", "A+? $"])
def test_a_loop_has_no_longest_match(pattern: str) -> None:
    assert longest(pattern) is None


def test_a_loop_that_only_the_first_row_can_enter_counts() -> None:
    assert longest("^ A* B | C") is None


@pytest.mark.parametrize(
    ("shared", "rows", "within_us"),
    [
        (shared("A B C"), 2, None),
        (shared("A B* C", max_length=100), 99, None),
        (shared("A B C", max_length=100), 2, None),  # the pattern is shorter than it may be
        (shared("A B C", max_length=2), 1, None),
        (shared("A B+", within_us=HOUR_US), None, HOUR_US),
        (shared("A B+", max_length=10, within_us=HOUR_US), 9, HOUR_US),
        (shared("A B+"), None, None),
        (shared("A"), 0, None),
        (shared("()"), 0, None),
    ],
)
def test_the_shared_part_has_the_bounds_of_a_match(shared: SharedPart, rows: int | None, within_us: int | None) -> None:
    assert (shared.rows, shared.within_us) == (rows, within_us)


@pytest.mark.parametrize(
    ("shared", "reason"),
    [
        (shared("A B C"), "the pattern takes at most 3 rows"),
        (shared("A B* C", max_length=7), "MAXLENGTH 7"),
        (shared("A B+", within_us=HOUR_US), "WITHIN limits the time of a match"),
        (shared("A B+"), "nothing limits the length of a match"),
    ],
)
def test_the_reason_of_a_bound(shared: SharedPart, reason: str) -> None:
    assert shared.why == reason


def test_a_slice_owns_its_rows_without_the_shared_ones() -> None:
    assert shared("A B* C", max_length=100).owned(5_000) == 4_901
    assert shared("A B C").owned(3) == 1
    assert shared("A B+").owned(1) == 1


@pytest.mark.parametrize(
    ("shared", "slice_rows", "hint"),
    [
        (shared("A B C"), 2, "the pattern takes at most 3 rows; take at least 3 rows"),
        (shared("A B* C", max_length=100), 99, "MAXLENGTH 100; take at least 100 rows"),
        (shared("A B+"), 0, None),
        (shared("A B C"), -1, None),
    ],
)
def test_a_slice_that_owns_no_rows_raises(shared: SharedPart, slice_rows: int, hint: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        shared.owned(slice_rows)
    assert caught.value.code == "SLICE_TOO_SMALL"
    assert caught.value.hint == hint
