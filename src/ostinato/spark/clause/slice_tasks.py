"""The tasks of a sliced query. Rows of three kinds travel between them in one schema.

Output rows have their slice in SLICE if their match numbers count from the start of that slice; NULL: they are final.
Edges of slices have their bytes in RECORD, and go to the task that stitches. Match counts, which RECORD holds as text,
go to the output rows of their slice. Rows with the same TARGET go to the same task.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.expressions.syntax import MatchNumber
from ostinato.rows.batches import OutputRows, batches_of
from ostinato.rows.column_names import PREFIX
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.shipping.task_results import Batches, or_failure, results_of

TARGET = f"{PREFIX}target"
SLICE = f"{PREFIX}slice"
RECORD = f"{PREFIX}record"
_STITCHING = 0
"""The target of edges. Output rows of slice i have i + 1."""


@dataclass(frozen=True, slots=True)
class SliceTask:
    """Matches one slice of all keys."""

    typed: TypedPlan
    shipped: tuple[str, ...]
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        return results_of(batches, self._matched, self.output, self.shipped)

    def _matched(self, rows: pa.Table) -> Batches:
        from ostinato.slices.slice_records import edge_records
        from ostinato.slices.slice_worker import SliceWorker

        context = TaskContext.get()
        assert context is not None, "this runs in a Spark task"
        number = context.partitionId()
        worker = SliceWorker(self.typed, condition_places(len(self.typed.plan.row_conditions)))
        outcome = worker.run(rows, number)
        yield from _results(outcome.front, self.output, number + 1, number)
        yield from _results(outcome.rest, self.output, number + 1, None)
        for record in edge_records(outcome.edges):
            yield _record(self.output, _STITCHING, None, record)


@dataclass(frozen=True, slots=True)
class StitchTask:
    """Completes the matches at the edges of slices. Output rows pass unchanged."""

    typed: TypedPlan
    output: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        records: list[bytes] = []
        for batch in _named(batches, self.output):
            is_edge = batch.column(RECORD).is_valid()
            records += batch.column(RECORD).filter(is_edge).to_pylist()
            yield batch.filter(batch.column(RECORD).is_null())
        if records:
            yield from or_failure(self._stitched(records), self.output)

    def _stitched(self, records: list[bytes]) -> Batches:
        from ostinato.slices.slice_records import edges_of
        from ostinato.slices.stitcher import Stitcher

        stitcher = Stitcher(self.typed, condition_places(len(self.typed.plan.row_conditions)))
        for stitched in stitcher.run(edges_of(records)):
            yield from _results(stitched.rows, self.output, _STITCHING, None)
            if not NumberTask.is_needed(self.typed.plan):
                continue
            for number, before in stitched.numbers_before.items():
                yield _record(self.output, number + 1, number, str(before).encode())


@dataclass(frozen=True, slots=True)
class NumberTask:
    """Adds the number of matches in earlier slices to MATCH_NUMBER()."""

    plan: MatchPlan
    output: pa.Schema

    @staticmethod
    def is_needed(plan: MatchPlan) -> bool:
        return any(isinstance(slot, MatchNumber) for slot in plan.slots)

    def __call__(self, batches: Batches) -> Batches:
        from ostinato.slices.slice_records import numbered_slots, renumbered

        slots = numbered_slots(self.plan)
        matches_before: dict[int, int] = {}
        waiting: list[pa.RecordBatch] = []
        for batch in _named(batches, self.output):
            counts = batch.filter(batch.column(RECORD).is_valid())
            for number, before in zip(counts.column(SLICE).to_pylist(), counts.column(RECORD).to_pylist(), strict=True):
                matches_before[number] = int(before)
            waiting.append(batch.filter(batch.column(RECORD).is_null()))
        for batch in waiting:
            slices = batch.column(SLICE).to_pylist()
            before = pa.array([0 if number is None else matches_before.get(number, 0) for number in slices], pa.int64())
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield pa.RecordBatch.from_arrays(list(renumbered(columns, slots, before).values()), schema=batch.schema)


def _named(batches: Batches, output: pa.Schema) -> Batches:
    """The batches with the names of `output`; between tasks, columns have other names."""
    return (batch.rename_columns(output.names) for batch in batches)


def _results(rows: OutputRows, output: pa.Schema, target: int, number: int | None) -> Batches:
    directions = {
        TARGET: pa.repeat(pa.scalar(target, pa.int32()), rows.count),
        SLICE: pa.repeat(pa.scalar(number, pa.int32()), rows.count),
    }
    return batches_of(OutputRows(rows.count, {**rows.arrays, **directions}), output)


def _record(output: pa.Schema, target: int, number: int | None, record: bytes) -> pa.RecordBatch:
    values = {TARGET: target, SLICE: number, RECORD: record}
    return pa.RecordBatch.from_arrays(
        [pa.array([values.get(field.name)], field.type) for field in output], schema=output
    )
