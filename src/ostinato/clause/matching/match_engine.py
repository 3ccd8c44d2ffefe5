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
from ostinato.clause.matching.nfa_tables import Automaton, automaton_tables
from ostinato.clause.matching.reachability import Reachable, reachable_states
from ostinato.clause.matching.search import search_plain
from ostinato.clause.matching.search_driver import run_search
from ostinato.clause.matching.search_failures import failure_of
from ostinato.clause.matching.shifts import after_last, starting_rows, without_overlap
from ostinato.clause.matching.spans import Spans
from ostinato.clause.matching.symbols import ALWAYS, symbols_of
from ostinato.clause.query.clause import MatchMode, Skip, SkipKind
from ostinato.errors import MatchError
from ostinato.expressions.run_conditions.run_registers import Conditions
from ostinato.rows.batches import Mask
from ostinato.rows.matches import Matches, ranges

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

    @functools.cached_property
    def automaton(self) -> Automaton:
        """The arrays that kernels read; made once, however many batches there are."""
        return automaton_tables(self.nfa, self.variables)


@dataclass(frozen=True, slots=True)
class SortedRows:
    """The rows at hand in order, of key k `key_at[k]:key_at[k + 1]`; `time_us` only where WITHIN needs it."""

    key_at: NDArray[np.int64]
    time_us: NDArray[np.int64]
    spans: Spans


class Searched(NamedTuple):
    """The matches, and where the search of each key ended: at `stop`, or at a start that later rows decide."""

    matches: Matches
    next_start: NDArray[np.int64]
    number: NDArray[np.int64]
    """How many matches of the key are numbered now."""
    ahead: NDArray[np.int64]
    """How far from its start the search went on after each match; not for INCREMENTAL MATCHES."""


def match_by_shifts(task: Task, rows: SortedRows, masks: Sequence[Mask | None]) -> Searched:
    """Matches of a pattern of fixed length; `masks[i]` is the condition of its i-th row."""
    length, spans = len(masks), rows.spans
    if task.max_length is not None and length > task.max_length:
        return _searched(rows, np.empty(0, np.int64), length, task, spans.stop, 1)
    within = -1 if task.within_us is None else task.within_us
    starts = starting_rows(masks, rows.key_at, rows.time_us, within, spans)
    labels = np.array([task.variables.index(state.variable) for state in task.nfa.states], np.int32)
    ahead = _ahead_of_fixed(task, labels, starts) if len(starts) else 1
    if ahead > 1 and not spans.every_start:
        starts = starts[without_overlap(starts, ahead)]
    return _searched(
        rows, starts, length, task, after_last(starts, length, 1 if spans.every_start else ahead, spans), ahead
    )


def _searched(
    rows: SortedRows, starts: NDArray[np.int64], length: int, task: Task, next_start: NDArray[np.int64], ahead: int
) -> Searched:
    lengths = np.full(len(starts), length, np.int64)
    path = np.tile(np.arange(length, dtype=np.int32), len(starts)) if task.needs_path else None
    matches = _matches(rows, starts, lengths, None, path, task)
    number = rows.spans.number + _per_key(matches, rows.key_at)
    return Searched(matches, next_start, number, np.full(len(starts), ahead, np.int64))


def _ahead_of_fixed(task: Task, labels: NDArray[np.int32], starts: NDArray[np.int64]) -> int:
    """How far the search goes on after each match; the same after all."""
    if task.mode is not MatchMode.PREFERRED or task.skip.kind is SkipKind.TO_NEXT_ROW:
        return 1
    if task.skip.kind is SkipKind.PAST_LAST_ROW:
        return len(labels)
    targets = [i for i, label in enumerate(labels) if task.variables[label] in task.skip_rows]
    target = targets[0 if task.skip.kind is SkipKind.TO_FIRST else -1]
    if target == 0:
        raise failure_of(task, s.SKIP_TO_FIRST_ROW, int(starts[0]))
    return target


@dataclass(frozen=True, slots=True)
class OverRun:
    """Conditions that read the run, and the search that knows how to test them."""

    search: Callable[..., int]
    conditions: Conditions | tuple[()] = ()
    """The argument of `update` and `check`; empty where they need none."""
    register_counts: tuple[int, int] = (0, 0)
    """How many row registers and how many accumulators there are."""


