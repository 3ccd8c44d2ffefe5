"""Workloads of MATCH_RECOGNIZE queries on streams: shared or separate, they have the rows of the batch."""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.streams.spark_streams import Source, bounded_victim, pieces, trades
from tests.spark.streams.stream_processes import Start, batches, in_a_process, wait_until
from tests.spark.workloads.test_bounded_streams import SUMS

import ostinato as ost
from ostinato.errors import OstinatoWarning, QueryError

__all__ = ["in_a_process"]  # a fixture

HEAD = "PARTITION BY symbol ORDER BY ts, id"
LOW_HIGH = f"""{HEAD} MEASURES L.id AS a, H.id AS b, COUNT(X.id) AS between ALL MATCHES
    PATTERN (L X* H) WITHIN INTERVAL '8' SECOND DEFINE L AS price < 3, H AS price > 3 AND H.id < L.id + 40"""
NO_MID = f"""{HEAD} MEASURES L.id AS a, H.price AS high ALL MATCHES
    PATTERN (L Y* H) WITHIN INTERVAL '6' SECOND
    DEFINE L AS price < 3 AND PREV(price) > 1, Y AS price <> 3, H AS price > 3"""
RISES = f"""{HEAD} MEASURES FIRST(id) AS a, LAST(id) AS b, MATCH_NUMBER() AS n
    PATTERN (L H+) WITHIN INTERVAL '6' SECOND DEFINE L AS price < 3, H AS price > PREV(price)"""
ENDS = f"{HEAD} MEASURES L.id AS a ALL MATCHES PATTERN (L X* H $) WITHIN INTERVAL '8' SECOND DEFINE L AS price < 3"
SELECTED = f"SELECT m.b - m.a AS apart, symbol FROM trades MATCH_RECOGNIZE ({LOW_HIGH}) AS m"
TOGETHER = {"low": LOW_HIGH, "clear": NO_MID, "apart": SELECTED}


def values_of(*tables: pa.Table) -> Counter[str]:
    """The values of rows, without the empty columns of other queries."""
    return Counter(repr(_without_nulls(row)) for table in tables for row in table.to_pylist())


def _without_nulls(value: Any) -> Any:
    """The value without NULL fields. A struct of NULLs becomes None."""
    if not isinstance(value, dict):
        return value
    fields = {name: _without_nulls(inner) for name, inner in value.items()}
    return sorted((name, repr(inner)) for name, inner in fields.items() if inner is not None) or None


def test_stream_and_finish_are_batch(source: Source) -> None:
    """The rows have ties and a NULL key, and aren't in order. The stream is stopped and resumed."""
    table = trades(400)
    first, second, third = pieces(table, 150, 300)
    workload = ost.Workload(TOGETHER, buckets=4)
    source.add(first.take(np.arange(150)[::-1]), second)
    source.run(workload.run(source.read()).table)
    source.add(third)
    result = source.run(workload.run(source.read()).table)
    rest = source.finish()
    expected = workload.run(table).table
    assert result.schema.names == rest.schema.names == expected.schema.names
    assert values_of(result, rest) == values_of(expected)
    assert set(result["query"].to_pylist()) == set(TOGETHER)
    assert rest.num_rows > 0
    assert source.count("late_rows") == 0
    assert source.count("matches") == result.num_rows
    states = ost.stream_state(source.session, source.checkpoint, by="state").toArrow().to_pylist()
    assert {name for row in states for name in row["queries"]} == set(TOGETHER)
    assert sum(row["partial_matches"] for row in states) == source.count("open_runs_change") > 0


def test_one_query_in_its_own_columns(source: Source) -> None:
    table = trades(300)
    source.add(*pieces(table, 150))
    result = ost.Workload(TOGETHER, buckets=4).run(source.read())
    batch = ost.Workload(TOGETHER).run(source.session.read.parquet(source.input))
    for name in TOGETHER:
        assert result[name].schema == batch[name].schema
        assert result[name].isStreaming
    rows = source.run(result["apart"])
    assert values_of(rows) < values_of(ost.match(SELECTED, table))
    assert rows.num_rows > 20


def test_a_workload_of_all_kinds(source: Source) -> None:
    """Shared clauses, a separate clause and an event query have separate operators in one stream."""
    table = trades(300)
    source.add(*pieces(table, 150))
    workload = ost.Workload({"low": LOW_HIGH, "clear": NO_MID, "rises": RISES, "sums": SUMS}, buckets=4)
    result = source.run(workload.run(source.read()).table)
    expected = workload.run(table).table
    assert set(result.schema.names) == set(expected.schema.names)
    finished = [ost.finish_stream(source.session, source.checkpoint, operator=number).toArrow() for number in range(3)]
    rest = [pa.Table.from_pylist([_in_common(row) for row in one.to_pylist()]) for one in finished]
    assert values_of(result, *rest) == values_of(expected)
    assert set(result["query"].to_pylist()) == {"low", "clear", "rises", "sums"}


def _in_common(row: dict[str, Any]) -> dict[str, Any]:
    """The row in the columns of the workload. At the end, an operator of one query has the columns of that query."""
    if "query" in row:
        return row
    if "window_start" in row:
        return {"query": "sums", "group": {"symbol": row.pop("symbol")}, "aggregates": {"n": row.pop("n")}, **row}
    return {"query": "rises", "group": {"symbol": row.pop("symbol")}, "measures": row}


