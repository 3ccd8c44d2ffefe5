"""Rules of a static table inside the operator: bucket 0 reports them, also if a timer is what wakes it first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types as s
from tests.rule_sets.rule_streams import rule
from tests.spark_without_jvm.test_bucket_store import Handle

from ostinato.expressions.types import Settings
from ostinato.rule_sets.declaration import RuleLimits
from ostinato.spark.rules.rules_definition import RulesDefinition
from ostinato.spark.rules.rules_processor import RulesProcessor
from ostinato.spark.rules.rules_stream import rules_task
from ostinato.spark.rules.rules_task import RULES, FinishRules, OpenRules
from ostinato.spark.streams.stream_buckets import DEFINITION as DEFINITION_VARIABLE
from ostinato.spark.streams.stream_buckets import HEADER, OPEN_ROWS, WAITING
from ostinato.spark.streams.stream_definition import columns_as_json, read_definition
from ostinato.spark.streams.stream_packing import unpack_table
from ostinato.spark.streams.stream_processor import RESULTS
from ostinato.streams.bucket_state import EMPTY

PAIR = "PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"
COLUMNS = s.StructType(
    [s.StructField("k", s.StringType()), s.StructField("ts", s.TimestampType()), s.StructField("kind", s.StringType())]
)
DEFINITION = RulesDefinition(
    ("k",), ("ts",), columns_as_json(COLUMNS), 2, "drop", Settings(timezone="UTC"), RuleLimits(), ("clause",)
)


class Now:
    """Spark's clock."""

    def getCurrentWatermarkInMs(self) -> int:
        return 1_000


def kinds(bucket: int, handle: Handle, fixed: Sequence[str]) -> list[str]:
    """The kinds of rows that a bucket emits when its timer expires."""
    task = rules_task(replace(DEFINITION, fixed=tuple(fixed)))
    processor = RulesProcessor(task, has_watermark=True)
    processor.init(handle)  # type: ignore[arg-type]
    emitted: Iterator[Any] = processor.handleExpiredTimer((bucket,), Now(), None)  # type: ignore[arg-type]
    packs = [row[RESULTS] for row in emitted if row[RESULTS] is not None]
    return list(unpack_table(packs, task.output).column(0).to_pylist())


@pytest.mark.parametrize("bucket", [0, 1])
def test_only_bucket_0_reports_a_static_table(bucket: int) -> None:
    handle, table = Handle(), [rule("r", PAIR).to_json()]
    assert kinds(bucket, handle, table) == ["rule_changed"] * (bucket == 0)
    assert kinds(bucket, handle, table) == []
    assert kinds(bucket, handle, [rule("r", PAIR, 2).to_json()]) == ["rule_changed"] * (bucket == 0)


def test_a_bucket_without_its_rules_is_a_damaged_state() -> None:
    task = rules_task(DEFINITION)
    step = task.new_core().advance(EMPTY, None, 1_000, changes=[rule("r", PAIR).to_json()])
    segments = pa.array([None], pa.list_(pa.binary()))
    columns = {HEADER: pa.array([step.state.header]), OPEN_ROWS: segments, WAITING: segments}
    stored = pa.table({**columns, RULES: pa.array([None], pa.binary())})
    for reader in (FinishRules(task), OpenRules(task)):
        (batch,) = reader(iter(stored.to_batches()))
        assert "STATE_FORMAT: the rules in the state of this stream can't be read" in str(batch.to_pylist())


def test_the_definition_follows_a_restart_with_other_kinds_limits_or_rules() -> None:
    """`ost.finish_stream` reads it. It is written once: then the state says that it is stored."""
    handle = Handle()

    def stored() -> RulesDefinition | None:
        return read_definition(handle.variables[DEFINITION_VARIABLE].get()[0], [RulesDefinition])

    for _ in range(2):
        kinds(1, handle, [])
    definition = replace(DEFINITION, fixed=(rule("r", PAIR).to_json(),))
    kinds(1, handle, definition.fixed)
    assert stored() == definition
    handle.calls.clear()
    kinds(1, handle, definition.fixed)
    assert handle.calls[f"{DEFINITION_VARIABLE}.update"] == 0
