"""Types of event queries: edges that engines compare as numbers, unsupported values, output types."""

from __future__ import annotations

import pickle
from datetime import date

import pyarrow as pa
import pytest
from tests.event_queries.plan.event_texts import TYPES, planned, typed

from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_types import engine_numbers, type_events
from ostinato.expressions import types as t
from ostinato.expressions.render import render_expression
from ostinato.expressions.values.vectors import from_arrow


def refused(text: str, time: str = "ts") -> QueryError:
    with pytest.raises(QueryError) as caught:
        typed(text, time=time)
    return caught.value


def edge(condition: str) -> str:
    """The only edge of `B+ b` with a condition, as the engine gets it."""
    plan = typed(f"PATTERN B+ b WHERE {condition} RETURN COUNT(*)").plan
    (result,) = plan.queries[0].programs[0].edges
    if result.op is None:
        assert result.pair_test == 0
        return "pair"
    after, before = (render_expression(plan.values[i]) for i in (result.after_value, result.before_value))
    return f"{after} {result.op} {before}"


def test_numbers_and_times_are_compared_by_engines() -> None:
    assert edge("NEXT(b).x < b.small") == "`x` < `small`"
    assert edge("NEXT(b).f < b.f") == "`f` < `f`"
    assert edge("NEXT(b).day >= b.day") == "`day` >= `day`"
    assert edge("NEXT(b).price = b.price") == "`price` = `price`"


def test_values_of_different_types_are_cast_like_in_spark() -> None:
    assert edge("NEXT(b).f < b.x") == "`f` < CAST(`x` AS DOUBLE)"
    assert edge("NEXT(b).price < b.small") == "`price` < CAST(`small` AS DECIMAL(10,2))"


def test_values_without_numbers_are_pair_tests() -> None:
    assert edge("NEXT(b).name < b.name") == "pair"
    assert edge("NEXT(b).wide < b.wide") == "pair"
    assert edge("NEXT(b).ts < b.day") == "pair"
    plan = typed("PATTERN B+ b WHERE NEXT(b).name < b.name RETURN COUNT(*)").plan
    assert plan.values == () and [item.name for item in plan.inputs] == ["name"]


def test_conditions_must_be_boolean() -> None:
    assert refused("PATTERN B+ b WHERE b.x + 1 RETURN COUNT(*)").code in ("NOT_A_CONDITION", "TYPE_MISMATCH")
    error = refused("PATTERN B+ b WHERE NEXT(b).x + b.x RETURN COUNT(*)")
    assert error.code == "NOT_A_CONDITION"


@pytest.mark.parametrize("aggregate", ["SUM(b.name)", "SUM(b.ts)", "MIN(b.name)", "SUM(b.wide)", "AVG(b.day)"])
def test_values_that_cannot_be_aggregated_raise(aggregate: str) -> None:
    error = refused(f"PATTERN B+ b RETURN {aggregate}")
    assert error.code == "UNSUPPORTED_TYPE"
    assert "^" in str(error)


def test_values_of_any_type_can_be_counted() -> None:
    plan = typed("PATTERN B+ b RETURN COUNT(b.name), COUNT(b.x), SUM(b.x)").plan
    assert [render_expression(value) for value in plan.values] == [
        "CASE WHEN (NOT (`name` IS NULL)) THEN 1 END",
        "`x`",
    ]
    assert [slot.value for slot in plan.queries[0].programs[0].slots] == [0, 1, 1]


ITEMS = (
    "district, COUNT(*), COUNT(b), SUM(b.x), SUM(b.price), SUM(b.f), AVG(b.x), MIN(b.price), MAX(b.day), MIN(b.small)"
)


def outputs(numbers: str = "decimal", approximate: bool = False) -> list[str]:
    result = typed(f"PATTERN B+ b GROUP BY district RETURN {ITEMS}", numbers=numbers, approximate=approximate)
    return [t.spark_name(kind) for kind in result.output_types[0]]


def test_types_of_outputs() -> None:
    rest = ["DOUBLE", "DECIMAL(10,2)", "DATE", "SMALLINT"]
    exact = ["DECIMAL(38,0)", "DECIMAL(38,0)", "DECIMAL(38,0)", "DECIMAL(38,2)", "DOUBLE"]
    assert outputs() == ["STRING", *exact, *rest]
    assert outputs("text") == ["STRING", *["STRING"] * 4, "DOUBLE", *rest]
    assert outputs("log10") == ["STRING", *["DOUBLE"] * 5, *rest]
    assert outputs(approximate=True) == outputs("log10", approximate=True) == outputs("log10")
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        outputs("text", approximate=True)


