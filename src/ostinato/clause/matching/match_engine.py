"""Sorted rows and conditions -> matches: picks the kernel that the plan names and runs it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import Nfa
from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.nfa_tables import NfaTables, automaton_tables
from ostinato.clause.matching.reachability import Reachable, reachable_states
from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.matching.search import search_plain
from ostinato.clause.matching.search_driver import run_search
from ostinato.clause.matching.search_failures import condition_failure, failure_of
from ostinato.clause.matching.shifts import after_last, starting_rows, without_overlap
from ostinato.clause.matching.soonest_ends import NOT_COUNTED, soonest_ends
from ostinato.clause.matching.spans import Spans, keys_of
from ostinato.clause.matching.symbols import ALWAYS, symbols_of
from ostinato.clause.query.clause import MatchMode, Skip, SkipKind
from ostinato.errors import MatchError
from ostinato.expressions.run_conditions.run_registers import ConditionArrays
from ostinato.rows.batches import Mask
from ostinato.rows.matches import Matches, chosen

_MODES = {
    MatchMode.PREFERRED: s.PREFERRED,
    MatchMode.ALL: s.ALL,
    MatchMode.INCREMENTAL: s.INCREMENTAL,
    MatchMode.MAXIMAL: s.MAXIMAL,
}
_SKIPS = {
    SkipKind.PAST_LAST_ROW: s.PAST_LAST_ROW,
    SkipKind.TO_NEXT_ROW: s.TO_NEXT_ROW,
    SkipKind.TO_FIRST: s.TO_FIRST,
    SkipKind.TO_LAST: s.TO_LAST,
}


@dataclass(frozen=True)
class Task:
    """The pattern to search for, and how. Holds no rows."""

    nfa: Nfa
    variables: tuple[str, ...]
    mode: MatchMode
    skip: Skip
    skip_rows: frozenset[str]
    """The variables of the SKIP TO target."""
    max_length: int | None
    within_us: int | None
    show_timeouts: bool
    max_partial_matches: int
    needs_path: bool
    in_frame: bool = False
    """Whether a start is the first row of a frame: rows before it can't be read, nor rows behind `max_length`."""
    max_in_all: int | None = None
    """The partial matches that one search may try, whatever number of keys it has; None: no limit."""
    within_months: int | None = None
    """WITHIN in calendar months. `within_us` is longer than any of them, and no match is longer than either."""

    @functools.cached_property
    def automaton(self) -> NfaTables:
        """The arrays that kernels read; made once, however many batches there are."""
        return automaton_tables(self.nfa, self.variables)

    @functools.cached_property
    def excluded(self) -> NDArray[np.bool_]:
        """For each state, whether its rows are excluded from the output: `{- ... -}`."""
        return np.array([state.excluded for state in self.nfa.states], np.bool_)


class RowTimes(NamedTuple):
    """The times that WITHIN compares. The arrays are empty if no WITHIN needs them."""

    us: NDArray[np.int64]
    reach_us: NDArray[np.int64] = np.empty(0, np.int64)
    """With calendar months: for each row as a start, how far later the last row may be."""


@dataclass(frozen=True, slots=True)
class SortedRows:
    """The rows in order, those of key k at `key_at[k]:key_at[k + 1]`; `times` only where WITHIN needs them."""

    key_at: NDArray[np.int64]
    times: RowTimes
    spans: Spans


class SearchResult(NamedTuple):
    """The matches, and where the search of each key ended: at `stop`, or at a start that later rows decide."""

    matches: Matches
    next_start: NDArray[np.int64]
    number: NDArray[np.int64]
    """The number of the key's last match."""
    ahead: NDArray[np.int64]
    """The distance from each match's start to the row where the search went on; not for INCREMENTAL MATCHES."""


def match_by_shifts(task: Task, rows: SortedRows, masks: Sequence[Mask | None]) -> SearchResult:
    """Matches of a pattern of fixed length; `masks[i]` is the condition of its i-th row."""
    length, spans = len(masks), rows.spans
    if task.max_length is not None and length > task.max_length:
        return _searched(rows, np.empty(0, np.int64), length, task, spans.stop, 1)
    reach = rows.times.reach_us
    within = reach if len(reach) else -1 if task.within_us is None else task.within_us
    starts = starting_rows(masks, rows.key_at, rows.times.us, within, spans)
    ahead = _ahead_of_fixed(task, starts) if len(starts) else 1
    if ahead > 1 and not spans.every_start:
        starts = starts[without_overlap(starts, ahead)]
    return _searched(
        rows, starts, length, task, after_last(starts, length, 1 if spans.every_start else ahead, spans), ahead
    )