def match_by_search(
    task: Task,
    rows: SortedRows,
    masks: Sequence[Mask],
    mask_of_state: Sequence[int],
    over_run: OverRun | None = None,
) -> Searched:
    """Matches of any pattern. `mask_of_state` names a mask or ALWAYS; `over_run`: conditions that read the run."""
    automaton = task.automaton
    spans = rows.spans
    check_longest(task, rows.key_at)
    symbols = symbols_of(masks, mask_of_state, int(rows.key_at[-1]))
    if task.show_timeouts:  # a run may time out before the rows come that it would need
        reachable = Reachable(symbols.of_row, symbols.allowed)
    else:
        reachable = reachable_states(automaton, symbols.of_row, symbols.allowed, spans.start, spans.end, spans.is_open)
    rules = rules_of(task, spans, reads_run=over_run is not None)
    starts = s.SpanStarts(spans.start.copy(), spans.stop, spans.number.copy(), np.full(len(spans.start), -1, np.int64))
    outcome = run_search(
        search_plain if over_run is None else over_run.search,
        automaton,
        rules,
        s.SearchRows(
            rows.key_at[:-1],
            rows.key_at[1:],
            spans.end,
            spans.is_open,
            spans.known_until,
            reachable.set_of_row,
            reachable.sets,
            rows.time_us,
            int(spans.start.min(initial=rows.key_at[-1])),
        ),
        starts,
        () if over_run is None else over_run.conditions,
        (0, 0) if over_run is None else over_run.register_counts,
    )
    if outcome.failure:
        raise failure_of(task, outcome.failure, outcome.failed_row)
    stored = outcome.matches
    path = stored.path if rules.keep_path else None
    matches = _matches(rows, stored.start, stored.length, stored.number, path, task)
    if spans.given is None:
        return Searched(matches, starts.row, starts.number, stored.ahead)
    next_start = np.where(starts.open_from >= 0, starts.open_from, starts.row)
    return Searched(matches, next_start, spans.number + _per_key(matches, rows.key_at), stored.ahead)


def _per_key(matches: Matches, key_at: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many matches each key has."""
    return np.bincount(np.searchsorted(key_at, matches.start, side="right") - 1, minlength=len(key_at) - 1)


def check_longest(task: Task, key_at: NDArray[np.int64]) -> None:
    """Raises PARTITION_TOO_LARGE where a quantifier's huge bound, taken as none, could matter."""
    longest = task.nfa.longest_partition
    if longest is not None and np.diff(key_at).max(initial=0) >= longest:
        raise MatchError(
            "PARTITION_TOO_LARGE", f"a quantifier up to {longest:,} needs partitions with fewer rows than that"
        )


def rules_of(task: Task, spans: Spans, *, reads_run: bool) -> s.SearchRules:
    """How the kernel has to search for the task."""
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
        at_once=spans.given is not None,
        every_start=spans.every_start,
    )


def _matches(
    rows: SortedRows,
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    number: NDArray[np.int64] | None,
    path: NDArray[np.int32] | None,
    task: Task,
) -> Matches:
    if task.mode is MatchMode.INCREMENTAL:
        start, length, path, number = _by_last_row(start, length, path)
        if rows.spans.given is not None:
            start, length, path = _not_given(rows, start, length, path)
    key = np.searchsorted(rows.key_at, start, side="right") - 1
    if number is None:
        first_of_key = np.searchsorted(key, key, side="left")
        number = rows.spans.number[key] + np.arange(len(start), dtype=np.int64) - first_of_key + 1
    label_of_state = np.array([task.variables.index(state.variable) for state in task.nfa.states], np.int32)
    excluded_state = np.array([state.excluded for state in task.nfa.states], np.bool_)
    if path is None:
        path_at = np.zeros(len(start), np.int64)
        label, excluded = np.empty(0, np.int32), np.empty(0, np.bool_)
    else:
        path_at = np.cumsum(length) - length
        label, excluded = label_of_state[path], excluded_state[path]
    return Matches(start, length, number, path_at, label, excluded, rows.key_at[key], rows.key_at[key + 1])


def _by_last_row(
    start: NDArray[np.int64], length: NDArray[np.int64], path: NDArray[np.int32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32] | None, None]:
    """INCREMENTAL MATCHES in the order of their last rows, as a stream meets them; numbered anew by the caller."""
    order = np.argsort(start + length, kind="stable")
    if path is not None:
        at = np.cumsum(length) - length
        path = path[ranges(at[order], length[order])]
    return start[order], length[order], path, None


def _not_given(
    rows: SortedRows, start: NDArray[np.int64], length: NDArray[np.int64], path: NDArray[np.int32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32] | None]:
    """Without the matches that a stream has given before."""
    assert rows.spans.given is not None
    key = np.searchsorted(rows.key_at, start, side="right") - 1
    new = start + length > rows.spans.given[key]
    if path is not None:
        path = path[np.repeat(new, length)]
    return start[new], length[new], path


__all__ = [
    "ALWAYS",
    "OverRun",
    "Searched",
    "SortedRows",
    "Task",
    "check_longest",
    "match_by_search",
    "match_by_shifts",
    "rules_of",
]
