"""Patterns of fixed length: which they are, and conditions over the run as conditions over neighbours."""

from __future__ import annotations

import pytest

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.plan.fixed_length import LONGEST, at_offset, fixed_sequence
from ostinato.clause.plan.navigations import NULL
from ostinato.explanation.readable import readable
from ostinato.expressions.syntax import Expr, Navigation, string_literal, walk


def sequence(pattern: str) -> str | None:
    names = fixed_sequence(parse_row_pattern(pattern))
    return None if names is None else "".join(names)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A B C", "ABC"),
        ("A{3} B", "AAAB"),
        ("(A B){2} C", "ABABC"),
        ("A {- B C -} D", "ABCD"),
    ],
)
def test_every_match_has_the_same_variables(pattern: str, expected: str) -> None:
    assert sequence(pattern) == expected


@pytest.mark.parametrize(
    "pattern", ["A+", "A B*", "A? B", "A{1,2}", "A | B", "PERMUTE(A, B)", "A (B | C)", "^ A", "A{2,}"]
)
def test_matches_differ_in_length_or_variables(pattern: str) -> None:
    assert sequence(pattern) is None


def test_long_patterns_are_left_to_the_automaton() -> None:
    assert sequence(f"A{{{LONGEST}}}") == "A" * LONGEST
    assert sequence(f"A{{{LONGEST + 1}}}") is None
    assert sequence(f"(A B){{{LONGEST // 2 + 1}}}") is None
    assert sequence(f"A{{{LONGEST}}} B") is None


def condition_at(condition: str, names: str, offset: int) -> Expr:
    """The condition of the variable at an offset in the pattern, over that row and its neighbours."""
    pattern, name = " ".join(names), names[offset]
    text = f"ORDER BY t ALL ROWS PER MATCH PATTERN ({pattern}) DEFINE {name} AS {condition}"
    bound = bind(parse_clause(text), ["t", "x"]).conditions[name]
    return at_offset(bound, tuple(names), offset)


def placed(condition: str, names: str, offset: int) -> str:
    return readable(condition_at(condition, names, offset))


def label_read(condition: str, names: str, offset: int) -> Expr:
    """The value that stands for CLASSIFIER(), the first operand of the condition."""
    navigation = next(node for node in walk(condition_at(condition, names, offset)) if isinstance(node, Navigation))
    return navigation.operand


@pytest.mark.parametrize(
    ("condition", "names", "offset", "expected"),
    [
        ("x > A.x", "ABC", 2, "x > PREV(x, 2)"),
        ("x > A.x", "ABC", 1, "x > PREV(x)"),
        ("x > FIRST(x)", "ABC", 2, "x > PREV(x, 2)"),
        ("x > LAST(A.x, 1)", "AAB", 2, "x > PREV(x, 2)"),
        ("x > FIRST(A.x, 1)", "AAB", 2, "x > PREV(x)"),
        ("x > PREV(A.x)", "AB", 1, "x > PREV(x, 2)"),  # also rows before the match
        ("x > NEXT(A.x, 2)", "AB", 1, "x > NEXT(x)"),
        ("x > PREV(x)", "AB", 1, "x > PREV(x)"),
    ],
)
def test_a_row_of_the_run_lies_at_a_known_distance(condition: str, names: str, offset: int, expected: str) -> None:
    assert placed(condition, names, offset) == expected


def test_the_same_variable_reads_other_rows_at_other_offsets() -> None:
    assert [placed("x > FIRST(x)", "AAA", offset) for offset in range(3)] == ["x > x", "x > PREV(x)", "x > PREV(x, 2)"]


def test_labels_of_rows_matched_so_far_are_constants() -> None:
    assert label_read("PREV(CLASSIFIER()) = 'A'", "AB", 1) == string_literal("A")
    assert label_read("FIRST(CLASSIFIER()) = 'A'", "BAB", 2) == string_literal("B")
    assert label_read("PREV(CLASSIFIER()) = 'A'", "AB", 0) == NULL  # the row before the match
    assert label_read("NEXT(CLASSIFIER()) = 'A'", "AB", 0) == NULL  # not matched yet


def test_a_row_that_is_not_there_is_null() -> None:
    assert "NULL" in placed("x > LAST(A.x, 1)", "AB", 1)
    assert "NULL" in placed("x > A.x", "BA", 0)
