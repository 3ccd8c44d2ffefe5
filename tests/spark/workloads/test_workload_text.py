"""Measures of one name and different types are text in a workload's table: the same text in process and on Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from tests.workloads.mixed_measures import QUERIES, SEEN

import ostinato as ost


def shown(df: DataFrame) -> list[tuple[str, str | None]]:
    rows = df.selectExpr("query", "measures.v AS v").collect()
    return sorted(((row["query"], row["v"]) for row in rows), key=repr)


def test_nested_values_are_written_as_spark_writes_them(spark: SparkSession) -> None:
    mine = ost.Workload(QUERIES).run(SEEN).table.to_pylist()
    theirs = ost.Workload(QUERIES).run(spark.createDataFrame(SEEN))
    assert sorted(((row["query"], row["measures"]["v"]) for row in mine), key=repr) == shown(theirs.table)
    assert len(mine) == len(QUERIES) * SEEN.num_rows
