"""Every expression of `evaluator_cases` gives the same type and values as Spark's own evaluator, or both refuse it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.spark.shipping import evaluator_cases as cases

from ostinato.errors import OstinatoError
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Field, rebuild
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.typing import type_of

CHUNK = 80
ZONE = "Europe/Berlin"
Outcome = tuple[str, Any, Any]
"""('value', type, list) or ('error', message, '')."""


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The shared session with its settings put back afterwards."""
    before = {key: spark.conf.get(key) for key in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    yield spark
    for key, value in before.items():
        spark.conf.set(key, str(value))


def plain(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Python values; times as numbers, since Spark's calendar reaches further than Python's."""
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        array = array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64())
    if pa.types.is_list(array.type) and pa.types.is_timestamp(array.type.value_type):
        array = array.cast(pa.list_(pa.int64()))
    return list(array.to_pylist())


def bind(expr: Expr) -> Expr:
    """References as columns of the one row, the rest of a dotted name as fields."""
    if isinstance(expr, ColumnRef):
        result: Expr = Column(expr.parts[0].text, expr.span)
        for part in expr.parts[1:]:
            result = Field(result, part, expr.span)
        return result
    return rebuild(expr, bind)


def ours(text: str, data: pa.Table, settings: Settings) -> Outcome:
    """The evaluator's values. `type_of` and `evaluate` must agree on their types."""
    columns = {Column(name): data[name].combine_chunks() for name in data.column_names}
    try:
        expr = bind(parse_expression(text))
        kind = type_of(expr, lambda node: columns[node].type if node in columns else None, settings)
        array = evaluate(expr, columns.get, data.num_rows, settings)
    except OstinatoError as error:
        return ("error", str(error), "")
    assert array.type == kind, f"{text}: type_of says {kind}, evaluate gives {array.type}"
    array.validate(full=True)
    return ("value", kind, plain(array))


def spark_values(frame: DataFrame, texts: list[str], settings: Settings) -> dict[str, Outcome]:
    """Spark's values, in one select if possible. If an expression raises, one by one."""
    try:
        table = frame.selectExpr(*[f"{text} AS c{number}" for number, text in enumerate(texts)]).toArrow()
    except Exception as error:  # any refusal counts
        if len(texts) == 1:
            return {texts[0]: ("error", str(error).splitlines()[0], "")}
        half = len(texts) // 2
        return {**spark_values(frame, texts[:half], settings), **spark_values(frame, texts[half:], settings)}
    kinds = [normalise(field.type, settings) for field in table.schema]
    return {
        text: ("value", kinds[number], plain(table.column(number).cast(kinds[number])))
        for number, text in enumerate(texts)
    }


def same(left: Any, right: Any) -> bool:
    """Equal, with NaN equal to itself, signs of zero told apart, and the last bits of transcendentals forgiven."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        if left == right:
            return math.copysign(1, left) == math.copysign(1, right)
        return math.isclose(left, right, rel_tol=4e-15)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return same(list(left.values()), list(right.values()))
    return type(left) is type(right) and left == right


def differences(session: SparkSession, rows: list[Any], ansi: bool, texts: list[str]) -> list[str]:
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.session.timeZone", ZONE)
    settings = Settings(ansi=ansi, timezone=ZONE)
    data = cases.table(rows)
    frame = session.createDataFrame(data).withColumn("nt", F.expr("CAST(nt AS TIMESTAMP_NTZ)")).coalesce(1).cache()
    mine = {text: ours(text, data, settings) for text in texts}
    fine = [text for text in texts if mine[text][0] == "value"]
    theirs: dict[str, Outcome] = {}
    for start in range(0, len(fine), CHUNK):
        theirs |= spark_values(frame, fine[start : start + CHUNK], settings)
    for text in texts:
        if mine[text][0] == "error":
            theirs |= spark_values(frame, [text], settings)
    return [line for text in texts for line in explain(text, mine[text], theirs[text])]


def explain(text: str, mine: Outcome, spark: Outcome) -> list[str]:
    if mine[0] != spark[0]:
        return [f"{text}: ours {mine}, Spark {spark}"]
    if mine[0] == "error":
        return []
    if mine[1] != spark[1]:
        return [f"{text}: type ours {mine[1]}, Spark {spark[1]}"]
    return [] if same(mine[2], spark[2]) else [f"{text}: ours {mine[2]}, Spark {spark[2]}"]


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("rows", ["plain", "edge", "extreme"])
def test_agrees_with_spark(session: SparkSession, rows: str, ansi: bool) -> None:
    if rows == "edge" and not ansi:
        pytest.skip("part of the extreme rows, where nothing raises without ANSI")
    data = {"plain": cases.PLAIN, "edge": cases.EDGE, "extreme": cases.EXTREME}[rows]
    result = differences(session, data, ansi, cases.CASES)
    assert not result, f"{len(result)} of {len(cases.CASES)}:\n" + "\n".join(result)


@pytest.mark.parametrize("text", cases.DECLINED)
def test_declines_by_name(text: str) -> None:
    kind, message, _ = ours(text, cases.table(cases.PLAIN), Settings())
    assert kind == "error" and message.split(":")[0] in {
        "INVALID_REGEX",
        "TYPE_MISMATCH",
        "UNSUPPORTED_EXPRESSION",
        "UNSUPPORTED_FUNCTION",
    }
