"""Streams on Spark Connect: the same rows, the same finish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.spark.streams.spark_streams import Source, matching, pieces, rows, trades

import ostinato as ost
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, CLASSIFIER() AS label
    ALL ROWS PER MATCH PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""


def test_stream_and_finish_are_batch(connect: Any, tmp_path: Path) -> None:
    before = connect.conf.get(STATE_STORE)
    connect.conf.set(STATE_STORE, ROCKSDB)
    try:
        table = trades()
        source = Source(tmp_path, connect).add(*pieces(table, 200, 400))
        result = source.run(source.read().transform(matching(CLAUSE)))
        assert result.num_rows > 10
        assert source.count("rows") == table.num_rows
        assert rows(result, source.finish()) == rows(ost.match(CLAUSE, table))
        open_runs = ost.stream_state(connect, source.checkpoint).toArrow()
        assert open_runs.column_names == ["symbol", "waiting_since", "rows", "next"]
        assert 0 < open_runs.num_rows <= 7
    finally:
        connect.conf.set(STATE_STORE, before)
