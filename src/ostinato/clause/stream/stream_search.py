"""The laid-out rows of some keys -> what is found in them, and what of them rows to come may still need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.matching.match_engine import Searched
from ostinato.clause.matching.nfa_tables import BITS
from ostinato.clause.matching.spans import Spans
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.query.clause import MatchMode, Output
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.expressions.syntax import MatchNumber, walk
from ostinato.rows.batches import OutputRows
from ostinato.rows.matches import ranges
from ostinato.streams.bucket_state import Keys, Rows

NO_RESULTS = OutputRows(0, {})


@dataclass(frozen=True, slots=True)
class Needs:
    """What rows must be kept or waited for because of what the plan reads."""

    before: int
    """How many rows before the next start stay at hand."""
    after: int
    """How many rows must have come behind a row before it may be in a match."""


def needs_of(plan: MatchPlan) -> Needs:
    margins, nfa = margins_of(plan), plan.nfa
    reads_number = any(
        isinstance(node, MatchNumber) for expr in (*plan.run_conditions, *plan.slots) for node in walk(expr)
    )
    # A key is remembered by its rows: one must stay where it matters that there were some.
    must_stay = reads_number or nfa.at_start != nfa.elsewhere
    # Whether `A $` ends at a row is known when another one follows; until then INCREMENTAL MATCHES must not give it.
    ends = any(ACCEPT_AT_END in state.choices for state in nfa.states)
    must_follow = ends and plan.bound.clause.mode is MatchMode.INCREMENTAL
    return Needs(max(margins.before, int(must_stay)), max(margins.after, int(must_follow)))


@dataclass(frozen=True, slots=True)
class Found:
    """What one step gives for the keys it looked at."""

    results: OutputRows
    matches: int
    keys: Keys
    """The keys that are remembered, with the rows that stay at hand."""
    which: NDArray[np.bool_]
    """Which of the keys that were looked at these are."""
    rows: Rows
    """The places of the rows that stay."""


class StreamSearch:
    """Searches keys that may get further rows."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.needs = needs_of(worker.plan)
        self.within_us = worker.task.within_us
        self.at_once = worker.task.mode is MatchMode.INCREMENTAL
        self.shows_unmatched = worker.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED

    def find(self, keys: Keys, window: Window, times: NDArray[np.int64], known_until: int, *, finished: bool) -> Found:
        """`keys` are those of the window, as remembered; `times` those of its rows, needed for WITHIN only."""
        spans, known = self._spans(keys, window, times, known_until, finished)
        searched = self.worker.search(window, spans)
        next_start = searched.next_start
        if self.worker.plan.sequence is not None and not finished:
            next_start = self._first_open(next_start, spans, window, times, known)
        settled = self._settled(keys, window, next_start) if self.shows_unmatched else None
        results = NO_RESULTS
        if len(searched.matches.start) or self.shows_unmatched:
            results = self.worker.output(searched.matches, window, settled)
        return self._remembered(keys, window, spans, searched, next_start, results, finished)

    def _spans(
        self, keys: Keys, window: Window, times: NDArray[np.int64], known_until: int, finished: bool
    ) -> tuple[Spans, Rows]:
        """What is searched, and up to when the rows behind each key's consumable ones are known."""
        key_at = window.columns.ordered.key_at
        first, key_end = key_at[:-1], key_at[1:]
        start = first + keys.start
        end = key_end if finished else np.maximum(key_end - self.needs.after, start)
        known = np.full(len(first), known_until)
        if self.within_us is not None:
            held_back = end < key_end  # rows that are at hand, but not to be consumed yet, are among those that follow
            known[held_back] = np.minimum(known[held_back], times[end[held_back]] - 1)
        spans = Spans(
            start=start,
            stop=key_end,
            end=end,
            is_open=np.full(len(first), not finished, np.uint8),
            number=keys.number,
            known_until=int(known.min(initial=known_until)),
            given=first + keys.given if self.at_once else None,
        )
        return spans, known

    def _first_open(
        self, next_start: Rows, spans: Spans, window: Window, times: NDArray[np.int64], known: Rows
    ) -> Rows:
        """Patterns of fixed length: the first start that can still become a match. The search itself only counts rows;
        here starts go whose rows don't fit so far, or whose WITHIN is over."""
        length = len(self.worker.plan.nfa.states)
        count = np.maximum(spans.end - next_start, 0)
        start, key = ranges(next_start, count), np.repeat(np.arange(len(count)), count)
        if self.within_us is not None:
            in_time = times[start] > known[key] - self.within_us
            start, key = start[in_time], key[in_time]
        symbols = self.worker.symbols(window)
        for place in range(length - 1):
            at = start + place
            is_known = at < spans.end[key]
            if not is_known.any():
                break
            allowed = symbols.allowed[:, place // BITS] >> np.uint64(place % BITS) & np.uint64(1) != 0
            fits = ~is_known | allowed[symbols.of_row[np.where(is_known, at, 0)]]
            start, key = start[fits], key[fits]
        first = np.maximum(spans.end, next_start)
        np.minimum.at(first, key, start)
        return first

    def _settled(self, keys: Keys, window: Window, next_start: Rows) -> NDArray[np.bool_]:
        """Rows that no match to come can cover, and none given before has covered."""
        key_at = window.columns.ordered.key_at
        change = np.zeros(window.columns.count + 1, np.int64)
        begin = np.minimum(key_at[:-1] + np.maximum(keys.start, keys.covered), next_start)
        np.add.at(change, begin, 1)
        np.add.at(change, next_start, -1)
        return np.cumsum(change[:-1]) > 0

    def _remembered(
        self,
        keys: Keys,
        window: Window,
        spans: Spans,
        searched: Searched,
        next_start: Rows,
        results: OutputRows,
        finished: bool,
    ) -> Found:
        key_at = window.columns.ordered.key_at
        first, key_end = key_at[:-1], key_at[1:]
        kept = key_end if finished else np.maximum(first, next_start - self.needs.before)
        which = kept < key_end
        covered = keys.covered
        if self.shows_unmatched:
            covered = first + covered
            np.maximum.at(covered, _key_of(searched, key_at), searched.matches.start + searched.matches.length)
            covered = np.maximum(covered - kept, 0)
        after = Keys(
            rows=key_end - kept,
            start=next_start - kept,
            number=searched.number,
            given=np.maximum(spans.end - kept, 0) if self.at_once else keys.given,
            covered=covered,
        )
        stays = np.arange(window.columns.count) >= np.repeat(kept, np.diff(key_at))
        return Found(results, len(searched.matches.start), after.taken(which), which, np.flatnonzero(stays))


def _key_of(searched: Searched, key_at: Rows) -> Rows:
    return np.searchsorted(key_at, searched.matches.start, side="right") - 1
