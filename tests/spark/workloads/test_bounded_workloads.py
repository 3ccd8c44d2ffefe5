"""Workloads on the shared matcher, on batch DataFrames: the same rows as in process, and reports on dropped state."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.event_queries.test_events import rows

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.workloads.report_rows import REPORT_TYPE

HEAD = "TYPE kind TIME ts"
FIRST = f"{HEAD} PATTERN SEQ(A a, B b, C c) WHERE a.v + b.v < c.v * 3 GROUP BY g WITHIN 20 SECONDS RETURN MATCHES"
SECOND = f"{HEAD} PATTERN SEQ(A a, B b, D d) WHERE a.v <= d.v GROUP BY g WITHIN 20 SECONDS RETURN MATCHES"
ABSENCE = f"{HEAD} PATTERN SEQ(A a, NOT D x, C+ c) GROUP BY g WITHIN 6 SECONDS SLIDE 4 SECONDS RETURN MATCHES"
NEXT = f"{HEAD} PATTERN SEQ(A a, C c) SKIP TILL NEXT MATCH GROUP BY g WITHIN 6 SECONDS RETURN MATCHES"
NO_GROUP = f"{HEAD} PATTERN SEQ(A a, B b) STRICT WHERE SAME[v] WITHIN 30 EVENTS RETURN MATCHES"
COUNT = f"{HEAD} PATTERN SEQ(A a, B+ b) GROUP BY g WITHIN 6 SECONDS TUMBLE RETURN g, COUNT(*) AS n"
CLAUSE = """PARTITION BY g ORDER BY ts, v MEASURES A.v AS low, B.v AS high ALL MATCHES PATTERN (A X* B)
    DEFINE A AS kind = 'A' AND v < 2, B AS kind = 'B' AND v > 6"""
CLOCK = ost.VirtualClock()


def events(count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    seconds = np.sort(rng.integers(0, count // 2, count)) * 1_000_000
    return pa.table(
        {
            "ts": pa.array(seconds, pa.timestamp("us", "UTC")),
            "kind": pa.array(rng.choice(list("ABCDE"), count)),
            "g": pa.array(rng.integers(0, 5, count)),
            "v": pa.array(rng.integers(0, 9, count)),
        }
    )


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return events(600)


@pytest.fixture(scope="module")
def df(spark: SparkSession, table: pa.Table) -> DataFrame:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "70")
    return session.createDataFrame(table).repartition(4).cache()


@pytest.mark.parametrize("sharing", ["always", "dynamic"])
def test_without_a_bound_the_rows_are_those_of_one_process(df: DataFrame, table: pa.Table, sharing: str) -> None:
    workload = ost.Workload([FIRST, SECOND, ABSENCE, NEXT, NO_GROUP, COUNT], sharing=sharing)
    result, expected = workload.run(df), workload.run(table)
    assert rows(result.table) == rows(expected.table)
    assert rows(result["q3"]) == rows(expected["q3"])
    assert result.report.table.count() == 0
    assert str(result.report).startswith("Nothing was bounded")


def test_a_bound_gives_a_subset_and_reports_losses(spark: SparkSession) -> None:
    table = events(4_000)
    workload = ost.Workload([FIRST, SECOND, NO_GROUP], latency_bound={"q1": "5 ns"}, clock=CLOCK)
    exact = ost.Workload([FIRST, SECOND, NO_GROUP]).run(table)
    both = workload.run(spark.createDataFrame(table)).table_with_report
    assert both is not None
    all_rows = both.persist()
    reports = all_rows.where("report IS NOT NULL").select("query", "report.*").collect()
    assert {row["query"] for row in reports} == {"q1", "q2"}
    assert sum(row["events"] for row in reports if row["query"] == "q1") > 0
    dropped = {query: sum(row["dropped"] for row in reports if row["query"] == query) for query in ("q1", "q2")}
    assert dropped["q1"] > 0 == dropped["q2"]
    matched = all_rows.where("report IS NULL")
    known = _matches(exact.table.to_pylist())
    result = _matches([row.asDict(recursive=True) for row in matched.collect()])
    assert Counter(result) < Counter(known)  # rows may have equal times and values, so matches may look equal
    assert _unbounded(result) == _unbounded(known)


def _unbounded(result: list[str]) -> list[str]:
    return [match for match in result if match.startswith(("q2", "q3"))]


def _matches(result: list[dict[str, object]]) -> list[str]:
    """Query and events of each match. These don't depend on other matches."""
    texts = []
    for row in result:
        assert isinstance(row["events"], list)
        event_values = [(event["variable"], event["ts"].timestamp(), event["v"]) for event in row["events"]]
        texts.append(f"{row['query']} {row['group']} {event_values}")
    return sorted(texts)


def test_metrics_have_a_row_for_each_task_and_query(df: DataFrame) -> None:
    result = ost.Workload([FIRST, SECOND], latency_bound="1 s", clock=CLOCK).run(df)
    assert result.report.table is not None
    assert result.report.table.columns == [field.name for field in REPORT_TYPE]
    metrics = result.report.table.collect()
    assert {row["query"] for row in metrics} == {"q1", "q2"} and 2 <= len(metrics) <= 6
    assert all(row["dropped"] == 0 for row in metrics)
    assert "report" not in result.table.columns
    assert result.table.count() == ost.Workload([FIRST, SECOND]).run(df).table.count()


def test_metrics_have_the_losses_of_each_period(spark: SparkSession) -> None:
    table = events(4_000)
    result = ost.Workload([NO_GROUP], latency_bound="5 ns", clock=CLOCK).run(spark.createDataFrame(table))
    assert result.report.table is not None
    (row,) = result.report.table.collect()
    local = ost.Workload([NO_GROUP], latency_bound="5 ns", clock=CLOCK).run(table).reports[0].by_period()
    periods = [{"query": "q1", **period.asDict()} for period in row["periods"]]
    assert periods == local.to_pylist() and len(periods) > 1
    assert sum(period["dropped"] for period in periods) == row["dropped"] > 0


def test_explain_of_a_result_points_to_its_metrics(df: DataFrame) -> None:
    bounded = ost.explain(ost.Workload([FIRST, SECOND], latency_bound="1 s", clock=CLOCK).run(df)).text
    assert "Losses of a run\n   result.report.table has a row for each query and task" in bounded
    assert "shared matcher: q1, q2" in bounded and "4 states instead of 6" in bounded  # types are those of the input
    assert "Losses" not in ost.explain(ost.Workload([FIRST, SECOND]).run(df)).text


def test_queries_that_cannot_be_bounded_are_refused_while_planning(df: DataFrame) -> None:
    with pytest.raises(QueryError, match="BOUND_NOT_SUPPORTED"):
        ost.Workload([FIRST, NEXT], latency_bound="5 ms").run(df)
    with pytest.raises(QueryError, match="BOUND_NOT_SUPPORTED"):
        ost.Workload([FIRST, COUNT], memory_bound="1 MB").run(df)


def test_both_forms_in_one_workload(df: DataFrame, table: pa.Table) -> None:
    workload = ost.Workload({"trends": COUNT, "pairs": CLAUSE, "matches": FIRST})
    result, expected = workload.run(df), workload.run(table)
    for name in workload.names:
        assert rows(result[name]) == rows(expected[name])
    assert sorted(result.table.columns) == sorted(expected.table.column_names)
    assert result.table.groupBy("query").count().count() == 3
