"""Correlations on streams have the rows of a batch. A micro-batch may run again. Older rows are read back."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.correlations.spark_correlations import ARCHIVE, LIVE, QUERY, comparable, in_process
from tests.spark.streams.spark_streams import Source, pieces, seconds, trades

import ostinato as ost
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_finish import finish_correlation
from ostinato.spark.correlations.correlation_stream import CorrelationStep, StreamTerms, define_correlation
from ostinato.spark.correlations.stream_archive import ArchiveFolder

NOW = {"availableNow": True}
NAMED = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
"""Files can't hold two columns of one name."""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return trades(160, symbols=4)


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> list[str]:
    result = in_process(QUERY, table)
    assert len(result) > 20
    return result


@dataclass
class Stream:
    """The batches of a stream without Spark's stream: calls the function of foreachBatch."""

    folder: Path
    spark: SparkSession
    options: dict[str, Any] = field(default_factory=dict)
    results: dict[int, pa.Table] = field(default_factory=dict)

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    @property
    def archive(self) -> str:
        return str(self.folder / "archive")

    def step(self, live: pa.Table, **changed: Any) -> CorrelationStep:
        """A step as in a new process."""
        frame = self.spark.createDataFrame(live)
        given = {**self.options, **changed}
        own = {} if "archive" in given else {"archive": self.archive, "write_archive": True}
        options = {"delay": "5 seconds", "buckets": 3, "text": QUERY, **own, **given}
        definition = define_correlation(options.pop("text"), frame, terms := StreamTerms(**options))
        source = None if terms.write_archive else terms.archive
        return CorrelationStep(definition, self.checkpoint, self.keep, source)

    def keep(self, result: DataFrame, batch: int) -> None:
        self.results[batch] = result.toArrow()

    def run(self, step: CorrelationStep, *batches: pa.Table, first: int = 0) -> None:
        for number, rows in enumerate(batches, start=first):
            step(self.spark.createDataFrame(rows), number)

    def all_rows(self, **options: Any) -> list[str]:
        return comparable(*self.results.values(), finish_correlation(self.spark, self.checkpoint, **options))


@pytest.fixture
def stream(streaming: SparkSession, tmp_path: Path) -> Stream:
    return Stream(tmp_path, streaming)


def kept_rows(count: int) -> CorrelationOptions:
    return CorrelationOptions(recent_rows=count)


# --- the law ----------------------------------------------------------------------------------------------------------


def test_stream_and_finish_are_batch(source: Source, table: pa.Table) -> None:
    source.add(*pieces(table, 50, 100))
    correlation = ost.correlate(NAMED, archive=str(source.folder / "archive"), recent_rows=3, buckets=3)
    folders = {"output": source.output, "checkpoint": source.checkpoint, "write_archive": True}
    started = correlation.start(source.read("5 seconds"), **folders, trigger=NOW)
    assert started.awaitTermination(120)
    written = source.session.read.parquet(source.output)
    assert {row[0] for row in written.select("batch_id").distinct().collect()} >= {1, 2}
    rest = ost.finish_stream(source.session, source.checkpoint)
    expected = ost.sql(NAMED, t=source.session.createDataFrame(table))
    assert rest.columns == expected.columns == written.drop("batch_id").columns
    assert comparable(written.drop("batch_id"), rest) == comparable(expected)


OPTIONS: dict[str, dict[str, Any]] = {
    "written": {},
    "read back by Spark": {"options": kept_rows(2)},
    "archive first, no cache": {"options": CorrelationOptions(strategy="archive_first", cache=False)},
}


@pytest.mark.parametrize("how", OPTIONS)
def test_all_batches_together_have_the_expected_rows(
    stream: Stream, table: pa.Table, expected: list[str], how: str
) -> None:
    stream.options = OPTIONS[how]
    stream.run(stream.step(table), *pieces(table, 60, 110))
    assert stream.results[2].num_rows > 0
    assert stream.all_rows() == expected


def test_order_holds_over_batches(stream: Stream, table: pa.Table) -> None:
    stream.run(stream.step(table), *pieces(table, 40, 80, 120))
    result = pa.concat_tables([*stream.results.values(), finish_correlation(stream.spark, stream.checkpoint).toArrow()])
    times = list(zip(*(result.column(index).to_pylist() for index in (2, 0, 1)), strict=True))
    for symbol in set(result.column(2).to_pylist()):
        times_of_key = [time for key, *time in times if key == symbol]
        assert times_of_key == sorted(times_of_key)


