"""Conditions over neighbours -> masks, for all rows at once: one letter or digit per row."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.clause.matching.probing import worker_and_window

from ostinato.errors import MatchError


def holds(condition: str, *keys: str) -> str:
    """For each row of the keys whether the condition is true: `1`, or `.` if not. A row `-` has the value NULL."""
    values = [None if letter == "-" else int(letter) for letter in "".join(keys)]
    table = pa.table(
        {
            "k": [number for number, key in enumerate(keys) for _ in key],
            "n": range(len(values)),
            "x": pa.array(values, pa.int64()),
        }
    )
    clause = f"PARTITION BY k ORDER BY n MEASURES count(*) AS c PATTERN (A+) DEFINE A AS {condition}"
    worker, window = worker_and_window(clause, table)
    (mask,) = worker._neighbours.masks(window.columns)
    return "".join("1" if value else "." for value in mask)


def test_prev_reads_the_row_before() -> None:
    assert holds("x > PREV(x)", "12132") == ".1.1."


def test_next_reads_the_row_behind() -> None:
    assert holds("x > NEXT(x)", "12132") == ".1.1."


def test_a_neighbour_beyond_the_key_is_null() -> None:
    assert holds("x > PREV(x)", "12", "34") == ".1.1"
    assert holds("PREV(x, 2) IS NULL", "123", "4") == "11.1"
    assert holds("NEXT(x, 100) IS NULL", "12", "3") == "111"  # farther than the key is long


def test_a_null_among_the_neighbours_is_not_true() -> None:
    assert holds("x > PREV(x)", "1-23") == "...1"
    assert holds("PREV(x) IS NULL", "1-23") == "1.1."


def test_operands_of_and_hold_together() -> None:
    assert holds("x > PREV(x) AND x > NEXT(x)", "131241") == ".1..1."


def test_a_guard_keeps_rows_from_failing() -> None:
    """Evaluated apart, the division would fail for the rows that the first operand excludes."""
    assert holds("PREV(x) <> 0 AND 6 / PREV(x) > 2", "2013") == ".1.1"


def test_without_a_guard_the_division_fails() -> None:
    with pytest.raises(MatchError, match="DIVIDE_BY_ZERO"):
        holds("6 / PREV(x) > 2", "2013")
