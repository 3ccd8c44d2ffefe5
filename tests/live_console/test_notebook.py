"""`ost.console`: a page served from this process, of folders or of a streaming query."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.live_console.console_files import TWICE, output_row, write_rows

import ostinato as ost
from ostinato.live_console.followed_query import FollowedQuery, sink_folder
from ostinato.live_console.model.live_model import Cursor, LiveModel
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.sources.page_settings import Sources


def test_a_page_of_folders_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    ost.write_rule(tmp_path / "rules", "twice", TWICE)
    write_rows(tmp_path / "sink" / "a.parquet", [output_row()])
    page = ost.console(log=tmp_path / "rules", matches=str(tmp_path / "sink"))
    try:
        address, _, token = page.address.partition("#token=")
        with urllib.request.urlopen(f"{address}api/events", timeout=10) as stream:
            shown = set[str]()
            while "twice" not in shown:
                line = stream.readline()
                if line.startswith(b"data: "):
                    shown |= {row[2] for row in json.loads(line[6:])["rows"]}
        assert token and token not in repr(page)
        assert f'href="{page.address}"' in page._repr_html_()
    finally:
        page.stop()
    with pytest.raises(OSError):
        urllib.request.urlopen(address, timeout=5)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "CONSOLE_NEEDS_SOURCES"),
        ({"input": "rows.parquet"}, "CONSOLE_NEEDS_SOURCES"),
        ({"query": "SELECT 1"}, "INVALID_OPTION: query is a running streaming query"),
        ({"query": SimpleNamespace(lastProgress=None), "metrics": "x.prom"}, "INVALID_OPTION: the query has metrics"),
        ({"log": 7}, "INVALID_OPTION"),
        ({"log": "rules", "port": -1}, "INVALID_OPTION"),
        ({"log": "rules", "keys": 7}, "INVALID_OPTION"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ost.QueryError, match=code):
        ost.console(**arguments)


class Query:
    """Stands for a streaming query, with the values that the console reads."""

    def __init__(self) -> None:
        self.lastProgress: Any = None
        self.recentProgress: list[Any] = []

    def progress(self, batch: int, sink: str) -> None:
        event_time = {"watermark": "2024-03-01T09:00:00Z"}
        values = {"batchId": batch, "durationMs": {}, "observedMetrics": {}, "eventTime": event_time}

        class Progress(dict[str, Any]):
            id, name, batchId, timestamp = "1", "alerts", batch, "2024-03-01T09:00:00Z"

        Progress.sink = SimpleNamespace(description=sink)  # type: ignore[attr-defined]
        self.lastProgress = Progress({**values, "timestamp": Progress.timestamp})
        self.recentProgress.append(self.lastProgress)


def test_a_query_tells_its_sink_and_its_metrics(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    query, metrics = Query(), tmp_path / "stream.prom"
    followed = FollowedQuery(query, Sources(metrics=metrics), metrics)  # type: ignore[arg-type]
    assert followed.look() is None
    assert not metrics.exists()
    query.progress(0, f"FileSink[file:{tmp_path}/my%20sink]")
    assert followed.look() == Sources(matches=tmp_path / "my sink", metrics=metrics)
    assert 'ostinato_batches_total{query="alerts"} 1' in metrics.read_text()
    written = metrics.stat().st_mtime_ns
    assert followed.look() is None
    assert metrics.stat().st_mtime_ns == written
    query.progress(1, "FileSink[x]")
    assert followed.look() is None
    assert 'ostinato_batches_total{query="alerts"} 2' in metrics.read_text()


def test_a_query_that_doesnt_answer_is_a_problem(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")

    class Gone:
        @property
        def lastProgress(self) -> Any:
            raise ConnectionRefusedError(111, "Connection refused")

    write_rows(tmp_path / "sink" / "a.parquet", [output_row()])
    sources = Sources(matches=tmp_path / "sink", metrics=tmp_path / "stream.prom")
    followed = FollowedQuery(Gone(), sources, tmp_path / "stream.prom")  # type: ignore[arg-type]
    model = LiveModel(sources)
    SourcePoller(model, each_round=followed.look).run_once()
    delta, _ = model.delta(Cursor()) or ({}, None)
    assert [problem["code"] for problem in delta["problems"]] == ["SOURCE_NOT_READABLE", "SOURCE_MISSING"]
    assert "ConnectionRefusedError" in delta["problems"][0]["message"]
    assert delta["tiles"]["matches"] == 1


def test_another_sink_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    query, metrics = Query(), tmp_path / "stream.prom"
    followed = FollowedQuery(query, Sources(metrics=metrics), metrics)  # type: ignore[arg-type]
    query.progress(0, "MemorySink")
    changed = followed.look()
    assert changed is not None and changed.matches is None and "matches=" in changed.note
    given = Sources(matches=tmp_path, metrics=metrics)
    followed = FollowedQuery(query, given, metrics)  # type: ignore[arg-type]
    assert followed.look() is None


def test_sinks_on_other_file_systems_arent_folders() -> None:
    assert sink_folder("FileSink[/plain/path]") == Path("/plain/path")
    assert sink_folder("FileSink[hdfs://cluster/a]") is None
    assert sink_folder("org.apache.spark.sql.execution.streaming.ConsoleTable$@1") is None
