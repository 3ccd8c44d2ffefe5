"""A clause and the rows of one key -> how far each start comes, and why the furthest attempts end.

First the clause is matched as always, so the matches are those of `ost.match`. The other starts are measured. If no
condition reads the run, one pass over the rows does that (`furthest_rows.py`), and is exact. Otherwise the pass gives
bounds, because it takes conditions over the run as true. Every start is then searched, the most promising first
(`run_search.py`).

The reasons are computed for the furthest attempts only: `attempts` starts, the earlier of equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.attempts.attempt import (
    Attempt,
    KeyAttempts,
    NearMiss,
    Outcome,
    Reason,
    Starts,
    label_runs,
)
from ostinato.clause.attempts.attempt_bounds import bounded_ends
from ostinato.clause.attempts.furthest_rows import furthest_ends
from ostinato.clause.attempts.missing_rows import MissingRows
from ostinato.clause.attempts.point_values import KeyRows
from ostinato.clause.attempts.refusals import PathEnd, RefusalReader
from ostinato.clause.attempts.run_checks import default_trials, run_checks
from ostinato.clause.attempts.run_search import Admits, FurthestPaths, furthest_paths
from ostinato.clause.attempts.state_sets import AllowedStates, StateSets, first_choices, members
from ostinato.clause.matching.match_engine import SearchResult
from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.clause import MatchMode, MatchRecognize
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import QueryError
from ostinato.expressions.syntax import MatchNumber, walk

TRIALS_OF_ALL = 30
"""All starts together may try so many times the trials of one."""
_ROWS_LOOKED_BACK = 100
"""The rows of an attempt among which its near miss is looked for."""
_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class AttemptOptions:
    """The limits of one call, and the wording of its texts."""

    max_attempts: int
    max_trials: int | None = None
    """The partial matches tried from one start; None: `default_trials`."""
    wording: Callable[[str], str] | None = None
    """Changes the text of conditions, for a clause that no user wrote. None: they are shown as written."""


def attempted_clause(clause: MatchRecognize) -> MatchRecognize:
    """The clause without the parts that change only the output of its matches.

    With a match mode, every row is a start. MAXIMAL MATCHES has one match for each start that has any.
    """
    mode = clause.mode if clause.mode is MatchMode.PREFERRED else MatchMode.MAXIMAL
    return replace(clause, mode=mode, show_timeouts=False)


def check_attempted(bound: BoundClause, shows_timeouts: bool) -> None:
    """Raises WHY_NOT_UNSUPPORTED if partial matches that timed out count in MATCH_NUMBER() of a condition."""
    conditions = bound.conditions.values()
    if shows_timeouts and any(isinstance(node, MatchNumber) for each in conditions for node in walk(each)):
        raise QueryError(
            "WHY_NOT_UNSUPPORTED",
            "why_not doesn't support MATCH_NUMBER() in DEFINE together with SHOW TIMEOUT MATCHES",
            hint="leave out SHOW TIMEOUT MATCHES",
        )


@dataclass(frozen=True, slots=True)
class OrderedKey:
    """The order of the rows of the key, and its attempts."""

    order: NDArray[np.int64]
    """The row of the input at each position."""
    attempts: KeyAttempts


def key_attempts(
    plan: EvaluatedPlan, columns: dict[str, pa.Array], count: int, starts: Sequence[int] | None, options: AttemptOptions
) -> OrderedKey:
    """The attempts of one key, which has these rows. `starts` are positions in its order; None: all."""
    worker = Worker(plan.typed)
    batch = plan.batch_or_located_error(columns, count)
    ordered = worker.order(batch)
    order = np.arange(count) if ordered.rows is None else ordered.rows
    wanted = np.arange(count) if starts is None else np.unique(np.array(starts, np.int64))
    if not count:
        return OrderedKey(
            order, KeyAttempts(Starts(wanted, (), wanted, wanted, wanted, wanted.astype(np.bool_)), (), None)
        )
    in_order = {name: array.take(pa.array(order)) for name, array in columns.items()}
    rows = KeyRows(worker.bound, in_order, count, plan.settings, options.wording)
    return OrderedKey(order, _Key(worker, worker.window(batch, ordered), rows).attempts(wanted, options))


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The rows that each wanted start consumes and can consume at most, whether all was tried, and the trials."""

    rows: NDArray[np.int64]
    most_rows: NDArray[np.int64]
    complete: NDArray[np.bool_]
    trials: NDArray[np.int64]


