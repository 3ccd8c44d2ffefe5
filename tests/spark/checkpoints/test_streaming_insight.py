"""Insight into a stream: open partial matches, and the errors of `ost.finish_stream`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.spark.streams.spark_streams import ABC, START, Source, letters, matching

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.spark.streams.stream_buckets import HEADER, WAITING
from ostinato.spark.streams.stream_checkpoint import Checkpoint


def test_open_runs_by_key(source: Source) -> None:
    """Key 1 waits after `a b b`. Key 2 has its match. Key 3 has a match and an open one. z only moves the watermark."""
    table = pa.concat_tables([letters("1", "abb", 0), letters("2", "ac", 0), letters("3", "abdxa", 0)])
    source.add(table, letters("z", "z", 60), letters("z", "z", 120))
    result = source.run(source.read().transform(matching(ABC)))
    assert sorted(result.column("k").to_pylist()) == ["2", "3"]
    open_runs = ost.stream_state(source.session, source.checkpoint).toArrow().sort_by("k").to_pylist()
    assert open_runs == [
        {"k": "1", "waiting_since": START, "rows": 3, "next": ["B", "C", "D"]},
        {"k": "3", "waiting_since": START + timedelta(seconds=4), "rows": 1, "next": ["B", "C", "D"]},
    ]

    def counted(by: str) -> list[tuple[Any, ...]]:
        rows = ost.stream_state(source.session, source.checkpoint, by=by).toArrow().to_pylist()  # type: ignore[arg-type]
        return sorted(tuple(row.values()) for row in rows)

    assert counted("reason") == [("open partial match", 2, 4), ("waits for the watermark", 1, 1)]
    assert counted("state") == [(0, "A", 0), (1, "B", 2), (2, "C", 2), (3, "D", 2)]
    assert code_of(lambda: counted("keys")) == "INVALID_OPTION"


# --- refused ----------------------------------------------------------------------------------------------------------


def code_of(action: Any) -> str:
    with pytest.raises(OstinatoError) as caught:
        action()
    return caught.value.code


def test_finish_refuses_other_folders_settings_and_open_batches(source: Source) -> None:
    """The folder is no checkpoint, the session has other settings, or the stream stopped inside a batch."""
    assert code_of(lambda: ost.finish_stream(source.session, str(source.folder))) == "NO_STATE"
    source.add(letters("1", "abb", 0), letters("1", "c", 60))
    source.run(source.read().transform(matching(ABC)))
    assert code_of(lambda: ost.finish_stream(source.session, source.checkpoint, operator=5)) == "NO_STATE"
    assert code_of(lambda: ost.finish_stream(source.session, 5)) == "INVALID_OPTION"  # type: ignore[arg-type]
    assert code_of(lambda: ost.finish_stream(None, source.checkpoint)) == "INVALID_OPTION"  # type: ignore[arg-type]
    elsewhere = source.session.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert code_of(lambda: ost.finish_stream(elsewhere, source.checkpoint)) == "SETTINGS_DIFFER"
    assert ost.finish_stream(source.session, source.checkpoint).count() == 1
    commits = Path(source.checkpoint) / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    assert code_of(lambda: ost.finish_stream(source.session, source.checkpoint)) == "STREAM_NOT_SETTLED"


def test_finish_refuses_damaged_states(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of a header, or of rows that wait for the watermark, aren't those that the stream wrote."""
    source.add(letters("1", "abb", 0), letters("1", "c", 60))
    source.run(source.read().transform(matching(ABC)))
    buckets = Checkpoint.buckets
    changed = "overlay({} PLACING X'0123456789' FROM 60)".format
    damages = {
        "the header": (HEADER, changed(HEADER)),
        "a segment of waiting rows": (WAITING, f"transform({WAITING}, segment -> {changed('segment')})"),
    }
    for subject, (column, damage) in damages.items():

        def damaged(opened: Checkpoint, column: str = column, damage: str = damage, **options: Any) -> DataFrame:
            return buckets(opened, **options).withColumn(column, F.expr(damage))

        monkeypatch.setattr(Checkpoint, "buckets", damaged)
        with pytest.raises(Exception, match="STATE_FORMAT") as caught:
            source.finish()
        error = ost.unwrap(caught.value)
        assert error is not None
        assert error.message == f"{subject} in the state of this stream can't be read: its checksum is wrong"
        assert "the checkpoint is damaged" in (error.hint or "")


def test_a_checkpoint_of_another_query(source: Source) -> None:
    source.add(letters("1", "abb", 0))
    source.run(source.read().transform(matching(ABC)))
    source.add(letters("1", "c", 60).append_column("unused", pa.array(["a new column"])))
    spaced = ABC.replace("PATTERN", "  /* as before */ PATTERN")
    wider = source.session.read.parquet(source.input + "/1.parquet").schema
    may_go_on = matching(spaced, max_partial_matches=5_000, decision_time="decided")
    found = source.run(source.read("7 seconds", wider).transform(may_go_on))
    source.add(letters("1", "c", 61))
    assert found.num_rows + source.finish().num_rows == 1
    longer, elsewhere = matching(ABC.replace("HOUR", "DAY")), matching(ABC, buckets=8)
    assert _refused(source, longer) == "clause: WITHIN INTERVAL '3600' SECOND became WITHIN INTERVAL '86400' SECOND"
    assert _refused(source, elsewhere) == "buckets: 4 became 8"


def _refused(source: Source, changed: Callable[[DataFrame], DataFrame]) -> str:
    """The difference that the refusal of the changed query names."""
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY") as caught:
        source.run(source.read().transform(changed))
    error = ost.unwrap(caught.value)
    assert error is not None
    assert error.code == "STATE_OF_OTHER_QUERY"
    return error.message.partition("another query: ")[2]


@pytest.mark.parametrize("there", [("metadata",), ("metadata", "commits", "offsets")], ids=len)
def test_before_the_first_commit_the_message_says_so(
    spark: SparkSession, tmp_path: Path, there: tuple[str, ...]
) -> None:
    """Spark writes `metadata` when a stream starts, and the logs' folders before the first batch ends."""
    (tmp_path / "metadata").write_text('{"id":"a"}')
    for folder in there[1:]:
        (tmp_path / folder).mkdir()
    for call in (ost.summary_answer, ost.summary_answers, ost.stream_state, ost.finish_stream):
        with pytest.raises(OstinatoError, match="has committed no batch yet") as caught:
            call(spark, tmp_path)
        assert caught.value.code == "NO_STATE"
