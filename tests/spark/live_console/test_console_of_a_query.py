"""`ost.console(query)` beside a stream of rules in the same process."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.spark.streams.spark_streams import Source, letters

import ostinato as ost


def test_a_query_with_a_folder_as_its_sink_is_followed(source: Source, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    log, sink = tmp_path / "log", tmp_path / "sink"
    ost.write_rule(log, "pairs", "MEASURES LAST(ts) AS at PATTERN (A B) DEFINE A AS x = 'a', B AS x = 'b'")
    source.add(letters("k1", "abab", 0), letters("k2", "xxxx", 60))
    found = ost.rules(source.read(), log, keys="k", time="ts", buckets=2)
    writer = found.writeStream.format("parquet").option("path", str(sink)).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    page = ost.console(query, log=log)
    model = page._console.model
    try:
        assert query.awaitTermination(120)
        until = time.monotonic() + 20
        while model.last_row < 3 and time.monotonic() < until:
            time.sleep(0.1)
        line = model.rule("pairs")
        assert line is not None
        assert (line.counts["match"], line.status()) == (2, ("enabled", ""))
        assert model.sources.matches == sink
        assert model._series.numbers.sum("rows_total") == 8
    finally:
        page.stop()
        query.stop()