def _searched(
    rows: SortedRows, starts: NDArray[np.int64], length: int, task: Task, next_start: NDArray[np.int64], ahead: int
) -> SearchResult:
    lengths = np.full(len(starts), length, np.int64)
    path = np.tile(np.arange(length, dtype=np.int32), len(starts)) if task.needs_path else None
    matches = _matches(rows, starts, lengths, None, path, task)
    number = rows.spans.number + _per_key(matches, rows.key_at)
    return SearchResult(matches, next_start, number, np.full(len(starts), ahead, np.int64))


def _ahead_of_fixed(task: Task, starts: NDArray[np.int64]) -> int:
    """The distance from a match's start to the row where the search goes on; the same for all matches."""
    if task.mode is not MatchMode.PREFERRED or task.skip.kind is SkipKind.TO_NEXT_ROW:
        return 1
    if task.skip.kind is SkipKind.PAST_LAST_ROW:
        return len(task.nfa.states)
    targets = [i for i, state in enumerate(task.nfa.states) if state.variable in task.skip_rows]
    target = targets[0 if task.skip.kind is SkipKind.TO_FIRST else -1]
    if target == 0:
        raise failure_of(task, s.SKIP_TO_FIRST_ROW, int(starts[0]))
    return target


@dataclass(frozen=True, slots=True)
class RunConditions:
    """Conditions over the run, and the search that can test them."""

    search: Callable[..., int]
    conditions: ConditionArrays | tuple[()] = ()
    """The argument of `update` and `check`; empty where they need none."""
    register_counts: tuple[int, int] = (0, 0)
    """The number of row registers, and of accumulators."""
    failures: RowFailures | None = None
    """Takes the rows at which a condition fails; None if that ends the search."""


def match_by_search(
    task: Task,
    rows: SortedRows,
    masks: Sequence[Mask],
    mask_of_state: Sequence[int],
    run_conditions: RunConditions | None,
) -> SearchResult:
    """Matches of any pattern. `mask_of_state` has indexes of masks, or ALWAYS."""
    spans = rows.spans
    check_longest(task, rows.key_at)
    symbols = symbols_of(masks, mask_of_state, int(rows.key_at[-1]))
    if task.show_timeouts:  # a run may time out before the rows that it needs to complete
        reachable = Reachable(symbols.of_row, symbols.allowed)
    else:
        reachable = reachable_states(
            task.automaton, symbols.of_row, symbols.allowed, spans.start, spans.end, spans.is_open
        )
    rules = rules_of(task, spans, reads_run=run_conditions is not None)
    starts = s.SpanStarts(spans.start.copy(), spans.stop, spans.number.copy(), np.full(len(spans.start), -1, np.int64))
    search_rows = s.SearchRows(
        rows.key_at[:-1],
        rows.key_at[1:],
        spans.end,
        spans.is_open,
        spans.known_until,
        reachable.set_of_row,
        reachable.sets,
        rows.times.us,
        int(spans.start.min(initial=rows.key_at[-1])),
        rows.times.reach_us,
        _soonest(task, rows, reachable, run_conditions),
    )
    stored = search_spans(task, rules, search_rows, starts, run_conditions)
    path = stored.path if rules.keep_path else None
    matches = _matches(rows, stored.start, stored.length, stored.number, path, task)
    if spans.reported_until is None:
        return SearchResult(matches, starts.row, starts.number, stored.ahead)
    next_start = np.where(starts.open_from >= 0, starts.open_from, starts.row)
    return SearchResult(matches, next_start, spans.number + _per_key(matches, rows.key_at), stored.ahead)


def _soonest(
    task: Task, rows: SortedRows, reachable: Reachable, run_conditions: RunConditions | None
) -> NDArray[np.int16]:
    """The soonest ends of matches, where only WITHIN or MAXLENGTH can end a partial match and all rows are here."""
    spans = rows.spans
    is_bounded = task.max_length is not None or task.within_us is not None
    notes_failures = run_conditions is not None and run_conditions.failures is not None  # every failure is told
    if not is_bounded or task.show_timeouts or notes_failures or spans.is_open.any():
        return NOT_COUNTED
    return soonest_ends(task.automaton, reachable, spans.start, spans.end)


