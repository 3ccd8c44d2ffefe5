"""State of a correlation + arriving rows + watermark -> results + state. Neither Spark nor text here.

A step is a function of its arguments: the same state and rows give the same results. Rows of both sides wait until the
watermark has passed them, so the archive of every live match of a step is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from ostinato.correlations.strategies.contained import by_past
from ostinato.correlations.strategies.cost_model import Observed, PlannerChoice
from ostinato.correlations.strategies.step_matches import StepOutcome
from ostinato.correlations.strategies.steps import AllLive, StepInput, all_live
from ostinato.correlations.strategies.strategies import Strategy, strategy
from ostinato.correlations.strategies.trial import try_out
from ostinato.correlations.task.correlation_intake import RowIntake, StepIntake
from ostinato.correlations.task.correlation_memory import live_numbers, next_change, outlook_of, remember
from ostinato.correlations.task.correlation_results import ResultWriter
from ostinato.correlations.task.correlation_state import (
    NEW,
    STATE,
    CorrelationState,
    read_state,
    state_bytes,
)
from ostinato.correlations.task.correlation_state_checks import check_state
from ostinato.correlations.task.correlation_steps import Sides, StepRows, in_steps, step_of
from ostinato.correlations.task.correlation_task import DEFAULT_OPTIONS, CorrelationOptions, CorrelationTask, SideTask
from ostinato.correlations.task.join_codes import SlotCodes, indexed_slots
from ostinato.correlations.task.result_cache import cached_starts, new_cache
from ostinato.correlations.task.run_counts import SUMMED, StepCounts
from ostinato.correlations.task.side_rows import THREAD_CLOCK, SideWorker, WindowSide
from ostinato.correlations.task.step_planner import (
    PlannerState,
    after_step,
    after_trial,
    candidates_of,
    observed_of,
    planner_from_json,
    planner_to_json,
    trial_rows,
)
from ostinato.correlations.task.wanted_ranges import no_ranges, wanted_ranges
from ostinato.errors import MatchError
from ostinato.kernels.clock import Clock, Work
from ostinato.streams.stored_state import reading


@dataclass(frozen=True, slots=True)
class StoredStep:
    """The result of one `advance`, with the state as bytes.

    If `wanted` has rows, the step made no progress. Read these rows, and run the step again with them.
    """

    results: pa.Table
    state: bytes
    wanted: pa.Table
    counts: StepCounts
    wakes_at: int | None
    """The watermark at which the state changes even if no row comes; None: only rows change it."""


class AdvancedStep(NamedTuple):
    """The result of one step, with the state in memory."""

    results: pa.Table
    state: CorrelationState
    wanted: pa.Table
    counts: StepCounts
    planner_state: PlannerState
    wakes_at: int | None = None
    """The watermark at which results may come even if no row does; None: only rows give results."""


@dataclass(slots=True)
class SharedLive:
    """The live side of several correlations, and its matches."""

    side: WindowSide | None = None
    matches: AllLive | None = None

    def with_matches(self, step: StepInput) -> StepInput:
        """The step with the shared live matches. The first correlation searches them."""
        if self.matches is None:
            self.matches = all_live(step)
        return replace(step, all_live=self.matches)


class Correlator:
    """One correlation over the rows of some keys. It holds no state between steps."""

    def __init__(
        self,
        task: CorrelationTask,
        options: CorrelationOptions = DEFAULT_OPTIONS,
        shared_live: SharedLive | None = None,
        *,
        comparator: Strategy | None = None,
        clock: Clock = THREAD_CLOCK,
    ) -> None:
        """Raises CORRELATION_STRATEGY if the chosen strategy can't run the query.

        `shared_live`: correlations with the same live clause over the same rows, all in one step, search them once.
        `comparator`: a strategy that runs in place of the product's, for benchmarks.
        `clock`: measures the searches, for the cost model.
        """
        self.shared_live = shared_live
        self.comparator = comparator
        self.clock = clock
        self.task = task
        self.options = options
        self.candidates = candidates_of(task, options)
        # With intervals, the rows before a region depend on the live match, so all rows stay.
        self.capacity = None if task.archive.time_columns.has_intervals else options.recent_rows
        self.caches = options.searches_once and task.has_fixed_distances
        self.live = SideWorker(task.live, clock)
        self.archive = SideWorker(task.archive, clock)
        self.bounded = task.bounded(self.archive.worker.task)
        self.intake = RowIntake(task, self.live, self.archive)
        self.writer = ResultWriter(task)
        self.indexed = indexed_slots(task)
        self.fingerprint = task.fingerprint()

    def advance(
        self,
        state: bytes | None,
        live: pa.Table | None,
        archive: pa.Table | None,
        watermark_us: int,
        finished: bool = False,
        *,
        history: pa.Table | None = None,
    ) -> StoredStep:
        """One step. Tables have the shipped columns, and rows in any order; None: no rows.

        `archive`: rows of a separate archive table. `history`: rows that were read back because the same step without
        them reported them as `wanted`; then the step wants no more. `finished`: end of input.
        """
        before = read_state(state, self.fingerprint)
        check_state(before, self.task, self.writer, live, archive)
        done = self.run(before, live, archive, watermark_us, finished=finished, history=history)
        after = b"" if finished else state_bytes(done.state, self.fingerprint)
        return StoredStep(done.results, after, done.wanted, done.counts, self._wakes_at(done))

    def _wakes_at(self, done: AdvancedStep) -> int | None:
        waiting = ((self.live, done.state.waiting_live), (self.archive, done.state.waiting_archive))
        moments = [int(side.times_of(rows)[0].min()) for side, rows in waiting if rows is not None and rows.num_rows]
        return min(moments if done.wakes_at is None else [*moments, done.wakes_at], default=None)

    def run(
        self,
        before: CorrelationState,
        live: pa.Table | None,
        archive: pa.Table | None,
        watermark_us: int,
        *,
        finished: bool = False,
        history: pa.Table | None = None,
    ) -> AdvancedStep:
        """The same without bytes. If all rows are in memory, many rows are matched in several steps."""
        if self.task.live.counts_in_define and not finished:
            raise MatchError(
                "CORRELATION_NOT_SUPPORTED",
                "MATCH_NUMBER() in DEFINE of the live clause needs all rows at once",
                hint="ask it over a table",
            )
        all_rows = StepRows(live, archive, watermark_us, finished)
        all_at_once = self.task.live.counts_in_define or self.shared_live is not None
        if all_at_once or self.options.recent_rows is not None or self.task.has_history:
            return self.step(before, all_rows, history)
        done: list[AdvancedStep] = []
        for rows in in_steps((self.live, self.archive), all_rows, self.options.step_rows):
            done.append(self.step(done[-1].state if done else before, rows))
        return done[0] if len(done) == 1 else self._joined_steps(done)

    def step(self, before: CorrelationState, rows: StepRows, history: pa.Table | None = None) -> AdvancedStep:
        """A single step."""
        intake, sides, step = self._open(before, rows, history)
        with reading(STATE):
            planner_state = planner_from_json(before.planner, self.candidates)
        if history is None and intake.marks.missing.is_some.any():
            step = replace(step, all_live=all_live(step))
            wanted = wanted_ranges(self.task, step, intake)
            if wanted.num_rows:
                nothing = self.writer.schema.empty_table()
                return AdvancedStep(
                    nothing, before, wanted, StepCounts(intake.arrived, intake.late, intake.late_archive), planner_state
                )
        found_pairs = self._find_pairs(step, sides, planner_state, intake.arrived)
        return self._after(before, intake, step, found_pairs, sides, finished=rows.finished)

    # --- the step ---

    def _open(self, before: CorrelationState, rows: StepRows, history: pa.Table | None) -> _Opened:
        intake = self.intake.take_in(before, rows.live, rows.archive, history, rows.watermark, finished=rows.finished)
        sides = self._sides(intake)
        codes = SlotCodes(self.indexed, sides, before, self.writer) if self.indexed else None
        step = step_of(self.task, before, intake, sides, codes, finished=rows.finished)
        return _Opened(intake, sides, step if self.shared_live is None else self.shared_live.with_matches(step))

    def _sides(self, intake: StepIntake) -> Sides:
        live, archive = intake.live, intake.archive
        live_rows = self.task.live.no_rows() if live.rows is None else live.rows
        archive_rows = self.task.archive.no_rows() if archive.rows is None else archive.rows
        live_side = None if self.shared_live is None else self.shared_live.side
        if live_side is None:
            live_side = self.live.side(live_rows, live.key_at, intake.known_until)
        if self.shared_live is not None:
            self.shared_live.side = live_side
        return Sides(
            live_side,
            self.archive.side(archive_rows, archive.key_at, intake.known_until, self.bounded),
        )

    def _find_pairs(self, step: StepInput, sides: Sides, planner_state: PlannerState, rows: int) -> _FoundPairs:
        """Runs the trial, if one is due, and then the chosen strategy."""
        contained = step.archive.times.keys_with_late_ends().any()
        if contained:
            outcome = by_past(step, sides.archive, self.task.archive.rows_before)
            return _FoundPairs(outcome, planner_state)
        tried = trial_rows(planner_state, self.candidates, rows, finished=step.finished)
        if tried:
            planner_state = after_trial(planner_state, try_out(step, tried), self.candidates)
        outcome, own = self._run(planner_state.choice, step, sides, rows)
        return _FoundPairs(outcome, after_step(planner_state, own, self.candidates))

    def _run(self, choice: PlannerChoice, step: StepInput, sides: Sides, rows: int) -> tuple[StepOutcome, Observed]:
        before = replace(sides.live.cost), replace(sides.archive.cost)
        began_ns = self.clock.now_ns()
        find_pairs = self.comparator or strategy(choice.strategy, cache=choice.cache)
        outcome = find_pairs(step)
        live, archive = sides.live.cost.since(before[0]), sides.archive.cost.since(before[1])
        work = Work(live.rows + archive.rows, len(outcome.live_of_pair), 0)
        seconds = self.clock.spent_ns(began_ns, work) / 1e9
        joining = max(seconds - live.seconds - archive.seconds, 0.0)
        return outcome, observed_of(choice, outcome, live, archive, rows, joining)

    # --- after it ---

    def _after(
        self,
        before: CorrelationState,
        intake: StepIntake,
        step: StepInput,
        found_pairs: _FoundPairs,
        sides: Sides,
        *,
        finished: bool,
    ) -> AdvancedStep:
        outcome = found_pairs.outcome
        number, numbered = live_numbers(self.task, intake, step, outcome)
        new = self.writer.rows(sides.live, outcome, number, before) if len(outcome.live_of_pair) else None
        outlook = outlook_of(self.task, step, outcome, intake.known_until, intake.marks.missing, caches=self.caches)
        waits = self.options.ordered and not finished
        results, waiting_results = self.writer.split(before.held, new, outlook.first_possible if waits else None)
        cache = new_cache(self.writer, outcome, outlook.future, before) if self.caches and not finished else None
        memory = remember(self.task, intake, step, outcome, outlook, self.capacity, numbered, [cache, waiting_results])
        counts = StepCounts(
            rows=intake.arrived,
            late_rows=intake.late,
            late_archive_rows=intake.late_archive,
            live_matches=len(outcome.live.key),
            archive_matches=outcome.growths.new_starts,
            results=results.num_rows,
            held_results=0 if waiting_results is None else waiting_results.num_rows,
            buffered_rows=0 if finished else memory.buffered_rows,
            cached_entries=0 if cache is None else cached_starts(cache),
        )
        state = (
            NEW
            if finished
            else memory.state(intake, cache, waiting_results, planner_to_json(found_pairs.planner_state))
        )
        totals = before.totals.plus(counts, sides.live.cost, sides.archive.cost)
        return AdvancedStep(
            results,
            replace(state, totals=totals),
            no_ranges(self.task),
            counts,
            found_pairs.planner_state,
            next_change(
                self.task, sides.live.task.within_us, step, outcome, outlook, waiting_results, intake.known_until
            ),
        )

    def _joined_steps(self, done: Sequence[AdvancedStep]) -> AdvancedStep:
        """Joins the results of several steps. In each key, results of earlier steps come first."""
        last = done[-1]
        counts = replace(last.counts, **{name: sum(getattr(each.counts, name) for each in done) for name in SUMMED})
        return last._replace(results=pa.concat_tables([each.results for each in done]), counts=counts)


class _Opened(NamedTuple):
    intake: StepIntake
    sides: Sides
    step: StepInput


class _FoundPairs(NamedTuple):
    outcome: StepOutcome
    planner_state: PlannerState


__all__ = [
    "CorrelationOptions",
    "StoredStep",
    "CorrelationTask",
    "Correlator",
    "SharedLive",
    "SideTask",
    "StepCounts",
]
