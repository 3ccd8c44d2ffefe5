"""The tasks of rules on a stream. Only workers load the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_columns import DECIDED
from ostinato.rule_sets.run_rows import RunRows, run_schema
from ostinato.spark.streams.stream_buckets import HEADER, OPEN_ROWS, WAITING, rows_or_error
from ostinato.spark.streams.stream_task import BucketTask, from_first_watermark
from ostinato.streams.bucket_state import BucketState
from ostinato.streams.stream_settings import Late

if TYPE_CHECKING:
    from ostinato.rule_sets.rules_core import RulesCore

RULES = "rules"
"""The name of the state variable, for Spark's state reader."""


@dataclass(frozen=True, slots=True)
class RulesTask(BucketTask):
    """Sent to the executors with every batch."""

    declared: Declaration
    late: Late
    fixed: tuple[str, ...]
    """Changes that are known when the stream starts, as JSON."""

    def new_core(self) -> RulesCore:
        from ostinato.rule_sets.rules_core import RulesCore

        return RulesCore(self.declared, self.fingerprint, self.late, self.fixed)

    def rows(self, results: pa.Table) -> pa.Table:
        decided = results.schema.get_field_index(DECIDED)
        times = from_first_watermark(results.column(decided).combine_chunks())
        results = results.set_column(decided, results.schema.field(decided), times)
        return results.rename_columns(self.output.names).cast(self.output)


@dataclass(frozen=True, slots=True)
class RunRules:
    """For mapInArrow: all rows of some keys in; the rows that a stream of rules gives for them by the end of its input
    out, with a column for an error."""

    task: RulesTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows_or_error(self._found(batches), self.task.output)

    def _found(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        waiting = [batch for batch in batches if batch.num_rows]
        if waiting:
            names = self.task.shipped.names
            arrived = pa.Table.from_batches(waiting).rename_columns(names).cast(self.task.shipped)
            step = self.task.worker.advance(BucketState(), arrived, NO_TIME, finished=True, reports=False)
            yield self.task.rows(step.results)


@dataclass(frozen=True, slots=True)
class InOneSchema:
    """For mapInArrow: rows of one operator in; the same rows in the schema of a run out, with a column for an error."""

    rows: RunRows
    arriving: pa.Schema
    """The arriving columns, which travel under other names."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = self.arriving.names
        tables = (pa.Table.from_batches([batch]).rename_columns(names).cast(self.arriving) for batch in batches)
        return rows_or_error(map(self.rows.of, tables), run_schema(self.rows.settings))


@dataclass(frozen=True, slots=True)
class FinishRules:
    """For mapInArrow: states of buckets in; the rows that the end of input gives out, with a column for an error."""

    task: RulesTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        return rows_or_error(map(self._last_rows, rows), self.task.output)

    def _last_rows(self, stored: dict[str, Any]) -> pa.Table:
        step = self.task.worker.advance(
            _state(stored), None, NO_TIME, finished=True, reports=False, read_rules=lambda: stored[RULES] or b""
        )
        return self.task.rows(step.results)


@dataclass(frozen=True, slots=True)
class OpenRules:
    """For mapInArrow: states of buckets in; their rules with open partial matches out, or the keys that rules keep, by
    the reason. With a column for an error."""

    task: RulesTask
    by_reason: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ostinato.rule_sets.kept_keys import KEPT_KEYS, kept_keys
        from ostinato.rule_sets.open_rules import OPEN_RULES, open_rules

        view, schema = (kept_keys, KEPT_KEYS) if self.by_reason else (open_rules, OPEN_RULES)
        rows = (row for batch in batches for row in batch.to_pylist())
        core = self.task.worker
        return rows_or_error((view(core, _state(row), row[RULES] or b"") for row in rows), schema)


def _state(stored: dict[str, Any]) -> BucketState:
    return BucketState(stored[HEADER], tuple(stored[OPEN_ROWS] or ()), tuple(stored[WAITING] or ()))
