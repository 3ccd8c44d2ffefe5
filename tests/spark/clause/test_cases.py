"""Spark on the conformance cases: the same rows, column names and types as everywhere else."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.cases import Case, load_cases

import ostinato as ost


def has_a_place(case: Case) -> bool:
    """Cases that Spark can be asked: rows without ORDER BY have no order there."""
    return not case.arrival_order


def is_about_the_pattern_alone(case: Case) -> bool:
    """One-line cases over letters: the matcher is the same as in process, so Spark sees them in the slow tier only."""
    return [column.name for column in case.columns] == ["id", "kind"]


CASES = [
    pytest.param(case, id=case.id, marks=[pytest.mark.slow] if is_about_the_pattern_alone(case) else [])
    for case in load_cases()
    if has_a_place(case)
]


def dataframe(spark: SparkSession, case: Case) -> DataFrame:
    schema = ", ".join(f"`{column.name}` {column.type_text}" for column in case.columns)
    return spark.createDataFrame([tuple(row) for row in case.rows], schema)


def statement(case: Case) -> str:
    return f"SELECT * FROM {case.input_name or 'input'} MATCH_RECOGNIZE ({case.clause}\n)"


@pytest.mark.parametrize("case", CASES)
def test_case(spark: SparkSession, case: Case) -> None:
    tables = {case.input_name or "input": dataframe(spark, case)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.error is not None:
            with pytest.raises(Exception) as caught:  # ours, or Spark's with ours inside
                ost.sql(statement(case), **tables).collect()
            ours = ost.unwrap(caught.value)
            assert ours is not None, str(caught.value)
            assert ours.code == case.error, str(ours)
            return
        result = ost.sql(statement(case), **tables)
        rows = [tuple(row) for row in result.collect()]
    assert replace(case, ordered=False).difference(result.columns, rows) is None  # tasks end in any order
    for name, written, field in zip(case.expect_columns, case.expect_types, result.schema.fields, strict=True):
        assert written is None or field.dataType.simpleString() == written.replace(", ", ","), name
