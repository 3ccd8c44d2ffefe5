"""Sinks through a Connect server: the writers and the function for foreachBatch are pickled by the client."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.connect.session import SparkSession

import ostinato as ost


def test_sinks_of_a_stream(connect: SparkSession, tmp_path: Path) -> None:
    ost.register_sinks(connect)
    batch = connect.sql("SELECT concat('m', id % 3) AS match_id, TIMESTAMP'2024-03-01 09:00:00' AS began FROM range(6)")
    batch.write.parquet(f"{tmp_path}/in")
    upsert = ost.upsert(tmp_path / "matches", time="began")
    stream = connect.readStream.schema(batch.schema).parquet(f"{tmp_path}/in")
    lines = stream.writeStream.format("ostinato-json-lines").option("path", f"{tmp_path}/lines")
    for number, writer in enumerate((stream.writeStream.foreachBatch(upsert), lines)):
        query = writer.option("checkpointLocation", f"{tmp_path}/{number}").trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.exception() is None
    upsert(batch, 1)  # on the client; the target has all rows already
    assert sorted(row.match_id for row in connect.read.parquet(f"{tmp_path}/matches").collect()) == ["m0", "m1", "m2"]
    assert connect.read.schema(batch.schema).json(f"{tmp_path}/lines").count() == 6