COMPUTED = {
    "SUM(b.x) / COUNT(*)": "DECIMAL(38,6)",
    "COUNT(*) * 2": "DECIMAL(38,0)",
    "SUM(b.price) + 1": "DECIMAL(38,2)",
    "AVG(b.x) - 0.5": "DOUBLE",
    "MAX(b.x) + MIN(b.small)": "BIGINT",
    "-MIN(b.price)": "DECIMAL(10,2)",
}


def test_types_of_arithmetic_are_those_of_spark() -> None:
    items = ", ".join(f"{item} AS m{i}" for i, item in enumerate(COMPUTED))
    result = typed(f"PATTERN B+ b RETURN {items}")
    assert [t.spark_name(kind) for kind in result.output_types[0]] == list(COMPUTED.values())


@pytest.mark.parametrize("numbers", ["text", "log10"])
def test_arithmetic_needs_numbers(numbers: str) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION") as caught:
        typed("PATTERN B+ b RETURN COUNT(*) + 1", numbers=numbers)
    assert "^" in str(caught.value)
    assert refused("PATTERN B+ b RETURN MAX(b.day) - 1").code == "UNSUPPORTED_TYPE"


def test_edges_of_windows_have_the_type_of_time() -> None:
    def edges(within: str, time: str) -> list[str]:
        result = typed(f"PATTERN B+ WITHIN {within} RETURN COUNT(*)", time=time).output_types[0]
        return [t.spark_name(kind) for kind in result[:2]]

    assert edges("1 HOUR TUMBLE", "ts") == ["TIMESTAMP_NTZ"] * 2
    assert edges("2 DAYS SLIDE 1 DAY", "day") == ["DATE"] * 2
    assert edges("1 DAY SLIDE 1 HOUR", "day") == ["TIMESTAMP_NTZ"] * 2
    assert edges("100 EVENTS TUMBLE", "n") == ["BIGINT"] * 2


def test_time_may_be_an_integer_if_nothing_measures_it() -> None:
    typed("PATTERN B+ RETURN COUNT(*)", time="n")
    typed("PATTERN B+ WITHIN 5 EVENTS RETURN COUNT(*)", time="n")
    assert refused("PATTERN B+ WITHIN 5 MINUTES RETURN COUNT(*)", time="n").code == "INVALID_WITHIN"
    assert refused("PATTERN B+ RETURN COUNT(*)", time="name").code == "INVALID_TIME"


def test_spark_gives_the_types_of_expressions_that_it_evaluates() -> None:
    plan = planned("PATTERN B+ b WHERE is_valid_utf8(b.name) RETURN SUM(spark_only(b.x))")
    with pytest.raises(QueryError, match="FUNCTION"):
        type_events(plan, TYPES.__getitem__, t.Settings())
    answers = {plan.conditions[0]: pa.bool_(), plan.values[0]: pa.int32()}
    result = type_events(plan, TYPES.__getitem__, t.Settings(), expression_type=answers.__getitem__)
    assert result.value_types == (pa.int32(),) and result.slot_type(0, 0) == pa.int32()


def test_typed_plans_can_be_pickled() -> None:
    result = typed("PATTERN SEQ(A, B+ b) WHERE NEXT(b).f > b.x RETURN COUNT(*), AVG(b.price)")
    assert pickle.loads(pickle.dumps(result)) == result


def test_values_as_numbers_of_engines() -> None:
    def numbers(values: list[object], kind: pa.DataType, length: int) -> tuple[str, list[object], object]:
        result, valid = engine_numbers(from_arrow(pa.array(values, kind), kind), length)
        return str(result.dtype), result.tolist(), None if valid is None else valid.tolist()

    assert numbers([1, 2], pa.int16(), 2) == ("int64", [1, 2], None)
    assert numbers([1.5, None], pa.float32(), 2) == ("float64", [1.5, 0.0], [True, False])
    assert numbers([1], pa.int64(), 3) == ("int64", [1, 1, 1], None)
    assert numbers([date(1970, 1, 3)], pa.date32(), 1) == ("int64", [2], None)
    assert numbers([None], pa.null(), 2) == ("int64", [0, 0], [False, False])
