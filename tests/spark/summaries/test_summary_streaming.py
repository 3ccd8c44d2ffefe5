"""Summaries on streams give the answers and the state of the same rows in process, also after restarts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, pieces, rows, seconds, trades
from tests.spark.streams.stream_processes import Start, batches, in_a_process, wait_until

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.summaries import summary_ask

__all__ = ["in_a_process"]  # a fixture

ASKS = "kind = 'ASK'"


def orders(rows: int = 400, accounts: int = 5, seed: int = 3) -> pa.Table:
    """Rows in order of time, four per second, with ties, a NULL key and trigger rows."""
    rng = np.random.default_rng(seed)
    names = [None, *range(1, accounts)]
    kinds = np.array(["E", "H", "K", "other", "ASK"])[rng.choice(5, rows, p=[0.4, 0.2, 0.2, 0.1, 0.1])]
    kinds[-1] = "ASK"
    return pa.table(
        {
            "account": pa.array([names[i] for i in rng.integers(0, accounts, rows)], pa.int32()),
            "region": pa.array([["eu", None][i] for i in rng.integers(0, 2, rows)], pa.string()),
            "ts": seconds(*np.sort(rng.integers(0, rows // 4, rows))),
            "kind": pa.array(kinds),
            "price": pa.array([None if p == 0 else float(p) for p in rng.integers(0, 9, rows)]),
        }
    )


def summary(**changes: Any) -> ost.StreamSummary:
    """Few buckets, because tests have few keys."""
    settings: dict[str, Any] = {
        "expression": "E (H|K)* E",
        "type": "kind",
        "time": "ts",
        "within": "20 seconds",
        "size": 6,
        "aggregate": "SUM(price)",
        "keys": ("account", "region"),
        "eviction": ost.Eviction(half_life=20),
        "buckets": 4,
    }
    return ost.summary(**{**settings, **changes})


def expected(description: ost.StreamSummary, table: pa.Table, at: str | None = None) -> pa.Table:
    """The answers in process, at each row of the kind `at` for its key, or at the end."""
    if at is None:
        return description.feed(table).ask_all()
    keys = list(description.columns.keys)
    result = []
    for row in table.filter(pa.compute.equal(table["kind"], at)).to_pylist():
        fed = summary_like(description).feed(table.filter(pa.compute.less_equal(table["ts"], pa.scalar(row["ts"]))))
        answers = fed.ask_all()
        answers_of_key = [answer for answer in answers.to_pylist() if all(answer[key] == row[key] for key in keys)]
        result.append(pa.Table.from_pylist([{**answers_of_key[0], "asked_at": row["ts"]}], answers.schema))
    together = pa.concat_tables(result)
    distinct = {repr(row): index for index, row in enumerate(together.to_pylist())}
    return together.take(pa.array(sorted(distinct.values())))


def summary_like(description: ost.StreamSummary) -> ost.StreamSummary:
    """An equal summary without events."""
    return ost.StreamSummary(description.query, description.columns, description.form, description.buckets)


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """Kernels are compiled here, once, and not by all of Spark's workers at the same time."""
    summary().feed(orders(40)).ask_all()


def updates(source: Source, answer: DataFrame) -> list[list[dict[str, Any]]]:
    """The rows of each micro-batch in update mode."""
    result: list[list[dict[str, Any]]] = []
    writer = answer.writeStream.outputMode("update").option("checkpointLocation", source.checkpoint)
    query = (
        writer.foreachBatch(lambda df, _: result.append(df.toArrow().to_pylist())).trigger(availableNow=True).start()
    )
    assert query.awaitTermination(120)
    source.progress += query.recentProgress
    return result


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{}, {"aggregate": "COUNT", "keys": "account"}, {"aggregate": "AVG(price)", "keys": (), "size": 9}],
    ids=["sum", "count of one key column", "average without keys"],
)
def test_trigger_rows_get_the_answers_of_the_process(source: Source, changes: dict[str, Any]) -> None:
    table, description = orders(), summary(**changes)
    source.add(*pieces(table, 150, 160, 300))
    result = source.run(description.run(source.read(), trigger_events=ASKS).table)
    rest = source.finish()
    assert rest.schema.names == result.schema.names
    assert rows(result, rest) == rows(expected(description, table, at="ASK"))
    assert result.num_rows > 10 and rest.num_rows > 0


