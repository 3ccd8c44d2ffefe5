"""The open partial matches of a stored bucket, as the task of `ost.stream_state` reads them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.clause.stream.early_stream import EarlyStream
from ostinato.spark.clause.clause_stream_task import StateView
from ostinato.spark.streams.stream_buckets import CheckpointBucket
from ostinato.testing import StreamTester

SCHEMA = pa.schema([("waiting_since", pa.timestamp("us")), ("rows", pa.int64()), ("next", pa.list_(pa.string()))])


@pytest.mark.parametrize("emit", ["final", "early"])
def test_preliminary_rows_beside_the_state_do_not_matter(emit: Any) -> None:
    clause = "ORDER BY t MEASURES A.t AS at PATTERN (A B+ C?) DEFINE A AS x = 0, B AS x = 1, C AS x = 2"
    stream = StreamTester(clause, {"t": "timestamp_ntz", "x": "bigint"}, run_id="run", emit=emit)
    rows = stream.feed([{"t": 0, "x": 0}, {"t": 1, "x": 1}, {"t": 2, "x": 1}], watermark=2)
    assert [row.get("status") for row in rows] == ([] if emit == "final" else ["open"])
    core: StreamWorker | EarlyStream = stream.worker if emit == "final" else EarlyStream(stream.worker)
    task: Any = SimpleNamespace(worker=core)
    [run] = StateView(task, SCHEMA, "key")._view(CheckpointBucket(stream.state, None, [])).to_pylist()
    assert (run["rows"], run["next"]) == (3, ["B", "C"])
