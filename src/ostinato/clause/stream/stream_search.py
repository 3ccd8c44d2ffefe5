"""Rows of some keys, laid out -> their output rows, and the rows that later matches may still need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.matching.match_engine import SearchResult
from ostinato.clause.matching.nfa_tables import BITS
from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.matching.spans import Spans, keys_of
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.navigations import references
from ostinato.clause.plan.rows_around import rows_around
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.query.clause import MatchMode, Output, SkipKind
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.clause.task.neighbour_conditions import Edges
from ostinato.errors import MatchError
from ostinato.expressions.syntax import MatchNumber, Navigation, walk
from ostinato.rows.batches import Mask, OutputRows, joined_rows
from ostinato.rows.matches import chosen, ranges
from ostinato.streams.bucket_state import RememberedKeys, Rows

NO_RESULTS = OutputRows(0, {})


class KeptFor(Enum):
    """The reason why a stream keeps keys without an open run: the part of the query that reads their past."""

    PREV = "PREV"
    START = "^"
    NUMBER = "MATCH_NUMBER()"
    IDS = "match_id or run_id"


@dataclass(frozen=True, slots=True)
class Needs:
    """The rows around a match that the plan reads."""

    before: int
    """The number of rows before the next start that stay in the state."""
    numbers: bool
    """Whether the plan reads MATCH_NUMBER(), so that one row of every key with a match stays."""
    held_back: int
    """The number of rows that must follow a row before it may be in a match."""
    after: int
    """The number of rows that must follow a match before it comes out."""
    guesses_next: bool
    """Whether a condition with NEXT counts as true on a row while the row that it reads isn't here."""
    kept_for: KeptFor = KeptFor.NUMBER
    """The reason to keep a key without an open run, if one is kept."""


def needs_of(plan: MatchPlan) -> Needs:
    nfa = plan.nfa
    numbers = any(isinstance(node, MatchNumber) for expr in (*plan.run_conditions, *plan.slots) for node in walk(expr))
    # The state knows a key by its rows: for `^`, one row must stay to show that the key had rows.
    begins = nfa.at_start != nfa.elsewhere
    before = rows_around(plan).before
    kept_for = KeptFor.PREV if before else KeptFor.START if begins else KeptFor.NUMBER
    ahead = next_rows_of(plan)
    return Needs(max(before, int(begins)), numbers, ahead.held_back, ahead.after, ahead.guesses_next, kept_for)


class NextRows(NamedTuple):
    """How a stream waits for the rows that NEXT reads: see `Needs`."""

    held_back: int
    after: int
    guesses_next: bool


def next_rows_of(plan: MatchPlan) -> NextRows:
    """Most plans search rows before the rows that NEXT reads have come, and hold matches back until they have.

    While a row is missing, conditions that read it count as true. The matches are then a superset of the final ones, so
    a start without a match or an open run is decided, and a preferred match that reads no missing row is final. This
    doesn't hold for errors: a run that fails, or a SKIP TO without its row, may not be in the end.
    """
    clause, margins = plan.bound.clause, margins_of(plan)
    # A following row shows that `A $` doesn't end at a row. INCREMENTAL MATCHES must wait for it.
    if clause.mode is MatchMode.INCREMENTAL:
        ends = any(ACCEPT_AT_END in state.choices for state in plan.nfa.states)
        return NextRows(max(margins.after, int(ends)), 0, False)
    reads_next = any(
        isinstance(node, Navigation) and node.shift > 0
        for condition in (*plan.neighbour_conditions, *plan.run_conditions)
        for node in references(condition)
    )
    may_fail = bool(plan.run_conditions) or clause.skip.kind in (SkipKind.TO_FIRST, SkipKind.TO_LAST)
    if reads_next and may_fail:
        return NextRows(margins.after, 0, False)
    return NextRows(0, rows_around(plan).after, reads_next)


@dataclass(frozen=True, slots=True)
class KeyMatches:
    """The results of one step for the keys that it searched."""

    results: OutputRows
    count: int
    """The number of matches."""
    keys: RememberedKeys
    """The keys that stay in the state."""
    rows: Rows
    """The indexes of the rows that stay in the state."""


