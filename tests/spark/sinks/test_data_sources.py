"""`ostinato-json-lines` and `ostinato-webhook` through Spark: batches, streams, replays of a micro-batch."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from tests.spark.streams.spark_streams import Source
from tests.spark_without_jvm.sinks.receiver import receiving

import ostinato as ost

TYPES = """
    SELECT id, CAST(id AS DOUBLE) / 3 AS third, 1.50 AS price, 'a"b' AS word, X'00FF' AS bytes, DATE'2024-03-01' AS day,
        TIMESTAMP'2024-03-01 10:00:00.25Z' AS at, TIMESTAMP_NTZ'2024-03-01 10:00:00' AS local,
        map('k', id) AS counts, named_struct('at', TIMESTAMP'2024-03-01 10:00:00Z', 'tags', array('x', NULL)) AS inner,
        IF(id = 1, NULL, true) AS flag
    FROM range(3)"""


@pytest.fixture(scope="module")
def sinks(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.session.timeZone", "Europe/Zurich")  # files don't depend on it
    ost.register_sinks(session)
    return session


def test_a_session_beside_one_that_has_the_sinks(spark: SparkSession, tmp_path: Path) -> None:
    first, second = spark.newSession(), spark.newSession()
    ost.register_sinks(first)
    for session in (second, first, second):  # the active session is the one before
        ost.register_sinks(session)
        session.range(1).write.format("ostinato-json-lines").mode("append").save(f"{tmp_path}/out")
    assert spark.read.text(f"{tmp_path}/out").count() == 3


def started(df: DataFrame, sink: str, checkpoint: str, **options: Any) -> StreamingQuery:
    writer = df.writeStream.format(sink).option("checkpointLocation", checkpoint).trigger(availableNow=True)
    return writer.options(**options).start()


def uncommit(checkpoint: str, batch: int) -> None:
    """As if Spark had been killed after the sink's work and before its own note of it."""
    for file in (Path(checkpoint) / "commits" / str(batch), Path(checkpoint) / "commits" / f".{batch}.crc"):
        file.unlink(missing_ok=True)


def test_json_lines_of_a_batch_are_read_back(sinks: SparkSession, tmp_path: Path) -> None:
    df = sinks.sql(TYPES)
    folder = f"{tmp_path}/out"
    for mode in ("append", "append", "overwrite"):
        df.write.format("ostinato-json-lines").mode(mode).option("compression", "gzip").save(folder)
    assert sorted(sinks.read.schema(df.schema).json(folder).collect()) == sorted(df.collect())
    line = sinks.read.text(folder).where("value LIKE '{\"id\":1,%'").collect()[0][0]
    assert json.loads(line)["at"] == "2024-03-01T10:00:00.25Z"
    with pytest.raises(Exception, match="UNSUPPORTED_TYPE: 'v' is STRUCT<X:VARIANT>") as caught:
        variant = sinks.sql("SELECT named_struct('x', parse_json('1')) AS v")
        variant.write.format("ostinato-json-lines").mode("append").save(folder)
    assert ost.unwrap(caught.value).code == "UNSUPPORTED_TYPE"  # type: ignore[union-attr]


def test_json_lines_of_a_stream_are_exact_after_a_replay(sinks: SparkSession, tmp_path: Path) -> None:
    source = Source(tmp_path, sinks).add(pa.table({"x": range(100)}), pa.table({"x": range(100, 150)}))
    rows = source.read(delay=None).repartition(2)

    def written() -> list[int]:
        started(rows, "ostinato-json-lines", source.checkpoint, path=source.output).awaitTermination()
        return sorted(row.x for row in sinks.read.schema("x long").json(source.output).collect())

    assert written() == list(range(150))
    names = {file.name for file in Path(source.output).iterdir()}
    uncommit(source.checkpoint, 1)
    next(Path(source.output).glob("*-00000001-*")).unlink()  # the kill came between two files
    source.add(pa.table({"x": range(150, 160)}))
    assert written() == list(range(160))
    assert names < {file.name for file in Path(source.output).iterdir()}
    assert list(Path(source.output).glob(".*")) == []


def test_a_webhook_gets_each_row_at_least_once(sinks: SparkSession, tmp_path: Path) -> None:
    """The receiver fails in the second batch, then refuses a row. The stream is started again on its checkpoint."""
    with receiving() as receiver:
        source = Source(tmp_path, sinks)
        source.add(*(pa.table({"match_id": [f"m{n}{i}" for i in range(4)]}) for n in range(2)))
        rows = source.read(delay=None).repartition(2)
        secret = tmp_path / "token"
        secret.write_text("Bearer hunter2\n")
        options = {"url": receiver.url, "header_file.Authorization": str(secret), "body": "object", "attempts": 1}

        receiver.answers += [200, 200, 200, 200, 200, 503]
        failing = started(rows, "ostinato-webhook", source.checkpoint, **options)
        with pytest.raises(Exception, match="WEBHOOK_FAILED") as caught:
            failing.awaitTermination()
        assert ost.unwrap(caught.value).code == "WEBHOOK_FAILED"  # type: ignore[union-attr]

        receiver.answers[:] = [422]
        dead = f"{tmp_path}/dead"
        query = started(rows, "ostinato-webhook", source.checkpoint, dead_letters=dead, **options)
        query.awaitTermination()
        explained = io.StringIO()
        with contextlib.redirect_stdout(explained):
            query.explain(extended=True)
        for shown in (explained.getvalue(), repr(query.lastProgress), str(caught.value)):
            assert "hunter2" not in shown
            assert "path-secret" not in shown

        sent = Counter(row["match_id"] for row in receiver.rows)
        assert sorted(sent) == [f"m{n}{i}" for n in range(2) for i in range(4)]
        assert all(sent[f"m0{i}"] == 1 for i in range(4))  # the committed batch isn't sent again
        assert all(request.key == request.rows[0]["match_id"] for request in receiver.received)
        assert {request.headers["authorization"] for request in receiver.received} == {"Bearer hunter2"}
        (letter,) = sinks.read.json(dead).collect()
        assert (letter.status, letter.epoch, letter.row.match_id[:2]) == (422, 1, "m1")

        uncommit(source.checkpoint, 1)
        started(rows, "ostinato-webhook", source.checkpoint, dead_letters=dead, **options).awaitTermination()
        assert list(Path(dead).iterdir()) == []  # the replay delivered the row


def test_options_of_a_webhook_are_checked(sinks: SparkSession) -> None:
    def write(mode: str, **options: str) -> str:
        """The code of the error."""
        with pytest.raises(Exception) as caught:
            sinks.range(2).write.format("ostinato-webhook").mode(mode).options(url="http://h", **options).save()
        assert "hunter2" not in str(caught.value)
        error = ost.unwrap(caught.value)
        assert error is not None
        return error.code

    assert write("append", **{"header.Authorization": "hunter2"}) == "SECRET_IN_OPTION"
    assert write("overwrite") == "INVALID_OPTION"
