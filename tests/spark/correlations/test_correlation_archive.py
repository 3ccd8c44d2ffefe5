"""Reads from an archive: by key and time range, with rows before the range, for every type of clock."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as s

from ostinato.correlations.task.wanted_schema import wanted_schema
from ostinato.spark.correlations.correlation_clock import as_constant, as_number, is_later
from ostinato.spark.correlations.stream_archive import ArchiveTimes
from ostinato.spark.correlations.wanted_rows import Wanted

KEYS = ("first key", "k")
TIMES = {"a": (1, 4, 4, 7, 9), "b": (2, 8), "c": (5,)}
ROWS = [("x", key, at, f"{key}{at}") for key, times in TIMES.items() for at in times]


def columns(**kinds: s.DataType) -> s.StructType:
    return s.StructType([s.StructField(name, kind) for name, kind in kinds.items()])


TEXT, NUMBER = s.StringType(), s.LongType()
COLUMNS = columns(**{"first key": TEXT}, k=TEXT, t=NUMBER, v=TEXT)


def wanted(*rows: tuple[str, int, int, int]) -> Wanted:
    schema = wanted_schema([pa.string(), pa.string()])
    table = pa.Table.from_pylist([dict(zip(schema.names, ("x", *row), strict=True)) for row in rows], schema=schema)
    return Wanted(table, frozenset([0]), (TEXT, TEXT))


CASES: dict[str, tuple[list[tuple[str, int, int, int]], list[str]]] = {
    "a range, half open": ([("a", 4, 9, 0)], ["a4", "a4", "a7"]),
    "keys apart": ([("a", 7, 8, 0), ("b", 1, 8, 0)], ["a7", "b2"]),
    "rows before": ([("a", 7, 9, 1)], ["a4", "a4", "a7"]),
    "further back than the ranges": ([("a", 9, 10, 4), ("b", 8, 9, 1)], ["a1", "a4", "a4", "a7", "a9", "b2", "b8"]),
    "fewer than wanted": ([("c", 5, 6, 3)], ["c5"]),
    "a key that isn't there": ([("z", 1, 9, 1), ("b", 8, 9, 1)], ["b2", "b8"]),
    "rows only": ([("a", 9, 9, 2)], ["a4", "a4", "a7"]),
    "since ever": ([("a", -(1 << 63), 2, 1)], ["a1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_spark_reads_exactly_the_wanted_rows(streaming: SparkSession, case: str) -> None:
    ranges, expected = CASES[case]
    rows = streaming.createDataFrame(ROWS, COLUMNS)
    result = ArchiveTimes(KEYS, "t", s.LongType()).wanted(rows, wanted(*ranges))
    assert sorted(row.v for row in result.collect()) == expected


MOMENTS: list[tuple[s.DataType, Any, int, Any]] = [
    (s.TimestampType(), datetime(2024, 5, 1, 12), 1_714_564_800_000_000, datetime(2024, 5, 1, 12, 0, 0, 1)),
    (s.TimestampNTZType(), datetime(1960, 5, 1, 12), -305_121_600_000_000, datetime(1960, 5, 1, 12, 0, 0, 1)),
    (s.DateType(), date(2024, 5, 1), 1_714_521_600_000_000, date(2024, 5, 2)),
    (s.IntegerType(), -7, -7, -6),
]


@pytest.mark.parametrize(("kind", "value", "number", "later"), MOMENTS)
def test_times_become_numbers_and_are_restored(
    streaming: SparkSession, kind: s.DataType, value: Any, number: int, later: Any
) -> None:
    t = streaming.createDataFrame([(value,), (later,), (None,)], s.StructType([s.StructField("t", kind)]))
    rows = t.selectExpr(
        f"{as_number('t', kind)} AS n",
        f"t <= {as_constant(number, kind)} AS up_to",
        f"coalesce({is_later('t', number, kind)}, false) AS later",
        f"{is_later('t', None, kind)} AS is_time",
    ).collect()
    assert rows[0][:] == (number, True, False, True)
    assert rows[1][1:] == (False, True, True)
    assert rows[2][2:] == (False, False)
