"""The console beside a stream of rules on Spark: its sink, metrics and states are those of the engine in process."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ostinato.live_console.demo.console_demo import IN_PROCESS, ON_SPARK, Demo
from ostinato.live_console.demo.demo_on_spark import READY, run
from ostinato.live_console.model.live_model import Cursor, LiveModel
from ostinato.live_console.model.source_poller import SourcePoller


def matches_of(model: LiveModel) -> Counter[tuple[str, str]]:
    rows = (model.row(number) for number in range(1, model.last_row + 1))
    return Counter((row.row.rule, row.row.match_id) for row in rows if row is not None and row.row.kind == "match")


@pytest.mark.slow
def test_a_stream_on_spark_shows_what_the_engine_in_process_shows(streaming: SparkSession, tmp_path: Path) -> None:
    demo = Demo(tmp_path, clock=lambda: 1_700_000_000.0, spark_command=())
    demo.step()
    demo.step()
    ended, said = threading.Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        ended.set()  # the states are written once more before it ends

    run(streaming, demo.folders, ended, say)
    assert said == [READY]
    models = []
    for stage in (IN_PROCESS, ON_SPARK):
        model = LiveModel(demo.sources(stage))
        SourcePoller(model).look()
        models.append(model)
    in_process, on_spark = map(matches_of, models)
    assert sum(in_process.values()) > 100
    assert on_spark == in_process
    news = [model.delta(Cursor()) for model in models]
    (first, _), (second, _) = (each for each in news if each is not None)
    names = ("id", "version", "status", "hits", "open", "states")
    lines = [{line["id"]: [line[name] for name in names] for line in delta["rules"]} for delta in (first, second)]
    assert lines[0] == lines[1]
    assert second["problems"] == []
    same = ("rows", "late", "open", "matches")
    assert [first["tiles"][name] for name in same] == [second["tiles"][name] for name in same]
    assert second["tiles"]["state"] > 0 and second["tiles"]["batch"] > 0