def bounded(read: DataFrame) -> DataFrame:
    workload = ost.Workload(
        {"low": LOW_HIGH, "clear": NO_MID}, buckets=4, latency_bound="5 ns", clock=ost.VirtualClock()
    )
    result = workload.run(read).table_with_report
    assert result is not None
    return result


def test_a_bound_gives_a_subset_and_reports_losses(source: Source) -> None:
    table = trades(2_000)
    source.add(*pieces(table, 700, 1_400))
    result = source.run(bounded(source.read()))
    reports = [row["report"] for row in result.to_pylist() if row["report"] is not None]
    matched = result.filter(pc.is_null(result["report"])).drop_columns(["report"])
    exact = ost.Workload({"low": LOW_HIGH, "clear": NO_MID}).run(table).table
    assert {row["query"] for row in reports} == {"low", "clear"}
    assert sum(row["dropped"] for row in reports) > 0
    assert values_of(matched) < values_of(exact)
    metrics = ost.Workload([LOW_HIGH], latency_bound="1 s").run(source.read()).report.table
    assert metrics is not None
    assert metrics.isStreaming and "dropped" in metrics.columns


def test_a_changed_workload_refuses_the_state(source: Source) -> None:
    source.add(trades(100))
    source.run(ost.Workload([LOW_HIGH, NO_MID], buckets=4).run(source.read()).table)
    source.add(trades(100, seed=8))
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY"):
        source.run(ost.Workload([LOW_HIGH, LOW_HIGH], buckets=4).run(source.read()).table)


# --- refused without starting a stream --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clock(streaming: SparkSession) -> DataFrame:
    columns = ("timestamp AS ts", "'a' AS symbol", "CAST(value AS DOUBLE) AS price", "value AS id")
    return streaming.readStream.format("rate").load().selectExpr(*columns)


def test_a_stream_needs_a_watermark_and_an_order_by_time(clock: DataFrame) -> None:
    with pytest.raises(QueryError, match="STREAM_NEEDS_WATERMARK") as caught:
        ost.Workload([LOW_HIGH, RISES]).run(clock)
    assert "eager" not in str(caught.value)  # a workload has no such option
    marked = clock.withWatermark("ts", "1 minute")
    for text in (LOW_HIGH.replace("ts, id", "id, ts"), RISES.replace("ts, id", "ts DESC")):
        with pytest.raises(QueryError, match="STREAM_NOT_SUPPORTED"):
            ost.Workload([text]).run(marked)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ENDS, "`$`"),
        (LOW_HIGH.replace("(L X*", "(^ L X*"), "`^`"),
        (LOW_HIGH.replace("H.id AS b", "NEXT(H.id) AS b"), "NEXT"),
        (LOW_HIGH.replace("H.id AS b", "MATCH_NUMBER() AS b"), "MATCH_NUMBER()"),
        (RISES, "ALL MATCHES can have one"),
    ],
)
def test_queries_that_cannot_be_bounded_on_a_stream_are_refused(clock: DataFrame, text: str, reason: str) -> None:
    marked = clock.withWatermark("ts", "1 minute")
    with pytest.raises(QueryError, match=f"query 'q1' can't be bounded: .*{re.escape(reason)}") as caught:
        ost.Workload([text], latency_bound="1 ms").run(marked)
    assert caught.value.code == "BOUND_NOT_SUPPORTED"
    assert "latency_bound=" in str(caught.value)
    assert ost.Workload([text, LOW_HIGH], latency_bound={"q2": "1 ms"}).run(marked)["q1"].isStreaming


def test_unbounded_state_raises_a_warning(clock: DataFrame) -> None:
    endless = LOW_HIGH.replace("WITHIN INTERVAL '8' SECOND", "")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ost.Workload([endless, LOW_HIGH]).run(clock.withWatermark("ts", "1 minute"))
    assert [one.category for one in caught if "grow without bound" in str(one.message)] == [OstinatoWarning]
    assert next(one for one in caught if one.category is OstinatoWarning).filename == __file__


@pytest.mark.slow
@pytest.mark.timeout(600)  # two processes with kernels of their own
def test_killed_in_the_middle_of_a_batch(source: Source, in_a_process: Start, tmp_path_factory: Any) -> None:
    """With the virtual clock, dropped state depends on the rows alone, so a restart changes no row."""
    cuts = pieces(trades(2_000), 400, 800, 1_200, 1_600)
    undisturbed = Source(tmp_path_factory.mktemp("undisturbed"), source.session).add(*cuts)
    expected = undisturbed.run(bounded(undisturbed.read()))
    source.add(*cuts)
    victim = in_a_process("-c", bounded_victim("workloads.test_clause_streams"), str(source.folder))
    wait_until(lambda: 2 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 2 not in batches(source, "commits")
    result = source.run(bounded(source.read()))
    assert min(batch.batchId for batch in source.progress) == 2  # the stream resumed
    assert values_of(result) == values_of(expected)
    assert values_of(source.finish()) == values_of(undisturbed.finish())
