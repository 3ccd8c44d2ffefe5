"""Correlations on Spark Connect: the same rows in a batch and on a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.spark.correlations.spark_correlations import QUERY, comparable, in_process
from tests.spark.streams.spark_streams import Source, pieces, trades

import ostinato as ost
from ostinato.spark.correlations.correlation_finish import finish_correlation


def test_batch_and_stream(connect: Any, tmp_path: Path) -> None:
    table = trades(120, symbols=4)
    t = connect.createDataFrame(table)
    expected = in_process(QUERY, table)
    assert len(expected) > 20
    assert comparable(ost.sql(QUERY, t=t)) == expected
    assert comparable(ost.sql(QUERY.replace("JOIN t", "JOIN old"), t=t, old=t.select("*"))) == expected
    named = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
    source = Source(tmp_path, connect).add(*pieces(table, 40, 80))
    asked = ost.correlate(named, archive=str(tmp_path / "archive"), recent_rows=2, buckets=2)
    started = asked.start(
        source.read("5 seconds"),
        output=source.output,
        checkpoint=source.checkpoint,
        write_archive=True,
        trigger={"availableNow": True},
    )
    assert started.awaitTermination(120)
    written = connect.read.parquet(source.output).drop("batch_id")
    assert written.count() > 0
    assert comparable(written, finish_correlation(connect, source.checkpoint)) == in_process(named, table)
