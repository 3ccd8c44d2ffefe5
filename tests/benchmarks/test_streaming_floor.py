"""The floor of the streaming benchmark keeps the bytes that it is told to, and the ways of grouping count alike."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from benchmarks.streaming.grouping import SHIPPED, KeepPacks, KeepRows
from benchmarks.streaming.identity import KeepBytes, Kept, largest_state, stretched
from pyspark.sql import Row

from ostinato.spark.streams.stream_packing import pack_batch


class Variable:
    """Stands for Spark's state variables: what was stored last."""

    def __init__(self) -> None:
        self.kept: Any = None

    def get(self) -> Any:
        return self.kept

    def update(self, value: Any) -> None:
        self.kept = value

    put = update


class Segments(Variable):
    def get(self) -> Any:
        return iter(self.kept or ())


class Handle:
    """Stands for Spark's: variables by name."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}

    def getValueState(self, name: str, schema: object) -> Variable:
        return self.variables.setdefault(name, Variable())

    def getListState(self, name: str, schema: object) -> Variable:
        return self.variables.setdefault(name, Segments())


def test_the_floor_keeps_as_many_bytes_as_the_query_did_after_each_batch() -> None:
    handle = Handle()
    floor = KeepBytes({4: (Kept(3, 10), Kept(5, 0), Kept(2, 8))})
    floor.init(handle)  # type: ignore[arg-type]
    kept = []
    for _ in range(4):
        emitted = list(floor.handleInputRows((4,), iter([(4, b"abcd"), (4, b"ef")]), None))  # type: ignore[arg-type]
        assert emitted == [Row(bytes=6)]
        header = handle.variables["value"].kept[1]
        ((segment,),) = handle.variables["segments"].kept
        kept.append((header, segment))
    # Behind the last known batch the size stays.
    assert kept == [(b"abc", b"abcdefabcd"), (b"abcde", b""), (b"ab", b"abcdefab"), (b"ab", b"abcdefab")]


def test_nothing_can_be_stretched_to_nothing_only() -> None:
    assert stretched(b"", 0) == b""
    assert stretched(b"ab", 0) == b""


def test_the_largest_state_is_that_of_one_batch() -> None:
    sizes = {0: (Kept(1, 10), Kept(1, 50)), 1: (Kept(1, 60), Kept(1, 5)), 2: (Kept(0, 1),)}
    assert largest_state(sizes) == 11 + 61 + 1


def test_both_ways_of_grouping_keep_and_count_all_rows() -> None:
    at = datetime(2024, 3, 1, tzinfo=UTC)
    by_key, by_bucket = Handle(), Handle()
    of_key, of_bucket = KeepRows(), KeepPacks()
    of_key.init(by_key)  # type: ignore[arg-type]
    of_bucket.init(by_bucket)  # type: ignore[arg-type]
    rows = [Row(key="k", ts=at, price=1.5), Row(key="k", ts=at, price=2.5)]
    batch = pa.RecordBatch.from_pylist([row.asDict() for row in rows], schema=SHIPPED)
    sizes = []
    for _ in range(2):
        counted = list(of_key.handleInputRows(("k",), iter(rows), None))  # type: ignore[arg-type]
        assert counted == [Row(groups=1, rows=2)]
        packs = [(0, pack_batch(batch))]
        assert list(of_bucket.handleInputRows((0,), iter(packs), None)) == counted  # type: ignore[arg-type]
        sizes.append([len(handle.variables["rows"].kept[0]) for handle in (by_key, by_bucket)])
    assert sizes[1] == [2 * size for size in sizes[0]]
