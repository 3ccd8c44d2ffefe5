"""Metrics of a stream: counts for Prometheus, and a watermark that stalls."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener
from tests.spark.streams.spark_streams import ABC, START, Source, letters, matching

import ostinato as ost
from ostinato.spark.streams.stream_metrics import QueryMetrics


class Ended(StreamingQueryListener):
    """Events come from a thread of Spark's, to one listener after the other: this one is the last."""

    def __init__(self) -> None:
        self.seen = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        pass

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        self.seen.set()


def test_metrics_for_prometheus(source: Source, tmp_path: Path) -> None:
    file = tmp_path / "metrics.prom"
    metrics, ended = ost.stream_metrics(source.session, file), Ended()
    source.session.streams.addListener(ended)
    try:
        source.add(letters("1", "abb", 0), letters("1", "c", 60), letters("z", "z", 120), letters("1", "a", 1))
        source.run(source.read().transform(matching(ABC, buckets=1)))
        assert ended.seen.wait(60)
    finally:
        source.session.streams.removeListener(metrics)
        source.session.streams.removeListener(ended)
    text = file.read_text()
    assert text == metrics.text()
    values = {line.split("{")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}
    assert values["ostinato_rows_total"] == 6
    assert values["ostinato_late_rows_total"] == 1
    assert values["ostinato_matches_total"] == 1
    assert values["ostinato_batches_total"] == len(source.progress)
    assert values["ostinato_open_runs"] == 0
    assert values["ostinato_state_bytes"] > 0
    assert values["ostinato_watermark_seconds"] == (START + timedelta(seconds=115)).timestamp()
    assert 'ostinato_batch_seconds{query="' in text and 'phase="addBatch"}' in text
    assert "# TYPE ostinato_rows_total counter" in text


def test_a_stalled_watermark_shows() -> None:
    """Rows come, the watermark doesn't move: seconds add up, also while Spark is idle."""

    def batch(number: int, at: str, watermark: str, latest: str) -> dict[str, Any]:
        times = {"watermark": f"2024-03-01T00:{watermark}.000Z", "max": f"2024-03-01T00:{latest}.000Z"}
        progress = {"batchId": number, "durationMs": {}, "observedMetrics": {}, "eventTime": times}
        return progress | {"timestamp": f"2024-03-01T01:{at}.000Z"}

    metrics = QueryMetrics("q")
    for number, at, watermark, latest in (
        (0, "00:00", "01:00", "02:00"),
        (1, "00:10", "02:00", "02:00"),
        (2, "00:40", "02:00", "09:00"),
    ):
        metrics.take(batch(number, at, watermark, latest))
    assert metrics.of_query["watermark_unmoved_seconds"] == 30
    assert metrics.of_query["watermark_behind_seconds"] == 420
    metrics.pass_time(datetime(2024, 3, 1, 1, 5, tzinfo=UTC))
    assert metrics.of_query["watermark_unmoved_seconds"] == 290
