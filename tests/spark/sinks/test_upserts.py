"""`ost.upsert` in foreachBatch: replays, another stream over the same rows, early results, days."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.sinks.test_data_sources import uncommit
from tests.spark.streams.spark_streams import Source

import ostinato as ost
from ostinato.spark.sinks.upserts import DAY

BEGAN = datetime(2024, 3, 1, 23, 59)


def matches(*numbers: int) -> pa.Table:
    """Matches two minutes apart, the first before midnight."""
    began = [BEGAN + timedelta(minutes=2 * number) for number in numbers]
    ids = [f"m{number}" for number in numbers]
    return pa.table({"match_id": ids, "began": pa.array(began, pa.timestamp("us", "UTC")), "price": numbers})


def early(spark: SparkSession, *rows: tuple[str | None, str, int]) -> DataFrame:
    return spark.createDataFrame(list(rows), "run_id string, status string, ended int")


def test_a_stream_writes_each_match_once(streaming: SparkSession, tmp_path: Path) -> None:
    source = Source(tmp_path / "a", streaming)
    source.folder.mkdir()
    source.add(matches(0, 1, 1), matches(1, 2, 3))
    target = f"{tmp_path}/all [of] them"  # brackets are a pattern to Spark
    upsert = ost.upsert(target, time="began")

    def plain() -> list[int]:
        """The rows that any reader of the folder sees."""
        return sorted(
            row.price for row in streaming.read.parquet(target.replace("[", r"\[").replace("]", r"\]")).collect()
        )

    def run() -> list[int]:
        writer = source.read(delay=None).writeStream.foreachBatch(upsert)
        writer = writer.option("checkpointLocation", source.checkpoint).trigger(availableNow=True)
        assert writer.start().awaitTermination(120)
        return plain()

    assert run() == [0, 1, 2, 3]
    lost = next(Path(target).glob(f"{DAY}=2024-03-02/*b{1:020d}-*"))
    lost.rename(tmp_path / "lost")  # killed between the folders of two days
    uncommit(source.checkpoint, 1)
    source.add(matches(4))
    assert run() == [0, 1, 2, 3, 4]
    upsert(streaming.read.parquet(source.input), 0)  # another stream over the same rows
    assert plain() == [0, 1, 2, 3, 4]
    assert {folder.name for folder in Path(target).glob(f"{DAY}=*")} == {f"{DAY}=2024-03-01", f"{DAY}=2024-03-02"}
    again = upsert.read(streaming)
    assert (again.columns, again.count()) == (["match_id", "began", "price"], 5)


def test_early_results_are_replaced_until_they_are_final(streaming: SparkSession, tmp_path: Path) -> None:
    upsert = ost.upsert(tmp_path / "runs", key="run_id", status="status")
    batches = [
        early(streaming, ("a", "open", 1), ("b", "open", 1), ("c", "final", 1)),
        early(streaming, ("a", "withdrawn", 0), ("b", "extended", 2)),
        early(streaming, ("a", "open", 3), ("b", "final", 2)),
    ]
    for number, batch in enumerate(batches):
        upsert(batch, number)
        upsert(batch, number)  # a replay
    assert sorted(map(tuple, upsert.read(streaming).collect())) == [
        ("a", "open", 3),
        ("b", "final", 2),
        ("c", "final", 1),
    ]
    assert streaming.read.parquet(str(tmp_path / "runs")).count() == 7  # each version once
    upsert(early(streaming, ("a", "withdrawn", 0), ("b", "open", 1), ("c", "final", 1)), 3)
    assert sorted(row.run_id for row in upsert.read(streaming).collect()) == ["b", "c"]

    assert streaming.read.parquet(str(tmp_path / "runs")).count() == 8
    refused = [
        (None, "open", 1, "UPSERT_KEY_MISSING"),
        ("a", "closed", 1, "UPSERT_STATUS"),
        ("a", "open", 1, "UPSERT_OTHER_STREAM"),
    ]
    for *row, code in refused:
        with pytest.raises(Exception, match=code) as caught:
            upsert(early(streaming, tuple(row)), 0)  # type: ignore[arg-type]
        assert ost.unwrap(caught.value).code == code  # type: ignore[union-attr]


def test_the_greatest_value_wins(streaming: SparkSession, tmp_path: Path) -> None:
    upsert = ost.upsert(tmp_path / "runs", key="run_id", latest_by="ended")
    first = early(streaming, ("a", "x", 1), ("a", "y", 3), ("b", "x", 1))
    second = early(streaming, ("a", "x", 2), ("b", "y", 2))
    for number, batch in enumerate((first, second, first)):
        upsert(batch, number)
    assert sorted(map(tuple, upsert.read(streaming).collect())) == [("a", "y", 3), ("b", "y", 2)]
    assert streaming.read.parquet(str(tmp_path / "runs")).count() == 3


def test_different_rows_of_one_key_are_refused(streaming: SparkSession, tmp_path: Path) -> None:
    """ALL ROWS PER MATCH: the rows of a match share its id, and all but one would be lost."""
    shown = streaming.sql("SELECT 'a' AS k, id AS t, id AS x, map('n', id) AS m FROM range(4)")
    rows = shown.transform(
        ost.match_recognize(
            "PARTITION BY k ORDER BY t ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS x > PREV(x)", match_id="match_id"
        )
    )
    with pytest.raises(Exception, match="UPSERT_KEY_NOT_UNIQUE") as caught:
        ost.upsert(tmp_path / "one")(rows, 0)
    assert ost.unwrap(caught.value).code == "UPSERT_KEY_NOT_UNIQUE"  # type: ignore[union-attr]
    rows = rows.selectExpr("*", "INTERVAL '1' YEAR AS years", "parse_json('[1]') AS v")
    all_rows = ost.upsert(tmp_path / "all", key=("match_id", "t"))
    for number in range(2):
        all_rows(rows.union(rows), number)  # equal rows are one row
    assert all_rows.read(streaming).count() == 4


def test_days_that_python_has_no_date_for(streaming: SparkSession, tmp_path: Path) -> None:
    upsert = ost.upsert(tmp_path / "far", time="began")
    seconds = [253_402_300_800, 9_000_000_000_000, -9_000_000_000_000, 0, None]  # from the year 10000 on, before Christ
    rows = streaming.createDataFrame([(f"m{n}", at) for n, at in enumerate(seconds)], "match_id string, at bigint")
    batch = rows.selectExpr("match_id", "timestamp_seconds(at) AS began")
    for number in range(2):
        upsert(batch, number)
    days = {folder.name for folder in (tmp_path / "far").glob(f"{DAY}=*")}
    assert {f"{DAY}=+10000-01-01", f"{DAY}=1970-01-01"} < days
    assert (len(days), streaming.read.parquet(f"{tmp_path}/far").count()) == (5, 5)


def test_an_error_of_ours_is_found_in_that_of_the_stream(streaming: SparkSession, tmp_path: Path) -> None:
    source = Source(tmp_path, streaming).add(matches(0))
    writer = source.read(delay=None).writeStream.foreachBatch(ost.upsert(source.output, key="match"))
    query = writer.option("checkpointLocation", source.checkpoint).trigger(availableNow=True).start()
    with pytest.raises(Exception, match="UNKNOWN_COLUMN") as caught:
        query.awaitTermination(120)
    error = ost.unwrap(caught.value)
    assert error is not None
    assert error.one_line() == (
        "UNKNOWN_COLUMN: the rows to write have no column 'match' (hint: did you mean 'match_id'?)"
    )


def test_refusals(streaming: SparkSession, tmp_path: Path) -> None:
    def refused(batch: DataFrame, **options: str) -> str:
        with pytest.raises(ost.QueryError) as caught:
            ost.upsert(tmp_path / "x", **options)(batch, 0)  # type: ignore[arg-type]
        return caught.value.code

    rows = early(streaming, ("a", "open", 1))
    assert refused(rows) == "UNKNOWN_COLUMN"
    assert refused(rows, key="run_id", time="status") == "INVALID_TIME"
    for name in ("upsert_write", "Upsert_Day"):  # columns of Spark have no case
        assert refused(rows.withColumnRenamed("ended", name), key="run_id") == "RESERVED_NAME"
    rows.write.saveAsTable("not_mergeable")
    try:
        with pytest.raises(Exception, match="does not support MERGE INTO TABLE"):  # Spark parsed the statement
            ost.upsert("not_mergeable", key="run_id", status="status", format="table")(rows, 0)
    finally:
        streaming.sql("DROP TABLE not_mergeable")
    assert [table.name for table in streaming.catalog.listTables() if table.isTemporary] == []
