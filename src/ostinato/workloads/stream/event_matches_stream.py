"""State of a bucket + events that arrive + watermark -> matches that are complete + state, on the shared matcher.

A match is emitted as soon as the watermark has passed its last event. The state has the matcher's partial matches and
their rows. The numbers of a row (within its group, within its sequence) are stored relative to the next event, so
groups without partial matches need no state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.event_queries.stream.trend_steps import TrendRows
from ostinato.event_queries.task.match_columns import Scene, shown_matches
from ostinato.event_queries.task.trend_worker import TrendWorker, output_of
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.batches import batch_of
from ostinato.rows.column_names import PREFIX
from ostinato.rows.loss_report import Report
from ostinato.streams.bucket_state import BucketState, check_kept_rows, read_rows, segments_of, stamped
from ostinato.streams.intake import Gate, Intake
from ostinato.streams.record_batches import joined
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import Section, check, check_columns_are
from ostinato.workloads.task.arrival_rows import Arrival, EventNumbers, arrive, links, next_link
from ostinato.workloads.task.shared_event_matches import SharedPlan

Rows = NDArray[np.int64]
_PLACE, _LINK = f"{PREFIX}place", f"{PREFIX}link"
_ENGINE = "engine"
_HEADER = "the header in the state of this workload"


@dataclass(frozen=True, slots=True)
class _Carried:
    """The state of earlier events: the engine's state, and the rows that it refers to, with their numbers."""

    engine: bytes | None
    rows: pa.RecordBatch | None

    @property
    def count(self) -> int:
        return 0 if self.rows is None else int(self.rows.num_rows)

    def numbers(self, name: str) -> Rows:
        if self.rows is None:
            return np.zeros(0, np.int64)
        return np.asarray(self.rows.column(name).to_numpy(), np.int64)


@dataclass(frozen=True, slots=True)
class _Matched:
    """The result of matching the released events."""

    columns: tuple[list[pa.Array] | None, ...]
    carried: _Carried
    partial_matches: int = 0
    reports: tuple[Report, ...] = ()