class _Key:
    """The rows of one key, matched once."""

    def __init__(self, worker: Worker, window: Window, rows: KeyRows) -> None:
        self.worker = worker
        self.nfa = worker.plan.nfa
        result = worker.search(window, whole_keys(window.columns.ordered.key_at))
        self.number, self.covering, self.length = _matched(result, rows.count)
        self.number_before = np.concatenate([[0], np.maximum.accumulate(self.number)[:-1]])
        self.allowed = AllowedStates(worker.symbols(window))
        self.sets = StateSets(self.nfa, self.allowed)
        self.missing = MissingRows(self.nfa)
        times = worker.times(window)
        self.ends = bounded_ends(worker.task, times, rows.count)
        self.furthest = np.minimum(furthest_ends(self.nfa, self.allowed), self.ends)
        self.admits: Admits | None = run_checks(worker, window, rows)
        self.reader = RefusalReader(worker.task, self.nfa, rows, times)

    def attempts(self, wanted: NDArray[np.int64], options: AttemptOptions) -> KeyAttempts:
        outcome = [self._outcome(start) for start in wanted.tolist()]
        is_refused = np.array([each is Outcome.REFUSED for each in outcome], np.bool_)
        refused = wanted[is_refused]
        max_trials = default_trials(self.worker) if options.max_trials is None else options.max_trials
        measured = self._lengths(refused, max_trials)
        rows = np.where(self.length[wanted] >= 0, self.length[wanted], 0)
        rows[is_refused] = measured.rows
        most_rows = rows.copy()
        most_rows[is_refused] = np.where(measured.complete, measured.rows, measured.most_rows)
        complete = np.ones(len(wanted), np.bool_)
        complete[is_refused] = measured.complete
        match = np.where(self.number[wanted] > 0, self.number[wanted], self.covering[wanted])
        best = np.lexsort((refused, -measured.rows))[: options.max_attempts]
        shown = tuple(
            self._attempt(
                int(refused[at]), int(measured.rows[at]), int(measured.trials[at]), bool(measured.complete[at])
            )
            for at in best
        )
        trials = None if self.admits is None else int(measured.trials.sum())
        return KeyAttempts(Starts(wanted, tuple(outcome), rows, match, most_rows, complete), shown, trials)

    def _outcome(self, start: int) -> Outcome:
        if self.length[start] >= 0:
            return Outcome.MATCHED
        return Outcome.INSIDE if self.covering[start] else Outcome.REFUSED

    # --- how far ---

    def _lengths(self, refused: NDArray[np.int64], max_trials: int) -> _Lengths:
        bounds = self.furthest[refused] - refused
        nothing = np.zeros(len(refused), np.int64)
        if self.admits is None:
            return _Lengths(bounds, bounds, np.ones(len(refused), np.bool_), nothing)
        rows, trials, complete = nothing.copy(), nothing.copy(), bounds == 0
        left = TRIALS_OF_ALL * max_trials
        for at in np.lexsort((refused, -bounds)).tolist():
            if not left or not bounds[at]:
                break
            paths = self._paths(int(refused[at]), min(max_trials, left))
            rows[at], trials[at], complete[at] = paths.rows, paths.trials, paths.complete
            left -= paths.trials
        return _Lengths(rows, bounds, complete, trials)

    def _paths(self, start: int, max_trials: int) -> FurthestPaths:
        assert self.admits is not None
        end, number = int(self.ends[start]), self._next_number(start)
        return furthest_paths(self.nfa, self.allowed, self.admits, start, end, number, max_trials)

    def _next_number(self, start: int) -> int:
        """The number that a match at this start would have."""
        return int(self.number_before[start]) + 1

    # --- why no further ---

    def _attempt(self, start: int, rows: int, trials: int, complete: bool) -> Attempt:
        ends = self._path_ends(start, rows, trials)
        missing = [self.missing.after(end.choices) for end in ends]
        nearest = sorted(range(len(ends)), key=lambda at: _NEVER if (least := missing[at]) is None else least)
        ends = [ends[at] for at in nearest]
        refusals = tuple(self.reader.refusals(start, rows, ends, self._next_number(start)))
        by_condition = any(refusal.reason is Reason.CONDITION for refusal in refusals)
        near_miss = None if by_condition else self._near_miss(start, ends[0])
        return Attempt(
            start, rows, label_runs(ends[0].labels), missing[nearest[0]], refusals, near_miss, complete=complete
        )

    def _path_ends(self, start: int, rows: int, trials: int) -> list[PathEnd]:
        """The ends of the paths with so many rows. Those of several states share a path if it decides no condition."""
        if not rows:
            return [PathEnd((), (), first_choices(self.nfa, start))]
        if self.admits is not None:
            return [self._path_end(path, state) for state, path in self._paths(start, trials).last.items()]
        levels = self.sets.levels(start, rows)
        states = list(members(levels[-1]))
        missing = {state: self.missing.after(self.nfa.states[state].choices) for state in states}
        least = min((value for value in missing.values() if value is not None), default=None)
        nearest = sum(1 << state for state in states if missing[state] == least)
        path = self.sets.path(start, levels, nearest)
        return [self._path_end(path, state) for state in states]

    def _path_end(self, path: NDArray[np.int32], last: int) -> PathEnd:
        states = tuple(path.tolist())
        labels = tuple(self.nfa.states[state].variable for state in states)
        return PathEnd(states, labels, self.nfa.states[last].choices)

    def _near_miss(self, start: int, end: PathEnd) -> NearMiss | None:
        least = self.missing.after(end.choices)
        number = self._next_number(start)
        for at in range(len(end.states) - 1, max(-1, len(end.states) - 1 - _ROWS_LOOKED_BACK), -1):
            choices = self.nfa.states[end.states[at - 1]].choices if at else first_choices(self.nfa, start)
            nearer = dict.fromkeys(self.nfa.states[choice].variable for choice in self._nearer(choices, least))
            tried = [self.reader.condition(start, end.labels[:at], variable, number) for variable in nearer]
            refused = tuple(refusal for refusal in tried if refusal.parts)
            if refused:
                return NearMiss(start + at, refused)
        return None

    def _nearer(self, choices: Sequence[int], least: int | None) -> Iterator[int]:
        """The choices after which a match needs fewer rows than `least`."""
        for choice in choices:
            missing = self.missing.after(self.nfa.states[choice].choices) if choice >= 0 else None
            if missing is not None and (least is None or missing < least):
                yield choice


def _matched(result: SearchResult, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each row: the number of the match that starts there, or 0; the number of the match that leaves the row out,
    or 0; the length of the match that starts there, or -1."""
    number, covering = np.zeros(count, np.int64), np.zeros(count, np.int64)
    length = np.full(count, -1, np.int64)
    matches = result.matches
    number[matches.start], length[matches.start] = matches.number, matches.length
    for start, ahead, each in zip(matches.start.tolist(), result.ahead.tolist(), matches.number.tolist(), strict=True):
        covering[start + 1 : start + ahead] = each
    return number, covering, length
