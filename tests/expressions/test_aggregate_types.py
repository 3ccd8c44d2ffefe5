"""Name of an aggregate and types of its arguments -> type of the result, as in Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.errors import QueryError
from ostinato.expressions.aggregate_types import aggregate_type
from ostinato.expressions.types import Settings, parse_type, spark_name


def result_type(name: str, *args: str) -> str:
    return spark_name(aggregate_type(name, [type_named(arg) for arg in args]))


def type_named(text: str) -> pa.DataType:
    kind = parse_type(text, Settings())
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("count", "string", "BIGINT"),
        ("count_if", "boolean", "BIGINT"),
        ("sum", "tinyint", "BIGINT"),
        ("sum", "float", "DOUBLE"),
        ("sum", "decimal(10,2)", "DECIMAL(20,2)"),
        ("sum", "decimal(38,2)", "DECIMAL(38,2)"),
        ("sum", "interval day to second", "INTERVAL DAY TO SECOND"),
        ("sum", "void", "DOUBLE"),
        ("avg", "int", "DOUBLE"),
        ("avg", "decimal(10,2)", "DECIMAL(14,6)"),
        ("avg", "interval day to second", "INTERVAL DAY TO SECOND"),
        ("stddev_samp", "decimal(10,2)", "DOUBLE"),
        ("min", "string", "STRING"),
        ("max", "array<int>", "ARRAY<INT>"),
        ("bool_and", "boolean", "BOOLEAN"),
        ("array_agg", "date", "ARRAY<DATE>"),
    ],
)
def test_result(name: str, argument: str, expected: str) -> None:
    assert result_type(name, argument) == expected


def test_the_value_beside_the_extreme_keeps_its_type() -> None:
    assert result_type("max_by", "string", "int") == "STRING"


@pytest.mark.parametrize(
    ("name", "argument", "message"),
    [
        ("sum", "string", "sum takes numbers, not STRING"),
        ("avg", "date", "avg takes numbers, not DATE"),
        ("count_if", "int", "count_if or FILTER takes a condition, not INT"),
        ("bool_or", "int", "bool_or takes a condition, not INT"),
    ],
)
def test_other_types_are_refused(name: str, argument: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        result_type(name, argument)
    assert caught.value.code == "TYPE_MISMATCH"


def test_maps_have_no_order() -> None:
    with pytest.raises(QueryError, match="values that can be ordered"):
        aggregate_type("min", [pa.map_(pa.string(), pa.int32())])
