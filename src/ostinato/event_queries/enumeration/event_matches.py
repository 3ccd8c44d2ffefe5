"""Program + Events -> the matches themselves, for RETURN MATCHES. The driver of `event_search.py`.

Matches come in order of sequence, window, time of the first event, time of the last event, and then event by event: the
variable in the order of the automaton's labels, then the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.search_failures import condition_failure
from ostinato.errors import MatchError
from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.enumeration import event_state as s
from ostinato.event_queries.enumeration.checked_search import search_checked_events, tie_checks
from ostinato.event_queries.enumeration.event_absences import EVERYWHERE, find_absences
from ostinato.event_queries.enumeration.event_buffers import EventSearchBuffers
from ostinato.event_queries.enumeration.event_marks import ANY, SCANNED, SELECTIONS, Absences, mark_sequences
from ostinato.event_queries.enumeration.event_scopes import LARGEST_SPAN, Ranges, positions, reaches, row_ranges
from ostinato.event_queries.enumeration.event_search import search_plain_events
from ostinato.event_queries.enumeration.event_tables import (
    NEVER,
    Ints,
    LabelMembers,
    Steps,
    Tests,
    group_ends,
    make_members,
    make_steps,
    make_tests,
)
from ostinato.event_queries.enumeration.match_conditions import MatchConditions
from ostinato.event_queries.enumeration.match_limits import DEFAULT_LIMITS, MatchLimits
from ostinato.event_queries.plan.event_program import BoundKind, Events, Program
from ostinato.expressions.run_conditions.run_columns import Column
from ostinato.kernels.stopping import check_stopped, stop_flag

_NO_ROWS_LIMIT = 1 << 62
MOST_VARIABLES = 256
SMALL_BLOCK = 1 << 16
"""With LIMIT: blocks of up to this many matches, or four times the limit, are completed and then cut."""


@dataclass(frozen=True, slots=True)
class EventMatches:
    """Match m has `rows[offsets[m]:offsets[m + 1]]`, bound to the variables `labels` at the same indexes."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    labels: NDArray[np.uint8]
    scopes: Ranges
    """The scopes of the search: each sequence, or each window of it."""
    match_counts: NDArray[np.int64]
    """The number of matches of each scope. The matches of one scope follow those of the scope before."""

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def sequence(self) -> NDArray[np.int64]:
        """The sequence of each match."""
        return np.repeat(self.scopes.sequence, self.match_counts)

    def window(self) -> NDArray[np.int64]:
        """The start of the window of each match; NO_WINDOW without windows."""
        return np.repeat(self.scopes.window, self.match_counts)


def find_event_matches(
    program: Program,
    events: Events,
    limits: MatchLimits = DEFAULT_LIMITS,
    conditions: MatchConditions | None = None,
    column: Column | None = None,
) -> EventMatches:
    """All matches of the query. `column` gives the values that conditions over several variables read.

    Raises TOO_MANY_MATCHES, TOO_MANY_PARTIAL_MATCHES, RESULT_TOO_LARGE, and the errors of the conditions.
    """
    if len(program.automaton.labels) > MOST_VARIABLES:
        raise MatchError("PATTERN_TOO_LARGE", f"RETURN MATCHES takes patterns of up to {MOST_VARIABLES} variables")
    return _EventSearch(program, events, limits, conditions, column).run()


