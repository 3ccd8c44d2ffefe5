"""Expected and found rows: columns that are named, NULL, floats, and as many pairs as there can be."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.rule_files.row_diff import row_diff
from ostinato.rule_files.typed_values import inferred_type, typed_column

NAN = float("nan")
FOUND = pa.table({"user": ["ann", "bob"], "total": [30.0, None], "rows": pa.array([3, 4], pa.int64())})


@pytest.mark.parametrize(
    ("expected", "missing", "unexpected"),
    [
        ([{"user": "ann"}, {"user": "bob"}], 0, 0),
        ([{"rows": 4}, {"TOTAL": 30}], 0, 0),
        ([{"user": "ann", "total": 30, "rows": 3}, {"user": "bob", "total": None}], 0, 0),
        ([{"user": "ann"}], 0, 1),
        ([{"user": "ann"}, {"user": "ann"}], 1, 1),
        ([{"user": "ann", "total": None}, {"user": "bob"}], 1, 1),
        ([{"user": "cat"}, {"user": "ann"}, {"user": "bob"}], 1, 0),
    ],
)
def test_named_columns_only(expected: list[dict[str, Any]], missing: int, unexpected: int) -> None:
    diff = row_diff(expected, FOUND)
    assert (len(diff.missing), len(diff.unexpected), bool(diff)) == (missing, unexpected, bool(missing or unexpected))


def test_the_nearest_row_is_one_that_nothing_else_expects() -> None:
    diff = row_diff([{"user": "ann", "rows": 3}, {"user": "ann", "total": 1.0, "rows": 4}], FOUND)
    (missing,) = diff.missing
    assert (missing.nearest, missing.differs) == ({"user": "bob", "total": None, "rows": 4}, ("user", "total"))


def test_floats_are_equal_within_a_tolerance_only_if_asked() -> None:
    found = pa.table({"x": [0.1 + 0.2, float("nan")], "y": pa.array([[1.0], [2.0]], pa.list_(pa.float64()))})
    nan = {"x": float("nan")}
    assert row_diff([{"x": 0.3}, nan], found)
    assert not row_diff([{"x": 0.3}, nan], found, tolerance=1e-9)
    assert not row_diff([{"y": [1.05]}, {"y": [2]}], found, tolerance=0.1)
    assert row_diff([{"y": [1.05]}, {"y": [2]}], found)


def test_values_have_the_types_of_the_columns() -> None:
    found = pa.table(
        {
            "at": pa.array([datetime(2024, 3, 1, 9)], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.50")]),
            "who": pa.array([{"name": "ann", "age": 3}]),
            "ok": [True],
        }
    )
    row = {"at": "2024-03-01 09:00", "price": 1.5, "who": {"name": "ann", "age": 3}, "ok": True}
    assert not row_diff([row], found)
    for name, wrong in {"at": "soon", "price": True, "who": {"nme": "ann"}, "ok": "true"}.items():
        with pytest.raises(QueryError, match=f"INVALID_TEST: .*column '{name}'"):
            row_diff([{name: wrong}], found)


def test_unknown_columns() -> None:
    with pytest.raises(QueryError, match=r"UNKNOWN_COLUMN(.|\n)*did you mean 'total'"):
        row_diff([{"totl": 3}], FOUND)


cells = st.sampled_from([None, 1, 2])
tables = st.lists(st.fixed_dictionaries({"a": cells, "b": cells}), max_size=4)
wanted = st.lists(st.fixed_dictionaries({}, optional={"a": cells, "b": cells}), max_size=4)


@given(wanted, tables)
def test_as_many_pairs_as_there_can_be(expected: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """The judge tries all orders of the found rows."""
    found = pa.table({name: pa.array([row[name] for row in rows], pa.int64()) for name in "ab"})
    padded = [*rows, *[None] * len(expected)]
    most = max(
        sum(
            other is not None and all(other[name] == row[name] for name in row)
            for row, other in zip(expected, order, strict=True)
        )
        for order in set_of(permutations(range(len(padded)), len(expected)), padded)
    )
    diff = row_diff(expected, found)
    assert len(diff.missing) == len(expected) - most
    assert len(diff.unexpected) == len(rows) - most


def test_a_chain_of_pairs_is_moved_as_one() -> None:
    """Row n is in a pair with row n + 1. The last expected row fits row 0 only, so all others move on by one."""
    rows = [{"first": number == 0, "even": number // 2, "odd": (number + 1) // 2} for number in range(61)]
    pairs = [{"odd": (number + 1) // 2} if number % 2 else {"even": number // 2} for number in range(60)]
    assert not row_diff([*pairs, {"first": True}], pa.Table.from_pylist(rows))


def set_of(orders: Any, rows: list[Any]) -> list[list[Any]]:
    return [[rows[number] for number in order] for order in orders]


# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        (["a", "2024-01-01 10:00"], pa.string()),
        (["2024-01-01 10:00:00.5", None], pa.timestamp("us")),
        (["2024-01-01"], pa.string()),
        ([None], pa.string()),
    ],
)
def test_inferred_types(values: list[Any], kind: pa.DataType) -> None:
    assert inferred_type("x", values) == kind


def test_values_without_a_common_type() -> None:
    for values in ([1, "a"], [True, 1], [{"a": 1}]):
        with pytest.raises(QueryError, match=r"INVALID_TEST.*no common type"):
            inferred_type("x", values)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (300, pa.int8(), "300 doesn't fit the type TINYINT of column 'x': its values are from -128 to 127"),
        *((value, pa.decimal128(5, 2), "at most 5 digits, 2 of them behind the point") for value in (1e9, 0.001, NAN)),
        (-(2**63) - 1, pa.int64(), "from -9223372036854775808 to 9223372036854775807"),
    ],
)
def test_numbers_that_dont_fit(value: Any, kind: pa.DataType, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        typed_column("x", [value], kind, Settings())


@pytest.mark.parametrize(
    ("value", "kind", "read"),
    [
        (300, pa.int8(), None),
        (1.5, pa.int64(), None),
        (2.0, pa.int64(), 2),
        (7, pa.string(), None),
        ("7", pa.int64(), 7),
        ("1.25", pa.decimal128(5, 2), Decimal("1.25")),
        (1.1, pa.decimal128(5, 2), Decimal("1.10")),
        (1e10, pa.decimal128(5, 2), None),
        (3, pa.float32(), 3.0),
        ("2024-02-30", pa.date32(), None),
        (True, pa.int64(), None),
        ([1, 2], pa.list_(pa.int8()), [1, 2]),
        ({"a": 1}, pa.map_(pa.string(), pa.int64()), [("a", 1)]),
        (3, pa.timestamp("us"), None),
    ],
)
def test_typed_values(value: Any, kind: pa.DataType, read: Any) -> None:
    if read is None:
        with pytest.raises(QueryError, match="INVALID_TEST"):
            typed_column("x", [value], kind, Settings())
    else:
        assert typed_column("x", [None, value], kind, Settings()).to_pylist() == [None, read]
