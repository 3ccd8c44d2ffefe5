"""A workload of clauses + all rows of some keys -> the output rows of every clause. Neither Spark nor text here.

The shared matcher matches the clauses of one stream together, within their bounds. Each clause's own worker makes the
output rows of its matches. The other clauses run alone, each in its worker. Clauses that are matched together by choice
also run alone if they would hold too many partial matches, or fail.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.match_engine import check_longest
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.errors import MatchError, errors_quoting
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.expressions.syntax import Expr
from ostinato.rows.batches import Batch, Mask, OutputRows
from ostinato.rows.loss_report import Report
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.plan.clause_groups import ClauseProgram
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.plan.typed_clauses import TypedClauses, TypedStream
from ostinato.workloads.shedding.bounded_engine import BoundedEngine, BoundedStep
from ostinato.workloads.task.clause_events import ClauseEvents, History, StreamRows
from ostinato.workloads.task.clause_matches import ClauseMatches, MatchRows
from ostinato.workloads.task.one_row_slots import OneRowSlots, can_read


@dataclass(frozen=True, slots=True)
class ClausesFound:
    """The output rows of each clause, and the report of each stream with a bound."""

    rows: tuple[OutputRows, ...]
    reports: tuple[Report, ...]


class ClausesWorker:
    """Runs a workload over batches of whole keys. It keeps no state between them."""

    def __init__(self, task: ClausesTask) -> None:
        self.typed = task.typed
        self.workers = [Worker(typed) for typed in task.typed.clauses]
        self.streams = [StreamMatcher(stream, task, self.workers) for stream in task.typed.streams]

    def run(self, batch: Batch) -> ClausesFound:
        """`batch.row_masks` are the row conditions of the workload."""
        rows = self._run_alone(batch, self.typed.alone)
        reports = []
        conditions = row_conditions(self.typed, batch)
        for stream in self.streams:
            if stream.typed.stream.by_choice:
                rows |= self._run_by_choice(stream, batch, conditions)
                continue
            result = stream.advance(batch, conditions)
            rows |= result.rows
            reports += [result.report] if result.report is not None else []
        return ClausesFound(tuple(rows[number] for number in range(len(self.workers))), tuple(reports))

    def _run_by_choice(
        self, stream: StreamMatcher, batch: Batch, conditions: dict[Expr, Mask]
    ) -> dict[int, OutputRows]:
        """Runs the clauses together or each alone, whichever succeeds. The two engines have different limits, and check
        conditions on different rows."""
        try:
            return stream.advance(batch, conditions, cautiously=True).rows
        except MatchError:
            pass  # go on outside, so that the matcher's memory is freed
        try:
            return self._run_alone(batch, [clause.clause for clause in stream.typed.stream.clauses])
        except MatchError as error:
            if stream.typed.stream.most_held is None or error.code != "TOO_MANY_PARTIAL_MATCHES":
                raise
        return stream.advance(batch, conditions).rows

    def _run_alone(self, batch: Batch, numbers: Iterable[int]) -> dict[int, OutputRows]:
        rows = {}
        for number in numbers:
            with errors_quoting(self.typed.clauses[number].plan.bound.clause.text):
                rows[number] = self.workers[number].run(self._own(batch, number))
        return rows

    def _own(self, batch: Batch, number: int) -> Batch:
        """The batch with the row conditions of one clause."""
        masks = [batch.row_masks[index] for index in self.typed.row_conditions[number]]
        return Batch(batch.count, batch.arrays, masks)


def row_conditions(typed: TypedClauses, batch: Batch) -> dict[Expr, Mask]:
    """The row conditions of a workload, as the batch has them."""
    return {
        condition: batch.row_masks[index]
        for clause, indexes in zip(typed.clauses, typed.row_conditions, strict=True)
        for condition, index in zip(clause.plan.row_conditions, indexes, strict=True)
    }


@dataclass(frozen=True, slots=True)
class StreamFound:
    """The result of one call."""

    rows: dict[int, OutputRows]
    """By number of the clause."""
    matches: int
    report: Report | None
    """None without a bound."""
    read: StreamRows
    step: BoundedStep
    """State for the next call."""


class StreamMatcher:
    """The clauses of one stream. It keeps no state between calls."""

    def __init__(self, typed: TypedStream, task: ClausesTask, workers: Sequence[Worker]) -> None:
        self.typed = typed
        self.workers = [workers[clause.clause] for clause in typed.stream.clauses]
        self.reader = ClauseEvents(typed)
        self.outputs = [
            _ClauseOutput(clause, worker) for clause, worker in zip(typed.stream.clauses, self.workers, strict=True)
        ]
        self.bounds = task.bounds(typed)
        self.task = task

    def advance(
        self,
        batch: Batch,
        conditions: dict[Expr, Mask],
        history: History | None = None,
        state: bytes | None = None,
        *,
        finished: bool = True,
        cautiously: bool = False,
    ) -> StreamFound:
        """`history`: the rows of the batch that came with earlier calls. `state`: the engine's state after them.

        `cautiously`: raises TOO_MANY_PARTIAL_MATCHES as soon as the clauses are faster alone.
        """
        rows = self.reader.read(batch, conditions, history)
        key_at = rows.columns.ordered.key_at
        for worker in self.workers:
            check_longest(worker.task, key_at)
        try:
            engine = self.cautious_engine if cautiously else self.engine
            step = engine.advance(rows.events, state, finished=finished)
        except MatchError as error:
            raise _naming_define(error) from None
        window = Window(rows.columns, ())
        output_rows = {}
        for clause, output, matches in zip(self.typed.stream.clauses, self.outputs, step.matches, strict=True):
            output_rows[clause.clause] = output.rows(_in_order(matches, rows), window)
        count = sum(matches.count for matches in step.matches)
        return StreamFound(output_rows, count, step.report, rows, step)

    @functools.cached_property
    def engine(self) -> BoundedEngine:
        """It keeps no state between calls."""
        return self._engine(self.task.limits)

    @functools.cached_property
    def cautious_engine(self) -> BoundedEngine:
        limits, most_held = self.task.limits, self.typed.stream.most_held
        if most_held is None or most_held >= limits.max_partial_matches:
            return self.engine
        return self._engine(replace(limits, max_partial_matches=most_held))

    def _engine(self, limits: MatchLimits) -> BoundedEngine:
        clock = self.task.request.new_clock()
        return BoundedEngine(self.typed.merged, self.typed.conditions, self.bounds, clock=clock, limits=limits)


class _ClauseOutput:
    """Matches of a clause -> its output rows."""

    def __init__(self, clause: ClauseProgram, worker: Worker) -> None:
        self.worker = worker
        self.matches = ClauseMatches(clause, worker.plan)
        self.slots = OneRowSlots(clause, worker.plan) if can_read(clause, worker.plan) else None

    def rows(self, visited: MatchRows, window: Window) -> OutputRows:
        visited = self.matches.preferred(visited)
        with errors_quoting(self.worker.bound.clause.text):
            if self.slots is not None:
                return self.slots.output(visited, window.columns)
            key_at = window.columns.ordered.key_at
            matches = self.matches.with_all_rows(visited, key_at)
            outputs = [self.worker.output(some_matches, window) for some_matches in matches]
        if len(outputs) == 1:
            return outputs[0]
        arrays = {name: pa.concat_arrays([output.arrays[name] for output in outputs]) for name in outputs[0].arrays}
        return OutputRows(sum(output.count for output in outputs), arrays)


def _naming_define(error: MatchError) -> MatchError:
    """The matcher's errors name WHERE, as in event queries. Clauses have DEFINE."""
    hint = None if error.hint is None else error.hint.replace("WHERE", "DEFINE")
    return MatchError(error.code, error.message.replace("WHERE", "DEFINE"), hint=hint)


def _in_order(matches: PatternMatches, rows: StreamRows) -> MatchRows:
    """The rows of the matches, numbered in the order of matching."""
    return MatchRows(
        matches.offsets.astype(np.int64, copy=False),
        rows.arrival[matches.rows],
        matches.labels.astype(np.int64, copy=False),
    )
