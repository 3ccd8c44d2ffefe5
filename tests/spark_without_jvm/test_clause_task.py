"""The Spark task of a clause, in this process: Arrow batches in, steps of whole keys, batches out, errors as rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan, slot_name
from ostinato.clause.plan.typed_plan import Limits, type_plan
from ostinato.clause.task import arrow_batches
from ostinato.errors import unwrap
from ostinato.expressions.syntax import Column
from ostinato.expressions.types import Settings
from ostinato.rows.batches import ROWS_PER_BATCH
from ostinato.rows.column_names import ERROR
from ostinato.rows.packed_conditions import BITS_PER_COLUMN, bits_columns
from ostinato.spark.clause.clause_task import SparkTask

ROWS = pa.table({"k": ["a", "a", "a", "b", None, None], "id": [1, 2, 3, 4, 5, 6], "v": [5, 4, 6, 7, 2, 1]})
FALLS = "PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l PATTERN (A B+) DEFINE B AS v < PREV(v)"


def spark_task(clause: str, schema: pa.Schema, *, by_spark: bool, limits: Limits = Limits()) -> SparkTask:
    """The task of a clause whose row expressions are columns or conditions on `v` that the test packs itself."""
    types = {field.name: field.type for field in schema}
    plan = make_plan(bind(parse_clause(clause), schema.names))
    assert all(isinstance(item.expr, Column) for item in plan.inputs)
    typed = type_plan(plan, lambda expr: types[expr.name], types.__getitem__, Settings(), limits)  # type: ignore[attr-defined]
    keys = (*plan.bound.partition_by, *(key.column for key in plan.bound.order_by))
    shipped = tuple(dict.fromkeys((*keys, *(item.name for item in plan.inputs))))
    shipped += bits_columns(len(plan.row_conditions))
    fields = [pa.field(name, types[name]) for name in plan.shown]
    fields += [pa.field(slot_name(i), kind) for i, kind in enumerate(typed.slot_types)]
    return SparkTask(typed, shipped, pa.schema([*fields, pa.field(ERROR, pa.string())]), by_spark)


def arriving(task: SparkTask, table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    """The table as Spark hands it over: shipped columns only, under other names, in small batches."""
    shipped = table.select(list(task.shipped)).rename_columns([f"__ost_c{i}" for i in range(len(task.shipped))])
    return iter(shipped.to_batches(max_chunksize=size))


def answer(task: SparkTask, table: pa.Table, size: int, rows_per_step: int | None = None) -> list[tuple[object, ...]]:
    batches = arriving(task, table, size)
    if rows_per_step is None:
        output = task(batches)
    else:
        by_spark = task.sorted_by_spark
        output = arrow_batches.match_batches(
            task.typed, batches, task.shipped, [], task.output, sorted_by_key=by_spark, rows_per_step=rows_per_step
        )
    result = [tuple(row.values()) for batch in output for row in batch.to_pylist()]
    assert all(row[-1] is None for row in result), result
    return sorted((row[:-1] for row in result), key=repr)


@pytest.mark.parametrize("size", [1, 2, 4, 100])
@pytest.mark.parametrize("rows_per_step", [1, 3, 1000])
def test_rows_are_those_of_one_table_however_they_arrive(size: int, rows_per_step: int) -> None:
    expected = [("a", 1, 2), (None, 5, 6)]
    assert answer(spark_task(FALLS, ROWS.schema, by_spark=True), ROWS, size, rows_per_step) == expected
    mixed = ROWS.take([5, 0, 3, 2, 4, 1])
    assert answer(spark_task(FALLS, ROWS.schema, by_spark=False), mixed, size, rows_per_step) == expected


def steps(
    table: pa.Table, size: int, rows_per_step: int, *, keys: tuple[str, ...] = ("k",), by_spark: bool = True
) -> list[list[object]]:
    """The keys of the rows of each step."""
    result = arrow_batches._steps(iter(table.to_batches(max_chunksize=size)), keys, by_spark, rows_per_step)
    return [step.column("k").to_pylist() for step in result]


def test_sorted_input_is_cut_between_keys() -> None:
    assert steps(ROWS, 1, 2) == [["a", "a", "a"], ["b"], [None, None]]
    assert steps(ROWS, 100, 2) == [["a", "a", "a", "b"], [None, None]]


def test_unsorted_input_is_one_step() -> None:
    assert len(steps(ROWS, 1, 2, by_spark=False)) == 1


def test_a_large_key_is_looked_at_when_it_has_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    looked = arrow_batches._start_of_last_key
    monkeypatch.setattr(
        arrow_batches, "_start_of_last_key", lambda table, keys: looks.append(table.num_rows) or looked(table, keys)
    )
    one_key = pa.table({"k": ["a"] * 100})
    assert [len(step) for step in steps(one_key, 1, 4)] == [100]
    assert looks == [4, 8, 16, 32, 64]


def test_keys_equal_for_spark_are_not_cut() -> None:
    keys = [None, None, -0.0, 0.0, -0.0, 1.0, float("nan"), float("nan")]
    assert [len(step) for step in steps(pa.table({"k": keys}), 1, 1)] == [2, 3, 1, 2]
    several = pa.table({"k": keys, "j": [1, 1, 1, 1, 2, 2, 2, 3]})
    assert [len(step) for step in steps(several, 1, 1, keys=("k", "j"))] == [2, 3, 1, 1, 1]


def test_without_a_key_everything_is_one_step() -> None:
    assert len(steps(ROWS, 1, 1, keys=())) == 1


@pytest.mark.parametrize("by_spark", [True, False])
def test_no_rows_no_batches(by_spark: bool) -> None:
    task = spark_task(FALLS, ROWS.schema, by_spark=by_spark)
    assert list(task(iter(()))) == []
    empty = pa.RecordBatch.from_pylist([], schema=ROWS.select(list(task.shipped)).schema)
    assert list(task(iter([empty]))) == []


def test_output_comes_in_batches_of_bounded_size() -> None:
    count = ROWS_PER_BATCH + 5
    table = pa.table({"k": ["a"] * count, "id": np.arange(count), "v": np.zeros(count, np.int64)})
    clause = "PARTITION BY k ORDER BY id ALL ROWS PER MATCH PATTERN (A+)"
    batches = list(spark_task(clause, table.schema, by_spark=False)(arriving_whole(clause, table)))
    assert [batch.num_rows for batch in batches] == [ROWS_PER_BATCH, 5]
    assert pa.Table.from_batches(batches).column("id").to_pylist() == list(range(count))


def arriving_whole(clause: str, table: pa.Table) -> Iterator[pa.RecordBatch]:
    return arriving(spark_task(clause, table.schema, by_spark=False), table, table.num_rows)


def test_conditions_are_read_from_their_bits() -> None:
    """130 conditions take three columns; row i fulfils condition i alone."""
    count = 130
    variables = [f"V{i}" for i in range(count)]
    clause = (
        f"ORDER BY id MEASURES FIRST(id) AS f, count(*) AS n PATTERN ({' '.join(variables)}) "
        f"DEFINE {', '.join(f'{name} AS v = {i}' for i, name in enumerate(variables))}"
    )
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    task = spark_task(clause, schema, by_spark=False)
    bits = {
        name: [1 << (i % BITS_PER_COLUMN) if i // BITS_PER_COLUMN == column else 0 for i in range(count)]
        for column, name in enumerate(bits_columns(count))
    }
    table = pa.table({"id": list(range(count)), **bits})
    assert answer(task, table, 7) == [(0, 130)]
    table = table.set_column(1, bits_columns(count)[0], pa.array([0] * count))
    assert answer(task, table, 7) == []


def test_an_error_is_one_row_behind_what_was_found() -> None:
    clause = (
        "PARTITION BY k ORDER BY id MEASURES count(*) AS n AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS v < PREV(v)"
    )
    task = spark_task(clause, ROWS.schema, by_spark=False)
    (batch,) = task(arriving(task, ROWS, 100))
    (row,) = batch.to_pylist()
    assert row.pop(ERROR).startswith("SKIP_TARGET_MISSING: ")
    assert set(row.values()) == {None}
    assert batch.schema == task.output
    error = unwrap(RuntimeError(batch.column(ERROR)[0].as_py()))
    assert isinstance(error, ost.MatchError)
    assert "k = 'b'" in error.message or "k = 'a'" in error.message


def test_an_error_of_arrow_is_a_row_too() -> None:
    task = spark_task(FALLS, ROWS.schema, by_spark=False)

    def broken() -> Iterator[pa.RecordBatch]:
        yield from arriving(task, ROWS, 100)
        raise pa.ArrowInvalid("a buffer is too short")

    (batch,) = task(broken())
    (row,) = batch.to_pylist()
    assert row.pop(ERROR).startswith("INTERNAL_ERROR: Arrow can't work with these values: a buffer is too short")
    assert set(row.values()) == {None}


def test_programming_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(worker: object, batch: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(arrow_batches.Worker, "run", fails)
    task = spark_task(FALLS, ROWS.schema, by_spark=False)
    with pytest.raises(KeyError, match="a defect"):
        list(task(arriving(task, ROWS, 100)))


def test_the_task_survives_pickling() -> None:
    task = spark_task(FALLS, ROWS.schema, by_spark=True)
    again = pickle.loads(pickle.dumps(task))
    assert again.shipped == task.shipped
    assert answer(again, ROWS, 2) == answer(task, ROWS, 2)
