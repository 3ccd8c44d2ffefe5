"""One call of a bounded engine: its rows taken chunk by chunk, with the keeper asked in between.

Chunks are cut by rows of the stream. With a virtual clock deciding costs nothing, and the keeper is asked after every
chunk of a fixed part of the window. With a real one chunks grow until what they cost themselves is small beside
matching; and what deciding may cost is saved up over several of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.sharing.clock import Clock, Work
from ostinato.techniques.bounded_latency.accounts import new_accounts
from ostinato.techniques.bounded_latency.keeper import Keeper
from ostinato.techniques.bounded_latency.ledger import Ledger
from ostinato.techniques.bounded_latency.matcher import MatcherRun
from ostinato.techniques.bounded_latency.plan_events import PlanEvents
from ostinato.techniques.bounded_latency.report import PatternReport, Period, Report, recall, with_period
from ostinato.techniques.bounded_latency.store import SPARE, USED

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
MOST_ROOM = 16.0
"""Times the time taken: however far below its bound a stream is, no more is spent on deciding than if it took that."""
HEAD_START_NS, HEAD_STARTS = 30_000_000, 3
"""And so much more at the start, whenever one in so many rows is new."""
MOST_DEBT_NS = 1_000_000
"""What was spent beyond that is made up for, up to so much; what is more is forgotten, or nothing would be decided."""
Reals = NDArray[np.float64]


@dataclass(slots=True)
class Tally:
    """What the report adds up over a call."""

    dropped: Reals
    lost: Reals
    periods: tuple[Period, ...] = ()
    period_rows: int = 0
    period_counts: list[Reals] = field(default_factory=list)
    """Dropped, lost and found since the period began."""
    period_end: int = 0
    """The row of the stream up to which the period is counted."""
    found: Reals = field(init=False)
    """Complete matches, each once, however many windows hold it: what is lost is estimated in the same measure."""
    matching_ns: int = 0
    deciding_ns: int = 0

    def __post_init__(self) -> None:
        self.found = np.zeros_like(self.lost)

    def add_lost(self, lost: Reals) -> None:
        self.lost = self.lost + lost
        self.period_counts[1] = self.period_counts[1] + lost


class BoundedCall:
    def __init__(self, keeper: Keeper, run: MatcherRun, events: PlanEvents, clock: Clock) -> None:
        self.keeper, self.run, self.events, self.clock = keeper, run, events, clock
        self.at, self.end = events.first_new, len(events.time)
        patterns = keeper.shape.patterns
        self.tally = Tally(np.zeros(patterns), np.zeros(patterns), period_counts=[np.zeros(patterns)] * 3)
        self.admitted = np.ones(self.end, np.bool_) if keeper.policy.input_part else None
        self.learning_ns = self.choosing_ns = self.closing_ns = 0
        self.saved_ns = 0.0
        """For deciding."""
        self.pace_ns = 1.0
        """What a row may take; more than the bound where it took more."""
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
        """At the end of the stream: what the last chunk began, and what was dropped since it was last priced."""
        assert self.keeper.accounts is not None
        if self.keeper.chunk.rows:
            self.keeper.close_chunk()
        if self.keeper.accounts.rows:
            self._learn()
            self.tally.add_lost(self.keeper.price_losses())

    def _take(self, until: int) -> None:
        keeper, ledger, rows = self.keeper, self.run.ledger, until - self.at
        if self.admitted is not None:
            self._admit(until)
        before, steps = _work(ledger), ledger.step_work.copy()
        began = self.clock.now_ns()
        self.run.advance(until, keeper.orders, self.admitted)
        after = _work(ledger)
        work = Work(rows, *(now - then for now, then in zip(after, before, strict=True)))
        spent = self.clock.spent_ns(began, work)
        self.tally.matching_ns += spent
        keeper.took(work, spent, self.call_ns, ledger.step_work - steps)
        self.at = until

    def _admit(self, until: int) -> None:
        assert self.admitted is not None
        rows = slice(self.at, until)
        held = np.zeros((len(self.events.conditions), until - self.at), np.bool_)  # a pattern may ask nothing of a row
        for number, condition in enumerate(self.events.conditions):
            held[number] = condition[rows]
        self.admitted[rows] = self.keeper.admit(held)

    def _decide(self) -> None:
        """Learns and chooses, as far as there is time for it; an overload that begins is always answered."""
        keeper = self.keeper
        began = self.clock.now_ns()
        spent_ns, rows = keeper.chunk.spent_ns, keeper.chunk.rows
        keeper.close_chunk()
        closed = self.clock.now_ns()
        self.closing_ns = closed - began
        room = keeper.meter.headroom
        allowed_ns = spent_ns * min(max(room, 1.0), MOST_ROOM)
        self.pace_ns = max(allowed_ns / max(rows, 1), 1.0)
        self.saved_ns += MOST_OVERHEAD * (2.0 if room < 1.0 else 1.0) * allowed_ns
        looks_on = self._looks_on
        urgent = keeper.overload_begins and not looks_on
        if urgent or self.saved_ns >= self.learning_ns + self.choosing_ns or self._has_head_start():
            self._learn()
            took_ns = self.clock.now_ns() - closed
            self.saved_ns -= took_ns
            # Now and then classes are learnt, too: that isn't what the next lesson will take.
            self.learning_ns = min(took_ns, 2 * self.learning_ns) if self.learning_ns else took_ns
            urgent = True  # what was learnt is to be used
        if keeper.has_bounds and not looks_on and (urgent or self.saved_ns >= self.choosing_ns):
            chosen = self.clock.now_ns()
            keeper.choose(self._memory(), self._batch_ns())
            self.choosing_ns = self.clock.now_ns() - chosen
            self.saved_ns -= self.choosing_ns
        self.saved_ns = max(self.saved_ns, -MOST_DEBT_NS)
        keeper.next_chunk(self._chunk_rows())
        self.tally.deciding_ns += self.clock.now_ns() - began

    def _has_head_start(self) -> bool:
        """Beyond its share of the time, learning may go on whenever a quarter more has been seen than before."""
        assert self.keeper.accounts is not None
        may_spend = HEAD_START_NS + MOST_OVERHEAD * self.tally.matching_ns
        is_early = self.tally.deciding_ns + self.learning_ns < may_spend
        return is_early and HEAD_STARTS * self.keeper.accounts.rows >= self.keeper.rows_seen

    @property
    def _looks_on(self) -> bool:
        """Whether it is too early to drop anything. By a clock on which deciding costs nothing it is only where a share
        is to be kept: first it must be known of what."""
        keeper, bounds = self.keeper, self.keeper.bounds
        is_early = keeper.rows_seen < LESSON_WINDOWS * keeper.window_rows and self.tally.matching_ns < LESSON_NS
        may_wait = self.closing_ns > 0 or bounds.selection_ratio is not None
        return is_early and may_wait and bounds.memory_bytes is None and keeper.orders is None

    def _chunk_rows(self) -> int:
        """A part of the window; longer where chunks themselves would take more than their share of the time."""
        rows = self.keeper.window_rows / CHUNKS_A_WINDOW
        if self.closing_ns:
            pace_ns = self.pace_ns if self.keeper.orders is None else min(self.pace_ns, self.keeper.least_bound)
            afforded = (self.closing_ns + self.call_ns) / MOST_FOR_CHUNKS / pace_ns
            early = max(self.keeper.rows_seen / GROWTH, self.call_ns / MOST_FOR_CALLS / pace_ns)
            rows = max(rows, min(afforded, early))
        return int(min(max(rows, SHORTEST), LONGEST))

    def _memory(self) -> float:
        store = self.run.store
        each = sum(array.nbytes for array in store) / store.room
        return float(store.counts[USED] - store.counts[SPARE]) * each

    def _batch_ns(self) -> float:
        """What an event of those still to come may take."""
        budget = self.keeper.bounds.batch_budget_ns
        if budget is None or self.at >= self.end:
            return np.inf
        return max(budget - self.tally.matching_ns - self.tally.deciding_ns, 1) / (self.end - self.at)

    # --- the report ---

    def _learn(self) -> None:
        keeper, tally, ledger = self.keeper, self.tally, self.run.ledger
        assert keeper.accounts is not None
        rows, counted = keeper.accounts.rows, keeper.accounts.counted(ledger)
        lost = keeper.learn(self.run)
        dropped, found = counted.dropped.sum(axis=0), counted.completed.sum(axis=0)
        tally.dropped = tally.dropped + dropped
        tally.found = tally.found + found
        tally.add_lost(lost)
        tally.period_end = keeper.rows_seen
        tally.period_rows += rows
        tally.period_counts[0] = tally.period_counts[0] + dropped
        tally.period_counts[2] = tally.period_counts[2] + found
        if tally.period_rows >= keeper.window_rows:
            self._close_period()

    def _close_period(self) -> None:
        tally = self.tally
        dropped, lost, found = (tuple(counts.tolist()) for counts in tally.period_counts)
        period = Period(
            tally.period_end - tally.period_rows,
            tally.period_rows,
            tuple(map(int, dropped)),
            lost,
            tuple(map(int, found)),
        )
        tally.periods = with_period(tally.periods, period)
        tally.period_rows, tally.period_counts = 0, [np.zeros_like(counts) for counts in tally.period_counts]

    def report(self, matches: tuple[int, ...]) -> Report:
        if self.tally.period_rows:
            self._close_period()
        keeper, tally = self.keeper, self.tally
        quantiles = np.array([keeper.meter.quantile_ns(share) for share in (0.5, 0.95, 0.99)])
        rows = [self._of_pattern(at, count, quantiles[:, at].tolist()) for at, count in enumerate(matches)]
        return Report(tuple(rows), tally.periods, keeper.policy.name, not keeper.policy.input_part)

    def _of_pattern(self, at: int, matches: int, quantiles: list[float]) -> PatternReport:
        keeper, tally, meter = self.keeper, self.tally, self.keeper.meter
        bound, asked = float(meter.bound_ns[at]), keeper.bounds.latency[at]
        lost, found = float(tally.lost[at]), float(tally.found[at])
        estimated = not keeper.policy.input_part  # nobody knows what events that were never looked at would have given
        p50, p95, p99 = quantiles if meter.events else (None, None, None)
        return PatternReport(
            query=keeper.shape.names[at],
            events=self.end - self.events.first_new,
            matches=matches,
            dropped=int(tally.dropped[at]),
            lost_estimate=lost * (matches / found if found else 1.0) if estimated else None,
            recall_estimate=recall(found, lost) if estimated else None,
            bound_ns=bound if np.isfinite(bound) else None,
            calibrated_events=keeper.calibration.events if asked is not None and asked.ratio else None,
            latency_p50_ns=p50,
            latency_p95_ns=p95,
            latency_p99_ns=p99,
            within_bound=float(meter.within[at] / meter.bounded[at]) if meter.bounded[at] else 1.0,
            overhead=tally.deciding_ns / tally.matching_ns if tally.matching_ns else 0.0,
        )


def _work(ledger: Ledger) -> tuple[int, int, int]:
    """Visits, checks and births so far."""
    born = int(ledger.created.sum()) + int(ledger.refused.sum())
    return int(ledger.visits.sum()), int(ledger.checks.sum()), born
