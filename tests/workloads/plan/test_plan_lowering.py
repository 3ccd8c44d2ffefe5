"""The conditions of a shared plan as one program, and the features of partial matches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from tests.event_queries.plan.event_texts import TYPES, typed
from tests.laws.test_engine_invariances import uncompile
from tests.workloads.plan.sharp_queries import TABLE_2
from tests.workloads.plan.test_event_programs import shown

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.expressions.evaluate import as_vector
from ostinato.expressions.run_conditions import interpreter, run_registers
from ostinato.expressions.run_conditions.run_columns import tie_to_columns
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Vector
from ostinato.workloads.matcher.run_checks import RunBuffers
from ostinato.workloads.merging.features import features_of
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.event_programs import bounded_programs
from ostinato.workloads.plan.plan_lowering import lower_plan


class Lowered:
    """The plan of some queries, its conditions, and its features as text."""

    def __init__(self, *texts: str) -> None:
        types = typed(*texts)
        result = bounded_programs(types, [f"q{number}" for number in range(len(texts))])
        assert result.declined == {}
        self.plan: MergedPlan = merge([*result.programs.values()])
        self.conditions: PlanConditions = lower_plan(
            self.plan, types.input_types.__getitem__, types.settings, types.plan.values
        )
        values = features_of(self.plan, types.plan.values, lambda expr: True)
        self.features = [[shown(RunCondition(value, frozenset())) for value in exprs] for exprs in values]


def table_2(one: int, other: int) -> Lowered:
    return Lowered(TABLE_2[f"Q{one}"], TABLE_2[f"Q{other}"])


def test_features_are_values_that_the_next_conditions_read() -> None:
    lowered = table_2(3, 4)
    after_a, after_ab, after_abc, after_abcd, distance, other_distance = lowered.features[1:7]
    assert (after_a, after_ab, after_abc) == (["here.x"], ["c1#1.x"], ["(c1#1.x + c2#1.x)"])
    assert after_abcd == ["c3#1.f", "c3#1.n"]  # cos(c3#1.f) is no feature, because c3#1.f determines it
    assert len(distance) == len(other_distance) == 1 and "asin" in distance[0] and "acos" in other_distance[0]
    assert lowered.features[7:] == [[], [], [], []]


def test_the_running_value_of_an_aggregate_is_a_feature() -> None:
    lowered = table_2(1, 2)
    assert lowered.features[2] == ["sum(c1#1)", "(c0#1.x + sum(c1#1))"]


def test_equal_conditions_and_values_are_lowered_once() -> None:
    lowered = table_2(3, 4)
    assert len(lowered.plan.run) == len(lowered.conditions.conditions) == 3
    numbers = [number for numbers in lowered.conditions.features for number in numbers]
    assert sorted(numbers) == list(range(3, 10)) and len(lowered.conditions.program.first) == 11
    twice = Lowered(TABLE_2["Q3"], TABLE_2["Q3"])
    assert twice.conditions == Lowered(TABLE_2["Q3"]).conditions


def test_a_node_has_the_three_features_that_are_checked_soonest() -> None:
    text = (
        "PATTERN SEQ(A a, B b, C c, D d) WHERE a.small + d.x < d.n AND a.f * c.x < 1 AND a.x * c.x < c.n AND "
        "a.n + c.n < c.x RETURN MATCHES"
    )
    assert sorted(Lowered(text).features[1]) == ["c0#1.f", "c0#1.n", "c0#1.x"]


def test_the_loop_of_a_condition_for_each_event_has_a_register() -> None:
    lowered = Lowered("PATTERN SEQ(A a, B+ b, C c, D d) WHERE b.x > d.x RETURN MATCHES")
    (condition,) = lowered.conditions.conditions
    assert lowered.plan.labels[condition.each] == "c1#1"
    assert lowered.conditions.program.registers[condition.register].rows == {"c1#1"}
    assert lowered.features[2] == ["c1#1.x"]


def test_texts_of_neighbours_are_hashed() -> None:
    lowered = Lowered("PATTERN SEQ(A a, B b) WHERE a.name < b.name RETURN MATCHES")
    assert lowered.features[1] == ["here.name"]
    assert lowered.conditions.program.columns[-1].store == "hash"


def test_values_without_a_number_are_no_features() -> None:
    lowered = Lowered("PATTERN SEQ(A a, B b, C c) WHERE a.wide < c.wide RETURN MATCHES")
    assert lowered.features[1] == ["c0#1.wide"] and lowered.conditions.features[1] == ()


def test_the_presence_of_an_optional_event_is_no_feature() -> None:
    lowered = Lowered("PATTERN SEQ(A a, B? b, C c, D d) WHERE a.x + b.x < d.x RETURN MATCHES")
    assert [values for values in lowered.features if values] == [
        ["c0#1.x"],
        ["(c0#1.x + c1#1.x)"],
        ["(c0#1.x + c1#1.x)"],
    ]


# --- values of the kernel ---------------------------------------------------------------------------------------------

EVENTS = {
    "ts": [0, 1, 2],
    "x": [5, 7, None],
    "f": [0.5, 0.25, 1.5],
    "price": ["1.50", "2.25", None],
    "name": ["one", None, "two"],
    "day": [3, 4, 5],
}


def value_at(lowered: Lowered, node: int, labels: Sequence[str]) -> list[float | None]:
    """The features of a node for a partial match of the first events, bound to these labels."""
    program = lowered.conditions.program

    def column(expr: Expr) -> Vector:
        assert isinstance(expr, Column)
        kind = TYPES[expr.name]
        values = EVENTS[expr.name]
        array = pa.array(values).cast(kind) if pa.types.is_decimal(kind) else pa.array(values, kind)
        return as_vector(array, Settings())

    labels_of_states = np.arange(len(program.variables), dtype=np.int32)
    computed = lowered.conditions.row_values.column(column, 3)
    tied = tie_to_columns(program, range(len(lowered.plan.run)), labels_of_states, 3, computed)
    work = buffers(len(program.registers), len(program.accumulators))
    for row, name in enumerate(labels):
        for numbers in (work.registers, work.int_totals, work.real_totals):
            numbers[0] = numbers[1]
        assert run_registers.update(program.variables.index(name), row, 0, work, tied) == 0
    values = [interpreter.value_of(number, len(labels) - 1, work, tied) for number in lowered.conditions.features[node]]
    return [float(value) if has_value else None for has_value, value in values]


def buffers(registers: int, accumulators: int) -> RunBuffers:
    return RunBuffers(
        registers=np.full((2, registers), -1),
        int_totals=np.zeros((2, accumulators), np.int64),
        real_totals=np.zeros((2, accumulators)),
        stack=np.zeros(64),
        stack_whole=np.zeros(64, np.int64),
        stack_null=np.zeros(64, np.bool_),
        node=np.zeros(0, np.int32),
    )


@pytest.mark.parametrize(
    ("condition", "labels", "values"),
    [
        ("a.x + b.x < d.x", ["c0#1", "c1#1"], [12.0]),
        ("a.x + b.f < d.x", ["c0#1", "c1#1"], [5.25]),
        ("a.price + b.price < d.price", ["c0#1", "c1#1"], [3.75]),
        ("b.day < d.day", ["c0#1", "c1#1"], [4.0]),
        ("b.ts < d.ts", ["c0#1", "c1#1"], [1.0]),
        ("a.name < d.name", ["c0#1", "c1#1"], [2053932785.0]),
        ("b.name < d.name", ["c0#1", "c1#1"], [None]),
    ],
)
def test_values_as_real_numbers(
    condition: str, labels: list[str], values: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered = Lowered(f"PATTERN SEQ(A a, B b, C c, D d) WHERE {condition} RETURN MATCHES")
    uncompile(monkeypatch)
    assert value_at(lowered, 2, labels) == values


def test_functions_of_one_event_are_computed_once_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = "sqrt(a.f) * cos(sin(b.x)) + cos(a.f - b.f) < d.f"
    lowered = Lowered(f"PATTERN SEQ(A a, B b, C c, D d) WHERE {condition} RETURN MATCHES")
    assert len(lowered.conditions.row_values.reads) == 3  # not the cosine of a difference, which reads two events
    uncompile(monkeypatch)
    expected = math.sqrt(0.5) * math.cos(math.sin(7)) + math.cos(0.5 - 0.25)
    assert value_at(lowered, 2, ["c0#1", "c1#1"]) == [pytest.approx(expected, rel=1e-15)]


def test_functions_that_may_fail_are_not_computed_in_advance() -> None:
    lowered = Lowered("PATTERN SEQ(A a, B b, C c, D d) WHERE exp(a.f) + abs(b.x) < d.f RETURN MATCHES")
    assert lowered.conditions.row_values.reads == {}  # exp and abs may fail, or their last bit may differ


def test_a_feature_that_fails_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = Lowered("PATTERN SEQ(A a, B b, C c, D d) WHERE a.x / (b.x - 7) < d.x RETURN MATCHES")
    uncompile(monkeypatch)
    assert value_at(lowered, 2, ["c0#1", "c1#1"]) == [None]


def test_a_total_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = Lowered("PATTERN SEQ(A a, B+ b, C c, D d) WHERE SUM(b.f) < d.f AND a.x + MAX(b.f) < d.f RETURN MATCHES")
    uncompile(monkeypatch)
    assert value_at(lowered, 2, ["c0#1", "c1#1", "c1#1"]) == [1.75, 6.5]
