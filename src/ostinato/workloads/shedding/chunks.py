"""One call of a bounded engine: its rows taken chunk by chunk, with the keeper asked in between.

Chunks are cut by rows of the stream. With a virtual clock deciding costs nothing, and the keeper is asked after every
chunk of a fixed part of the window. With a real one chunks grow until what they cost themselves is small beside
matching; and what deciding may cost is saved up over several of them.
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
"""With a real clock: which part of all rows before a chunk it has, at most. At the start there is most to learn."""
MOST_FOR_CHUNKS, MOST_FOR_CALLS = 0.02, 0.1
"""Time for beginning and ending chunks, by the time of matching; and for calling the kernel, at the start too."""
LESSON_WINDOWS, LESSON_NS = 3.0, 10_000_000
"""Before anything is dropped so many windows are looked at, or so long: where much is dropped little is learnt, and to
see it all for some windows costs no more than a few decisions do. Not where memory is bounded."""
MOST_OVERHEAD = 0.04
"""Time for learning and choosing, by the time that matching may take; twice that while a bound is missed."""
MOST_ROOM = 4.0
"""Times the time taken: however far below its bound a stream is while something is dropped, no more is spent on
deciding than if it took that."""
CHUNK_WORK = 1 << 20
"""Visits and conditions after which a chunk ends: where partial matches multiply, a few rows may take very long."""
HEAD_START_NS, HEAD_STARTS = 30_000_000, 3
"""And so much more at the start, whenever one in so many of all rows is new."""
MOST_DEBT_NS = 1_000_000
"""What was spent beyond that is made up for, up to so much; what is more is forgotten, or nothing would be decided."""
LEAST_LEFT, MOST_LEFT = 0.5, 0.9
"""Which part of the memory that is allowed is kept where it was passed, the less the farther: where partial matches
double with every row, the worst aren't to be looked for after every row."""
Reals = NDArray[np.float64]


