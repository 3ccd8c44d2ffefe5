"""The Spark tasks of event queries. Only workers load the engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.event_queries.plan.event_program import joined_results
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.event_queries.task.group_partials import packed, unpacked
from ostinato.event_queries.task.group_results import results_by_group
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.rows.batches import Batch, OutputRows, batch_of, batches_of
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.rows.loss_report import Report
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.shipping.task_results import Batches, or_failure, results_of
from ostinato.spark.workload_rows.query_rows import QUERY, report_batches
from ostinato.workloads.bound_request import BoundRequest

if TYPE_CHECKING:
    from ostinato.event_queries.task.trend_worker import TrendWorker
    from ostinato.workloads.task.shared_event_matches import SharedPlans

RECORD = f"{PREFIX}record"
"""Partial results of a group, as bytes."""
PARTIALS = pa.schema([(QUERY, pa.int32()), (RECORD, pa.binary()), (ERROR, pa.string())])


@dataclass(frozen=True, slots=True)
class EventsTask:
    """The queries of one shuffle, as their tasks need them."""

    typed: TypedEventsPlan
    names: tuple[str, ...]
    options: WorkloadOptions
    request: BoundRequest
    shared: SharedPlans | None
    """The plans of the shared matcher, if the driver has made them."""
    shipped: tuple[str, ...]
    """The names of arriving columns, in their order."""
    numbers: tuple[int, ...]
    """For each query of the plan, its number in the workload."""
    positions: tuple[tuple[int, ...], ...]
    """For each query of the plan and each of its output columns, the index in `output`."""
    output: pa.Schema

    def worker(self) -> TrendWorker:
        from ostinato.event_queries.task.trend_worker import TrendWorker

        return TrendWorker(self.typed, self.names, self.options, self.shared)

    def batch(self, rows: pa.Table) -> Batch:
        """Arriving rows with the masks of their conditions."""
        return batch_of(rows, condition_places(len(self.typed.plan.conditions)))

    def rows(self, query: int, columns: Sequence[pa.Array]) -> Batches:
        """The output rows of a query."""
        count = len(columns[0])
        arrays = {self.output.names[i]: array for i, array in zip(self.positions[query], columns, strict=True)}
        arrays[QUERY] = pa.repeat(pa.scalar(self.numbers[query], pa.int32()), count)
        return batches_of(OutputRows(count, arrays), self.output)

    def report_rows(self, report: Report) -> Batches:
        return report_batches(report, self.names, self.numbers, self.output)


@dataclass(frozen=True, slots=True)
class GroupsTask:
    """All rows of some groups in, the rows of all queries out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._rows, self.task.output, self.task.shipped)

    def _rows(self, rows: pa.Table) -> Batches:
        result = self.task.worker().run(self.task.batch(rows))
        for query, columns in enumerate(result.columns):
            yield from self.task.rows(query, columns)
        for report in result.reports:
            yield from self.task.report_rows(report)


@dataclass(frozen=True, slots=True)
class PartialsTask:
    """All rows with some values of SAME in, of the only group; a record of partial results for each query out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._records, PARTIALS, self.task.shipped)

    def _records(self, rows: pa.Table) -> Batches:
        for query, results in self.task.worker().results_of(self.task.batch(rows)).items():
            yield pa.RecordBatch.from_arrays(
                [pa.array([query], pa.int32()), pa.array([packed(results)], pa.binary()), pa.nulls(1, pa.string())],
                schema=PARTIALS,
            )


@dataclass(frozen=True, slots=True)
class SumsTask:
    """All records of a query in, its rows out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        records: dict[int, list[bytes]] = {}
        for batch in batches:
            for query, record, error in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if error is not None:
                    nulls = [pa.nulls(1, field.type) for field in self.task.output]
                    nulls[self.task.output.get_field_index(ERROR)] = pa.array([error], pa.string())
                    yield pa.RecordBatch.from_arrays(nulls, schema=self.task.output)
                else:
                    records.setdefault(query, []).append(record)
        yield from or_failure(self._sums(records), self.task.output)

    def _sums(self, records: dict[int, list[bytes]]) -> Batches:
        from ostinato.event_queries.task.trend_worker import slot_kinds

        worker = self.task.worker()
        for query, packs in records.items():
            kinds = slot_kinds(self.task.typed.plan.queries[query])
            partials = joined_results([unpacked(record, len(kinds)) for record in packs])
            results = results_by_group(partials, np.zeros(1, np.int64), kinds)
            yield from self.task.rows(query, worker.shown(query, results))
