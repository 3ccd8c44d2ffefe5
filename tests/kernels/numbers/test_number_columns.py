"""Numbers of several sequences added up by group, and numbers of any size as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import MatchError
from ostinato.kernels.numbers import number_columns as n
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.kernels.numbers.python_numbers import Extended

HUGE = 3**5_000


def ints(*values: int) -> Any:
    return np.array(values, object)


def near(mantissas: Sequence[float], exponents: Sequence[int]) -> Extended:
    return Extended(np.array(mantissas, np.float64), np.array(exponents, np.int64))


def somewhere(row: int) -> str:
    return f"query 'q', row {row}"


def column(values: Any, form: NumberForm = NumberForm.DECIMAL, **how: Any) -> list[Any]:
    return list(n.exact_column(values, how.pop("present", None), form, somewhere, **how).to_pylist())


def test_counts_of_the_sequences_of_a_group_are_added() -> None:
    assert n.exact_sums(ints(1, HUGE, 2), np.array([0, 1, 0]), 3).tolist() == [3, HUGE, 0]


def test_approximate_numbers_are_added_at_the_larger_exponent() -> None:
    result = n.approximate_sums(near([1.0, 3.0, 1.0, 0.0], [5_000, 5_000, 0, 9_000]), np.array([0, 0, 0, 1]), 2)
    assert math.frexp(result.mantissa[0])[0] == 0.5 and result.exponent[0] + math.frexp(result.mantissa[0])[1] == 5_003
    assert result.mantissa[1] == 0


def test_extremes_take_present_values_only_and_nan_is_the_largest() -> None:
    values, present = np.array([3, 1, 2, 9]), np.array([True, True, True, False])
    group = np.array([0, 0, 2, 2])
    assert [array.tolist() for array in n.extremes(values, present, group, 3, largest=False)] == [[1, 0, 2], [1, 0, 1]]
    assert [array.tolist() for array in n.extremes(values, present, group, 3, largest=True)] == [[3, 0, 2], [1, 0, 1]]
    floats = np.array([np.nan, 1.0])
    everywhere = np.ones(2, np.bool_)
    assert np.isnan(n.extremes(floats, everywhere, np.zeros(2, np.int64), 1, largest=True)[0][0])
    assert n.extremes(floats, everywhere, np.zeros(2, np.int64), 1, largest=False)[0][0] == 1.0
    nothing = np.zeros(0, np.int64)
    assert n.extremes(nothing, nothing.astype(np.bool_), nothing, 1, largest=True)[1].tolist() == [False]


def test_a_conjunction_counts_unordered_pairs_of_distinct_matches() -> None:
    assert n.conjunction_counts(ints(4, 1, 0), ints(5, 1, 7), ints(2, 1, 0)).tolist() == [17, 0, 0]
    result = n.approximate_conjunction_counts(near([4, 1], [0, 0]), near([5, 1], [0, 0]), near([2, 1], [0, 0]))
    assert np.ldexp(result.mantissa, result.exponent.astype(np.int32)).tolist() == [17, 0]


def test_decimals_hold_38_digits_and_not_one_more() -> None:
    most = 10**38 - 1
    assert column(ints(0, -1, 2**63, most, -most)) == [0, -1, 2**63, most, -most]
    assert n.exact_column(ints(5), None, NumberForm.DECIMAL, somewhere).type == pa.decimal128(38, 0)
    assert column(ints(12345, -5), scale=2) == [Decimal("123.45"), Decimal("-0.05")]
    with pytest.raises(MatchError) as caught:
        column(ints(1, most + 1))
    assert caught.value.code == "NUMBER_TOO_LARGE"
    assert "query 'q', row 1" in str(caught.value) and 'numbers="text"' in str(caught.value)


def test_numbers_that_are_not_there_are_null() -> None:
    present = np.array([True, False])
    assert column(ints(1, HUGE), present=present) == [1, None]
    assert column(ints(1, HUGE), NumberForm.TEXT, present=present) == ["1", None]


def test_text_has_all_digits() -> None:
    digits = column(ints(HUGE), NumberForm.TEXT)[0]
    assert len(digits) == math.floor(5_000 * math.log10(3)) + 1
    assert digits[:12] == str(HUGE // 10 ** (len(digits) - 12)) and digits[-9:] == f"{HUGE % 10**9:09d}"
    assert column(ints(-5, 120, 0), NumberForm.TEXT, scale=2) == ["-0.05", "1.20", "0.00"]


@given(st.integers(-(10**300), 10**300), st.integers(0, 20))
def test_text_reads_back_as_the_same_number(number: int, scale: int) -> None:
    text = column(ints(number), NumberForm.TEXT, scale=scale)[0]
    assert int(text.replace(".", "")) == number
    assert len(text.partition(".")[2]) == scale


def test_very_long_texts() -> None:
    number = 7**60_000
    text = column(ints(number), NumberForm.TEXT)[0]
    assert int(text[-18:]) == number % 10**18
    assert int(text[:18]) == number // 10 ** (len(text) - 18)


def test_log10_beyond_the_range_of_doubles() -> None:
    assert column(ints(1_000, 100), NumberForm.LOG10) == [3.0, 2.0]
    assert column(ints(HUGE), NumberForm.LOG10)[0] == pytest.approx(5_000 * math.log10(3))
    assert column(ints(0), NumberForm.LOG10, is_count=True) == [-math.inf]
    assert column(ints(0), NumberForm.LOG10) == [None]
    assert column(ints(12_345), NumberForm.LOG10, scale=2) == [pytest.approx(math.log10(123.45))]
    result = n.approximate_column(near([1.0], [10_000]), None, NumberForm.LOG10, somewhere)
    assert result[0].as_py() == pytest.approx(10_000 * math.log10(2))


def test_a_negative_sum_has_no_logarithm() -> None:
    for refuse in (
        lambda present: n.exact_column(ints(7, -30), present, NumberForm.LOG10, somewhere),
        lambda present: n.approximate_column(near([7.0, -3.0], [0, 10_000]), present, NumberForm.LOG10, somewhere),
        lambda present: n.approximate_column(near([7.0, -np.inf], [0, 0]), present, NumberForm.LOG10, somewhere),
    ):
        with pytest.raises(MatchError, match="NEGATIVE_LOGARITHM: a sum of query 'q', row 1 is negative"):
            refuse(None)
        assert refuse(np.array([True, False])).to_pylist() == [pytest.approx(math.log10(7)), None]


def test_approximate_numbers_are_doubles_while_they_fit() -> None:
    assert n.approximate_column(near([3.0, 0.0], [2, 5_000]), None, NumberForm.DECIMAL, somewhere).to_pylist() == [
        12,
        0,
    ]
    with pytest.raises(MatchError, match="NUMBER_TOO_LARGE"):
        n.approximate_column(near([1.0], [1_024]), None, NumberForm.DECIMAL, somewhere)
    unasked = n.approximate_column(near([1.0], [1_024]), np.array([False]), NumberForm.DECIMAL, somewhere)
    assert unasked.to_pylist() == [None]
    assert n.approximate_column(near([np.inf], [0]), None, NumberForm.DECIMAL, somewhere)[0].as_py() == math.inf


def test_averages_are_rounded_once() -> None:
    assert n.average_column(ints(10, 1, 5 * HUGE), ints(4, 0, 2 * HUGE)).to_pylist() == [2.5, None, 2.5]
    assert n.average_column(ints(250), ints(1), scale=2).to_pylist() == [2.5]
    result = n.approximate_average_column(near([5.0, 1.0], [9_000, 0]), near([2.0, 0.0], [9_000, 0]))
    assert result.to_pylist() == [2.5, None]


def test_exact_numbers_become_approximate() -> None:
    result = n.approximate_of(ints(HUGE, -3, 0))
    assert [math.log2(abs(m)) + e if m else None for m, e in zip(result.mantissa, result.exponent, strict=True)] == [
        pytest.approx(5_000 * math.log2(3)), pytest.approx(math.log2(3)), None
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "stored", "shown"),
    [
        (pa.int16(), [-7], [-7]),
        (pa.decimal128(9, 2), [-12345], [Decimal("-123.45")]),
        (pa.date32(), [1], [date(1970, 1, 2)]),
        (pa.timestamp("us"), [1_000_000], [datetime(1970, 1, 1, 0, 0, 1)]),
    ],
)
def test_values_get_their_type_back(kind: pa.DataType, stored: list[int], shown: list[Any]) -> None:
    result = n.value_column(np.array([*stored, 0]), np.array([True, False]), kind)
    assert result.type == kind and result.to_pylist() == [*shown, None]


def test_floats_get_their_type_back() -> None:
    result = n.value_column(np.array([1.5, np.nan]), np.array([True, True]), pa.float32())
    assert result.type == pa.float32() and result[0].as_py() == 1.5 and math.isnan(result[1].as_py())
