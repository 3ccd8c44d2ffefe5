"""A workload of clauses + the rows of some whole keys -> the output rows of every clause. Neither Spark nor text here.

Clauses of one stream are matched together by the shared matcher, within their bounds where they have any; from its
matches on, a clause's rows are made as its own worker makes them. The other clauses run alone, each in its worker; so
do, in the end, those that are matched together by choice and would hold too many partial matches, or fail.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ostinato.calls.bounds import Bounds
from ostinato.clause.matching.match_engine import check_longest
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.errors import MatchError, speaking_of
from ostinato.event_queries.enumeration.event_matches import MatchLimits
from ostinato.expressions.syntax import Expr
from ostinato.rows.batches import Batch, Mask, OutputRows
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.plan.clause_groups import ClauseProgram
from ostinato.workloads.plan.typed_clauses import TypedClauses, TypedStream
from ostinato.workloads.shedding.bounded_engine import BoundedEngine, BoundedStep
from ostinato.workloads.shedding.report import Report
from ostinato.workloads.task.clause_events import ClauseEvents, History, StreamRows
from ostinato.workloads.task.clause_matches import ClauseMatches, FoundRows
from ostinato.workloads.task.one_row_slots import FoundSlots, can_read


@dataclass(frozen=True, slots=True)
class ClausesTask:
    """What a task runs. Values only: sent to workers."""

    typed: TypedClauses
    names: tuple[str, ...]
    request: BoundRequest
    limits: MatchLimits
    buckets: int = 1
    """Into so many the keys of a micro-batch are hashed, which share its budget."""

    def bounds(self, stream: TypedStream) -> Bounds | None:
        """Those of a stream's clauses; None where they have none."""
        if self.request.is_empty:
            return None
        found = self.request.bounds(self.names).of([clause.clause for clause in stream.stream.clauses])
        return None if found.is_none else found.split(len(self.typed.streams), self.buckets)


@dataclass(frozen=True, slots=True)
class ClausesFound:
    """For each clause its rows; for each stream with a bound what was given up."""

    rows: tuple[OutputRows, ...]
    reports: tuple[Report, ...]


class ClausesWorker:
    """Runs a workload over as many batches of whole keys as there are; holds nothing between them."""

    def __init__(self, task: ClausesTask) -> None:
        self.typed = task.typed
        self.workers = [Worker(typed) for typed in task.typed.clauses]
        self.streams = [StreamMatcher(stream, task, self.workers) for stream in task.typed.streams]

    def run(self, batch: Batch) -> ClausesFound:
        """`batch.row_masks` are the row conditions of the workload."""
        rows = self._by_themselves(batch, self.typed.alone)
        reports = []
        conditions = row_conditions(self.typed, batch)
        for stream in self.streams:
            if stream.typed.stream.by_choice:
                rows |= self._either_way(stream, batch, conditions)
                continue
            found = stream.advance(batch, conditions)
            rows |= found.rows
            reports += [found.report] if found.report is not None else []
        return ClausesFound(tuple(rows[number] for number in range(len(self.workers))), tuple(reports))

    def _either_way(self, stream: StreamMatcher, batch: Batch, conditions: dict[Expr, Mask]) -> dict[int, OutputRows]:
        """Together or each by itself, whichever succeeds: they meet different limits, and ask conditions of different
        rows."""
        try:
            return stream.advance(batch, conditions, cautiously=True).rows
        except MatchError:
            pass  # outside, so that what the matcher held is freed
        try:
            return self._by_themselves(batch, [clause.clause for clause in stream.typed.stream.clauses])
        except MatchError as error:
            if stream.typed.stream.most_held is None or error.code != "TOO_MANY_PARTIAL_MATCHES":
                raise
        return stream.advance(batch, conditions).rows

    def _by_themselves(self, batch: Batch, numbers: Iterable[int]) -> dict[int, OutputRows]:
        rows = {}
        for number in numbers:
            with speaking_of(self.typed.clauses[number].plan.bound.clause.text):
                rows[number] = self.workers[number].run(self._own(batch, number))
        return rows

    def _own(self, batch: Batch, number: int) -> Batch:
        """The batch as one clause alone would have it."""
        masks = [batch.row_masks[place] for place in self.typed.row_conditions[number]]
        return Batch(batch.count, batch.arrays, masks)


