"""Operations that may fail are tested first, and the error names key and time. All others stay as they are."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as s

from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, rebuild
from ostinato.expressions.types import Settings
from ostinato.rows.column_leaves import by_column_name
from ostinato.spark.clause.located_failures import FailureLocator

TYPES = {"i": pa.int32(), "d": pa.float64(), "m": pa.decimal128(10, 2), "s": pa.string(), "a": pa.list_(pa.int32())}


def located(text: str, *, ansi: bool = True) -> str:
    locator = FailureLocator(text, {"k": s.StringType()}, by_column_name(TYPES), Settings(ansi=ansi))
    return render_expression(locator.located(_columns(parse_expression(text)))).replace("`", "")


def _columns(expr: Expr) -> Expr:
    if isinstance(expr, ColumnRef):
        return Column(expr.parts[0].text, expr.span)
    return rebuild(expr, _columns)


@pytest.mark.parametrize(
    ("text", "condition", "message"),
    [
        ("1 / i", "((i = 0) AND (NOT (1 IS NULL)) AND (NOT (i IS NULL)))", "DIVIDE_BY_ZERO: division by zero in 1 / i"),
        (
            "i + 1",
            "((try_add(i, 1) IS NULL) AND (NOT (i IS NULL)) AND (NOT (1 IS NULL)))",
            "ARITHMETIC_OVERFLOW: the result is too large in i + 1",
        ),
        (
            "CAST(s AS DATE)",
            "((TRY_CAST(s AS DATE) IS NULL) AND (NOT (s IS NULL)))",
            "CAST_INVALID_INPUT: the value can\\'t be cast to DATE in CAST(s AS DATE)",
        ),
    ],
)
def test_an_operation_that_may_fail_is_tested_first(text: str, condition: str, message: str) -> None:
    found = located(text)
    assert found.startswith(f"CASE WHEN {condition} THEN raise_error(concat('{message}, in the row with ', 'k = ', ")
    assert found.endswith(f" ELSE {located(text, ansi=False)} END")


@pytest.mark.parametrize(
    "text",
    [
        "1 / 2",  # for no row, or for all
        "d * 2 + d",  # never fails
        "m + m",  # may need more digits: only Spark knows
        "i / a[0]",  # to test an operand twice may fail where a condition guards it
        "i / (s + 1)",  # an implicit cast may fail
        "1 / unknown_function(i)",
        "TRY_CAST(s AS INT)",
        " + ".join(["i"] * 10),
    ],
)
def test_other_operations_stay_as_they_are(text: str) -> None:
    assert located(text) == located(text, ansi=False)


def test_the_tests_of_operands_never_fail() -> None:
    condition, _ = located("d / (i + 1)").split(" THEN ", 1)
    assert condition == "CASE WHEN ((try_add(i, 1) = 0) AND (NOT (d IS NULL)) AND (NOT (try_add(i, 1) IS NULL)))"
    condition, _ = located("i % (i / (i - 1))").split(" THEN raise", 1)
    divisor = "CASE WHEN (try_subtract(i, 1) = 0) THEN NULL ELSE (i / try_subtract(i, 1)) END"
    assert condition.startswith(f"CASE WHEN (({divisor} = 0) AND ")


def test_a_text_that_ends_a_literal_stays_inside_of_it() -> None:
    assert "in i / (i + length(\\'\\\\\\'\\'))" not in located("i / (i + length('\\''))")  # length is no arithmetic
    name = FailureLocator(None, {}, by_column_name(TYPES), Settings())
    found = render_expression(name.located(_columns(parse_expression("1 / i")), "it's \\"))
    assert "in the measure \\'it\\'s \\\\\\'" in found