class StreamSearch:
    """Searches keys that may get further rows."""

    def __init__(self, worker: Worker, *, keeps_last_row: bool = False) -> None:
        self.worker = worker
        self.needs = needs_of(worker.plan)
        if keeps_last_row and not self.needs.before:
            self.needs = replace(self.needs, before=1, kept_for=KeptFor.IDS)
        self.within_us = worker.task.within_us
        self.at_once = worker.task.mode is MatchMode.INCREMENTAL
        self.shows_unmatched = worker.bound.clause.output is Output.ALL_ROWS_WITH_UNMATCHED

    def find(
        self, keys: RememberedKeys, window: Window, times: NDArray[np.int64], known_until: int, ended: Mask
    ) -> KeyMatches:
        """`keys` are the keys of the window as remembered; `times` are the times of its rows, for WITHIN only.

        `ended`: the keys that no row follows.
        """
        window = self.growing(window, ~ended, keys)
        spans, known_by_key = self._spans(keys, window, times, known_until, ended)
        searched = self.worker.search(window, spans)
        if self.worker.plan.sequence is not None and not ended.all():
            next_start = self._first_open(searched.next_start, spans, window, times, known_by_key)
            searched = searched._replace(next_start=next_start)
        if self.needs.after:
            searched = self._without_waiting(searched, spans, window, ended)
        next_start = searched.next_start
        settled = self._settled(keys, window, next_start) if self.shows_unmatched else None
        results = NO_RESULTS
        if len(searched.matches.start) or self.shows_unmatched:
            results = self.worker.output(searched.matches, window, settled)
        if window.failures is not None and (
            errors := self._new_errors(keys, window, window.failures, spans, next_start)
        ):
            failed = self.worker.failed_rows(window.columns.arrays, errors)
            results = joined_rows([results, failed] if results.count else [failed])
        return self._remembered(keys, window, spans, searched, next_start, results, ended)

    def growing(self, window: Window, may_grow: Mask, keys: RememberedKeys | None = None) -> Window:
        """The window in which conditions with NEXT count as true where these keys may still get the row.

        With `keys`, conditions don't fail where they read rows that the state doesn't have. If the rows before a key's
        start are fewer than the plan reads there, none was dropped: these are the first rows of the key.
        """
        edges = None if keys is None else Edges(keys.start >= self.needs.before, may_grow)
        return replace(window, edges=edges, may_grow=may_grow if self.needs.guesses_next else None)

    def _spans(
        self, keys: RememberedKeys, window: Window, times: NDArray[np.int64], known_until: int, ended: Mask
    ) -> tuple[Spans, Rows]:
        """The spans to search, and for each key the time up to which the rows behind its consumable ones are known."""
        key_at = window.columns.ordered.key_at
        first, key_end = key_at[:-1], key_at[1:]
        start = first + keys.start
        end = np.where(ended, key_end, np.maximum(key_end - self.needs.held_back, start))
        known_by_key = np.full(len(first), known_until)
        if self.within_us is not None:
            held_back = end < key_end  # rows that can't be consumed yet count as rows that follow
            known_by_key[held_back] = np.minimum(known_by_key[held_back], times[end[held_back]] - 1)
        spans = Spans(
            start=start,
            stop=key_end,
            end=end,
            is_open=(~ended).astype(np.uint8),
            number=keys.number,
            known_until=int(known_by_key.min(initial=known_until)),
            reported_until=first + keys.reported_until if self.at_once else None,
        )
        return spans, known_by_key

    def _first_open(
        self, next_start: Rows, spans: Spans, window: Window, times: NDArray[np.int64], known_by_key: Rows
    ) -> Rows:
        """Patterns of fixed length: the first start that can still become a match. The search only counts rows; this
        drops starts whose rows don't match so far, or whose WITHIN is over."""
        length = len(self.worker.plan.nfa.states)
        count = np.maximum(spans.end - next_start, 0)
        start, key = ranges(next_start, count), np.repeat(np.arange(len(count)), count)
        if self.within_us is not None:
            in_time = times[start] > known_by_key[key] - self.within_us
            start, key = start[in_time], key[in_time]
        symbols = self.worker.symbols(window)
        for offset in range(length - 1):
            row = start + offset
            has_come = row < spans.end[key]
            if not has_come.any():
                break
            allowed = symbols.allowed[:, offset // BITS] >> np.uint64(offset % BITS) & np.uint64(1) != 0
            fits = ~has_come | allowed[symbols.of_row[np.where(has_come, row, 0)]]
            start, key = start[fits], key[fits]
        first = np.maximum(spans.end, next_start)
        np.minimum.at(first, key, start)
        return first

    def _without_waiting(self, searched: SearchResult, spans: Spans, window: Window, ended: Mask) -> SearchResult:
        """The matches whose following rows are here, up to the first other one of each key: the next start to try."""
        key_at, matches = window.columns.ordered.key_at, searched.matches
        key = keys_of(key_at, matches.start)
        end = matches.start + matches.length
        waits = (matches.length > 0) & (end + self.needs.after > key_at[key + 1]) & ~ended[key]
        if not waits.any():
            return searched
        next_start = searched.next_start.copy()
        np.minimum.at(next_start, key[waits], matches.start[waits])
        is_final = matches.start < next_start[key]
        number = spans.number + np.bincount(key[is_final], minlength=len(next_start))
        return searched._replace(
            matches=chosen(matches, is_final), next_start=next_start, number=number, ahead=searched.ahead[is_final]
        )

    def _new_errors(
        self, keys: RememberedKeys, window: Window, failures: RowFailures, spans: Spans, next_start: Rows
    ) -> dict[int, MatchError]:
        """The rows at which conditions failed, without those that another step reports. Open runs are searched again.

        An attempt is reported in the step that decides its start. INCREMENTAL MATCHES tries all starts in each step.
        """
        key_at, held_back = window.columns.ordered.key_at, self.needs.held_back
        rows = failures.rows
        errors: dict[int, MatchError] = {}
        for row, key in zip(rows, keys_of(key_at, np.array(rows, np.int64)), strict=True):
            known = int(key_at[key] + keys.rows[key])
            if row in failures.neighbours:
                ahead, error = failures.neighbours[row]
                if known - (held_back or ahead) <= row < spans.end[key]:
                    errors[row] = error
            if row in failures.attempts:
                start, error = failures.attempts[row]
                if known - held_back <= row if self.at_once else start < next_start[key]:
                    errors.setdefault(row, error)
        return errors

    def _settled(self, keys: RememberedKeys, window: Window, next_start: Rows) -> NDArray[np.bool_]:
        """Rows that no later match can cover, and no earlier match has covered."""
        key_at = window.columns.ordered.key_at
        change = np.zeros(window.columns.count + 1, np.int64)
        begin = np.minimum(key_at[:-1] + np.maximum(keys.start, keys.covered_until), next_start)
        np.add.at(change, begin, 1)
        np.add.at(change, next_start, -1)
        return np.cumsum(change[:-1]) > 0

    def _remembered(
        self,
        keys: RememberedKeys,
        window: Window,
        spans: Spans,
        searched: SearchResult,
        next_start: Rows,
        results: OutputRows,
        ended: Mask,
    ) -> KeyMatches:
        key_at = window.columns.ordered.key_at
        first, key_end = key_at[:-1], key_at[1:]
        before = np.maximum(self.needs.before, (searched.number > 0) & self.needs.numbers)
        stays_from = np.where(ended, key_end, np.maximum(first, next_start - before))
        covered_until = keys.covered_until
        if self.shows_unmatched:
            matches = searched.matches
            covered_until = first + covered_until
            np.maximum.at(covered_until, keys_of(key_at, matches.start), matches.start + matches.length)
            covered_until = np.maximum(covered_until - stays_from, 0)
        after = RememberedKeys(
            rows=key_end - stays_from,
            start=next_start - stays_from,
            number=searched.number,
            reported_until=np.maximum(spans.end - stays_from, 0) if self.at_once else keys.reported_until,
            covered_until=covered_until,
        )
        stays = np.arange(window.columns.count) >= np.repeat(stays_from, np.diff(key_at))
        return KeyMatches(results, len(searched.matches.start), after.select(after.rows > 0), np.flatnonzero(stays))
