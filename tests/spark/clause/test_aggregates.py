"""Aggregates over one match of all rows, on Spark and in process, equal Spark's own aggregates over the same rows."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

import ostinato as ost

COLUMNS = {
    "k": "1",
    "s": "array('b', 'a', 'b', NULL, 'c')[id]",
    "i": "array(30, NULL, 10, 20, 40)[id]",
    "d": "array(2.5D, DOUBLE('NaN'), -0.0D, NULL, 0.0D)[id]",
    "dt": "array(DATE '2024-01-01', NULL, DATE '2024-01-03', DATE '2024-01-02', DATE '2024-01-05')[id]",
    "iv": "make_dt_interval(0, 0, 0, array(30, NULL, 10, 20, 40)[id] / 7)",
    "b": "array(true, NULL, false, true, false)[id]",
}
AS_SPARK = [
    "sum(i) FILTER (WHERE s = 'b')", "count(*) FILTER (WHERE b)", "count(DISTINCT s) FILTER (WHERE i > 5)",
    "avg(d) FILTER (WHERE NOT isnan(d))", "min_by(s, i) FILTER (WHERE i > 10)", "count_if(b) FILTER (WHERE i > 20)",
    "stddev(i) FILTER (WHERE b)", "max(dt) FILTER (WHERE i < 0)", "bool_or(b) FILTER (WHERE i < 25)",
    "listagg(s)", "listagg(s, ', ')", "listagg(i, '-')", "listagg(d, '|')", "listagg(dt, NULL)", "string_agg(b, ';')",
    "listagg(s, ',') WITHIN GROUP (ORDER BY i DESC NULLS FIRST, id)",
    "listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s)",
    "listagg(s, ',') FILTER (WHERE i > 99)", "listagg(DISTINCT i, ',') WITHIN GROUP (ORDER BY i DESC)",
    "first_value(i)", "last_value(d)", "any_value(s)", "first_value(s, true)", "last_value(i) IGNORE NULLS",
    "last_value(s) FILTER (WHERE b)", "first_value(dt) FILTER (WHERE i IS NULL OR i < 20)", "any_value(i, false)",
    "first_value(d) FILTER (WHERE i < 25) IGNORE NULLS", "array_agg(dt) FILTER (WHERE b)", "sort_array(collect_set(s))",
    "median(i)", "median(d)", "percentile(i, 0.3)", "percentile(d, 0.9D)",
    "median(iv)", "percentile_disc(0.8) WITHIN GROUP (ORDER BY iv)",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY i DESC)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY i DESC)",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY CAST(i AS DECIMAL(9,2)))", "percentile_approx(dt, 0.5)",
    "percentile_approx(i, 0.7, 200)", "median(i) FILTER (WHERE b)", "median(DISTINCT length(s))", "median(NULL)",
    "sort_array(collect_set(d))", "sort_array(array_agg(DISTINCT d))",
]  # fmt: skip
"""Aggregates that Spark has too."""


def test_aggregates_equal_those_of_spark(spark: SparkSession) -> None:
    frame = spark.range(0, 5, 1, 1).selectExpr("id", *(f"{text} AS {name}" for name, text in COLUMNS.items()))
    named = [f"{text} AS c{number}" for number, text in enumerate(AS_SPARK)]
    plain = [text for text in named if "DISTINCT" not in text]
    tables = [frame.selectExpr(*plain).toArrow()]
    tables += [frame.selectExpr(text).toArrow() for text in named if text not in plain]  # together, Spark fails
    expected = {name: table.column(name) for table in tables for name in table.column_names}
    clause = f"PARTITION BY k ORDER BY id MEASURES {', '.join(named)} PATTERN (A+)"
    on_spark = frame.transform(ost.match_recognize(clause)).toArrow()
    in_process = ost.match(clause, frame.toArrow())
    for number, text in enumerate(AS_SPARK):
        values = [columns[f"c{number}"] for columns in (expected, on_spark, in_process)]
        assert len({str(column.type).replace(" not null", "") for column in values}) == 1, text
        assert _shown(values[0]) == _shown(values[1]) == _shown(values[2]), text


def _shown(column: Any) -> str:
    return repr(column.to_pylist())  # NaN doesn't equal itself
