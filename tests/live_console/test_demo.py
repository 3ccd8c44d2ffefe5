"""The demo: generated trades, the engine in process, and the change to Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.live_console.console_files import Clock

import ostinato as ost
from ostinato.live_console.demo.console_demo import DEMO_TERMS, IN_PROCESS, ON_SPARK, Demo
from ostinato.live_console.demo.demo_rules import RULES
from ostinato.live_console.demo.demo_trades import DemoTrades
from ostinato.live_console.model.live_model import Cursor, LiveModel
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.rules.rule_desk import RuleDesk


def test_trades_depend_on_the_seed_alone() -> None:
    first, second = (DemoTrades(seed=3, since_us=0) for _ in range(2))
    whole = first.until(2_000_000)
    parts = pa.concat_tables([second.until(700_000), second.until(2_000_000)])
    assert whole.equals(parts) and whole.num_rows == 48
    assert DemoTrades(seed=4, since_us=0).until(2_000_000) != whole


def test_a_long_pause_gives_a_limited_number_of_trades() -> None:
    trades = DemoTrades(seed=3, since_us=0)
    assert trades.until(3_600_000_000_000).num_rows == 20_000
    assert trades.until(3_600_000_000_000).num_rows == 0


def test_the_demo_in_process_has_something_to_show_at_once(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)
    demo = Demo(tmp_path, clock=clock, spark_command=())
    for _ in range(3):
        demo.step()
        clock.now += 1
    model = LiveModel(demo.first_sources(), clock=clock)
    SourcePoller(model).look()
    news = model.delta(Cursor())
    assert news is not None
    delta, _ = news
    status = {line["id"]: line["status"] for line in delta["rules"]}
    assert status == dict.fromkeys(RULES, "enabled") | {"low prices": "rejected", "every rise": "suspended"}
    assert all(line["hits"] > 0 for line in delta["rules"] if line["status"] == "enabled")
    assert any(line["states"] for line in delta["rules"])
    assert (delta["sources"]["stage"], delta["problems"]) == (IN_PROCESS, [])
    tiles = delta["tiles"]
    assert tiles["rows"] > 4_000 and tiles["open"] > 0 and tiles["state"] > 0 and tiles["behind"] >= 1


def test_the_demo_finds_what_a_query_over_its_trades_finds(tmp_path: Path) -> None:
    """The stream has decided all but the last matches, and found no other ones."""
    clock = Clock(1_700_000_000.0)
    demo = Demo(tmp_path, clock=clock, spark_command=())
    for _ in range(5):
        demo.step()
        clock.now += 2
    trades = pa.concat_tables(pq.read_table(file) for file in sorted(demo.folders.events.iterdir()))
    sources = demo.first_sources()
    assert sources.matches is not None
    found = pa.concat_tables(pq.read_table(file) for file in sorted(sources.matches.iterdir()))
    for rule in ("v shape", "three large trades"):
        streamed = [row["ended"] for row in found.to_pylist() if (row["rule"], row["kind"]) == (rule, "match")]
        text = RULES[rule].replace("MEASURES ", "MEASURES LAST(ts) AS ended, ", 1)
        batch = ost.match(text, trades, keys="symbol", time="ts").column("ended").to_pylist()
        assert set(streamed) <= set(batch), rule
        assert 0 <= len(batch) - len(streamed) <= 6, rule


def test_a_rule_that_was_saved_is_in_force_with_the_next_step(tmp_path: Path) -> None:
    clock = Clock(1_700_000_000.0)
    demo = Demo(tmp_path, clock=clock, spark_command=())
    model = LiveModel(demo.first_sources(), clock=clock)
    poller = SourcePoller(model)
    demo.step()
    poller.look()
    desk = RuleDesk(model, DEMO_TERMS)
    text = "MEASURES LAST(price) AS price PATTERN (ANY) DEFINE ANY AS volume > 0"
    assert desk.test("any", text)["matches"] > 4_000
    assert desk.save("any", text, enabled=True, seen_version=0)["version"] == 1
    for _ in range(3):
        clock.now += 2
        demo.step()
    poller.look()
    line = model.rule("any")
    assert line is not None and line.counts["match"] >= 24
    number = next(at for at in range(model.last_row, 0, -1) if desk.details(at)["rule"] == "any")
    assert "ANY" in desk.match_picture(number)


def eventually(condition: Callable[[], bool]) -> bool:
    """Waits for another process, at most ten seconds."""
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_the_page_changes_to_spark_when_its_stream_runs_and_back_when_it_fails(tmp_path: Path) -> None:
    script = "import sys; print('ready', flush=True); sys.stdin.readline(); print('failed NO_JAVA: none', flush=True)"
    demo = Demo(tmp_path, clock=Clock(1_700_000_000.0), spark_command=(sys.executable, "-c", script))
    model = LiveModel(demo.first_sources())
    poller = SourcePoller(model, each_round=demo.next_sources)
    first = model.instance
    demo.start()
    try:
        assert eventually(lambda: (poller.look(), model.sources.stage == ON_SPARK)[1])
        assert model.instance != first
        assert demo._spark is not None and demo._spark.stdin is not None
        demo._spark.stdin.write("\n")
        demo._spark.stdin.flush()
        assert eventually(lambda: (poller.look(), model.sources.stage == IN_PROCESS)[1])
        assert "NO_JAVA: none" in model.sources.note
    finally:
        demo.stop()


def test_a_process_that_dies_leaves_the_demo_in_process(tmp_path: Path) -> None:
    demo = Demo(tmp_path, clock=Clock(1_700_000_000.0), spark_command=(sys.executable, "-c", "raise SystemExit(3)"))
    model = LiveModel(demo.first_sources())
    poller = SourcePoller(model, each_round=demo.next_sources)
    demo.start()
    try:
        assert eventually(lambda: (poller.look(), "code 3" in model.sources.note)[1])
        assert model.sources.stage == IN_PROCESS
    finally:
        demo.stop()
