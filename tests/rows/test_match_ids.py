"""Ids of matches: the bytes of values, ordinals, labels, and golden ids that no later version may change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import MatchError
from ostinato.rows.match_ids import (
    RowIdentities,
    as_ids,
    label_runs,
    match_digests,
    run_digests,
    tie_ordinals,
    value_bytes,
)
from ostinato.rows.matches import Matches

NTZ, BERLIN = pa.timestamp("us"), pa.timestamp("us", "Europe/Berlin")
VALUES: list[tuple[pa.DataType, Sequence[Any]]] = [
    (pa.int64(), [0, 1, -1, 2**40, None]),
    (pa.float64(), [0.0, 1.5, float("nan"), float("inf"), -2.0, None]),
    (pa.decimal128(10, 3), [Decimal("0"), Decimal("1.500"), Decimal("15.000"), Decimal("-1.5"), None]),
    (pa.string(), ["", "a", "ab", "\0", "ä", None]),
    (pa.binary(), [b"", b"a", None]),
    (pa.bool_(), [True, False, None]),
    (pa.date32(), [date(2024, 1, 1), date(1969, 12, 31), None]),
    (NTZ, [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1), None]),
    (pa.duration("us"), [timedelta(0), timedelta(microseconds=-1), None]),
    (pa.list_(pa.string()), [[], [None], ["a"], ["a", "b"], ["ab"], None]),
    (pa.list_(pa.list_(pa.int64())), [[], [[]], [[], []], [[1], [2]], [[1, 2]], None]),
    (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, {"a": 1, "b": None}, None]),
    (pa.map_(pa.string(), pa.int64()), [[], [("a", 1)], [("a", 1), ("b", 2)], None]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=str)
def test_different_values_have_different_bytes(kind: pa.DataType, values: Sequence[Any]) -> None:
    encoded = value_bytes(pa.array(values, kind))
    assert len(set(encoded)) == len(values)
    for one in encoded:  # so that bytes of several columns can follow each other
        assert not any(other.startswith(one) for other in encoded if other != one)


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=str)
def test_slices_and_chunks_have_the_same_bytes(kind: pa.DataType, values: Sequence[Any]) -> None:
    array = pa.array(values, kind)
    assert value_bytes(array.slice(1)) == value_bytes(array)[1:]
    assert value_bytes(pa.chunked_array([array.slice(0, 2), array.slice(2)])) == value_bytes(array)


EQUAL = [
    (pa.array([0.0, float("nan")]), pa.array([-0.0, -float("nan")])),
    (pa.array([1.5, None]), pa.array([1.5, None], pa.float32())),
    (pa.array([7, None]), pa.array([7, None], pa.int16())),
    (pa.array(["a", "b", "a", None]), pa.array(["a", "b", "a", None], pa.large_string())),
    (pa.array(["a", "b", "a", None]), pa.array(["a", "b", "a", None], pa.string_view())),
    (pa.array(["a", "b", "a", None]), pa.array(["a", "b", "a", None]).dictionary_encode()),
    (pa.array([b"ab"]), pa.array([b"ab"], pa.binary(2))),
    (pa.array([Decimal("1.5"), Decimal("-20")]), pa.array([Decimal("1.50"), Decimal("-20.00")])),
    (pa.array([Decimal("0")], pa.decimal128(38, 20)), pa.array([Decimal("0")], pa.decimal128(5, 0))),
    (pa.array([datetime(2024, 7, 1, tzinfo=UTC)], BERLIN), pa.array([datetime(2024, 7, 1)], pa.timestamp("ms"))),
    (pa.array([[1], None]), pa.array([[1], None], pa.large_list(pa.int32()))),
    (pa.array([[1, 2], None]), pa.array([[1, 2], None], pa.list_(pa.int64(), 2))),
    (pa.array([None], pa.string()), pa.nulls(1)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=lambda array: str(array.type))
def test_representation_does_not_matter(one: pa.Array, other: pa.Array) -> None:
    assert value_bytes(one) == value_bytes(other)


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(MatchError, match=r"UNSUPPORTED_TYPE.*month_day_nano"):
        value_bytes(pa.array([(1, 2, 3)], pa.month_day_nano_interval()))


def test_ordinals_count_rows_that_are_equal_in_key_and_order() -> None:
    order = [pa.array([None, None, 1.0, -0.0, 0.0, float("nan"), float("nan")])]
    assert tie_ordinals(order, np.array([0, 7])).tolist() == [0, 1, 0, 0, 1, 0, 1]
    assert tie_ordinals(order, np.array([0, 1, 4, 4, 7])).tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert tie_ordinals([], np.array([0, 2, 5])).tolist() == [0, 1, 0, 1, 2]


def matches(*labels: str) -> Matches:
    """Matches with these labels, letters for variables."""
    length = np.array([len(text) for text in labels], np.int64)
    zeros = np.zeros(len(labels), np.int64)
    label = np.array(["ABC".index(letter) for letter in "".join(labels)], np.int32)
    return Matches(
        zeros, length, zeros, np.cumsum(length) - length, label, np.zeros(len(label), np.bool_), zeros, zeros
    )


def ids_of(*labels: str, names: str = "ABC") -> list[str]:
    found = matches(*labels)
    row = RowIdentities([pa.array([1] * len(labels))], np.zeros(len(labels), np.int64))
    runs = run_digests("", [], row)
    return as_ids(match_digests(runs, label_runs(found, list(names)), row)).to_pylist()  # type: ignore[no-any-return]


def test_labels_tell_matches_of_one_run_apart() -> None:
    labels = ["", "A", "AA", "AAA", "AB", "ABB", "AAB", "ABAB", "BA", "C"]
    ids = ids_of(*labels)
    assert len(set(ids)) == len(labels)
    assert [ids_of(one)[0] for one in labels] == ids  # no match depends on the others
    assert ids_of("AB") == [ids_of("BA", names="BAC")[0]]  # a label counts by its name


ROWS = pa.table(
    {
        "k": ["ä", "ä", "ä", "ä", None, None],
        "d": pa.array([Decimal("1.50")] * 6, pa.decimal128(6, 2)),
        "at": pa.array([1_704_067_200_000_000 + second * 1_000_000 for second in (0, 0, 1, 2, 0, 5)], BERLIN),
        "x": [1.0, 1.0, 2.0, -0.0, 1.0, float("nan")],
    }
)
GOLDEN = [
    (
        "PARTITION BY k ORDER BY at, x MEASURES FIRST(x) AS v PATTERN (A B+) DEFINE B AS x >= PREV(x)",
        [
            ("37a640d000fe49e9ace076cfd03a3811", "0129f5435bdb61722c7daf5771684705"),
            ("ab97fe382aeef50fc5f3f895fc579905", "fa719339229c956365eb7154153b2ff0"),
        ],
    ),
    (
        "PARTITION BY d ORDER BY at DESC MEASURES FIRST(x) AS v PATTERN (C? A*) DEFINE C AS x > 1, A AS x < 2",
        [
            ("811acbcd14ba42357617b11409df3705", "f45ec4c5d3ba5c1ebb5612b733d22ae3"),
            ("4fe73793002fd2747b3fff45999f4363", "52cf90b542bc59fcee090c443c887b4c"),
        ],
    ),
    (
        "ORDER BY x MEASURES FIRST(x) AS v ALL MATCHES PATTERN (A | B A) DEFINE A AS k IS NULL",
        [
            ("77687b7a399d9fb563ecb4e79d8d7690", "0085b8a6b964ad1d77c1c45ff35f99e3"),
            ("4304a514394a879ed39e5577d3e17703", "e0484fce91363cb477b592410a877012"),
            ("6258058dbcf7ac6bf1c9e825205c2559", "5ed2e683dfbda05e1078c7cd785288e4"),
            ("647e8d0216033a6d9a62a54a06ef86a8", "cbe0eea7af30315d659b8aa4fb1e7875"),
        ],
    ),
]


@pytest.mark.parametrize(("clause", "expected"), GOLDEN)
def test_golden_ids(clause: str, expected: list[tuple[str, str]]) -> None:
    """Sinks of users hold such ids. A change of these values needs a new version of the hashed bytes."""
    rows = ost.match(clause, ROWS, match_id="match", run_id="run").to_pylist()
    assert [(row["match"], row["run"]) for row in rows] == expected