class _EventSearch:
    """The arrays of one call; `run` drives the kernel over all scopes."""

    def __init__(
        self,
        program: Program,
        events: Events,
        limits: MatchLimits,
        conditions: MatchConditions | None,
        column: Column | None,
    ) -> None:
        self.program, self.events, self.limits = program, events, limits
        automaton, extent = program.automaton, program.extent
        group_end = group_ends(events)
        reach = reaches(events, extent)
        self.steps: Steps = make_steps(automaton, program.edges)
        self.members: LabelMembers = make_members(self.steps, program.qualifies, events, group_end)
        self.tests: Tests = make_tests(program.edges, len(automaton.labels), self.members, events, reach)
        self.absences: Absences = find_absences(program, events, group_end, reach)
        self.position = positions(events, extent)
        self.ends = np.full(self.members.size, NEVER, np.int32)
        self.selection = SELECTIONS[program.selection]
        self.checks: Any = s.NoChecks()
        self.kernel = search_plain_events
        registers = (0, 0)
        if conditions is not None:
            assert column is not None
            self.checks = tie_checks(conditions, automaton, self.steps, len(events.time), column)
            self.kernel = search_checked_events
            registers = (len(conditions.program.registers), len(conditions.program.accumulators))
        self.rules = self._rules()
        self.buffers = EventSearchBuffers(automaton.states, len(self.steps.label), len(automaton.labels), registers)

    def _rules(self) -> s.EventSearchRules:
        steps, extent, limits = self.steps, self.program.extent, self.limits
        start_absences = bool(steps.absent_at[steps.leave_at[START + 1]])
        spans = extent.kind is BoundKind.SPAN
        marks = s.ONCE
        if spans and (start_absences or len(steps.end_absent)):
            marks = s.PER_START
        elif len(steps.end_absent):
            marks = s.PER_SCOPE
        plain = self.selection == ANY and bool(steps.plain[steps.leave_at[START + 1] :].all())
        limit = s.NO_LIMIT if limits.limit is None else limits.limit
        return s.EventSearchRules(
            selection=self.selection,
            marks=marks,
            scanned=SCANNED,
            span=min(extent.length, LARGEST_SPAN) if spans else -1,
            ordered_ends=plain and not len(steps.end_absent),
            bulk=self._bulk() if marks == s.ONCE else np.zeros(len(steps.label), np.bool_),
            limit=limit,
            largest_block=max(SMALL_BLOCK, 4 * limit) if SMALL_BLOCK else 0,
            largest_rows=_NO_ROWS_LIMIT if limit == s.NO_LIMIT else 64 * SMALL_BLOCK,
            enough=s.NO_LIMIT,
            accept_from=0,
            accept_until=NEVER,
            most=limits.most_matches,
            max_partial_matches=limits.max_partial_matches,
        )

    def _bulk(self) -> NDArray[np.bool_]:
        """The steps that always end a match."""
        steps, target = self.steps, self.steps.target
        bulk: NDArray[np.bool_] = steps.plain & steps.accepting[target] & (np.diff(steps.leave_at)[target] == 0)
        bulk &= np.diff(steps.end_absent_at)[target] == 0
        if self.checks.conditions:
            bulk &= (np.diff(self.checks.step_at) == 0) & (np.diff(self.checks.end_at)[target] == 0)
        return bulk if self.selection == ANY else np.zeros_like(bulk)

    def run(self) -> EventMatches:
        if self.rules.marks == s.ONCE:
            best_ends, starts = self.buffers.arrays.best_ends, self.events.starts
            mark_sequences(
                starts, EVERYWHERE, self.selection, SCANNED, *self._tables(), self.ends, best_ends, stop_flag()
            )
            check_stopped()
        ranges = row_ranges(self.events, self.program.extent, self._may_start())
        new_sequence = np.ones(len(ranges.first), np.bool_)
        new_sequence[1:] = ranges.sequence[1:] != ranges.sequence[:-1]
        scopes = s.Scopes(
            ranges.first, ranges.end, ranges.first, ranges.end, new_sequence, np.zeros(len(ranges.first), np.int64)
        )
        self._drive(scopes, self.rules, self.ends)
        return EventMatches(*self.buffers.result(), ranges, np.diff(scopes.matches_after, prepend=0))

    def _tables(self) -> tuple[Steps, LabelMembers, Tests, Absences]:
        return self.steps, self.members, self.tests, self.absences

    def _may_start(self) -> NDArray[np.bool_]:
        """The rows at which a match may start, as far as this is known before the search."""
        result = np.zeros(len(self.events.time), np.bool_)
        rank, offset = self.members.rank, self.members.offset
        for step in range(self.steps.leave_at[START], self.steps.leave_at[START + 1]):
            label, state = self.steps.label[step], self.steps.target[step]
            low, high = rank[label, 0], rank[label, -1]
            rows = self.members.rows[low:high]
            if self.rules.marks == s.ONCE:
                rows = rows[self.ends[offset[state] + low : offset[state] + high] != NEVER]
            result[rows] = True
        return result

    def _drive(self, scopes: s.Scopes, rules: s.EventSearchRules, ends: Ints) -> None:
        """Runs the kernel to the end. Whenever it needs larger buffers, makes them and continues."""
        buffers, progress = self.buffers, self.buffers.progress
        progress[s.SCOPE] = progress[s.PHASE] = 0
        while True:
            status = self.kernel(
                *self._tables(),
                ends,
                self.position,
                scopes,
                rules,
                buffers.block,
                buffers.output,
                buffers.arrays,
                self.checks,
                progress,
                stop_flag(),
            )
            check_stopped()
            if status == s.FINISHED:
                return
            if status == s.BLOCK_TOO_LARGE:
                self._first_of_block(scopes, rules)
            elif status == s.FAILED:
                raise _failure(progress, self.limits)
            else:
                buffers.grow(status, self._searched(scopes))

    def _searched(self, scopes: s.Scopes) -> float:
        """The fraction of the rows that has been searched. It predicts the size of the buffers that the rest needs."""
        scope = int(self.buffers.progress[s.SCOPE])
        done = int((scopes.end - scopes.first)[:scope].sum() + self.buffers.progress[s.BLOCK_END] - scopes.first[scope])
        return done / max(1, int((scopes.end - scopes.first).sum()))

    def _first_of_block(self, scopes: s.Scopes, rules: s.EventSearchRules) -> None:
        """LIMIT, if one start time has too many matches to list them all: searches one end time after another.

        Matches that end at one time come in their final order, so the search can stop when there are enough.
        """
        progress = self.buffers.progress
        scope, block_row, block_end = (int(progress[at]) for at in (s.SCOPE, s.BLOCK_ROW, s.BLOCK_END))
        wanted = rules.limit - int(progress[s.MATCHES] - progress[s.SCOPE_MATCHES])
        first, end = scopes.first[scope : scope + 1], scopes.end[scope : scope + 1]
        alone = s.Scopes(
            first, end, np.array([block_row]), np.array([block_end]), np.zeros(1, np.bool_), np.zeros(1, np.int64)
        )
        nothing = np.zeros_like(rules.bulk)
        # A row before the range has no end, but a later one may: ends aren't ordered.
        one_end = rules._replace(
            marks=s.PER_START, ordered_ends=False, bulk=nothing, limit=s.NO_LIMIT, largest_rows=_NO_ROWS_LIMIT
        )
        ends = np.empty_like(self.ends)
        for low, high in self._ending_times(block_row, int(end[0])):
            before = int(progress[s.MATCHES])
            self._drive(alone, one_end._replace(enough=wanted, accept_from=low, accept_until=high), ends)
            wanted -= int(progress[s.MATCHES]) - before
            if wanted == 0:
                break
        self.buffers.arrays.label_end[:] = self.members.rank[:, int(end[0])]
        scopes.matches_after[scope] = progress[s.MATCHES]
        progress[s.SCOPE_MATCHES] = progress[s.MATCHES] - (rules.limit - wanted)
        progress[s.SCOPE], progress[s.PHASE] = (scope + 1, s.NEW_SCOPE) if wanted == 0 else (scope, s.NEW_BLOCK)

    def _ending_times(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The times at which a match may end among the rows [low, high), each as a range of rows."""
        rank, group_end = self.members.rank, self.members.group_end
        labels = np.unique(self.steps.entry[self.steps.accepting])
        rows_of_labels = [self.members.rows[rank[label, low] : rank[label, high]] for label in labels]
        for end in np.unique(group_end[np.concatenate(rows_of_labels)]):
            first = int(np.searchsorted(group_end[low:high], end)) + low
            yield first, min(int(end), high)


def _failure(progress: NDArray[np.int64], limits: MatchLimits) -> MatchError:
    failure = int(progress[s.FAILURE])
    if failure in (s.TOO_MANY_PARTIAL_MATCHES, s.TOO_MANY_IN_SEQUENCE):
        from_time = failure == s.TOO_MANY_PARTIAL_MATCHES
        most = limits.max_partial_matches * (1 if from_time else s.PER_SEQUENCE)
        error = MatchError(
            "TOO_MANY_PARTIAL_MATCHES",
            f"more than {most:,} partial matches were tried {'from one time' if from_time else 'in one sequence'}",
            hint="bound the matches with WITHIN, tighten WHERE, or raise max_partial_matches",
        )
    elif failure == s.TOO_MANY_MATCHES:
        error = MatchError(
            "TOO_MANY_MATCHES",
            f"there are more than {limits.most_matches:,} matches in one task",
            hint="ask for the first ones with RETURN MATCHES LIMIT n, bound them with WITHIN, or count them",
        )
    else:
        error = condition_failure(s.CONDITION_FAILED - failure, "WHERE")
    error.row = int(progress[s.FAILED_ROW])
    return error
