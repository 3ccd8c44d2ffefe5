"""Insight into a stream: open partial matches, metrics, and the errors of `ost.finish`."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from tests.spark.streams.spark_streams import START, Source, matching, seconds

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.spark.streams.stream_metrics import QueryMetrics

ABC = """
    PARTITION BY k ORDER BY ts MEASURES LAST(ts) AS at PATTERN (A B* (C | D)) WITHIN INTERVAL '1' HOUR
    DEFINE A AS x = 'a', B AS x = 'b', C AS x = 'c', D AS x = 'd'"""


def letters(key: str, word: str, first: int) -> pa.Table:
    at = seconds(*range(first, first + len(word)))
    return pa.table({"k": [key] * len(word), "ts": at, "x": list(word)})


def test_open_runs_by_key(source: Source) -> None:
    """Key 1 waits after `a b b`. Key 2 has its match. Key 3 has a match and an open one. z only moves the watermark."""
    table = pa.concat_tables([letters("1", "abb", 0), letters("2", "ac", 0), letters("3", "abdxa", 0)])
    source.add(table, letters("z", "z", 60), letters("z", "z", 120))
    result = source.run(source.read().transform(matching(ABC)))
    assert sorted(result.column("k").to_pylist()) == ["2", "3"]
    open_runs = ost.state(source.session, source.checkpoint).toArrow().sort_by("k").to_pylist()
    assert open_runs == [
        {"k": "1", "waiting_since": START, "rows": 3, "next": ["B", "C", "D"]},
        {"k": "3", "waiting_since": START + timedelta(seconds=4), "rows": 1, "next": ["B", "C", "D"]},
    ]


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


# --- refused ----------------------------------------------------------------------------------------------------------


def code_of(action: Any) -> str:
    with pytest.raises(OstinatoError) as caught:
        action()
    return caught.value.code


def test_finish_refuses_other_folders_settings_and_open_batches(source: Source) -> None:
    """The folder is no checkpoint, the session has other settings, or the stream stopped inside a batch."""
    assert code_of(lambda: ost.finish(source.session, str(source.folder))) == "NO_STATE"
    source.add(letters("1", "abb", 0), letters("1", "c", 60))
    source.run(source.read().transform(matching(ABC)))
    assert code_of(lambda: ost.finish(source.session, source.checkpoint, operator=5)) == "NO_STATE"
    assert code_of(lambda: ost.finish(source.session, 5)) == "INVALID_OPTION"  # type: ignore[arg-type]
    assert code_of(lambda: ost.finish(None, source.checkpoint)) == "INVALID_OPTION"  # type: ignore[arg-type]
    elsewhere = source.session.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert code_of(lambda: ost.finish(elsewhere, source.checkpoint)) == "SETTINGS_DIFFER"
    assert ost.finish(source.session, source.checkpoint).count() == 1
    commits = Path(source.checkpoint) / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    assert code_of(lambda: ost.finish(source.session, source.checkpoint)) == "STREAM_NOT_SETTLED"


def test_a_checkpoint_of_another_query(source: Source) -> None:
    source.add(letters("1", "abb", 0))
    source.run(source.read().transform(matching(ABC)))
    source.add(letters("1", "c", 60))
    spaced = ABC.replace("PATTERN", "  /* as before */ PATTERN")
    source.run(source.read("7 seconds").transform(matching(spaced, max_partial_matches=5_000)))  # may go on
    source.add(letters("1", "c", 61))
    for changed in (matching(ABC.replace("HOUR", "DAY")), matching(ABC, buckets=8)):
        with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY") as caught:
            source.run(source.read().transform(changed))
        error = ost.unwrap(caught.value)
        assert error is not None
        assert error.code == "STATE_OF_OTHER_QUERY"


@pytest.mark.parametrize("there", [("metadata",), ("metadata", "commits", "offsets")], ids=len)
def test_before_the_first_commit_the_message_says_so(
    spark: SparkSession, tmp_path: Path, there: tuple[str, ...]
) -> None:
    """Spark writes `metadata` when a stream starts, and the logs' folders before the first batch ends."""
    (tmp_path / "metadata").write_text('{"id":"a"}')
    for folder in there[1:]:
        (tmp_path / folder).mkdir()
    for call in (ost.ask, ost.ask_all, ost.state, ost.finish):
        with pytest.raises(OstinatoError, match="has committed no batch yet") as caught:
            call(spark, tmp_path)
        assert caught.value.code == "NO_STATE"