class SharedStreamWorker:
    """The queries of one plan over buckets of groups. It keeps no state between steps.

    All queries of the plan are those of `shared`. `shipped` are the columns that arrive.
    """

    def __init__(
        self,
        typed: TypedEventsPlan,
        names: Sequence[str],
        shipped: pa.Schema,
        conditions: Sequence[tuple[str, int]],
        shared: SharedPlan,
        options: WorkloadOptions = WorkloadOptions(),
        *,
        fingerprint: str,
    ) -> None:
        (stream,) = typed.plan.streams
        self.group_by, self.keys, self.time = stream.group_by, stream.keys, stream.time
        self.shipped = shipped
        self.conditions = tuple(conditions)
        self.shared = shared
        self.engine = shared.engine()
        self.worker = TrendWorker(typed, names, options)
        self.gate = Gate(stream.time)
        self.fingerprint = fingerprint

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[TrendRows]:
        """One step: `StreamCore.advance`."""
        header, _, intake = self.gate.open_bucket(state, self.fingerprint, arrived, watermark_us, finished=finished)
        before = self._carried(header, read_rows(state.open_rows, Section.OPEN_ROWS))
        matched = self._matched(before, intake.released, finished)
        return Step(
            results=TrendRows(matched.columns, intake.decided_us(finished=finished), matched.reports),
            state=BucketState() if finished else self._state(matched.carried, intake),
            wake_at_us=None if finished else intake.waiting_from,
            counts=Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=sum(len(columns[0]) for columns in matched.columns if columns),
                open_runs=matched.partial_matches,
                buffered_rows=matched.carried.count + intake.waiting_rows,
            ),
        )

    def _carried(self, header: pa.RecordBatch | None, rows: pa.RecordBatch | None) -> _Carried:
        if header is None:
            return _Carried(None, None)
        check_columns_are(header, {_ENGINE: pa.binary()}, _HEADER)
        check(header.num_rows == 1, _HEADER, "it isn't one row")
        engine = header.column(_ENGINE)[0].as_py()
        if rows is not None:
            check(engine is not None, _HEADER, "there are rows, and no partial matches")
            check_kept_rows(rows, self.shipped, _PLACE, _LINK)
        return _Carried(engine, rows)

    def _state(self, carried: _Carried, intake: Intake) -> BucketState:
        engine = pa.RecordBatch.from_arrays([pa.array([carried.engine], pa.binary())], names=[_ENGINE])
        header = stamped(engine, intake.known_until, self.fingerprint)
        return BucketState(header, segments_of(carried.rows, Section.OPEN_ROWS), intake.waiting)

    # --- matching ---

    def _matched(self, before: _Carried, released: pa.RecordBatch | None, finished: bool) -> _Matched:
        if released is None:
            return _Matched((None,) * len(self.shared.queries), before)
        rows = joined([None if before.rows is None else before.rows.select(self.shipped.names), released])
        assert rows is not None
        scene = self.worker.scene(batch_of(rows, self.conditions), 0)
        numbers = self._numbers(scene, before)
        arrival = arrive(scene, self.keys, before.count)
        step = self.engine.advance(arrival.plan_events(numbers), before.engine, finished=finished)
        columns: list[list[pa.Array] | None] = []
        for query, of_pattern in zip(self.shared.queries, step.matches, strict=True):
            plan = self.worker.plan.queries[query]
            matches = arrival.matches(of_pattern)
            shown = shown_matches(plan, output_of(plan, scene, self.worker.options), scene, matches, numbered=False)
            columns.append(shown if matches.count else None)
        reports = () if step.report is None else (step.report,)
        carried = _Carried(step.state, self._needed_rows(arrival, numbers, step.rows_needed, before, rows))
        return _Matched(tuple(columns), carried, step.partial_matches, reports)

    # --- numbers that continue from step to step ---

    def _numbers(self, scene: Scene, before: _Carried) -> EventNumbers:
        """Numbers new events from 0. Events of earlier steps have numbers below 0."""
        batch_row = scene.sequences.rows
        is_new = batch_row >= before.count
        old = batch_row[~is_new]
        group = self._groups(scene)
        kept_of_group = np.bincount(group[: before.count], minlength=int(group.max(initial=-1)) + 1)
        place = scene.events.place - kept_of_group[group[batch_row]]
        place[~is_new] = before.numbers(_PLACE)[old]
        link = links(scene.events, is_new)
        link[~is_new] = before.numbers(_LINK)[old]
        return EventNumbers(place, link)

    def _groups(self, scene: Scene) -> Rows:
        """The group of each row of the batch."""
        batch = scene.batch
        return group_numbers(batch.count, [batch.arrays[name] for name in self.group_by])

    def _needed_rows(
        self, arrival: Arrival, numbers: EventNumbers, needed: Rows, before: _Carried, rows: pa.RecordBatch
    ) -> pa.RecordBatch | None:
        """The rows that the engine refers to, in its order, numbered relative to the next event."""
        if not len(needed):
            return None
        scene, at = arrival.scene, arrival.rows[needed]
        batch_row = scene.sequences.rows[at]
        group = self._groups(scene)
        has_arrived = np.asarray(rows.column(self.time).is_valid())
        has_arrived[: before.count] = False
        arrived = np.bincount(group[has_arrived], minlength=int(group.max(initial=-1)) + 1)
        sequence = np.searchsorted(scene.events.starts, at, side="right") - 1
        is_new = scene.sequences.rows >= before.count
        place = numbers.place[at] - arrived[group[batch_row]]
        link = numbers.link[at] - next_link(scene.events, numbers, is_new)[sequence]
        needed_batch = rows.take(pa.array(batch_row))
        columns = [*needed_batch.columns, pa.array(place), pa.array(link)]
        return pa.RecordBatch.from_arrays(columns, names=[*needed_batch.schema.names, _PLACE, _LINK])
