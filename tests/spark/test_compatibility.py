"""The lines of docs/compatibility/ that run on Spark only, and errors of Spark that name what to write."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.compatibility import WITH_MEASURES, Line, load_lines, shown_value, ticker

import ostinato as ost

COLUMNS = "symbol string, day int, price int, at timestamp_ntz, traded date, venue string, missing int"
SPARK_LINES = list({line.text: line for line in load_lines() if line.spark and not line.is_measure}.values())
REFUSED = [
    line
    for line in load_lines()
    if line.error == "UNKNOWN_FUNCTION"
    or line.construct == "TRUNC(at)"
    or (line.spark and line.is_measure and line.error is not None)
]
MEASURES = [line for line in load_lines() if line.is_measure and line.expect is not None]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in ticker().to_pylist()], COLUMNS)


def run(text: str, rows: DataFrame) -> DataFrame:
    if text.startswith(("SELECT", "WITH", "CREATE")):
        return ost.sql(text, spark=rows.sparkSession, **({"ticker": rows} if "ticker AS" not in text else {}))
    return rows.transform(ost.match_recognize(text))


@pytest.mark.parametrize("line", SPARK_LINES, ids=lambda line: line.id)
def test_line(line: Line, rows: DataFrame) -> None:
    if line.error is not None:
        assert refused(line, rows) == line.error
    if line.expect is None:
        return
    result = run(line.text if line.write is None else line.replaced, rows)
    names = result.columns
    found = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in result.collect()])
    assert line.shown(found) == line.expect


def test_spark_names_what_to_write(rows: DataFrame) -> None:
    for line in REFUSED:
        refused(line, rows)


def refused(line: Line, rows: DataFrame) -> str:
    """The code of the error, whose hint names what the line names."""
    with pytest.raises(ost.OstinatoError) as error:
        run(line.text, rows)
    assert line.hint in (error.value.hint or ""), line.id
    return error.value.code


def test_an_internal_error_of_spark_has_no_java_stack(rows: DataFrame) -> None:
    """Flink's TO_TIMESTAMP_LTZ takes a number and a precision, at which Spark's analysis stops."""
    with pytest.raises(ost.QueryError) as error:
        run("ORDER BY day MEASURES to_timestamp_ltz(0, 3) AS t PATTERN (A)", rows)
    assert str(error.value).startswith("ANALYSIS_ERROR: Spark can't analyse the query: Cannot resolve")
    assert "\n" not in str(error.value)


def test_measures_run_on_spark(rows: DataFrame) -> None:
    """All expressions of the pages in one clause: one job, and the value of each is that of its line."""
    texts = {line.construct if line.write is None else line.write: line for line in MEASURES}
    measures = ", ".join(f"{text} AS v{number}" for number, text in enumerate(texts))
    (row,) = run(WITH_MEASURES.format(measures), rows).drop("symbol").collect()
    shown = {text: shown_value(value) for text, value in zip(texts, row.asDict(recursive=True).values(), strict=True)}
    # PySpark gives times without their zone, which is the session's.
    assert shown == {text: (line.expect or "").removesuffix("+00:00") for text, line in texts.items()}
