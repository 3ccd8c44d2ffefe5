"""What Spark tasks run for event queries: the engines are loaded where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.event_queries.event_options import EventOptions
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.rows.packed_conditions import condition_places
from ostinato.workloads.bound_request import BoundRequest

if TYPE_CHECKING:
    from ostinato.event_queries.task.trend_worker import TrendOptions, TrendWorker
    from ostinato.rows.batches import Batch
    from ostinato.workloads.shedding.report import Report
    from ostinato.workloads.task.shared_event_matches import SharedPlans

REPORT = f"{PREFIX}report"
"""What was given up for a query; NULL in the rows that it found."""
QUERY = f"{PREFIX}query"
"""The number of the query that a row belongs to."""
RECORD = f"{PREFIX}record"
"""Results of a part of a group, as bytes."""
PARTS = pa.schema([(QUERY, pa.int32()), (RECORD, pa.binary()), (ERROR, pa.string())])

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class EventsTask:
    """The queries of one shuffle, with all that their tasks need to know."""

    typed: TypedEventsPlan
    names: tuple[str, ...]
    options: EventOptions
    request: BoundRequest
    shared: SharedPlans | None
    """What the shared matcher runs, where the driver has worked it out."""
    shipped: tuple[str, ...]
    """The names of the columns that arrive, in their order."""
    numbers: tuple[int, ...]
    """For each query of the plan its number in the workload."""
    places: tuple[tuple[int, ...], ...]
    """For each query of the plan and each of its output columns the column of `output` that it fills."""
    output: pa.Schema

    def worker_options(self) -> TrendOptions:
        from ostinato.event_queries.task.trend_worker import TrendOptions

        options = self.options
        return TrendOptions(options.sharing, options.max_matches, options.max_partial_matches)

    def worker(self) -> TrendWorker:
        from ostinato.event_queries.task.trend_worker import TrendWorker

        return TrendWorker(self.typed, self.names, self.worker_options(), self.shared)

    def batch(self, batches: Batches) -> Batch | None:
        """All rows that arrive; None if there is none."""
        from ostinato.rows.batches import batch_of

        waiting = [batch.rename_columns(list(self.shipped)) for batch in batches if batch.num_rows]
        if not waiting:
            return None
        return batch_of(pa.Table.from_batches(waiting), condition_places(len(self.typed.plan.conditions)))

    def answered(self, batches: Batches, answer: Callable[[Batch], Batches], output: pa.Schema) -> Batches:
        """What becomes of all rows that arrive, if there are any; an error leaves as a row."""
        from ostinato.rows.batches import failure

        try:
            batch = self.batch(batches)
            if batch is not None:
                yield from answer(batch)
        except Exception as error:
            yield failure(ours_or_raise(error), output)

    def rows(self, query: int, columns: Sequence[pa.Array]) -> Batches:
        """The rows of a query as they leave."""
        from ostinato.rows.batches import OutputRows, batches_of

        count = len(columns[0])
        arrays = {self.output.names[place]: array for place, array in zip(self.places[query], columns, strict=True)}
        arrays[QUERY] = pa.repeat(pa.scalar(self.numbers[query], pa.int32()), count)
        return batches_of(OutputRows(count, arrays), self.output)

    def report_rows(self, report: Report) -> Batches:
        """What was given up, as rows that leave beside those of the queries."""
        from ostinato.rows.batches import OutputRows, batches_of
        from ostinato.workloads.report_rows import report_values

        values = report_values(report)
        whose = [self.numbers[self.names.index(name)] for name in values.field("query").to_pylist()]
        arrays = {REPORT: values, QUERY: pa.array(whose, pa.int32())}
        return batches_of(OutputRows(len(values), arrays), self.output)


@dataclass(frozen=True, slots=True)
class GroupsTask:
    """Whole groups in, the rows of all queries out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        return self.task.answered(batches, self._rows, self.task.output)

    def _rows(self, batch: Batch) -> Batches:
        found = self.task.worker().run(batch)
        for query, columns in enumerate(found.columns):
            yield from self.task.rows(query, columns)
        for report in found.reports:
            yield from self.task.report_rows(report)


@dataclass(frozen=True, slots=True)
class PartsTask:
    """Rows of the one group with whole values of SAME in, a record of results for each query out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        return self.task.answered(batches, self._records, PARTS)

    def _records(self, batch: Batch) -> Batches:
        from ostinato.event_queries.task.group_partials import packed

        for query, results in self.task.worker().results_of(batch).items():
            yield pa.RecordBatch.from_arrays(
                [pa.array([query], pa.int32()), pa.array([packed(results)], pa.binary()), pa.nulls(1, pa.string())],
                schema=PARTS,
            )


@dataclass(frozen=True, slots=True)
class SumsTask:
    """All records of a query in, its rows out."""

    task: EventsTask

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.event_queries.plan.event_program import joined_results
        from ostinato.event_queries.task.group_partials import unpacked
        from ostinato.event_queries.task.group_results import of_groups
        from ostinato.event_queries.task.trend_worker import slot_kinds
        from ostinato.rows.batches import failure

        records: dict[int, list[bytes]] = {}
        for batch in batches:
            for query, record, error in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if error is not None:
                    nulls = [pa.nulls(1, field.type) for field in self.task.output]
                    nulls[self.task.output.get_field_index(ERROR)] = pa.array([error], pa.string())
                    yield pa.RecordBatch.from_arrays(nulls, schema=self.task.output)
                else:
                    records.setdefault(query, []).append(record)
        try:
            worker = self.task.worker()
            for query, found in records.items():
                kinds = slot_kinds(self.task.typed.plan.queries[query])
                parts = joined_results([unpacked(record, len(kinds)) for record in found])
                results = of_groups(parts, np.zeros(1, np.int64), kinds)
                yield from self.task.rows(query, worker.shown(query, results))
        except Exception as error:
            yield failure(ours_or_raise(error), self.task.output)
