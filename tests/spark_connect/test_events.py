"""Event queries on Spark Connect: the same calls, rows and errors as in process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
LETTERS = "AACBBBBAACCCB"
TABLE = pa.table(
    {
        "ts": pa.array([BEGIN + timedelta(seconds=at) for at in range(len(LETTERS))] * 2, pa.timestamp("us", "UTC")),
        "kind": list(LETTERS) * 2,
        "g": ["p"] * len(LETTERS) + ["q"] * len(LETTERS),
        "x": list(range(2 * len(LETTERS))),
    }
)
QUERIES = {
    "sums": "PATTERN SEQ(A a, B+ b) GROUP BY g RETURN g, COUNT(*) AS n, SUM(b.x) AS s, AVG(b.x) AS m",
    "no group": "PATTERN SEQ(A a, B+ b) WHERE SAME[g] RETURN COUNT(*) AS n",
    "events counted, no group": "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS TUMBLE RETURN COUNT(*) AS n",
    "neighbours": "PATTERN SEQ(C c, B+ b) WHERE NEXT(b).x > b.x + 1 GROUP BY g RETURN g, COUNT(*) AS n",
    "matches": "PATTERN SEQ(A a, B b) WHERE a.x + b.x < 9 GROUP BY g WITHIN 6 SECONDS RETURN MATCHES",
}


def plain(table: pa.Table) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_rows_are_those_in_process(connect: Any, text: str) -> None:
    query = ost.events(text, type="kind", time="ts")
    result = connect.createDataFrame(TABLE).transform(query).toArrow()
    wanted = ost.match(query, TABLE)
    assert result.schema.names == wanted.schema.names
    assert plain(result) == plain(wanted)


def test_a_workload_is_one_job(connect: Any) -> None:
    workload = ost.Workload({"a": QUERIES["sums"], "c": QUERIES["neighbours"]}, type="kind", time="ts")
    result, wanted = workload.run(connect.createDataFrame(TABLE)), workload.run(TABLE)
    assert plain(result.table.toArrow()) == plain(wanted.table)
    assert plain(result["c"].toArrow()) == plain(wanted["c"])


def test_errors_are_ours(connect: Any) -> None:
    df = connect.createDataFrame(TABLE)
    with pytest.raises(ost.QueryError, match="UNKNOWN_COLUMN"):
        df.transform(ost.events("PATTERN SEQ(A a, B b) WHERE b.y > 1 RETURN COUNT(*)", type="kind", time="ts"))
    many = connect.range(200).selectExpr("id AS ts", "if(id = 0, 'A', 'B') AS kind")
    with pytest.raises(Exception, match="NUMBER_TOO_LARGE"):
        many.transform(ost.events("PATTERN SEQ(A, B+) RETURN COUNT(*)", type="kind", time="ts")).collect()


@pytest.fixture
def rocksdb(connect: Any) -> Iterator[None]:
    before = connect.conf.get(STATE_STORE)
    connect.conf.set(STATE_STORE, ROCKSDB)
    yield
    connect.conf.set(STATE_STORE, before)


@pytest.mark.usefixtures("rocksdb")
def test_a_stream(connect: Any, tmp_path: Any) -> None:
    connect.createDataFrame(TABLE).write.parquet(str(tmp_path / "in"))
    stream = connect.readStream.schema(connect.createDataFrame(TABLE).schema).parquet(str(tmp_path / "in"))
    text = "PATTERN SEQ(A a, B+ b) GROUP BY g WITHIN 10 SECONDS SLIDE 5 SECONDS RETURN g, COUNT(*) AS n"
    query = ost.events(text, type="kind", time="ts", buckets=2)
    writer = stream.withWatermark("ts", "1 second").transform(query).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).option("path", str(tmp_path / "out"))
    assert writer.trigger(availableNow=True).start().awaitTermination(120)
    result = connect.read.parquet(str(tmp_path / "out")).toArrow()
    rest = ost.finish_stream(connect, str(tmp_path / "checkpoint")).toArrow()
    assert sorted(plain(result) + plain(rest)) == plain(ost.match(query, TABLE))