def test_numbers_and_rows_as_clocks(stream: Stream, table: pa.Table) -> None:
    text = QUERY.replace("ts, id", "id").replace("INTERVAL '20' SECOND", "25 ROWS")
    stream.options = {"text": text, "delay": 10}
    stream.run(stream.step(table, options=kept_rows(4)), *pieces(table, 60, 110))
    assert stream.all_rows() == in_process(text, table)


def test_keys_in_another_order(stream: Stream, table: pa.Table) -> None:
    two_keys = table.append_column("venue", pa.compute.bit_wise_and(table["id"], 1))
    live, archive = LIVE.replace("BY symbol", "BY symbol, venue"), ARCHIVE.replace("BY symbol", "BY venue, symbol")
    text = QUERY.replace(LIVE, live).replace(ARCHIVE, archive)
    text = text.replace(" ON live", " ON live.venue = archive.venue AND live").replace("'20' SECOND", "'30' SECOND")
    stream.options = {"text": text}
    stream.run(stream.step(two_keys, options=kept_rows(2)), *pieces(two_keys, 60, 110))
    expected = in_process(text, two_keys)
    assert len(expected) > 10
    assert stream.all_rows() == expected


# --- another table as the archive -------------------------------------------------------------------------------------

OTHER = QUERY.replace("JOIN t", "JOIN old")
Given = Callable[[SparkSession, str], Any]
ARCHIVES: dict[str, Given] = {
    "a path": lambda spark, path: path,
    "a table": lambda spark, path: spark.read.parquet(path),
    "a function": lambda spark, path: lambda session: session.read.parquet(path),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_another_table_as_the_archive(stream: Stream, table: pa.Table, kind: str) -> None:
    old = trades(120, symbols=4, seed=9)
    newer = old.set_column(1, "ts", seconds(*range(1000, 1120)))  # than the live clock
    path = str(stream.folder / "old")
    stream.spark.createDataFrame(pa.concat_tables([old, old.slice(30, 5), newer])).write.parquet(path)
    archive = ARCHIVES[kind](stream.spark, path)
    stream.options = {"text": OTHER, "archive": archive, "options": kept_rows(5) if kind == "a path" else None}
    stream.run(stream.step(table), *pieces(table, 60, 110))
    doubled = pa.concat_tables([old, old.slice(30, 5)])
    assert stream.all_rows(archive=archive) == in_process(OTHER, table, doubled)


def test_an_archive_that_does_not_exist_yet(stream: Stream, table: pa.Table) -> None:
    path = str(stream.folder / "later")
    stream.options = {"text": OTHER, "archive": path}
    step = stream.step(table)
    first, second, third = pieces(table, 60, 110)
    stream.run(step, first, second)
    assert not any(result.num_rows for result in stream.results.values())
    # The stream no longer reads rows behind its clock. Only later rows count.
    until = CorrelationCheckpoint(stream.spark, stream.checkpoint).last()
    assert until is not None and until.watermark is not None
    stream.spark.createDataFrame(table).write.parquet(path)
    stream.run(step, third, first=2)
    known = pa.compute.greater(table["ts"].cast(pa.int64()), until.watermark)
    assert stream.all_rows() == in_process(OTHER, table, table.filter(known))


@pytest.mark.parametrize("recent_rows", [None, 1])
def test_rows_that_reach_an_archive_too_late_are_dropped(
    stream: Stream, table: pa.Table, recent_rows: int | None
) -> None:
    """They are counted and dropped, both with older rows in the state and with older rows that are read back."""
    old, path = trades(120, symbols=4, seed=9), str(stream.folder / "old")
    late = pa.array([number % 8 == 3 for number in range(old.num_rows)])
    in_time = old.filter(pa.compute.invert(late))
    stream.spark.createDataFrame(in_time).write.parquet(path)
    stream.options = {"text": OTHER, "archive": path, "options": CorrelationOptions(recent_rows=recent_rows)}
    step = stream.step(table)
    *first, last = pieces(table, 40, 80, 110)
    stream.run(step, *first)
    checkpoint = CorrelationCheckpoint(stream.spark, stream.checkpoint)
    until = checkpoint.last()
    assert until is not None and until.watermark is not None
    stream.spark.createDataFrame(old.filter(late)).write.mode("append").parquet(path)
    behind = pa.compute.less_equal(old["ts"].cast(pa.int64()), until.watermark)
    late = pa.compute.and_(late, behind)
    stream.run(step, last, first=3)
    expected = in_process(OTHER, table, old.filter(pa.compute.invert(late)))
    assert len(expected) > 10
    assert stream.all_rows(archive=path) == expected
    counted = checkpoint.rows(checkpoint.last().slot).selectExpr("sum(late_archive_rows)").first()
    assert counted[0] == pa.compute.sum(late).as_py() > 5


def test_the_archive_has_all_rows_that_were_not_late(stream: Stream, table: pa.Table) -> None:
    late = pa.concat_tables([table.slice(110), table.slice(0, 7)])  # seven rows come far too late
    stream.run(stream.step(table), table.slice(0, 60), table.slice(60, 50), late)
    written = stream.spark.read.parquet(stream.archive)
    assert {"batch_id", "bucket"} <= set(written.columns)
    assert written.where("batch_id = 2").count() == 50
    folder = ArchiveFolder(stream.archive, stream.spark.createDataFrame(table).schema, "ts")
    stored = folder.read(stream.spark, 2, range(3))
    assert comparable(stored.select(*table.column_names)) == comparable(table.slice(0, 110))
    assert stream.all_rows() == in_process(QUERY, table)
    checkpoint = CorrelationCheckpoint(stream.spark, stream.checkpoint)
    counted = checkpoint.rows(checkpoint.last().slot).selectExpr("sum(rows)", "sum(late_rows)").first()
    assert tuple(counted) == (57, 7)


def test_reads_open_few_folders_and_compare_numbers(stream: Stream, table: pa.Table) -> None:
    stream.run(stream.step(table), *pieces(table, 60, 110))
    folder = ArchiveFolder(stream.archive, stream.spark.createDataFrame(table).schema, "ts")
    rows = folder.read(stream.spark, 2, [1]).where("__ost_clock > 5")
    shown = stream.spark.sql("EXPLAIN SELECT * FROM {rows}", rows=rows).collect()[0][0]
    assert "PushedFilters: [IsNotNull(__ost_clock), GreaterThan(__ost_clock,5)]" in shown
    folders = shown.split("PartitionFilters: [")[1].split("]")[0]
    assert "(batch_id#" in folders
    assert "(bucket#" in folders


# --- run again --------------------------------------------------------------------------------------------------------


def test_the_same_program_repeats_a_batch(stream: Stream, table: pa.Table, expected: list[str]) -> None:
    stream.options = {"options": kept_rows(2)}
    first, second, third = pieces(table, 60, 110)
    step = stream.step(table)
    stream.run(step, first, second)
    before = stream.results[1]
    stream.run(step, second, first=1)  # its state was written, its commit wasn't
    assert stream.results[1].equals(before)
    stream.run(step, third, first=2)
    assert stream.all_rows() == expected
    assert stream.spark.read.parquet(stream.archive).count() == table.num_rows


@pytest.mark.parametrize("fails", ["output", "archive"])
def test_another_program_repeats_a_failed_batch(
    stream: Stream, table: pa.Table, expected: list[str], fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.options = {"options": kept_rows(2)}
    first, second, third = pieces(table, 60, 110)
    stream.run(stream.step(table), first)

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken, pytest.raises(OSError, match="full"):
        step = stream.step(table)
        if fails == "output":
            step.output = fail
        else:
            broken.setattr(ArchiveFolder, "write", fail)
        stream.run(step, second, first=1)
    restarted: CorrelationStep = stream.step(table)
    stream.run(restarted, second, third, first=1)
    assert stream.all_rows() == expected
    assert stream.spark.read.parquet(stream.archive).count() == table.num_rows


def test_a_pickled_step_resumes_without_its_caches(stream: Stream, table: pa.Table) -> None:
    step = stream.step(table, text=NAMED)
    step.output = str(stream.folder / "out")
    stream.run(step, table.slice(0, 60))
    unpickled = pickle.loads(pickle.dumps(step))
    assert (unpickled.definition, unpickled.output, unpickled.checkpoint) == (
        step.definition,
        step.output,
        step.checkpoint,
    )
    stream.run(unpickled, table.slice(60), first=1)
    written = stream.spark.read.parquet(step.output).drop("batch_id")
    rest = finish_correlation(stream.spark, stream.checkpoint)
    assert comparable(written, rest) == in_process(NAMED, table)


def test_state_of_another_query(stream: Stream, table: pa.Table) -> None:
    stream.run(stream.step(table), table.slice(0, 60))
    other = stream.step(table, text=QUERY.replace("'20' SECOND", "'30' SECOND"))
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY") as caught:
        stream.run(other, table.slice(60), first=1)
    assert ost.unwrap(caught.value) is not None


def test_started_again_in_another_way(stream: Stream, table: pa.Table) -> None:
    stream.run(stream.step(table), table.slice(0, 60))
    changes: list[dict[str, Any]] = [
        {"buckets": 4},
        {"archive": f"{stream.archive}2", "write_archive": False},
        {"archive": f"{stream.archive}2", "write_archive": True},
        {"options": kept_rows(5)},
        {"options": CorrelationOptions(cache=False)},
    ]
    for changed in changes:
        with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY") as caught:
            stream.run(stream.step(table, **changed), table.slice(60), first=1)
        assert ost.unwrap(caught.value) is not None


def test_a_longer_delay_takes_nothing_back(stream: Stream, table: pa.Table, expected: list[str]) -> None:
    first, second, third = pieces(table, 60, 110)
    stream.run(stream.step(table), first, second)
    stream.run(stream.step(table, delay="30 seconds"), third, first=2)
    assert stream.all_rows() == expected


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"archive": None, "write_archive": True}, "write_archive needs a path"),
        ({"buckets": 0}, "buckets is a whole number from 1"),
        ({"delay": "soon"}, "delay can't be 'soon'"),
        ({"delay": 5}, "delay can't be 5"),
    ],
)
def test_options_that_do_not_fit(stream: Stream, table: pa.Table, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ost.QueryError, match=message) as caught:
        stream.step(table, **options)
    assert caught.value.code == "INVALID_OPTION"