def test_every_micro_batch_answers_for_its_keys(source: Source) -> None:
    table, description = orders(), summary()
    source.add(*pieces(table, 150, 160, 300))
    result = updates(source, description.run(source.read()).table)
    latest: dict[Any, dict[str, Any]] = {}
    for batch in result:
        keys = [(row["account"], row["region"]) for row in batch]
        assert len(set(keys)) == len(keys)
        latest |= dict(zip(keys, batch, strict=True))
    latest |= {(row["account"], row["region"]): row for row in source.finish().to_pylist()}
    assert sorted(map(repr, latest.values())) == sorted(map(repr, expected(description, table).to_pylist()))
    assert len([batch for batch in result if batch]) > 2
    assert source.count("rows") == 400 and source.count("open_runs_change") == len(latest)


def test_late_rows_are_counted_and_dropped(source: Source) -> None:
    table, description = orders(), summary()
    first, second, third = pieces(table, 150, 300)
    late = table.slice(0, 3)
    source.add(first, second, pa.concat_tables([late, third]))
    result = source.run(description.run(source.read(), trigger_events=ASKS).table)
    assert source.count("late_rows") == 3
    assert rows(result, source.finish()) == rows(expected(description, table, at="ASK"))


def test_numbers_too_large_raise(source: Source) -> None:
    ones = pa.table({"ts": seconds(*range(140)), "kind": ["E"] * 140})
    source.add(ones, pa.table({"ts": seconds(1000, 2000), "kind": ["E", "E"]}))
    description = ost.summary("E+", type="kind", time="ts", within="1 hour", size=200)
    with pytest.raises(Exception, match="NUMBER_TOO_LARGE") as raised:
        updates(source, description.run(source.read()).table)
    assert "Traceback" not in str(ost.unwrap(raised.value))


# --- asked from outside -----------------------------------------------------------------------------------------------


def test_ask_at_any_time(source: Source) -> None:
    table, description = orders(), summary()
    source.add(*pieces(table, 150, 300))
    everything = description.run(source.read(), trigger_events=ASKS).table
    query = everything.writeStream.option("checkpointLocation", source.checkpoint).format("noop").start()
    try:
        query.processAllAvailable()
        watermark = query.lastProgress.eventTime["watermark"]
        known = table.filter(pa.compute.less_equal(table["ts"], pa.scalar(watermark).cast(table["ts"].type)))
        fed = summary_like(description).feed(known)
        for key in [(1, "eu"), {"region": None, "account": 2}, (None, None), (None, "eu")]:
            running = ost.summary_answer(source.session, source.checkpoint, key)
            assert running == fed.ask(key) and running.seen > 5
        assert query.isActive
    finally:
        query.stop()
    for key in [(1, "eu"), (None, None)]:
        assert ost.summary_answer(source.session, source.checkpoint, key) == fed.ask(key)
    everyone = ost.summary_answers(source.session, source.checkpoint).toArrow()
    assert rows(everyone) == rows(fed.ask_all())


def test_unknown_and_invalid_keys(source: Source) -> None:
    source.add(orders(40))
    source.run(summary().run(source.read(), trigger_events=ASKS).table)

    def ask(key: Any) -> ost.SummaryAnswer:
        return ost.summary_answer(source.session, source.checkpoint, key)

    nobody = ask((99, "eu"))
    assert (nobody.value, nobody.count, nobody.seen, nobody.kept_events, nobody.asked_at) == (None, 0, 0, (), None)
    for key in (None, 1, (1,), (1, "eu", 2), {"account": 1}, ("one", "eu")):
        with pytest.raises(QueryError, match="SUMMARY_KEY"):
            ask(key)


def test_without_keys_there_is_nothing_to_name(source: Source) -> None:
    table, description = orders(), summary(keys=())
    source.add(*pieces(table, 200))
    updates(source, description.run(source.read()).table)
    answer = ost.summary_answer(source.session, source.checkpoint)
    assert answer.seen > 200 and answer.key == {}
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        ost.summary_answer(source.session, source.checkpoint, 1)


