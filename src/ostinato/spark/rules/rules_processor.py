"""One bucket of rules inside transformWithState. Its rules are stored apart from its rows."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as s
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues

from ostinato.spark.rules.rules_task import RULES, RulesTask
from ostinato.spark.streams.bucket_store import StoredBucket
from ostinato.spark.streams.stream_packing import unpack_table
from ostinato.spark.streams.stream_processor import DETAILS, EMITTED, BucketProcessor

if TYPE_CHECKING:
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.step import Step

_RULES = s.StructType([s.StructField(RULES, s.BinaryType())])
REPORTED_RULES = 8
"""The rules whose time a bucket reports for a batch: Spark keeps these reports for its last 100 batches."""
REPORTING_BUCKET = 0
"""The bucket that tells what happened to rules. All buckets get all changes."""


class RulesProcessor(BucketProcessor):
    """Rows of a bucket are packs of events, or changes of rules."""

    emitted: ClassVar[s.StructType] = s.StructType([*EMITTED.fields, s.StructField(DETAILS, s.StringType())])
    task: RulesTask

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        self._rules = handle.getValueState(RULES, _RULES)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        packs, changes = [], []
        for _, pack, *change in rows:  # rules of a static table bring no changes
            if change and change[0] is not None:
                changes.append(change[0])
            else:
                packs.append(pack)
        arrived = unpack_table(packs, self.task.shipped)
        return self._advance(arrived, timerValues, changes=changes, reports=key[0] == REPORTING_BUCKET)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Applies a static table if no row came first since the stream was started with another one."""
        reports = key[0] == REPORTING_BUCKET
        return self._advance(self.task.shipped.empty_table(), timerValues, timer_fired=True, reports=reports)

    def _step(self, state: BucketState, arrived: pa.Table, watermark_us: int, **more: Any) -> Step[Any]:
        return super()._step(state, arrived, watermark_us, read_rules=self._read_rules, **more)

    def _details(self, step: Step[Any]) -> str | None:
        """The processor time of the rules that took most of it, in nanoseconds."""
        from ostinato.rule_sets.rules_core import RulesStep

        assert isinstance(step, RulesStep)
        slowest = heapq.nlargest(REPORTED_RULES, step.rule_ns.items(), key=lambda item: item[1])
        return json.dumps(dict(slowest), ensure_ascii=False) if slowest else None

    def _read_rules(self) -> bytes:
        row = self._rules.get()
        return b"" if row is None else bytes(row[0])

    def _store(self, before: StoredBucket, step: Step[Any], *, timer_fired: bool) -> StoredBucket:
        from ostinato.rule_sets.rules_core import RulesStep

        assert isinstance(step, RulesStep)
        if step.rules is not None:
            self._rules.update((step.rules,))
        if step.is_declared_anew and before.value is not None:  # a new bucket has stored its definition
            self._stored.store_definition(self.task.definition)
        return super()._store(before, step, timer_fired=timer_fired)
