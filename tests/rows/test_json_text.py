"""One JSON object for each row, whatever the types of the columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json

AT = datetime(2024, 3, 1, 9, 0, 0, 250_000, UTC)


def texts(array: pa.Array, *, iso_times: bool = False) -> list[object]:
    """The JSON values of one column."""
    rows = as_json(pa.table({"x": array}), Settings(timezone="Europe/Zurich"), iso_times=iso_times)
    return [json.loads(row)["x"] for row in rows.to_pylist()]


def test_scalars() -> None:
    assert texts(pa.array([1, None, 2**62])) == [1, None, 2**62]
    assert texts(pa.array([0.5, float("nan"), float("-inf"), None])) == [0.5, "NaN", "-Infinity", None]
    assert texts(pa.array(['a"\n\u2028é', None])) == ['a"\n\u2028é', None]
    assert texts(pa.array([True, False])) == [True, False]
    assert as_json(pa.table({"x": pa.array([Decimal("1.50")])}), Settings()).to_pylist() == ['{"x":1.50}']
    assert texts(pa.array([b"\x00\xff", None])) == ["AP8=", None]
    assert texts(pa.array([timedelta(1), -timedelta(0, 3_671, 50_000)], pa.duration("us"))) == [
        "INTERVAL '1 00:00:00' DAY TO SECOND",
        "INTERVAL '-0 01:01:11.05' DAY TO SECOND",
    ]


def test_times_are_local_or_iso() -> None:
    at = pa.array([AT, None], pa.timestamp("us", "Europe/Zurich"))
    assert texts(at) == ["2024-03-01 10:00:00.25", None]
    assert texts(at, iso_times=True) == ["2024-03-01T09:00:00.25Z", None]
    without_zone = pa.array([AT.replace(tzinfo=None)], pa.timestamp("us"))
    assert texts(without_zone, iso_times=True) == ["2024-03-01T09:00:00.25"]
    far = pa.array([253_402_300_800_000_000], pa.timestamp("us", "UTC"))
    assert texts(far, iso_times=True) == ["+10000-01-01T00:00:00Z"]


def test_nested_values_follow_the_same_rules() -> None:
    kind = pa.struct([("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.decimal128(4, 2)))])
    rows = [{"at": AT, "tags": [Decimal("1.50"), None]}, None, {"at": None, "tags": []}, {"at": AT, "tags": None}]
    expected = [
        {"at": "2024-03-01T09:00:00.25Z", "tags": [1.5, None]},
        None,
        {"at": None, "tags": []},
        {"at": "2024-03-01T09:00:00.25Z", "tags": None},
    ]
    array = pa.array(rows, kind)
    assert texts(array, iso_times=True) == expected
    assert texts(array[1:3], iso_times=True) == expected[1:3]  # a slice keeps the offsets of its parent


def test_maps_are_objects() -> None:
    entries = [[(1, b"\xff")], None, [], [(2, None), (3, b"")]]
    array = pa.array(entries, pa.map_(pa.int64(), pa.binary()))
    expected = [{"1": "/w=="}, None, {}, {"2": None, "3": ""}]
    assert texts(array) == expected
    assert texts(array[2:]) == expected[2:]
    lists = pa.array([[[1], []], None, [[2, 3]]])
    assert texts(lists) == [[[1], []], None, [[2, 3]]]
    assert texts(lists[2:]) == [[[2, 3]]]


def test_no_row_and_no_column() -> None:
    assert as_json(pa.table({"x": pa.array([], pa.list_(pa.int64()))}), Settings()).to_pylist() == []
    assert as_json(pa.table({"x": [1, 2]}).select([]), Settings()).to_pylist() == ["{}", "{}"]
