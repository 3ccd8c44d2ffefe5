"""Patterns under NOT -> for each row, their nearest matches before and after it. Built on `event_marks`."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.enumeration.event_marks import ANY, Absences, EndBounds, mark_sequences
from ostinato.event_queries.enumeration.event_tables import (
    NEVER,
    Ints,
    LabelMembers,
    Longs,
    Steps,
    make_members,
    make_steps,
    make_tests,
)
from ostinato.event_queries.plan.event_program import Events, Program
from ostinato.kernels.kernel_cache import borrowing_kernel
from ostinato.kernels.stopping import check_stopped, stop_flag

EVERYWHERE = EndBounds(accept_from=0, accept_until=NEVER, absent_until=NEVER)
"""Bounds under which a match may end at any row."""


def no_absences() -> Absences:
    return Absences(np.empty((0, 0), np.int32), np.empty((0, 0), np.int32))


def find_absences(program: Program, events: Events, group_end: Ints, reach: Longs) -> Absences:
    """The `Absences` of the program, for each absence and row; `reach` as in `make_tests`."""
    automata = program.automaton.absences
    absences = Absences(
        np.full((len(automata), len(events.time)), -1, np.int32),
        np.full((len(automata), len(events.time)), NEVER, np.int32),
    )
    for number, automaton in enumerate(automata):
        edges = program.absent_edges[number] if program.absent_edges else ()
        steps = make_steps(automaton, edges)
        members = make_members(steps, program.absent_qualifies[number], events, group_end)
        tests = make_tests(edges, len(automaton.labels), members, events, reach)
        ends = np.full(members.size, NEVER, np.int32)
        best_ends = np.empty((2, automaton.states), np.int64)
        tables = (steps, members, tests, no_absences())
        mark_sequences(events.starts, EVERYWHERE, ANY, NEVER, *tables, ends, best_ends, stop_flag())
        check_stopped()
        first_end = _ends_by_start(steps, members, ends, len(events.time))
        fill_absences(events.starts, first_end, group_end, absences.latest_start[number], absences.earliest_end[number])
    return absences


def _ends_by_start(steps: Steps, members: LabelMembers, ends: Ints, rows: int) -> Ints:
    """For each row, the earliest end of a match that starts there; NEVER if none does."""
    result = np.full(rows, NEVER, np.int32)
    for step in range(steps.leave_at[START], steps.leave_at[START + 1]):
        label, state = steps.label[step], steps.target[step]
        low, high = members.rank[label, 0], members.rank[label, -1]
        started = members.rows[low:high]
        here = ends[members.offset[state] + low : members.offset[state] + high]
        result[started] = np.minimum(result[started], here)
    return result


@borrowing_kernel
def fill_absences(starts, first_end, group_end, latest_start, earliest_end):  # type: ignore[no-untyped-def]
    """Fills the `Absences` of one absence. A match of it that starts at a row ends at `first_end` at the earliest."""
    for sequence in range(len(starts) - 1):
        low, high = starts[sequence], starts[sequence + 1]
        # First, for each row the latest start of a match that ends exactly there.
        for row in range(low, high):
            if first_end[row] != NEVER:
                latest_start[first_end[row]] = max(latest_start[first_end[row]], row)
        latest = -1
        row = low
        while row < high:
            here = latest
            for same in range(row, group_end[row]):
                here = max(here, latest_start[same])
                latest_start[same] = latest
            latest = here
            row = group_end[row]
        soonest = NEVER
        row = high
        while row > low:
            begin = row - 1
            while begin > low and group_end[begin - 1] == row:
                begin -= 1
            here = soonest
            for same in range(begin, row):
                here = min(here, first_end[same])
                earliest_end[same] = soonest
            soonest = here
            row = begin
