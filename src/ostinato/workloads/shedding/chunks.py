"""One call of a bounded engine: the matcher takes the rows chunk by chunk, and the shedder decides between chunks.

Chunks are cut by rows of the stream. With a virtual clock deciding costs nothing, so the shedder decides after every
chunk, and a chunk is a fixed fraction of the window. With a real clock chunks grow until their own cost is small beside
matching, and the time for decisions is saved up over several chunks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.clock import Clock, Work
from ostinato.rows.loss_report import Report
from ostinato.workloads.matcher.ledger import Ledger
from ostinato.workloads.matcher.matcher_run import NO_PAUSE, MatcherRun, Pause
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.shedding.ledger_growth import new_growth
from ostinato.workloads.shedding.load_shedder import LoadShedder
from ostinato.workloads.shedding.report_counts import ReportCounts, new_report_counts, pattern_reports
from ostinato.workloads.shedding.state_selection import ranks

SHORTEST, LONGEST = 32, 1 << 16
"""Rows of a chunk."""
CHUNKS_A_WINDOW = 8
GROWTH = 4
"""With a real clock a chunk has at most 1 / GROWTH of the rows before it. At the start there is most to learn."""
MAX_FOR_CHUNKS, MAX_FOR_CALLS = 0.02, 0.1
"""Largest time for starting and ending chunks, and for calling the kernel at the start, as fractions of the matching
time."""
WARM_UP_WINDOWS, WARM_UP_NS = 3.0, 10_000_000
"""Length of the warm-up, in windows and in matching time; the shorter one counts. The shedder drops nothing during the
warm-up, because it learns little from dropped partial matches. With a memory bound there is no warm-up."""
MAX_OVERHEAD = 0.04
"""Largest time for learning and choosing, as a fraction of the matching time; twice that while a bound is missed."""
MAX_ROOM = 4.0
"""Largest factor by which the time for deciding grows while partial matches are dropped and the stream is far below its
bound."""
CHUNK_WORK = 1 << 20
"""Visits and checks after which a chunk ends. If partial matches multiply, a few rows may take very long."""
HEAD_START_NS, HEAD_STARTS = 30_000_000, 3
"""Extra time for deciding at the start. It may be used while at least 1 / HEAD_STARTS of all rows came after the last
update."""
MAX_DEBT_NS = 1_000_000
"""Largest overrun of the time for deciding that is carried over to later chunks. A larger overrun is forgiven, so that
the next decision isn't delayed too long."""
MIN_LEFT, MAX_LEFT = 0.5, 0.9
"""Fraction of the memory bound that is still in use after an eviction. The further the bound was exceeded, the smaller
it is. If partial matches double with every row, an eviction after every row would be too slow."""
Reals = NDArray[np.float64]


