"""The tasks of `ostinato rules run` over a batch, without a JVM: rows in any order, without times, and of any type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as s
from tests.rule_sets.rule_streams import rule

from ostinato.expressions.types import Settings
from ostinato.rows.column_names import ERROR
from ostinato.rule_sets.declaration import RuleLimits
from ostinato.rule_sets.run_rows import RowsOfRules
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_stream import rules_task
from ostinato.spark.rules.rules_task import InOneSchema, RunRules
from ostinato.spark.streams.stream_definition import columns_as_json

PAIR = "PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"
UTC_SETTINGS = Settings(timezone="UTC")


def found(time: s.DataType, arrow: pa.DataType, *batches: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The rows that both tasks give for batches of (key, time, kind)."""
    columns = s.StructType(
        [s.StructField("k", s.StringType()), s.StructField("ts", time), s.StructField("kind", s.StringType())]
    )
    definition = RulesDefinition(
        ("k",), ("ts",), columns_as_json(columns), 1, "drop", UTC_SETTINGS, RuleLimits(), ("clause",)
    )
    task = rules_task(replace(definition, fixed=(rule("pair", PAIR).to_json(),)))
    schema = pa.schema([("c0", pa.large_string()), ("c1", arrow), ("c2", pa.large_string())])  # a session may do so
    arriving = [
        pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        for rows in batches
    ]
    rows = pa.Table.from_batches(RunRules(task)(iter(arriving)))
    assert rows[ERROR].null_count == rows.num_rows
    rows = rows.drop_columns([ERROR]).rename_columns([f"t{i}" for i in range(rows.num_columns - 1)])
    names = ["kind", "rule", "version", "match_id", "k", "began", "ended", "decided", "measures", "message"]
    shape = pa.schema([pa.field(name, kind) for name, kind in zip(names, rows.schema.types, strict=True)])
    in_one = InOneSchema(RowsOfRules({"pair": "low"}, UTC_SETTINGS, ("k",)), shape)
    result = pa.Table.from_batches(in_one(iter(rows.to_batches())))
    assert result[ERROR].null_count == result.num_rows
    return [row for row in result.to_pylist() if row["kind"] == "match"]


@pytest.mark.parametrize(
    ("time", "arrow", "day"),
    [
        (s.TimestampType(), pa.timestamp("us", "UTC"), lambda n: datetime(2024, 3, n, tzinfo=UTC)),
        (s.TimestampNTZType(), pa.timestamp("us"), lambda n: datetime(2024, 3, n)),
        (s.DateType(), pa.date32(), lambda n: date(2024, 3, n)),
    ],
)
def test_rows_of_several_batches_and_keys(time: s.DataType, arrow: pa.DataType, day: Any) -> None:
    first = [("y", day(2), "B"), ("x", day(3), "B"), ("x", None, "A")]
    second = [("x", day(1), "A"), ("y", day(1), "A"), ("y", day(4), "A")]
    rows = found(time, arrow, first, second)
    assert sorted((row["keys"], row["severity"], row["began"], row["ended"]) for row in rows) == [
        ('{"k":"x"}', "low", datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 3, tzinfo=UTC)),
        ('{"k":"y"}', "low", datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC)),
    ]


def test_no_rows_give_no_rows() -> None:
    columns = columns_as_json(s.StructType([s.StructField("ts", s.TimestampType())]))
    task = rules_task(RulesDefinition((), ("ts",), columns, 1, "drop", UTC_SETTINGS, RuleLimits(), ("clause",)))
    assert list(RunRules(task)(iter([]))) == []


def test_an_error_travels_as_a_row() -> None:
    columns = columns_as_json(s.StructType([s.StructField("ts", s.TimestampType())]))
    task = rules_task(RulesDefinition((), ("ts",), columns, 1, "drop", UTC_SETTINGS, RuleLimits(), ("clause",)))
    wrong = pa.record_batch({"c0": pa.array(["no time"])})
    (last,) = RunRules(task)(iter([wrong]))
    assert last.column(ERROR).null_count == 0