def test_ask_reads_again_if_files_vanish(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    source.add(orders(200))
    source.run(summary().run(source.read(), trigger_events=ASKS).table)
    answer = ost.summary_answer(source.session, source.checkpoint, (1, "eu"))
    read, failures = summary_ask.pages_of, 2

    def vanishing(checkpoint: Checkpoint) -> DataFrame:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            source.session.read.parquet(f"{source.folder}/gone").count()  # raises Spark's error
        return read(checkpoint)

    monkeypatch.setattr(summary_ask, "pages_of", vanishing)
    assert ost.summary_answer(source.session, source.checkpoint, (1, "eu")) == answer
    assert failures == -1
    failures = summary_ask.ATTEMPTS
    with pytest.raises(QueryError, match="STATE_UNREADABLE"):
        ost.summary_answer(source.session, source.checkpoint, (1, "eu"))


def test_checkpoints_of_other_queries_are_refused(source: Source) -> None:
    with pytest.raises(QueryError, match="NO_STATE"):
        ost.summary_answer(source.session, source.checkpoint, 1)
    source.add(trades(40))
    clause = "PARTITION BY symbol ORDER BY ts PATTERN (A B) WITHIN INTERVAL '9' SECOND DEFINE B AS B.id > 0"
    source.run(source.read().transform(ost.match_recognize(clause, buckets=4)))
    with pytest.raises(QueryError, match=r"NO_STATE.*keeps no summary"):
        ost.summary_answer(source.session, source.checkpoint, "A")


def test_a_summary_has_no_partial_matches(source: Source) -> None:
    source.add(orders(40))
    source.run(summary().run(source.read(), trigger_events=ASKS).table)
    with pytest.raises(QueryError, match="NO_STATE") as raised:
        ost.stream_state(source.session, source.checkpoint)
    assert "ost.summary_answer" in str(raised.value.hint)


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "run"),
    [
        ("STREAM_NEEDS_WATERMARK", lambda source: summary().run(source.read(None)).table),
        (
            "STREAM_NOT_SUPPORTED",
            lambda source: summary(event_types=ost.EventTypes(keyed=["E"])).run(source.read()).table,
        ),
        ("UNKNOWN_COLUMN", lambda source: summary(type="kinds").run(source.read()).table),
        ("UNKNOWN_COLUMN", lambda source: summary().run(source.read(), trigger_events="kindly = 1").table),
        ("SYNTAX_ERROR", lambda source: summary().run(source.read(), trigger_events="kind = =").table),
        ("TYPE_MISMATCH", lambda source: summary().run(source.read(), trigger_events="price").table),
        ("INVALID_OPTION", lambda source: summary().run(source.read(), at=["2024-01-01"]).table),
    ],
)
def test_queries_that_a_stream_cannot_answer_are_refused(
    source: Source, code: str, run: Callable[[Source], DataFrame]
) -> None:
    source.add(orders(10))
    with pytest.raises(QueryError, match=code):
        run(source)


def test_another_definition_refuses_the_state(source: Source) -> None:
    source.add(orders(100))
    source.run(summary().run(source.read(), trigger_events=ASKS).table)
    source.add(orders(100, seed=4))
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY"):
        source.run(summary(size=7).run(source.read(), trigger_events=ASKS).table)
    source.run(summary().run(source.read(), trigger_events="kind = 'other'").table)  # the trigger rows may change


# --- started again ----------------------------------------------------------------------------------------------------


def stored_answers(source: Source) -> list[str]:
    return rows(ost.summary_answers(source.session, source.checkpoint).toArrow())


def test_stopped_and_started_again(source: Source) -> None:
    table, description = orders(), summary()
    first, second, third = pieces(table, 150, 300)
    source.add(first)
    source.run(description.run(source.read(), trigger_events=ASKS).table)
    source.add(second, third)
    result = source.run(description.run(source.read(), trigger_events=ASKS).table)
    assert rows(result, source.finish()) == rows(expected(description, table, at="ASK"))


VICTIM = """
import sys
from pathlib import Path

from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
from tests.spark.streams.spark_streams import Source
from tests.spark.summaries.test_summary_streaming import ASKS, summary

settings = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
source = Source(Path(sys.argv[1]), local_session(cores=2, **settings))
source.run(summary().run(source.read(), trigger_events=ASKS).table)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)  # two processes with kernels of their own
def test_killed_in_the_middle_of_a_batch(source: Source, in_a_process: Start) -> None:
    table, description = orders(600), summary()
    source.add(*pieces(table, 100, 200, 300, 400, 500))
    victim = in_a_process("-c", VICTIM, str(source.folder))
    wait_until(lambda: 3 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 3 not in batches(source, "commits")
    result = source.run(description.run(source.read(), trigger_events=ASKS).table)
    assert min(batch.batchId for batch in source.progress) == 3  # the stream resumed
    assert rows(result, source.finish()) == rows(expected(description, table, at="ASK"))
    watermark = source.progress[-1].eventTime["watermark"]
    known = table.filter(pa.compute.less_equal(table["ts"], pa.scalar(watermark).cast(table["ts"].type)))
    assert stored_answers(source) == rows(summary_like(description).feed(known).ask_all())