def test_columns_that_an_archive_cannot_have(stream: Stream, table: pa.Table) -> None:
    named = table.append_column("Bucket", table["id"])
    with pytest.raises(ost.QueryError, match="a column Bucket"):
        stream.step(named, archive=stream.archive, write_archive=True)


PAIR = QUERY.removeprefix("SELECT * FROM ")


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT live.symbol, count(*) FROM {PAIR} GROUP BY live.symbol",
        f"SELECT count(*) AS n FROM {PAIR}",
        f"SELECT DISTINCT f FROM {PAIR}",
        f"SELECT f, rank() OVER (ORDER BY f) AS r FROM {PAIR}",
        f"SELECT f FROM (SELECT f FROM {PAIR})",
        f"SELECT f FROM {PAIR} LIMIT 3",
        f"SELECT f FROM other, {PAIR}",
        QUERY,
    ],
)
def test_text_that_a_stream_cannot_answer(source: Source, table: pa.Table, text: str) -> None:
    live = source.add(table.slice(0, 5)).read()
    with pytest.raises(ost.QueryError, match="CORRELATION_NOT_SUPPORTED"):
        ost.correlate(text).start(live, output=source.output, checkpoint=source.checkpoint)


def test_an_archive_of_another_stream(source: Source, table: pa.Table) -> None:
    live = source.add(table.slice(0, 5)).read()
    archive = str(source.folder / "archive")
    source.session.createDataFrame(table).write.parquet(f"{archive}/batch_id=0/bucket=0")
    folders: dict[str, Any] = {"output": print, "checkpoint": source.checkpoint, "write_archive": True}
    with pytest.raises(ost.QueryError, match="holds rows already"):
        ost.correlate(QUERY, archive=archive).start(live, **folders)
    with pytest.raises(ost.QueryError, match="start takes a stream"):
        ost.correlate(QUERY, archive=archive).start(source.session.createDataFrame(table), **folders)


def test_nothing_to_finish(stream: Stream) -> None:
    with pytest.raises(ost.QueryError, match="NO_STATE"):
        finish_correlation(stream.spark, stream.checkpoint)
