"""Workloads of MATCH_RECOGNIZE queries on Spark: one pass for all queries, with the rows of each query alone."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.local.test_local_clauses import AB, ABD, CALLS, FIRST

import ostinato as ost
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.spark.workload_rows.common_rows import common_rows
from ostinato.spark.workloads.clause_dataframes import SparkClauses
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.plan.clause_groups import Sharing

SELECTED = f"SELECT who, upper(who) AS name, m.b - m.a AS apart FROM calls MATCH_RECOGNIZE ({AB}) AS m"
WHOLE = "ORDER BY n DESC MEASURES soundex(LAST(kind)) AS a PATTERN (A B) DEFINE A AS kind = 'A'"


@pytest.fixture(scope="module")
def calls(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(CALLS.to_pandas()).cache()


def clauses(
    df: DataFrame, *queries: str, request: BoundRequest = UNBOUNDED, sharing: Sharing = "dynamic"
) -> SparkClauses:
    names = [f"q{i}" for i in range(1, len(queries) + 1)]
    return SparkClauses(
        [as_clause_query(query) for query in queries], names, df, WorkloadOptions(sharing=sharing), request
    )


def rows(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.collect()), key=repr)


def test_every_query_has_the_rows_that_it_has_alone(calls: DataFrame) -> None:
    queries = (AB, ABD, FIRST, SELECTED, WHOLE)
    result = clauses(calls, *queries)
    assert [operator.numbers for operator in result.operators] == [(0, 1, 2, 3), (4,)]
    for number, query in enumerate((AB, ABD, FIRST)):
        expected_rows = calls.transform(ost.match_recognize(query))
        assert result.of_query(number).schema == expected_rows.schema
        assert rows(result.of_query(number)) == rows(expected_rows)
    expected = [(row["who"], row["who"].upper(), row["b"] - row["a"]) for row in ost.match(AB, CALLS).to_pylist()]
    assert rows(result.of_query(3)) == sorted(expected, key=repr)


def test_all_queries_in_one_table(calls: DataFrame) -> None:
    common = common_rows(clauses(calls, AB, ABD, SELECTED, WHOLE).operator_rows())
    assert common.columns == ["query", "group", "measures"]
    assert common.schema["measures"].dataType.fieldNames() == ["a", "b", "d", "rise", "name", "apart"]
    result = [row.asDict(recursive=True) for row in common.collect()]
    measures_of_q2 = [row["measures"] for row in result if row["query"] == "q2"]
    expected = ost.match(ABD, CALLS).to_pylist()
    assert sorted(row["d"] for row in measures_of_q2) == sorted(row["d"] for row in expected)
    # q4 has a text measure of the same name, so both are text.
    assert {row["a"] for row in measures_of_q2} == {str(row["a"]) for row in expected}
    assert {row["measures"]["name"] for row in result if row["query"] == "q3"} == {"ANN", "BOB"}
    assert {row["group"]["who"] for row in result if row["query"] == "q4"} == {None}


def test_reports_come_with_the_rows(calls: DataFrame) -> None:
    result = clauses(calls, AB, ABD, request=BoundRequest(latency_bound="1 s"))
    all_rows = common_rows(result.operator_rows(), reports=True)
    reported = {row["query"] for row in all_rows.where("report IS NOT NULL").select("report.*").collect()}
    assert reported == {"q1", "q2"}
    assert all_rows.where("report IS NULL").count() == common_rows(result.operator_rows()).count() > 0


def test_clauses_that_fail_together_run_separately(calls: DataFrame) -> None:
    """Only the last B divides by zero. The search skips it because no D follows. The shared matcher evaluates it."""
    divides = ABD.replace("B AS kind = 'B'", "B AS kind = 'B' AND 1 / (B.n - A.n - 10) > -9")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        common_rows(clauses(calls, divides, divides, sharing="always").operator_rows()).collect()
    expected = rows(calls.transform(ost.match_recognize(divides)))
    result = clauses(calls, divides, divides)
    assert [rows(result.of_query(number)) for number in range(2)] == [expected] * 2
    assert len(expected) > 1


def test_errors_of_tasks_are_ours(calls: DataFrame) -> None:
    divides = AB.replace("B AS kind = 'B'", "B AS 1 / (B.x - A.x) > 0 AND kind < 'Z'")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO") as caught:
        clauses(calls, AB, divides).of_query(1).collect()
    assert ost.unwrap(caught.value).code == "DIVIDE_BY_ZERO"
