"""One aggregate of a measure -> its values, by Spark's rules for types, NULLs and overflow."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.clause.task.measure_aggregates import aggregate_array
from ostinato.errors import MatchError
from ostinato.expressions.syntax import Aggregate
from ostinato.expressions.values.vectors import from_arrow
from ostinato.rows.matches import Matches, one_row_frames

DECIMAL = pa.decimal128(10, 2)


def aggregate(
    name: str, *values_of_matches: list[Any], type: pa.DataType, kind: pa.DataType | None = None, **how: Any
) -> list[Any]:
    """`name` over the values of each match, which have this type; the result has the type `kind`."""
    length = np.array([len(values) for values in values_of_matches], np.int64)
    at, rows = np.cumsum(length) - length, int(length.sum())
    matches = Matches(
        start=at,
        length=length,
        number=np.arange(1, len(length) + 1),
        path_at=at,
        label=np.zeros(rows, np.int32),
        excluded=np.zeros(rows, np.bool_),
        key_first=np.zeros(len(length), np.int64),
        key_end=np.full(len(length), rows),
    )
    values = from_arrow(pa.array([value for values in values_of_matches for value in values], type), type)
    slot = Aggregate(name, (), None, distinct=how.get("distinct", False))
    result = aggregate_array(
        slot, kind or type, matches, one_row_frames(matches), None, [values], ansi=how.get("ansi", True)
    )
    return result.to_pylist()


def test_null_is_skipped_and_of_nothing_comes_null() -> None:
    for name in ("sum", "min", "max"):
        assert aggregate(name, [None, 3, None], [None], [], type=pa.int64()) == [3, None, None]
    assert aggregate("count", [None, 3, None], [None], [], type=pa.int64()) == [1, 0, 0]
    assert aggregate("avg", [None, 3, 4], [None], [], type=pa.int64(), kind=pa.float64()) == [3.5, None, None]
    assert aggregate("array_agg", [None, 3, 3], [None], type=pa.int64(), kind=pa.list_(pa.int64())) == [[3, 3], []]


def test_distinct() -> None:
    values = [3, 1, 3, None, 1]
    assert aggregate("count", values, type=pa.int64(), distinct=True) == [2]
    assert aggregate("sum", values, type=pa.int64(), distinct=True) == [4]
    assert aggregate("array_agg", values, type=pa.int64(), kind=pa.list_(pa.int64()), distinct=True) == [[3, 1]]
    assert aggregate("count", [0.0, -0.0, math.nan, math.nan], type=pa.float64(), distinct=True) == [2]


def test_nan_is_the_greatest() -> None:
    assert aggregate("min", [math.nan, 1.0], type=pa.float64()) == [1.0]
    assert math.isnan(aggregate("max", [math.nan, math.inf], type=pa.float64())[0])


def test_truth() -> None:
    assert aggregate("bool_and", [True, False], [True, None], [None], type=pa.bool_()) == [False, True, None]
    assert aggregate("bool_or", [True, False], [False, None], [None], type=pa.bool_()) == [True, False, None]
    assert aggregate("count_if", [True, False, None, True], type=pa.bool_(), kind=pa.int64()) == [2]


def test_a_sum_beyond_bigint_fails_and_wraps_around_where_ansi_is_off() -> None:
    with pytest.raises(MatchError, match="ARITHMETIC_OVERFLOW"):
        aggregate("sum", [2**63 - 1, 1], type=pa.int64())
    assert aggregate("sum", [2**63 - 1, 1], [1, 2], type=pa.int64(), ansi=False) == [-(2**63), 3]


def test_decimals_are_exact_and_rounded_half_up() -> None:
    cents = [Decimal("0.01"), Decimal("0.02"), Decimal("0.02")]
    assert aggregate("sum", cents, type=DECIMAL, kind=pa.decimal128(20, 2)) == [Decimal("0.05")]
    assert aggregate("avg", cents, type=DECIMAL, kind=pa.decimal128(14, 6)) == [Decimal("0.016667")]
    large = [Decimal(10) ** 30, Decimal(1)]
    assert aggregate("sum", large, type=pa.decimal128(38, 0)) == [Decimal("1000000000000000000000000000001")]
    with pytest.raises(MatchError, match="ARITHMETIC_OVERFLOW"):
        aggregate("sum", [Decimal("99999999.99"), Decimal("0.01")], type=DECIMAL)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("var_pop", [1.25, 0.0, None]),
        ("var_samp", [5 / 3, None, None]),
        ("stddev_pop", [math.sqrt(1.25), 0.0, None]),
        ("stddev_samp", [math.sqrt(5 / 3), None, None]),
    ],
)
def test_statistics_need_one_value_or_two(name: str, expected: list[float | None]) -> None:
    assert aggregate(name, [1, 2, 3, 4], [7], [], type=pa.int64(), kind=pa.float64()) == expected