def row_conditions(typed: TypedClauses, batch: Batch) -> dict[Expr, Mask]:
    """The row conditions of a workload, as the batch has them."""
    return {
        condition: batch.row_masks[place]
        for clause, places in zip(typed.clauses, typed.row_conditions, strict=True)
        for condition, place in zip(clause.plan.row_conditions, places, strict=True)
    }


@dataclass(frozen=True, slots=True)
class StreamFound:
    """For each clause of a stream, by its number, the output rows; where there is a bound, what was given up."""

    rows: dict[int, OutputRows]
    matches: int
    report: Report | None
    read: StreamRows
    step: BoundedStep
    """What the next call needs of this one."""


class StreamMatcher:
    """The clauses of one stream; holds nothing between calls."""

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
        """`history` says which rows of the batch came before, `state` is the engine's of then.

        `cautiously`: raises TOO_MANY_PARTIAL_MATCHES as soon as the clauses are better off by themselves.
        """
        rows = self.reader.read(batch, conditions, history)
        key_at = rows.columns.ordered.key_at
        for worker in self.workers:
            check_longest(worker.task, key_at)
        try:
            engine = self.cautious_engine if cautiously else self.engine
            step = engine.advance(rows.events, state, finished=finished)
        except MatchError as error:
            raise _in_words_of_clauses(error) from None
        window = Window(rows.columns, ())
        found = {}
        for clause, output, matches in zip(self.typed.stream.clauses, self.outputs, step.matches, strict=True):
            found[clause.clause] = output.rows(_in_order(matches, rows), window)
        count = sum(matches.count for matches in step.matches)
        return StreamFound(found, count, step.report, rows, step)

    @functools.cached_property
    def engine(self) -> BoundedEngine:
        """Nothing of a call stays in it."""
        return self._engine(self.task.limits)

    @functools.cached_property
    def cautious_engine(self) -> BoundedEngine:
        limits, most_held = self.task.limits, self.typed.stream.most_held
        if most_held is None or most_held >= limits.max_partial_matches:
            return self.engine
        return self._engine(replace(limits, max_partial_matches=most_held))

    def _engine(self, limits: MatchLimits) -> BoundedEngine:
        request = self.task.request
        return BoundedEngine(
            self.typed.merged,
            self.typed.conditions,
            self.bounds,
            clock=request.new_clock(),
            limits=limits,
        )


class _ClauseOutput:
    """From what was found of a clause to its rows."""

    def __init__(self, clause: ClauseProgram, worker: Worker) -> None:
        self.worker = worker
        self.matches = ClauseMatches(clause, worker.plan)
        self.slots = FoundSlots(clause, worker.plan) if can_read(clause, worker.plan) else None

    def rows(self, found: FoundRows, window: Window) -> OutputRows:
        found = self.matches.preferred(found)
        with speaking_of(self.worker.bound.clause.text):
            if self.slots is not None:
                return self.slots.output(found, window.columns)
            key_at = window.columns.ordered.key_at
            parts = [self.worker.output(matches, window) for matches in self.matches.whole(found, key_at)]
        if len(parts) == 1:
            return parts[0]
        arrays = {name: pa.concat_arrays([part.arrays[name] for part in parts]) for name in parts[0].arrays}
        return OutputRows(sum(part.count for part in parts), arrays)


def _in_words_of_clauses(error: MatchError) -> MatchError:
    """The matcher speaks of event queries, whose conditions are in WHERE."""
    hint = None if error.hint is None else error.hint.replace("WHERE", "DEFINE")
    return MatchError(error.code, error.message.replace("WHERE", "DEFINE"), hint=hint)


def _in_order(matches: PatternMatches, rows: StreamRows) -> FoundRows:
    """The rows of the matches as numbered in the order of matching."""
    return FoundRows(
        matches.offsets.astype(np.int64, copy=False),
        rows.arrival[matches.rows],
        matches.labels.astype(np.int64, copy=False),
    )
