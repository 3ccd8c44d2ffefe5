"""The bytes of values: those of a row, not an average over all rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.rule_sets.row_bytes import row_bytes

LONG = "x" * 1_000
COLUMNS = {
    "text": (pa.array(["a", LONG, None]), [5, 1_004, 4]),
    "binary": (pa.array([b"", b"ab", b"abc"]), [4, 6, 7]),
    "number": (pa.array([1, 2, 3], pa.int32()), [4, 4, 4]),
    "number or NULL": (pa.array([1, None], pa.int32()), [4, 4]),
    "boolean": (pa.array([True, None]), [1 / 8, 1 / 8]),
    "decimal": (pa.array([None, None, None], pa.decimal128(20, 2)), [16, 16, 16]),
    "list": (pa.array([["a"], None, [LONG, "a"]]), [9, 4, 1_013]),
    "struct": (pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": LONG}, {"a": 3, "b": ""}]), [13, 1_012, 12]),
    "map": (pa.array([[("k", 1)], [], [("k", 1), (LONG, 2)]], pa.map_(pa.string(), pa.int64())), [17, 4, 1_029]),
    "nothing": (pa.nulls(3), [0, 0, 0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_value_counts_its_own_bytes(name: str) -> None:
    column, expected = COLUMNS[name]
    assert row_bytes(column).tolist() == expected
    assert row_bytes(column.slice(1)).tolist() == expected[1:]
    assert row_bytes(column.slice(0, 0)).tolist() == []