class BoundedCall:
    """The rows of one call under bounds."""

    def __init__(self, shedder: LoadShedder, run: MatcherRun, events: PlanEvents, clock: Clock) -> None:
        self.shedder, self.run, self.events, self.clock = shedder, run, events, clock
        self.next_row, self.end = events.first_new, len(events.time)
        patterns = shedder.shape.patterns
        self.report_counts: ReportCounts = new_report_counts(patterns)
        self.admitted = np.ones(self.end, np.bool_) if shedder.policy.input_shedding else None
        self.learning_ns = self.choosing_ns = self.closing_ns = 0
        self.deciding_budget_ns = 0.0
        """Time saved up for deciding."""
        self.row_ns = 1.0
        """Time of a row, at most its bound."""
        self.max_memory_bytes = 0.0
        """Largest size of all partial matches at a decision."""
        shedder.meter.restart()
        if shedder.growth is None:
            shedder.growth = new_growth(run.ledger)
        run.advance(self.next_row, shedder.keep_masks, self.admitted)  # compiles the kernel if needed
        began = clock.now_ns()
        run.advance(self.next_row, shedder.keep_masks, self.admitted)
        self.call_ns = clock.spent_ns(began, Work(0, 0, 0))
        """Time of calling the kernel, without rows."""

    def match_all(self, finished: bool) -> None:
        while self.next_row < self.end:
            self._match(min(self.end, self.next_row + self.shedder.chunk_left))
            if self.shedder.chunk_left == 0:
                self._decide()
        if finished:
            self._count_last_chunk()
        if self.shedder.growth:
            self.shedder.growth.carry_over(self.run.ledger)

    def _count_last_chunk(self) -> None:
        """Counts the unfinished last chunk, at the end of the stream."""
        assert self.shedder.growth is not None
        if self.shedder.chunk.rows:
            self.shedder.close_chunk()
        if self.shedder.growth.rows:
            self._learn()

    def _match(self, until: int) -> None:
        shedder, ledger = self.shedder, self.run.ledger
        if self.admitted is not None:
            self._admit(until)
        before, steps = _work(ledger), ledger.step_work.copy()
        began = self.clock.now_ns()
        until = self.run.advance(until, shedder.keep_masks, self.admitted, self._pause())
        after, rows = _work(ledger), until - self.next_row
        work = Work(rows, *(new - old for new, old in zip(after, before, strict=True)))
        spent = self.clock.spent_ns(began, work)
        self.report_counts.matching_ns += spent
        shedder.add_to_chunk(work, spent, self.call_ns, ledger.step_work - steps)
        self.next_row = until
        if self.run.has_paused:
            shedder.end_chunk()

    def _pause(self) -> Pause:
        """When the chunk ends early. Never with input shedding: the rows of the chunk have already been admitted."""
        if self.admitted is not None:
            return NO_PAUSE
        left = CHUNK_WORK - int(self.shedder.chunk.step_work.sum())
        most = self.shedder.bounds.memory_bytes
        return Pause(left) if most is None else Pause(left, most // self.run.bytes_each)

    def _admit(self, until: int) -> None:
        input_shedding = self.shedder.policy.input_shedding
        assert self.admitted is not None and input_shedding is not None
        rows = slice(self.next_row, until)
        # A pattern may have no condition.
        fulfilled = np.zeros((len(self.events.conditions), until - self.next_row), np.bool_)
        for number, condition in enumerate(self.events.conditions):
            fulfilled[number] = condition[rows]
        numbers = self.shedder.rows_seen + self.shedder.chunk.rows + np.arange(until - self.next_row)
        self.admitted[rows] = input_shedding.admit(self.shedder, fulfilled, numbers)

    def _decide(self) -> None:
        """Learns and chooses if there is time for it. The start of an overload always gets a decision."""
        shedder, began = self.shedder, self.clock.now_ns()
        self._close_chunk()
        is_warming_up = self._is_warming_up
        urgent = (shedder.overload_begins or self._exceeds_memory) and not is_warming_up
        if urgent or self.deciding_budget_ns >= self.learning_ns + self.choosing_ns or self._has_head_start():
            self._learn_timed()
            urgent = True  # use the new statistics
        if shedder.has_bounds and not is_warming_up and (urgent or self.deciding_budget_ns >= self.choosing_ns):
            self._choose()
        self.deciding_budget_ns = max(self.deciding_budget_ns, -MAX_DEBT_NS)
        shedder.next_chunk(self._chunk_rows())
        self.report_counts.deciding_ns += self.clock.now_ns() - began

    def _close_chunk(self) -> None:
        """Measures the chunk, saves up time for deciding, and measures the memory."""
        shedder, began = self.shedder, self.clock.now_ns()
        spent_ns, rows = shedder.chunk.spent_ns, shedder.chunk.rows
        shedder.close_chunk()
        self.closing_ns = self.clock.now_ns() - began
        headroom = shedder.meter.headroom
        self.row_ns = max(spent_ns / max(rows, 1) * min(headroom, 1.0), 1.0)
        deciding_factor = 1.0 if shedder.keep_masks is None else min(max(headroom, 1.0), MAX_ROOM)
        self.deciding_budget_ns += MAX_OVERHEAD * (2.0 if headroom < 1.0 else deciding_factor) * spent_ns
        self._measure_memory()

    def _learn_timed(self) -> None:
        began = self.clock.now_ns()
        self._learn()
        took_ns = self.clock.now_ns() - began
        self.deciding_budget_ns -= took_ns
        # Learning classes as well takes longer than the next update will.
        self.learning_ns = min(took_ns, 2 * self.learning_ns) if self.learning_ns else took_ns

    def _choose(self) -> None:
        began = self.clock.now_ns()
        self.shedder.choose(self._batch_ns())
        if self._exceeds_memory:
            self._evict()
        self.choosing_ns = self.clock.now_ns() - began
        self.deciding_budget_ns -= self.choosing_ns

    def _has_head_start(self) -> bool:
        """Whether learning may take more than its share of the time, at the start."""
        assert self.shedder.growth is not None
        may_spend = HEAD_START_NS + MAX_OVERHEAD * self.report_counts.matching_ns
        is_early = self.report_counts.deciding_ns + self.learning_ns < may_spend
        return is_early and HEAD_STARTS * self.shedder.growth.rows >= self.shedder.rows_seen

    @property
    def _deciding_costs(self) -> bool:
        """Whether deciding takes time. With a virtual clock it doesn't."""
        return self.closing_ns > 0

    @property
    def _is_warming_up(self) -> bool:
        """Whether it is too early to drop anything. With a virtual clock only a selection ratio needs a warm-up: the
        total must be known first."""
        shedder, bounds = self.shedder, self.shedder.bounds
        is_early = (
            shedder.rows_seen < WARM_UP_WINDOWS * shedder.window_rows and self.report_counts.matching_ns < WARM_UP_NS
        )
        may_wait = self._deciding_costs or bounds.selection_ratio is not None
        return is_early and may_wait and bounds.memory_bytes is None and shedder.keep_masks is None

    def _chunk_rows(self) -> int:
        """A fraction of the window; longer if chunks would take more than their share of the time."""
        rows = self.shedder.window_rows / CHUNKS_A_WINDOW
        if self._deciding_costs:
            afforded = (self.closing_ns + self.call_ns) / MAX_FOR_CHUNKS / self.row_ns
            early = max(self.shedder.rows_seen / GROWTH, self.call_ns / MAX_FOR_CALLS / self.row_ns)
            rows = max(rows, min(afforded, early))
        return int(min(max(rows, SHORTEST), LONGEST))

    def _measure_memory(self) -> None:
        self.shedder.memory_bytes = float(self.run.live * self.run.bytes_each)
        self.max_memory_bytes = max(self.max_memory_bytes, self.shedder.memory_bytes)

    @property
    def _exceeds_memory(self) -> bool:
        most = self.shedder.bounds.memory_bytes
        return most is not None and self.shedder.memory_bytes > most

    def _evict(self) -> None:
        """Evicts partial matches at once. Keep masks only take effect when a partial match is visited."""
        most = float(self.shedder.bounds.memory_bytes or 0)
        share = min(max(most / self.shedder.memory_bytes, MIN_LEFT), MAX_LEFT)
        self.run.keep_best(
            int(share * most / self.run.bytes_each), ranks(self.shedder.estimates, self.shedder.kept_share.size)
        )
        self._measure_memory()

    def _batch_ns(self) -> float:
        """Time that each remaining event may take."""
        budget = self.shedder.bounds.batch_budget_ns
        if budget is None or self.next_row >= self.end:
            return np.inf
        left_ns = budget - self.report_counts.matching_ns - self.report_counts.deciding_ns
        return max(left_ns, 1) / (self.end - self.next_row)

    # --- the report ---

    def _learn(self) -> None:
        shedder = self.shedder
        assert shedder.growth is not None
        rows, counted = shedder.growth.rows, shedder.growth.since_update(self.run.ledger)
        shedder.learn(self.run)
        self.report_counts.add(counted, rows)
        self.report_counts.period_end = shedder.rows_seen
        if self.report_counts.period_rows >= shedder.window_rows:
            self.report_counts.close_period()

    def report(self, matches: tuple[int, ...]) -> Report:
        """`matches`: [pattern] matches of this call, once for each window."""
        if self.report_counts.period_rows:
            self.report_counts.close_period()
        events = self.end - self.events.first_new
        rows = pattern_reports(self.shedder, self.report_counts, events, matches)
        bounds = self.shedder.bounds
        return Report(
            rows,
            self.report_counts.periods,
            self.shedder.policy.name,
            self.shedder.policy.input_shedding is not None,
            bounds=bounds,
            memory_bytes=None if bounds.memory_bytes is None else int(self.max_memory_bytes),
            spent_ns=self.report_counts.matching_ns + self.report_counts.deciding_ns,
        )


def _work(ledger: Ledger) -> tuple[int, int, int]:
    """Visits, checks and births so far."""
    born = int(ledger.created.sum()) + int(ledger.refused.sum())
    return int(ledger.visits.sum()), int(ledger.checks.sum()), born
