"""`key=` and `rows=`: the rows that they choose, and the errors of those that choose none."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.local.key_rows import rows_of_key, wanted_starts

TABLE = pa.table(
    {
        "n": [0, 1, 2, 3],
        "text": ["a", "b", None, "a"],
        "real": [1.0, math.nan, None, 1.0],
        "day": [date(2024, 1, 1), date(2024, 1, 2), None, date(2024, 1, 1)],
        "exact": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("1.50")], pa.decimal128(5, 2)),
        "list": [[1], [2], None, [1]],
    }
)


def chosen(columns: str | list[str], key: Any) -> list[int]:
    names = columns.split() if isinstance(columns, str) else columns
    rows, _ = rows_of_key(names, TABLE, key, Settings())
    return rows.column("n").to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("columns", "key", "expected"),
    [
        ("text", "a", [0, 3]),
        ("text", {"text": None}, [2]),
        ("text", {"TEXT": "b"}, [1]),
        ("real", 1.0, [0, 3]),
        ("real", math.nan, [1]),
        ("day", date(2024, 1, 1), [0, 3]),
        ("exact", Decimal("1.5"), [0, 3]),
        ("list", [1], [0, 3]),
        ("text real", {"text": "a", "real": 1}, [0, 3]),
        ("", None, [0, 1, 2, 3]),
        ("", {}, [0, 1, 2, 3]),
    ],
)
def test_the_rows_of_a_key(columns: str, key: Any, expected: list[int]) -> None:
    assert chosen(columns, key) == expected


@pytest.mark.parametrize(
    ("columns", "key", "code", "words"),
    [
        ("text", None, "KEY_MISSING", "key= is one of 'a', 'b', None"),
        ("text real", {"text": "a"}, "KEY_MISSING", "'real'"),
        ("text", "z", "KEY_NOT_FOUND", "text = 'z'"),
        ("text", {"txt": "a"}, "INVALID_KEY", "did you mean 'text'"),
        ("text real", "a", "INVALID_KEY", "text, real"),
        ("", "a", "INVALID_KEY", "no PARTITION BY"),
        ("real", "a", "INVALID_KEY", "DOUBLE"),
        ("day", 5.5, "INVALID_KEY", "DATE"),
        ("text", object(), "INVALID_KEY", "STRING"),
        ("text", {3: "a"}, "INVALID_KEY", "3"),
    ],
)
def test_errors(columns: str, key: Any, code: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        chosen(columns, key)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_table_with_one_key_needs_no_key() -> None:
    rows, values = rows_of_key(["text"], TABLE.slice(0, 1), None, Settings())
    assert (rows.num_rows, values) == (1, {"text": "a"})
    empty, values = rows_of_key(["text"], TABLE.slice(0, 0), None, Settings())
    assert (empty.num_rows, values) == (0, {})


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (None, None),
        (2, [2]),
        (range(1, 3), [1, 2]),
        (slice(-2, None), [2, 3]),
        ([3, 0], [3, 0]),
        (np.array([1]), [1]),
        ([], []),
    ],
)
def test_start_rows(rows: Any, expected: list[int] | None) -> None:
    assert wanted_starts(rows, 4) == expected


@pytest.mark.parametrize("rows", [4, -1, [0, 4], "0", 1.5, [True], [None], slice("a", None), {"a": 1}, slice(0, 9, 0)])
def test_rows_that_the_key_does_not_have(rows: Any) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        wanted_starts(rows, 4)
