"""The Connect fixture really is Connect, and Python workers run under it."""

from collections.abc import Iterator

import pyarrow as pa


def test_map_in_arrow_runs_over_connect(connect) -> None:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    assert "connect" in type(connect).__module__
    rows = connect.range(10).mapInArrow(same, "id long").collect()
    assert sorted(row.id for row in rows) == list(range(10))
