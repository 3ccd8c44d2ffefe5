"""Conditions over the run, stage by stage: expression -> instructions -> verdict."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.expressions.run_conditions.conditions_alone import lowered, operations, verdict
from tests.laws.test_engine_invariances import uncompile

from ostinato.errors import QueryError
from ostinato.expressions.run_conditions.opcodes import DIVIDE_BY_ZERO, OVERFLOW
from ostinato.expressions.types import Settings

TYPES = {
    "x": pa.int64(), "y": pa.float64(), "s": pa.string(), "w": pa.decimal128(30, 2), "arr": pa.list_(pa.int64()),
}  # fmt: skip


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    uncompile(monkeypatch)
    with np.errstate(over="ignore"):  # unsigned arithmetic wraps around
        yield


# --- expression -> instructions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x > A.x", ["COMPARE_WHOLE"]),
        ("y > A.y", ["COMPARE_REAL"]),
        ("s = A.s", ["COMPARE_WHOLE"]),  # ranks
        ("x > A.y", ["LOAD_REAL", "LOAD_WHOLE", "TO_REAL", "LESS_REAL"]),
        ("x > A.x + 1", ["LOAD_WHOLE", "WHOLE", "ADD", "LOAD_WHOLE", "LESS"]),
        ("x > A.x AND y > A.y", ["COMPARE_WHOLE", "COMPARE_REAL"]),  # two conjuncts
        ("x > A.x OR y > A.y", ["COMPARE_WHOLE", "JUMP_IF_TRUE", "COMPARE_REAL", "OR"]),
        ("sum(A.x) > 5", ["WHOLE", "TOTAL_WHOLE", "LESS"]),
        ("count(*) > 2", ["WHOLE", "TOTAL_WHOLE", "LESS"]),
        ("coalesce(A.x, 0) = 0", ["LOAD_WHOLE", "JUMP_UNLESS_NULL", "POP", "WHOLE", "WHOLE", "EQUAL"]),
    ],
)
def test_instructions(condition: str, expected: list[str]) -> None:
    assert operations(lowered(condition, TYPES)) == expected


def test_conditions_share_columns_and_registers() -> None:
    program = lowered("x > A.x AND x < 2 * A.x AND sum(B.x) < 9 AND sum(B.x) > A.x", TYPES)
    assert (len(program.columns), len(program.registers), len(program.accumulators)) == (1, 1, 2)  # sum and count
    assert len(program.entry) == 5  # four conjuncts


@pytest.mark.parametrize(
    ("condition", "refused"),
    [
        ("upper(A.s) = s", "upper(...)"),
        ("A.arr = arr", "array"),
        ("A.w + 1 > w", "a comparison of two DECIMAL(30,2)"),
        ("array_agg(A.x)[0] = 1", "this expression"),
    ],
)
def test_expressions_that_kernels_cannot_evaluate(condition: str, refused: str) -> None:
    with pytest.raises(QueryError, match="UNSUPPORTED_ACROSS_ROWS") as caught:
        lowered(condition, TYPES)
    assert refused in caught.value.message


# --- instructions -> verdict ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("as_python")
@pytest.mark.parametrize(
    ("condition", "labels", "x", "expected"),
    [
        ("x > A.x", "AC", [1, 2], 1),
        ("x > A.x", "AC", [2, 2], 0),
        ("x > A.x", "AC", [None, 2], 0),  # NULL isn't TRUE
        ("x > B.x", "AC", [1, 2], 0),  # no row is B
        ("x <=> B.x", "AC", [1, None], 1),
        ("x > FIRST(B.x)", "ABBC", [0, 5, 1, 4], 0),
        ("x > LAST(B.x)", "ABBC", [0, 5, 1, 4], 1),
        ("x > LAST(B.x, 1)", "ABBC", [0, 3, 9, 4], 1),
        ("x > FIRST(B.x, 1)", "ABBC", [0, 3, 9, 4], 0),
        ("x > PREV(B.x)", "ABC", [3, 9, 4], 1),
        ("x > PREV(A.x)", "AC", [3, 4], 0),  # before the first row
        ("sum(B.x) = 6", "ABBC", [100, 2, 4, 0], 1),
        ("sum(x) = 6", "ABBC", [1, 2, None, 3], 1),
        ("avg(B.x) = 3", "ABBC", [100, 2, 4, 0], 1),
        ("sum(B.x) IS NULL", "AC", [1, 2], 1),
        ("count(B.x) = 1", "ABBC", [1, None, 2, 3], 1),
        ("count(*) = 4", "ABBC", [1, None, 2, 3], 1),
        ("count(DISTINCT x) = 2", "ABBC", [1, 2, 1, None], 1),
        ("min(B.x) = 2 AND max(B.x) = 7", "ABBBC", [0, 7, None, 2, 9], 1),
        ("max_by(B.x, B.x) = 7", "ABBC", [0, 7, 2, 9], 1),
        ("x BETWEEN A.x AND 2 * A.x", "AC", [3, 6], 1),
        ("x IN (A.x, A.x + 1)", "AC", [3, 4], 1),
        ("CASE WHEN x > A.x THEN A.x = 1 ELSE A.x = 2 END", "AC", [2, 1], 1),
        ("greatest(A.x, x) = 5 AND least(A.x, x) = 2", "AC", [5, 2], 1),
        ("NOT (x > A.x)", "AC", [None, 1], 0),
        ("abs(A.x - x) = 3 AND A.x % 2 = 1", "AC", [1, 4], 1),
        ("MATCH_NUMBER() = 1 AND x > A.x", "AC", [1, 2], 1),
    ],
)
def test_whole_numbers(condition: str, labels: str, x: list[int | None], expected: int) -> None:
    assert verdict(condition, labels, x=pa.array(x, pa.int64())) == expected


@pytest.mark.usefixtures("as_python")
@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("x > A.x", [1.5, float("nan")], 1),  # NaN is greatest
        ("x = A.x", [float("nan"), float("nan")], 1),
        ("sqrt(A.x) = x", [9.0, 3.0], 1),
        ("ln(A.x) IS NULL", [0.0, 1.0], 1),
        ("x > A.x", ["a", "b"], 1),
        ("x > 'aa' AND A.x < 'aa'", ["a", "b"], 1),
        ("x = A.x", [Decimal("12345678901234567890.5")] * 2, 1),
        ("x - A.x = 0.25", [Decimal("1.50"), Decimal("1.75")], 1),
        ("x AND A.x", [True, True], 1),
    ],
)
def test_other_types(condition: str, values: list[Any], expected: int) -> None:
    assert verdict(condition, "AC", x=values) == expected


@pytest.mark.usefixtures("as_python")
def test_a_literal_with_as_many_digits_as_a_sum_of_decimals() -> None:
    x = pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal128(18, 2))
    assert verdict("x + A.x > 12345678901234567.89", "AC", x=x) == 0
    assert verdict("x + A.x < 12345678901234567.89", "AC", x=x) == 1


@pytest.mark.usefixtures("as_python")
def test_a_label_is_the_name_of_a_variable() -> None:
    assert verdict("CLASSIFIER(A) = 'A' AND x > A.x", "AC", x=[1, 2]) == 1


@pytest.mark.usefixtures("as_python")
def test_errors_are_negative_and_a_guard_prevents_them() -> None:
    largest = 2**63 - 1
    assert verdict("x / A.x > 1", "AC", x=[0, 1]) == DIVIDE_BY_ZERO
    assert verdict("A.x <> 0 AND x / A.x > 1", "AC", x=[0, 1]) == 0
    assert verdict("x + A.x > 1", "AC", x=[largest, 1]) == OVERFLOW
    assert verdict("sum(x) > 1", "AC", x=[largest, 1]) == OVERFLOW
    lax = Settings(ansi=False)
    assert verdict("(x / A.x) IS NULL", "AC", lax, x=[0, 1]) == 1
    assert verdict("x + A.x < 0", "AC", lax, x=[largest, 1]) == 1  # wraps around
