"""Depth-first enumeration of the matches of an event query: the kernel for RETURN MATCHES.

A block has all matches whose first events have one time. The kernel collects a block in search order (event by event:
the variable, then the row) and copies it to the output in order of the last event's time. So the output is in order of
first time, last time, then event by event.

The kernel never raises and never drops a match. It returns a status; the driver (`event_matches.py`) makes room and
calls it again. `arrays` and `progress` have all it needs to continue.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.enumeration.event_arrange import arrange
from ostinato.event_queries.enumeration.event_marks import (
    ANY,
    NEXT,
    EndBounds,
    edge_holds,
    following,
    mark,
    may_end,
    nothing_between,
)
from ostinato.event_queries.enumeration.event_reach import next_rows, reach_of_start, strict_rows
from ostinato.event_queries.enumeration.event_state import (
    ABSENT_UNTIL,
    ACCEPT_FROM,
    ARRANGING,
    BLOCK_END,
    BLOCK_MATCHES,
    BLOCK_ROW,
    BLOCK_ROWS,
    BLOCK_TOO_LARGE,
    CONDITION_FAILED,
    DEPTH,
    FAILED,
    FAILED_ROW,
    FAILURE,
    FINISHED,
    IN_BLOCK,
    LIMIT,
    MATCHES,
    MORE_BLOCK,
    MORE_DEPTH,
    MORE_OUTPUT,
    NEEDED_MATCHES,
    NEEDED_ROWS,
    NEW_BLOCK,
    NEW_SCOPE,
    NO_LIMIT,
    PER_SCOPE,
    PER_SEQUENCE,
    PER_START,
    PHASE,
    ROWS,
    SCOPE,
    SCOPE_MATCHES,
    SEQUENCE_TRIED,
    STEPS_PER_LOOK,
    STOPPED,
    TOO_MANY_IN_SEQUENCE,
    TOO_MANY_MATCHES,
    TOO_MANY_PARTIAL_MATCHES,
    TRIED,
)
from ostinato.event_queries.enumeration.event_tables import NEVER
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel, inline_kernel

# Only declared here: `build_event_search` puts functions into the globals of the search.
search_block: Callable[..., Any]
update: Callable[..., Any]
holds_on_step: Callable[..., Any]
holds_at_end: Callable[..., Any]


def _search(  # type: ignore[no-untyped-def]
    steps, members, tests, absences, ends, position, scopes, rules, block, output, arrays, checks, progress, stopped
):
    leave_at, step_label, rank = steps.leave_at, steps.label, members.rank
    while progress[SCOPE] < len(scopes.first):
        scope = progress[SCOPE]
        first, end, start_until = scopes.first[scope], scopes.end[scope], scopes.start_until[scope]
        if progress[PHASE] == NEW_SCOPE:
            _begin_scope(scope, steps, members, tests, absences, ends, scopes, rules, arrays, progress, stopped)
        while True:
            if stopped[0] != 0:
                return STOPPED
            if progress[PHASE] == NEW_BLOCK:
                if not _begin_block(start_until, steps, members, arrays, progress):
                    break
            if progress[PHASE] == IN_BLOCK:
                status = search_block(  # noqa: F821 (declared above)
                    first,
                    end,
                    steps,
                    members,
                    tests,
                    absences,
                    ends,
                    position,
                    rules,
                    block,
                    arrays,
                    checks,
                    progress,
                    stopped,
                )
                if status != FINISHED:
                    progress[FAILED_ROW] = progress[BLOCK_ROW]
                    return status
            status = _end_block(members, rules, block, output, progress)
            if status != FINISHED:
                return status
            for step in range(leave_at[START], leave_at[START + 1]):
                arrays.cursor[step] = rank[step_label[step], progress[BLOCK_END]]
            if rules.limit != NO_LIMIT and progress[MATCHES] - progress[SCOPE_MATCHES] >= rules.limit:
                break
        scopes.matches_after[scope] = progress[MATCHES]
        progress[SCOPE] += 1
        progress[PHASE] = NEW_SCOPE
    return FINISHED


@called_kernel
def _begin_scope(scope, steps, members, tests, absences, ends, scopes, rules, arrays, progress, stopped):  # type: ignore[no-untyped-def]
    first, end = scopes.first[scope], scopes.end[scope]
    if scopes.new_sequence[scope]:
        progress[SEQUENCE_TRIED] = 0
    for label in range(len(members.rank)):
        arrays.label_end[label] = members.rank[label, end]
    for step in range(steps.leave_at[START], steps.leave_at[START + 1]):
        arrays.cursor[step] = members.rank[steps.label[step], scopes.start_from[scope]]
    if rules.marks == PER_SCOPE:
        bounds = EndBounds(rules.accept_from, rules.accept_until, end)
        selection, scanned = rules.selection, rules.scanned
        mark(first, end, bounds, selection, scanned, steps, members, tests, absences, ends, arrays.best_ends, stopped)
    progress[SCOPE_MATCHES] = progress[MATCHES]
    progress[PHASE] = NEW_BLOCK


@inline_kernel
def _begin_block(start_until, steps, members, arrays, progress):  # type: ignore[no-untyped-def]
    """Finds the next time at which a match may start; False if there is none."""
    start = NEVER
    for step in range(steps.leave_at[START], steps.leave_at[START + 1]):
        if arrays.cursor[step] < members.rank[steps.label[step], start_until]:
            start = min(start, members.rows[arrays.cursor[step]])
    if start == NEVER:
        return False
    progress[BLOCK_ROW], progress[BLOCK_END] = start, min(members.group_end[start], start_until)
    progress[BLOCK_MATCHES], progress[BLOCK_ROWS], progress[TRIED], progress[DEPTH] = 0, 0, 0, 0
    arrays.state[0], arrays.step[0], arrays.at[0], arrays.until[0] = START, steps.leave_at[START] - 1, 0, 0
    progress[PHASE] = IN_BLOCK
    return True


@inline_kernel
def _end_block(members, rules, block, output, progress):  # type: ignore[no-untyped-def]
    """Copies the wanted matches of the block to the output."""
    matches, rows, wanted = progress[MATCHES], progress[ROWS], progress[BLOCK_MATCHES]
    if rules.limit != NO_LIMIT:
        wanted = min(wanted, rules.limit - (matches - progress[SCOPE_MATCHES]))
    if wanted > 0:
        if matches + wanted > rules.most:
            progress[FAILURE], progress[FAILED_ROW] = TOO_MANY_MATCHES, progress[BLOCK_ROW]
            return FAILED
        # With a limit, the rows of the wanted matches aren't known yet: room for the whole block is requested.
        if matches + wanted + 1 > len(output.at) or rows + progress[BLOCK_ROWS] > len(output.rows):
            progress[NEEDED_MATCHES], progress[NEEDED_ROWS] = matches + wanted + 1, rows + progress[BLOCK_ROWS]
            return MORE_OUTPUT
        block_matches = progress[BLOCK_MATCHES]
        progress[ROWS] = arrange(block, output, members.group_end, block_matches, wanted, matches, rows)
        progress[MATCHES] = matches + wanted
    progress[PHASE] = NEW_BLOCK
    return FINISHED


def _search_block(  # type: ignore[no-untyped-def]
    first, end, steps, members, tests, absences, ends, position, rules, block, arrays, checks, progress, stopped
):
    """Continues the block until it is complete, or until the kernel needs room or fails."""
    # Arrays and values that change often are locals, which is faster. The kernel writes them back before it returns.
    rank, member_rows, group_end, offset = members.rank, members.rows, members.group_end, members.offset
    leave_at, step_label, target_of, plain = steps.leave_at, steps.label, steps.target, steps.plain
    accepting, bulk, selection = steps.accepting, rules.bulk, rules.selection
    path, path_label, state_at = arrays.row, arrays.label, arrays.state
    step_at, at, until, label_end = arrays.step, arrays.at, arrays.until, arrays.label_end
    block_at, block_rows, block_labels = block.at, block.rows, block.labels
    depth, tried = progress[DEPTH], progress[TRIED]
    matches_in_block, filled = progress[BLOCK_MATCHES], progress[BLOCK_ROWS]
    limit, absent_until, accept_from = progress[LIMIT], progress[ABSENT_UNTIL], progress[ACCEPT_FROM]
    most = rules.largest_block if rules.limit != NO_LIMIT else rules.most - progress[MATCHES]
    status = FINISHED
    unlooked = 0  # candidates since the stop flag was last read
    while depth >= 0:
        i = at[depth]
        if i >= until[depth]:  # the next step from this state
            step = step_at[depth] + 1
            if step >= leave_at[state_at[depth] + 1]:
                depth -= 1
                continue
            step_at[depth] = step
            label = step_label[step]
            if depth == 0:
                low, high = progress[BLOCK_ROW], progress[BLOCK_END]
            elif selection == ANY:
                at[depth], until[depth] = rank[label, group_end[path[depth]]], label_end[label]
                continue
            elif selection == NEXT:
                low, high = next_rows(arrays.follows[depth], limit, group_end)
            else:
                low, high = strict_rows(path[depth], first, end, limit, group_end)
            at[depth], until[depth] = rank[label, low], rank[label, high]
            continue
        if matches_in_block > most or filled > rules.largest_rows:
            progress[FAILURE] = TOO_MANY_MATCHES
            status = BLOCK_TOO_LARGE if rules.limit != NO_LIMIT else FAILED
            break
        step = step_at[depth]
        count = until[depth] - i if bulk[step] and depth > 0 else 1
        if matches_in_block + count + 1 > len(block_at) or filled + count * (depth + 1) > len(block_rows):
            progress[NEEDED_MATCHES], progress[NEEDED_ROWS] = matches_in_block + count + 1, filled + count * (depth + 1)
            status = MORE_BLOCK
            break
        label = step_label[step]
        if bulk[step] and depth > 0:
            _fill(block, path, path_label, member_rows, i, count, depth, label, matches_in_block, filled)
            matches_in_block += count
            filled += count * (depth + 1)
            at[depth] = until[depth]
            continue
        if depth + 3 > len(path):
            status = MORE_DEPTH
            break
        unlooked += 1
        if unlooked == STEPS_PER_LOOK:
            unlooked = 0
            if stopped[0] != 0:
                return STOPPED
        at[depth] = i + 1
        row = np.int64(member_rows[i])
        target = target_of[step]
        if depth == 0:
            limit, absent_until, accept_from = reach_of_start(
                step, row, first, end, rules, position, steps, members, absences, label_end
            )
            if limit < 0:
                continue
            if rules.marks == PER_START:
                bounds, scanned, best = EndBounds(accept_from, limit, absent_until), rules.scanned, arrays.best_ends
                mark(row, limit, bounds, selection, scanned, steps, members, tests, absences, ends, best, stopped)
        if ends[offset[target] + i] >= limit:
            if rules.ordered_ends and depth > 0:
                at[depth] = until[depth]
            continue
        if depth > 0 and not plain[step]:
            if not nothing_between(step, path[depth], row, steps, members, absences):
                at[depth] = until[depth]
                continue
            if not edge_holds(step, path[depth], row, steps, members, tests):
                continue
        tried += 1
        if tried - filled > rules.max_partial_matches:
            progress[FAILURE] = TOO_MANY_PARTIAL_MATCHES
            status = FAILED
            break
        path[depth + 1], path_label[depth + 1] = row, label
        verdict = update(label, row, depth, arrays, checks.conditions)  # noqa: F821 (declared above)
        if verdict == 0:
            verdict = holds_on_step(step, row, depth, first, end, arrays, checks)  # noqa: F821
            if verdict == 0:
                continue
        depth += 1
        ends_here = verdict > 0 and accepting[target]
        if ends_here:
            ends_here = may_end(target, row, EndBounds(accept_from, limit, absent_until), steps, absences)
            if ends_here:
                verdict = holds_at_end(target, row, depth, first, end, arrays, checks)  # noqa: F821
        if verdict < 0:
            progress[FAILURE] = CONDITION_FAILED - verdict
            status = FAILED
            break
        if ends_here and verdict == 1:
            for j in range(depth):
                block_rows[filled + j] = path[j + 1]
                block_labels[filled + j] = path_label[j + 1]
            filled += depth
            matches_in_block += 1
            block_at[matches_in_block] = filled
            if matches_in_block == rules.enough:
                break
        if leave_at[target] == leave_at[target + 1]:
            depth -= 1
            continue
        state_at[depth], step_at[depth] = target, leave_at[target] - 1
        at[depth], until[depth] = 0, 0
        if selection == NEXT:
            arrays.follows[depth] = following(row, target, limit, steps, members, tests, absences)
    progress[DEPTH], progress[TRIED] = depth, tried
    progress[BLOCK_MATCHES], progress[BLOCK_ROWS] = matches_in_block, filled
    progress[LIMIT], progress[ABSENT_UNTIL], progress[ACCEPT_FROM] = limit, absent_until, accept_from
    if status == FINISHED:
        progress[SEQUENCE_TRIED] += max(0, tried - filled)
        if progress[SEQUENCE_TRIED] > PER_SEQUENCE * rules.max_partial_matches:
            progress[FAILURE] = TOO_MANY_IN_SEQUENCE
            return FAILED
        progress[PHASE] = ARRANGING
    return status


@inline_kernel
def _fill(block, path, path_label, member_rows, first, count, depth, label, first_match, filled):  # type: ignore[no-untyped-def]
    """Writes one match for each of `count` members from `first` on: the current path, then the member."""
    rows, labels, at = block.rows, block.labels, block.at
    length = depth + 1
    for j in range(depth):
        row, path_row_label = path[j + 1], path_label[j + 1]
        to = filled + j
        for _ in range(count):
            rows[to] = row
            labels[to] = path_row_label
            to += length
    to = filled + depth
    for match in range(count):
        rows[to] = member_rows[first + match]
        labels[to] = label
        to += length
        at[first_match + match + 1] = to - depth


# --- the two kernels --------------------------------------------------------------------------------------------------


@inline_kernel
def no_update(label, row, depth, arrays, conditions):  # type: ignore[no-untyped-def]
    """No condition reads the run, so there are no registers."""
    return 0


@inline_kernel
def always(at, row, depth, first, end, arrays, checks):  # type: ignore[no-untyped-def]
    """No condition reads the run."""
    return 1


def build_event_search(
    name: str, update: Callable[..., Any], on_step: Callable[..., Any], at_end: Callable[..., Any]
) -> Callable[..., int]:
    """The search with these functions compiled into it. It is cached on disk under `name`, which must be unique.

    `update(label, row, depth, arrays, conditions)` sets the registers of depth + 1. `on_step(step, row, depth, first,
    end, arrays, checks)` returns whether the step may be taken, `at_end(state, ...)` whether a match may end there: 1
    yes, 0 no, negative an error code.
    """
    block = inline_kernel(_with_globals(_search_block, update=update, holds_on_step=on_step, holds_at_end=at_end))
    function = _with_globals(_search, search_block=block)
    function.__name__ = function.__qualname__ = name
    return borrowing_kernel(function)


def event_search_in_python() -> Callable[..., int]:
    """The search without conditions over the run as a plain Python function, for tests."""
    block = _with_globals(_search_block, update=no_update, holds_on_step=always, holds_at_end=always)
    return _with_globals(_search, search_block=block)


def _with_globals(function: Callable[..., Any], **values: Any) -> FunctionType:
    # A closure would be simpler, but numba doesn't find closures over kernels in its cache.
    return FunctionType(function.__code__, {**globals(), **values}, function.__name__)


search_plain_events = build_event_search("search_plain_events", no_update, always, always)
"""For queries without conditions over the run."""
