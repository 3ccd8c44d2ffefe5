"""Older rows that a worker reads from the archive's files: those of the wanted keys, as Spark compares keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ostinato.correlations.task.wanted_schema import FROM, ROWS_BEFORE, TO, wanted_key
from ostinato.expressions.syntax import Column
from ostinato.expressions.types import Settings
from ostinato.spark.correlations.worker_reads import BATCH_ID, BUCKET_ID, CLOCK, WorkerReads

NAN = float("nan")


def read(folder: Path, keys: list[Any], wanted: list[Any], since: int = 0, rows_before: int = 0) -> list[int]:
    """The ids of the rows read of a bucket whose rows have these keys, at the times 0, 1, 2, ..."""
    ids = range(len(keys))
    stored = pa.table({"k": keys, "id": ids, CLOCK: pa.array(ids, pa.int64())})
    bucket_folder = folder / "batch_id=0" / "bucket=0"
    bucket_folder.mkdir(parents=True)
    pq.write_table(stored, bucket_folder / "rows.parquet")
    columns = {"k": Column("k"), "id": Column("id")}
    schema = pa.schema([stored.schema.field("k"), stored.schema.field("id")])
    files = stored.schema.append(pa.field(BATCH_ID, pa.int64())).append(pa.field(BUCKET_ID, pa.int32()))
    reads = WorkerReads(str(folder), 1, files, ("k",), columns, schema, Settings())
    count = len(wanted)
    asked = {wanted_key(0): pa.array(wanted, stored.schema.field("k").type), FROM: [since] * count}
    table = pa.table({**asked, TO: [len(keys)] * count, ROWS_BEFORE: [rows_before] * count})
    return sorted(reads.read(0, table).column("id").to_pylist())


@pytest.mark.parametrize("nested", [False, True])
def test_null_nan_and_the_two_zeros(tmp_path: Path, nested: bool) -> None:
    values = [0.0, -0.0, NAN, None, 1.0, -0.0]
    wanted = [0.0, NAN, None]
    keys = [{"a": value} for value in values] if nested else values
    asked = [{"a": value} for value in wanted] if nested else wanted
    assert read(tmp_path, keys, asked) == [0, 1, 2, 3, 5]


def test_a_key_that_lacks_rows_before_the_range_is_read_from_the_beginning(tmp_path: Path) -> None:
    assert read(tmp_path, [0.0, 1.0, 1.0, 1.0, -0.0], [0.0], since=4, rows_before=1) == [0, 4]
