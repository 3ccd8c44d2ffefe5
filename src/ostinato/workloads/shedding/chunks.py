"""One call of a bounded engine: the matcher takes the rows chunk by chunk, and the keeper decides between chunks.

Chunks are cut by rows of the stream. With a virtual clock deciding costs nothing, so the keeper decides after every
chunk, and a chunk is a fixed fraction of the window. With a real clock chunks grow until their own cost is small beside
matching, and the time for decisions is saved up over several chunks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.clock import Clock, Work
from ostinato.workloads.matcher.ledger import Ledger
from ostinato.workloads.matcher.matcher_run import NO_PAUSE, MatcherRun, Pause
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.shedding.accounts import new_accounts
from ostinato.workloads.shedding.keeper import Keeper
from ostinato.workloads.shedding.report import Report
from ostinato.workloads.shedding.state_selection import ranks
from ostinato.workloads.shedding.tally import Tally, new_tally, pattern_reports

SHORTEST, LONGEST = 32, 1 << 16
"""Rows of a chunk."""
CHUNKS_A_WINDOW = 8
GROWTH = 4
"""With a real clock a chunk has at most 1 / GROWTH of the rows before it. At the start there is most to learn."""
MOST_FOR_CHUNKS, MOST_FOR_CALLS = 0.02, 0.1
"""Largest time for starting and ending chunks, and for calling the kernel at the start, as fractions of the matching
time."""
LESSON_WINDOWS, LESSON_NS = 3.0, 10_000_000
"""Nothing is dropped during the first so many windows, or so much time: where much is dropped, little is learnt.
Watching some windows costs no more than a few decisions. Not where memory is bounded."""
MOST_OVERHEAD = 0.04
"""Largest time for learning and choosing, as a fraction of the matching time; twice that while a bound is missed."""
MOST_ROOM = 4.0
"""Largest factor by which the time for deciding grows while something is dropped and the stream is far below its
bound."""
CHUNK_WORK = 1 << 20
"""Visits and checks after which a chunk ends. Where partial matches multiply, a few rows may take very long."""
HEAD_START_NS, HEAD_STARTS = 30_000_000, 3
"""Extra time for deciding at the start, whenever at least one in HEAD_STARTS of all rows is new."""
MOST_DEBT_NS = 1_000_000
"""Largest overspent time that later chunks make up for. More is forgotten, or nothing would be decided for long."""
LEAST_LEFT, MOST_LEFT = 0.5, 0.9
"""Fraction of the allowed memory that an eviction leaves: the less, the farther the bound was passed. Where partial
matches double with every row, the worst should not have to be found after every row."""
Reals = NDArray[np.float64]


class BoundedCall:
    """The rows of one call under bounds."""

    def __init__(self, keeper: Keeper, run: MatcherRun, events: PlanEvents, clock: Clock) -> None:
        self.keeper, self.run, self.events, self.clock = keeper, run, events, clock
        self.at, self.end = events.first_new, len(events.time)
        patterns = keeper.shape.patterns
        self.tally: Tally = new_tally(patterns)
        self.admitted = np.ones(self.end, np.bool_) if keeper.policy.input_shedding else None
        self.learning_ns = self.choosing_ns = self.closing_ns = 0
        self.saved_ns = 0.0
        """Time saved up for deciding."""
        self.pace_ns = 1.0
        """Time of a row, or its bound where it takes longer."""
        self.most_memory = 0.0
        """Largest number of bytes of all partial matches at a decision."""
        keeper.meter.restart()
        if keeper.accounts is None:
            keeper.accounts = new_accounts(run.ledger)
        run.advance(self.at, keeper.orders, self.admitted)  # compiles the kernel if needed
        began = clock.now_ns()
        run.advance(self.at, keeper.orders, self.admitted)
        self.call_ns = clock.spent_ns(began, Work(0, 0, 0))
        """Time of calling the kernel, without rows."""

    def take_all(self, finished: bool) -> None:
        while self.at < self.end:
            self._take(min(self.end, self.at + self.keeper.chunk_left))
            if self.keeper.chunk_left == 0:
                self._decide()
        if finished:
            self._count_last_chunk()
        if self.keeper.accounts:
            self.keeper.accounts.closed(self.run.ledger)

    def _count_last_chunk(self) -> None:
        """Counts the unfinished last chunk, at the end of the stream."""
        assert self.keeper.accounts is not None
        if self.keeper.chunk.rows:
            self.keeper.close_chunk()
        if self.keeper.accounts.rows:
            self._learn()

    def _take(self, until: int) -> None:
        keeper, ledger = self.keeper, self.run.ledger
        if self.admitted is not None:
            self._admit(until)
        before, steps = _work(ledger), ledger.step_work.copy()
        began = self.clock.now_ns()
        until = self.run.advance(until, keeper.orders, self.admitted, self._pause())
        after, rows = _work(ledger), until - self.at
        work = Work(rows, *(now - then for now, then in zip(after, before, strict=True)))
        spent = self.clock.spent_ns(began, work)
        self.tally.matching_ns += spent
        keeper.took(work, spent, self.call_ns, ledger.step_work - steps)
        self.at = until
        if self.run.has_paused:
            keeper.end_chunk()

    def _pause(self) -> Pause:
        """When a chunk ends early. Never with input shedding: the rows of the chunk have already been admitted."""
        if self.admitted is not None:
            return NO_PAUSE
        left = CHUNK_WORK - int(self.keeper.chunk.step_work.sum())
        most = self.keeper.bounds.memory_bytes
        return Pause(left) if most is None else Pause(left, most // self.run.bytes_each)

    def _admit(self, until: int) -> None:
        input_shedding = self.keeper.policy.input_shedding
        assert self.admitted is not None and input_shedding is not None
        rows = slice(self.at, until)
        held = np.zeros((len(self.events.conditions), until - self.at), np.bool_)  # a pattern may have no condition
        for number, condition in enumerate(self.events.conditions):
            held[number] = condition[rows]
        numbers = self.keeper.rows_seen + self.keeper.chunk.rows + np.arange(until - self.at)
        self.admitted[rows] = input_shedding.admit(self.keeper, held, numbers)

    def _decide(self) -> None:
        """Learns and chooses if there is time for it. The start of an overload is always answered."""
        keeper, began = self.keeper, self.clock.now_ns()
        self._close_chunk()
        only_watches = self._only_watches
        urgent = (keeper.overload_begins or self._is_crowded) and not only_watches
        if urgent or self.saved_ns >= self.learning_ns + self.choosing_ns or self._has_head_start():
            self._take_lesson()
            urgent = True  # use the new knowledge
        if keeper.has_bounds and not only_watches and (urgent or self.saved_ns >= self.choosing_ns):
            self._choose()
        self.saved_ns = max(self.saved_ns, -MOST_DEBT_NS)
        keeper.next_chunk(self._chunk_rows())
        self.tally.deciding_ns += self.clock.now_ns() - began

    def _close_chunk(self) -> None:
        """Measures the chunk, saves up time for deciding, and measures the memory."""
        keeper, began = self.keeper, self.clock.now_ns()
        spent_ns, rows = keeper.chunk.spent_ns, keeper.chunk.rows
        keeper.close_chunk()
        self.closing_ns = self.clock.now_ns() - began
        room = keeper.meter.headroom
        self.pace_ns = max(spent_ns / max(rows, 1) * min(room, 1.0), 1.0)
        more = 1.0 if keeper.orders is None else min(max(room, 1.0), MOST_ROOM)
        self.saved_ns += MOST_OVERHEAD * (2.0 if room < 1.0 else more) * spent_ns
        self._measure_memory()

    def _take_lesson(self) -> None:
        began = self.clock.now_ns()
        self._learn()
        took_ns = self.clock.now_ns() - began
        self.saved_ns -= took_ns
        # A lesson that also learns classes takes longer than the next one will.
        self.learning_ns = min(took_ns, 2 * self.learning_ns) if self.learning_ns else took_ns

    def _choose(self) -> None:
        began = self.clock.now_ns()
        self.keeper.choose(self._batch_ns())
        if self._is_crowded:
            self._evict()
        self.choosing_ns = self.clock.now_ns() - began
        self.saved_ns -= self.choosing_ns

    def _has_head_start(self) -> bool:
        """Whether learning may take more than its share of the time, at the start."""
        assert self.keeper.accounts is not None
        may_spend = HEAD_START_NS + MOST_OVERHEAD * self.tally.matching_ns
        is_early = self.tally.deciding_ns + self.learning_ns < may_spend
        return is_early and HEAD_STARTS * self.keeper.accounts.rows >= self.keeper.rows_seen

    @property
    def _deciding_costs(self) -> bool:
        """Whether deciding takes time: not by a virtual clock."""
        return self.closing_ns > 0

    @property
    def _only_watches(self) -> bool:
        """Whether it is too early to drop anything. By a virtual clock that is only so for a selection ratio: the total
        must be known first."""
        keeper, bounds = self.keeper, self.keeper.bounds
        is_early = keeper.rows_seen < LESSON_WINDOWS * keeper.window_rows and self.tally.matching_ns < LESSON_NS
        may_wait = self._deciding_costs or bounds.selection_ratio is not None
        return is_early and may_wait and bounds.memory_bytes is None and keeper.orders is None

    def _chunk_rows(self) -> int:
        """A fraction of the window; longer where chunks would take more than their share of the time."""
        rows = self.keeper.window_rows / CHUNKS_A_WINDOW
        if self._deciding_costs:
            afforded = (self.closing_ns + self.call_ns) / MOST_FOR_CHUNKS / self.pace_ns
            early = max(self.keeper.rows_seen / GROWTH, self.call_ns / MOST_FOR_CALLS / self.pace_ns)
            rows = max(rows, min(afforded, early))
        return int(min(max(rows, SHORTEST), LONGEST))

    def _measure_memory(self) -> None:
        self.keeper.memory_bytes = float(self.run.live * self.run.bytes_each)
        self.most_memory = max(self.most_memory, self.keeper.memory_bytes)

    @property
    def _is_crowded(self) -> bool:
        most = self.keeper.bounds.memory_bytes
        return most is not None and self.keeper.memory_bytes > most

    def _evict(self) -> None:
        """Evicts partial matches at once. Orders only take effect when a partial match is visited."""
        most = float(self.keeper.bounds.memory_bytes or 0)
        share = min(max(most / self.keeper.memory_bytes, LEAST_LEFT), MOST_LEFT)
        self.run.keep_best(
            int(share * most / self.run.bytes_each), ranks(self.keeper.estimates, self.keeper.kept_share.size)
        )
        self._measure_memory()

    def _batch_ns(self) -> float:
        """Time that each remaining event may take."""
        budget = self.keeper.bounds.batch_budget_ns
        if budget is None or self.at >= self.end:
            return np.inf
        return max(budget - self.tally.matching_ns - self.tally.deciding_ns, 1) / (self.end - self.at)

    # --- the report ---

    def _learn(self) -> None:
        keeper = self.keeper
        assert keeper.accounts is not None
        rows, counted = keeper.accounts.rows, keeper.accounts.counted(self.run.ledger)
        keeper.learn(self.run)
        self.tally.add(counted, rows)
        self.tally.period_end = keeper.rows_seen
        if self.tally.period_rows >= keeper.window_rows:
            self.tally.close_period()

    def report(self, matches: tuple[int, ...]) -> Report:
        """`matches`: [pattern] matches of this call, once for each window."""
        if self.tally.period_rows:
            self.tally.close_period()
        events = self.end - self.events.first_new
        rows = pattern_reports(self.keeper, self.tally, events, matches)
        bounds = self.keeper.bounds
        return Report(
            rows,
            self.tally.periods,
            self.keeper.policy.name,
            self.keeper.policy.input_shedding is not None,
            bounds=bounds,
            memory_bytes=None if bounds.memory_bytes is None else int(self.most_memory),
            spent_ns=self.tally.matching_ns + self.tally.deciding_ns,
        )


def _work(ledger: Ledger) -> tuple[int, int, int]:
    """Visits, checks and births so far."""
    born = int(ledger.created.sum()) + int(ledger.refused.sum())
    return int(ledger.visits.sum()), int(ledger.checks.sum()), born