class BoundedCall:
    def __init__(self, keeper: Keeper, run: MatcherRun, events: PlanEvents, clock: Clock) -> None:
        self.keeper, self.run, self.events, self.clock = keeper, run, events, clock
        self.at, self.end = events.first_new, len(events.time)
        patterns = keeper.shape.patterns
        self.tally: Tally = new_tally(patterns)
        self.admitted = np.ones(self.end, np.bool_) if keeper.policy.input_shedding else None
        self.learning_ns = self.choosing_ns = self.closing_ns = 0
        self.saved_ns = 0.0
        """For deciding."""
        self.pace_ns = 1.0
        """What a row takes, or may take where it takes more."""
        self.most_memory = 0.0
        """Bytes of all partial matches at a decision, at most."""
        keeper.meter.restart()
        if keeper.accounts is None:
            keeper.accounts = new_accounts(run.ledger)
        run.advance(self.at, keeper.orders, self.admitted)  # compiles, where that is still to be done
        began = clock.now_ns()
        run.advance(self.at, keeper.orders, self.admitted)
        self.call_ns = clock.spent_ns(began, Work(0, 0, 0))
        """What calling the kernel takes, on top of what the rows do."""

    def take_all(self, finished: bool) -> None:
        while self.at < self.end:
            self._take(min(self.end, self.at + self.keeper.chunk_left))
            if self.keeper.chunk_left == 0:
                self._decide()
        if finished:
            self._take_stock()
        if self.keeper.accounts:
            self.keeper.accounts.closed(self.run.ledger)

    def _take_stock(self) -> None:
        """At the end of the stream: what the last chunk began."""
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
        """Where a chunk ends early. Not where input is shed: it is already decided which of its rows are taken."""
        if self.admitted is not None:
            return NO_PAUSE
        left = CHUNK_WORK - int(self.keeper.chunk.step_work.sum())
        most = self.keeper.bounds.memory_bytes
        return Pause(left) if most is None else Pause(left, most // self.run.bytes_each)

    def _admit(self, until: int) -> None:
        input_shedding = self.keeper.policy.input_shedding
        assert self.admitted is not None and input_shedding is not None
        rows = slice(self.at, until)
        held = np.zeros((len(self.events.conditions), until - self.at), np.bool_)  # a pattern may ask nothing of a row
        for number, condition in enumerate(self.events.conditions):
            held[number] = condition[rows]
        numbers = self.keeper.rows_seen + self.keeper.chunk.rows + np.arange(until - self.at)
        self.admitted[rows] = input_shedding.admit(self.keeper, held, numbers)

    def _decide(self) -> None:
        """Learns and chooses, as far as there is time for it; an overload that begins is always answered."""
        keeper, began = self.keeper, self.clock.now_ns()
        self._close_chunk()
        looks_on = self._looks_on
        urgent = (keeper.overload_begins or self._is_crowded) and not looks_on
        if urgent or self.saved_ns >= self.learning_ns + self.choosing_ns or self._has_head_start():
            self._take_lesson()
            urgent = True  # what was learnt is to be used
        if keeper.has_bounds and not looks_on and (urgent or self.saved_ns >= self.choosing_ns):
            self._choose()
        self.saved_ns = max(self.saved_ns, -MOST_DEBT_NS)
        keeper.next_chunk(self._chunk_rows())
        self.tally.deciding_ns += self.clock.now_ns() - began

    def _close_chunk(self) -> None:
        """What it took, what that allows for deciding, and how much lives."""
        keeper, began = self.keeper, self.clock.now_ns()
        spent_ns, rows = keeper.chunk.spent_ns, keeper.chunk.rows
        keeper.close_chunk()
        self.closing_ns = self.clock.now_ns() - began
        room = keeper.meter.headroom
        self.pace_ns = max(spent_ns / max(rows, 1) * min(room, 1.0), 1.0)
        more = 1.0 if keeper.orders is None else min(max(room, 1.0), MOST_ROOM)
        self.saved_ns += MOST_OVERHEAD * (2.0 if room < 1.0 else more) * spent_ns
        self._look_at_memory()

    def _take_lesson(self) -> None:
        began = self.clock.now_ns()
        self._learn()
        took_ns = self.clock.now_ns() - began
        self.saved_ns -= took_ns
        # Now and then classes are learnt, too: that isn't what the next lesson will take.
        self.learning_ns = min(took_ns, 2 * self.learning_ns) if self.learning_ns else took_ns

    def _choose(self) -> None:
        began = self.clock.now_ns()
        self.keeper.choose(self._batch_ns())
        if self._is_crowded:
            self._leave_room()
        self.choosing_ns = self.clock.now_ns() - began
        self.saved_ns -= self.choosing_ns

    def _has_head_start(self) -> bool:
        """Beyond its share of the time, learning may go on at the start."""
        assert self.keeper.accounts is not None
        may_spend = HEAD_START_NS + MOST_OVERHEAD * self.tally.matching_ns
        is_early = self.tally.deciding_ns + self.learning_ns < may_spend
        return is_early and HEAD_STARTS * self.keeper.accounts.rows >= self.keeper.rows_seen

    @property
    def _deciding_costs(self) -> bool:
        """By a virtual clock it doesn't."""
        return self.closing_ns > 0

    @property
    def _looks_on(self) -> bool:
        """Whether it is too early to drop anything. By a clock on which deciding costs nothing it is only where a share
        is to be kept: first it must be known of what."""
        keeper, bounds = self.keeper, self.keeper.bounds
        is_early = keeper.rows_seen < LESSON_WINDOWS * keeper.window_rows and self.tally.matching_ns < LESSON_NS
        may_wait = self._deciding_costs or bounds.selection_ratio is not None
        return is_early and may_wait and bounds.memory_bytes is None and keeper.orders is None

    def _chunk_rows(self) -> int:
        """A part of the window; longer where chunks themselves would take more than their share of the time."""
        rows = self.keeper.window_rows / CHUNKS_A_WINDOW
        if self._deciding_costs:
            afforded = (self.closing_ns + self.call_ns) / MOST_FOR_CHUNKS / self.pace_ns
            early = max(self.keeper.rows_seen / GROWTH, self.call_ns / MOST_FOR_CALLS / self.pace_ns)
            rows = max(rows, min(afforded, early))
        return int(min(max(rows, SHORTEST), LONGEST))

    def _look_at_memory(self) -> None:
        self.keeper.memory = float(self.run.live * self.run.bytes_each)
        self.most_memory = max(self.most_memory, self.keeper.memory)

    @property
    def _is_crowded(self) -> bool:
        most = self.keeper.bounds.memory_bytes
        return most is not None and self.keeper.memory > most

    def _leave_room(self) -> None:
        """Orders take effect where something is visited; memory that is passed has to be given back at once."""
        most = float(self.keeper.bounds.memory_bytes or 0)
        share = min(max(most / self.keeper.memory, LEAST_LEFT), MOST_LEFT)
        self.run.keep_best(int(share * most / self.run.bytes_each), ranks(self.keeper.estimates, self.keeper.kept.size))
        self._look_at_memory()

    def _batch_ns(self) -> float:
        """What an event of those still to come may take."""
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
        """`matches`: [pattern] those of this call, once for each window."""
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
