"""emit="early" on Spark: preliminary rows, also across a restart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, trades

import ostinato as ost

CLAUSE = """
    PARTITION BY symbol ORDER BY ts
    MEASURES FIRST(ts) AS began, coalesce(count(*), 0) AS n, LAST(price) AS price
    PATTERN (TOP FALL+ RISE* $ | TOP FALL+ RISE RISE) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
IDS = {"match_id": "found", "run_id": "run"}


def run(source: Source, changes: list[dict[str, Any]]) -> None:
    """Runs the stream until every file is read. Adds the rows of each batch to `changes`."""

    def add(batch: DataFrame, _: int) -> None:
        changes.extend(batch.toArrow().to_pylist())

    answer = source.read().transform(matching(CLAUSE, emit="early", **IDS))
    assert answer.columns == ["symbol", "began", "n", "price", "found", "run", "status"]
    writer = answer.writeStream.option("checkpointLocation", source.checkpoint).trigger(availableNow=True)
    assert writer.foreachBatch(add).start().awaitTermination(120)


def latest(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The latest row of each run that isn't withdrawn, without its status."""
    by_run: dict[str, dict[str, Any]] = {}
    for row in changes:
        known = by_run.pop(row["run"], None) is not None
        assert row["status"] == "final" or known == (row["status"] != "open")
        if row["status"] == "withdrawn":
            assert [row[name] for name in ("began", "n", "price", "found")] == [None] * 4
        else:
            by_run[row["run"]] = {name: value for name, value in row.items() if name != "status"}
    return list(by_run.values())


def test_the_latest_rows_are_those_of_a_batch(source: Source) -> None:
    """The second run of the stream starts from the checkpoint of the first."""
    table = trades(symbols=3)
    first, second, third = pieces(table, 200, 400)
    changes: list[dict[str, Any]] = []
    for files, so_far in (((first,), first), ((second, third), table)):
        source.add(*files)
        run(source, changes)
        assert rows(pa.Table.from_pylist(latest(changes))) == rows(ost.match(CLAUSE, so_far, **IDS))
    assert {row["status"] for row in changes} >= {"open", "final", "withdrawn"}
    finish = source.finish()
    assert set(finish["status"].to_pylist()) == {"final"}
    finals = [row for row in (*changes, *finish.to_pylist()) if row["status"] == "final"]
    batch = ost.match(CLAUSE, table, **IDS)
    assert rows(pa.Table.from_pylist(finals).drop_columns("status")) == rows(batch)
