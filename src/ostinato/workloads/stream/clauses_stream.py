"""State of a bucket + rows that arrive + watermark -> the rows of matches that are complete + state, for the clauses of
one stream on the shared matcher.

A match is emitted as soon as the watermark has passed its last row. The state has the matcher's partial matches and the
last rows of each partition, from the first one that a later match may contain (`clauses_stream_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.task.clause_worker import Worker
from ostinato.rows.batches import OutputRows, batch_of
from ostinato.rows.loss_report import Report
from ostinato.streams.bucket_state import EMPTY, BucketState, read_header, read_rows, segments_of, stamped
from ostinato.streams.intake import Gate, Intake
from ostinato.streams.record_batches import joined
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import LARGEST, Section, check, check_columns_are, check_ranges, whole_numbers
from ostinato.workloads.merging.merged_plan import ROOT
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.stream.clauses_stream_rows import NOTHING_CARRIED, Carried, Reach, carried_rows
from ostinato.workloads.task.clauses_worker import StreamFound, StreamMatcher, row_conditions

PARTIAL_MATCHES = pa.schema(
    [
        ("state", pa.int64()),
        ("variable", pa.string()),
        ("queries", pa.list_(pa.string())),
        ("partial_matches", pa.int64()),
    ]
)
"""The columns of `ClauseStreamWorker.partial_matches`."""
_ENGINE, _APART, _PARTIAL_MATCHES = "engine", "apart", "partial_matches"
_NEVER = np.iinfo(np.int64).max
_HEADER = "the header in the state of these clauses"


@dataclass(frozen=True, slots=True)
class ClauseRows:
    """The output rows of each clause (none: no row was released), and their decision time."""

    rows: tuple[OutputRows, ...]
    decided_us: int
    """Decision time: after the watermark of the step."""
    reports: tuple[Report, ...] = ()
    """Reports of the losses, under a bound."""


class ClauseStreamWorker:
    """Clauses over buckets of partitions. It keeps no state between steps.

    `task` has one stream, and all clauses are of it. `conditions`: the columns and bits of its row conditions.
    """

    def __init__(self, task: ClausesTask, conditions: Sequence[tuple[str, int]], *, fingerprint: str) -> None:
        (stream,) = task.typed.streams
        assert not task.typed.alone
        self.typed = task.typed
        self.conditions = tuple(conditions)
        self.matcher = StreamMatcher(stream, task, [Worker(typed) for typed in task.typed.clauses])
        self.variables = [
            [task.typed.clauses[clause.clause].plan.nfa.states[node.state].variable for node in clause.graph.nodes]
            for clause in stream.stream.clauses
        ]
        """[clause of the stream][label of its program]: the variable."""
        self.time = stream.stream.order_by[0].column
        self.reach = Reach([typed.plan for typed in task.typed.clauses])
        self.gate = Gate(self.time)
        # Under a bound, the state has statistics, too.
        self.lasts_us = self.reach.lasts_us if task.request.is_empty else None
        self.fingerprint = fingerprint

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[ClauseRows]:
        """One step: `StreamCore.advance`."""
        header, _, intake = self.gate.open_bucket(state, self.fingerprint, arrived, watermark_us, finished=finished)
        before, matched = _carried(header, state), None
        left, open_rows = before, state.open_rows
        if intake.released is not None:
            rows = _together(before, intake.released)
            matched = self._matched(before, rows, finished)
            if not finished:
                left = carried_rows(self.reach, matched, rows, self.time, intake.known_until)
                open_rows = segments_of(left.rows, Section.OPEN_ROWS)
        if left.rows is not None and self._last_use(left) <= intake.known_until:
            left, open_rows = NOTHING_CARRIED, ()
        if finished:
            left, after = NOTHING_CARRIED, EMPTY
        else:
            after = BucketState(stamped(_header(left), intake.known_until, self.fingerprint), open_rows, intake.waiting)
        return Step(
            results=_results(matched, intake.decided_us(finished=finished)),
            state=after,
            wake_at_us=None if finished else self._wake_at(left, intake),
            counts=Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=0 if matched is None else matched.matches,
                open_runs=left.partial_matches,
                buffered_rows=left.count + (0 if finished else intake.waiting_rows),
            ),
        )

    def _last_use(self, left: Carried) -> int:
        """The time up to which rows must be known for all partial matches to be over, or _NEVER."""
        if self.lasts_us is None or left.rows is None:
            return _NEVER
        return int(self.gate.times(left.rows).max()) + self.lasts_us

    def _wake_at(self, left: Carried, intake: Intake) -> int | None:
        moments = [self._last_use(left), _NEVER if intake.waiting_from is None else intake.waiting_from]
        return min(moments) if min(moments) < _NEVER else None

    def partial_matches(self, state: BucketState) -> pa.Table:
        """For each state of the merged plan its number, the `variable` of the last row, the `queries` that it serves,
        and the number of `partial_matches` in it."""
        header, _ = read_header(state, self.fingerprint)
        before, plan = _carried(header, state), self.matcher.engine.plan
        counts = np.zeros(len(plan.nodes), np.int64)
        if before.engine is not None:
            counts = self.matcher.engine.partial_matches_by_node(before.engine)
        rows = []
        for number, node in enumerate(plan.nodes):
            patterns = [pattern for pattern in range(len(plan.names)) if node.patterns >> pattern & 1]
            if number != ROOT:
                own_label = plan.pattern_labels[patterns[0]][node.label]
                row = (number, self.variables[patterns[0]][own_label], [plan.names[pattern] for pattern in patterns])
                rows.append(dict(zip(PARTIAL_MATCHES.names, (*row, int(counts[number])), strict=True)))
        return pa.Table.from_pylist(rows, schema=PARTIAL_MATCHES)

    def _matched(self, before: Carried, rows: pa.RecordBatch, finished: bool) -> StreamFound:
        """Matches the rows. The carried rows are the first of them."""
        batch = batch_of(rows, self.conditions)
        conditions = row_conditions(self.typed, batch)
        return self.matcher.advance(batch, conditions, before.history(), before.engine, finished=finished)


def _together(before: Carried, released: pa.RecordBatch) -> pa.RecordBatch:
    """The carried rows and the released ones."""
    before.check_rows(released.schema)
    rows = joined([None if before.rows is None else before.rows.select(released.schema.names), released])
    assert rows is not None
    return rows


def _results(matched: StreamFound | None, decided_us: int) -> ClauseRows:
    if matched is None:
        return ClauseRows((), decided_us)
    rows = tuple(matched.rows[clause] for clause in sorted(matched.rows))
    return ClauseRows(rows, decided_us, () if matched.report is None else (matched.report,))


# --- state ------------------------------------------------------------------------------------------------------------


def _header(carried: Carried) -> pa.RecordBatch:
    values = {_ENGINE: pa.array([carried.engine], pa.binary())}
    values |= {_APART: pa.array([carried.apart]), _PARTIAL_MATCHES: pa.array([carried.partial_matches])}
    return pa.RecordBatch.from_arrays(list(values.values()), names=list(values))


def _carried(header: pa.RecordBatch | None, state: BucketState) -> Carried:
    if header is None:
        return NOTHING_CARRIED
    check_columns_are(header, {_ENGINE: pa.binary(), _APART: pa.int64(), _PARTIAL_MATCHES: pa.int64()}, _HEADER)
    check(header.num_rows == 1, _HEADER, "it isn't one row")
    engine = header.column(_ENGINE)[0].as_py()
    apart, partial_matches = (whole_numbers(header.column(name), _HEADER)[0] for name in (_APART, _PARTIAL_MATCHES))
    carried = Carried(engine, read_rows(state.open_rows, Section.OPEN_ROWS), int(apart), int(partial_matches))
    check_ranges(_HEADER, {"apart": (apart, 0, carried.count), "partial matches": (partial_matches, 0, LARGEST)})
    check(engine is not None or carried.rows is None, _HEADER, "there are rows, and no partial matches")
    return carried