def search_spans(
    task: Task, rules: s.SearchRules, rows: s.SearchRows, starts: s.SpanStarts, run_conditions: RunConditions | None
) -> s.MatchBuffers:
    """Runs the search over all spans; `starts` is changed in place. Raises the error of a search that fails."""
    run = RunConditions(search_plain) if run_conditions is None else run_conditions
    outcome = run_search(
        run.search,
        task.automaton,
        rules,
        rows,
        starts,
        run.conditions,
        run.register_counts,
        notes_failures=run.failures is not None,
    )
    if outcome.failure:
        raise failure_of(task, outcome.failure, outcome.failed_row)
    if run.failures is not None:
        for at in np.flatnonzero(outcome.failed_at).tolist():
            error = condition_failure(int(outcome.failed_why[at]), "DEFINE")
            run.failures.note_attempt(rows.base + at, int(outcome.failed_at[at]) - 1, error)
    return outcome.matches


def _per_key(matches: Matches, key_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of matches of each key."""
    return np.bincount(keys_of(key_at, matches.start), minlength=len(key_at) - 1)


def check_longest(task: Task, key_at: NDArray[np.int64]) -> None:
    """A very large bound of a quantifier counts as none. Raises PARTITION_TOO_LARGE if a partition could reach it."""
    longest = task.nfa.longest_partition
    if longest is not None and np.diff(key_at).max(initial=0) >= longest:
        raise MatchError(
            "PARTITION_TOO_LARGE", f"a quantifier up to {longest:,} needs partitions with fewer rows than that"
        )


def rules_of(task: Task, spans: Spans, *, reads_run: bool) -> s.SearchRules:
    """The rules of the kernel for the task."""
    bounded = task.max_length is not None or task.within_us is not None
    memo = s.NO_MEMO
    if not reads_run and task.mode is not MatchMode.ALL:
        if task.mode is MatchMode.INCREMENTAL and not bounded:
            memo = s.MEMO_FOREVER
        elif bounded or task.mode is not MatchMode.PREFERRED:
            memo = s.MEMO_PER_START
    return s.SearchRules(
        mode=_MODES[task.mode],
        skip=_SKIPS[task.skip.kind],
        skip_labels=np.array([name in task.skip_rows for name in task.variables], np.bool_),
        max_length=s.NO_BOUND if task.max_length is None else task.max_length,
        within=s.NO_BOUND if task.within_us is None else task.within_us,
        max_partial_matches=task.max_partial_matches,
        memo=memo,
        keep_path=task.needs_path,
        timeouts=task.show_timeouts,
        at_once=spans.reported_until is not None,
        every_start=spans.every_start,
        in_frame=task.in_frame,
        max_in_all=s.NO_LIMIT if task.max_in_all is None else task.max_in_all,
    )


def _matches(
    rows: SortedRows,
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    number: NDArray[np.int64] | None,
    path: NDArray[np.int32] | None,
    task: Task,
) -> Matches:
    """The matches of a search. Without numbers, they are numbered here; INCREMENTAL MATCHES always are."""
    matches = matches_of(task, rows.key_at, start, length, np.zeros_like(start) if number is None else number, path)
    if task.mode is MatchMode.INCREMENTAL:
        matches = chosen(matches, _by_last_row(rows, matches))
    elif number is not None:
        return matches
    key = keys_of(rows.key_at, matches.start)
    first_of_key = np.searchsorted(key, key, side="left")
    return matches._replace(number=rows.spans.number[key] + np.arange(1, len(key) + 1) - first_of_key)


def _by_last_row(rows: SortedRows, matches: Matches) -> NDArray[np.int64]:
    """The indexes of INCREMENTAL MATCHES by last row, as in a stream; without those that were reported before."""
    end = matches.start + matches.length
    order = np.argsort(end, kind="stable")
    if rows.spans.reported_until is None:
        return order
    is_new = end > rows.spans.reported_until[keys_of(rows.key_at, matches.start)]
    return order[is_new[order]]


def matches_of(
    task: Task,
    key_at: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    number: NDArray[np.int64],
    path: NDArray[np.int32] | None,
) -> Matches:
    """Matches whose states are in `path`, match after match; None where only the range of a match is needed."""
    key = keys_of(key_at, start)
    return Matches(
        start=start,
        length=length,
        number=number,
        path_at=np.zeros(len(start), np.int64) if path is None else np.cumsum(length) - length,
        label=np.empty(0, np.int32) if path is None else task.automaton.label[path],
        excluded=np.empty(0, np.bool_) if path is None else task.excluded[path],
        key_first=key_at[key],
        key_end=key_at[key + 1],
    )


__all__ = [
    "ALWAYS",
    "RunConditions",
    "RowTimes",
    "SearchResult",
    "SortedRows",
    "Task",
    "check_longest",
    "match_by_search",
    "match_by_shifts",
    "matches_of",
    "rules_of",
    "search_spans",
]
