"""Depth-first search for matches, guided by reachability: the kernel of all patterns that shifts can't match.

For each start row, the search tries the choices of the automaton in order of preference. At depth d, it has consumed d
rows. For each depth it keeps the state that consumed the row (`node`), the next choice to try (`cursor`) and the
registers that conditions over the run read. To turn back, it goes to `depth - 1`; the next attempt overwrites the rest.

The kernel never raises an error and never drops a match. It returns a status; `search_driver.py` then makes room, and
the search resumes at the start row where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.matching.search_arrays import (
    ALL,
    CONDITION_FAILED,
    FAILED,
    FAILED_ROW,
    FAILURE,
    FINISHED,
    GROWING,
    INCREMENTAL,
    MATCHES,
    MAXIMAL,
    MEMO_FOREVER,
    MEMO_PER_START,
    MORE_DEPTH,
    MORE_MATCHES,
    MORE_MEMO,
    MORE_PATH,
    NO_BOUND,
    NO_MEMO,
    OPEN_START,
    PAST_LAST_ROW,
    PATH,
    PER_KEY,
    PREFERRED,
    RECORDS,
    SKIP_TARGET_MISSING,
    SKIP_TO_FIRST_ROW,
    SPAN,
    SPAN_BEGAN,
    SPAN_STEPS,
    STAMP,
    STEPS,
    STOPPED,
    TO_FIRST,
    TO_NEXT_ROW,
    TOO_MANY_IN_ALL,
    TOO_MANY_IN_KEY,
    TOO_MANY_PARTIAL_MATCHES,
)
from ostinato.kernels.constants import NO_TIME
from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel

STEPS_PER_LOOK = 4096
"""Steps between two checks of the stop flag: less than a millisecond, or a few with conditions over the run."""

# Declared without values: `search_in_python` puts a pair of functions into the globals of the search.
update: Callable[..., Any]
check: Callable[..., Any]


def _search(automaton, rules, rows, starts, matches, buffers, conditions, progress, stopped):  # type: ignore[no-untyped-def]
    spans = len(rows.first)
    states = len(automaton.label)
    status = FINISHED
    # Arrays as plain locals: reading them out of the tuples again in the loop costs reference counting each time.
    choice_at, choices, label_of = automaton.choice_at, automaton.choices, automaton.label
    set_of_row, sets, time = rows.set_of_row, rows.sets, rows.time
    node, cursor, memo, claimed = buffers.node, buffers.cursor, buffers.memo, buffers.claimed
    longest = rules.max_length if rules.max_length != NO_BOUND else len(set_of_row) + 1
    unlooked = 0  # steps of whole starts since the last look at the flag
    while progress[SPAN] < spans:
        span = progress[SPAN]
        first, last_end, end = rows.first[span], rows.last_end[span], rows.end[span]
        # Locals for values that change with every start: small arrays of two threads may share a cache line.
        start, stop, numbered = starts.row[span], starts.stop[span], starts.number[span]
        steps, span_steps, stamp = progress[STEPS], progress[SPAN_STEPS], progress[STAMP]
        began = progress[SPAN_BEGAN]  # entries with this stamp or an older one belong to another span
        leaves = False
        while start < stop:
            alive = False
            matches_before, path_before = progress[MATCHES], progress[PATH]
            number = numbered + 1
            stamp += 1
            claims_after = began if rules.mode == INCREMENTAL else stamp - 1
            most_rows = longest
            status = FINISHED
            undecided = False
            found_length = -1
            partial_length = -1
            # Later rows can matter to this start, unless WITHIN has passed for it.
            waits = rows.is_open[span] != 0
            within = rows.reach[start] if len(rows.reach) else rules.within
            timed_out = (
                within != NO_BOUND
                and rows.known_until != NO_TIME
                and time[start] != NO_TIME
                and rows.known_until - time[start] >= within
            )
            tried = 0
            look_after = min(STEPS_PER_LOOK, rules.max_partial_matches)
            depth = 0
            readable_from, readable_end = first, last_end
            if rules.in_frame:
                readable_from, readable_end = start, min(last_end, start + longest)
            node[0] = states + 1 if start == first else states
            cursor[0] = choice_at[node[0]]
            while True:
                at = cursor[depth]
                if at == choice_at[node[depth] + 1]:
                    if depth == 0:
                        break
                    depth -= 1
                    continue
                cursor[depth] = at + 1
                choice = choices[at]
                row = start + depth
                if choice < 0:
                    if choice == ACCEPT_AT_END:
                        if row < end:
                            continue
                        if waits:
                            if rules.at_once:
                                alive = True
                                continue
                            undecided = True
                            break
                    if rules.mode == PREFERRED:
                        found_length = depth
                        break
                    if depth == 0:
                        if rules.mode == RECORDS:
                            break  # no later choice is preferred to the empty match
                        continue  # the other modes have no empty matches
                    if rules.mode == MAXIMAL:
                        if depth <= found_length:
                            continue
                        found_length = depth
                        progress[MATCHES], progress[PATH] = matches_before, path_before
                    elif rules.mode == RECORDS:
                        if depth > most_rows:
                            continue
                        most_rows = depth - 1  # a later choice can only be preferred before the last row of this match
                    elif rules.mode != ALL and claimed[row - 1 - rows.base] > claims_after:
                        continue
                    status = _keep(
                        matches, progress, buffers, rules, start, depth, number + progress[MATCHES] - matches_before
                    )
                    if status != FINISHED:
                        break
                    if rules.mode in (INCREMENTAL, GROWING):
                        claimed[row - 1 - rows.base] = stamp
                    continue
                if row >= end:
                    if waits and not timed_out and depth < most_rows:
                        if rules.at_once:
                            alive = True
                            continue
                        undecided = True
                        break
                    if not rules.timeouts:
                        continue
                if rules.timeouts and (row >= end or (time[row] != NO_TIME and abs(time[row] - time[start]) > within)):
                    if partial_length < 0 and depth > 0 and depth < most_rows:
                        status = _note_path(matches, progress, buffers, rules, depth)
                        if status != FINISHED:
                            break
                        partial_length = depth
                    continue
                if not (sets[set_of_row[row], choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                    continue
                soonest = row + rows.soonest[row, choice] if len(rows.soonest) else row
                if soonest - start >= most_rows:
                    continue
                if within != NO_BOUND and abs(time[soonest] - time[start]) > within:
                    continue
                if rules.memo != NO_MEMO:
                    tried_at = (depth if rules.memo == MEMO_PER_START else row - rows.base) * states + choice
                    if tried_at >= len(memo):
                        status = MORE_MEMO
                        break
                    if rules.memo == MEMO_PER_START:
                        if memo[tried_at] == stamp:
                            continue
                    elif memo[tried_at] > began:
                        continue
                    memo[tried_at] = stamp
                tried += 1
                if tried > look_after:  # one comparison for the bound and the flag: this is the innermost loop
                    if tried > rules.max_partial_matches:
                        progress[FAILURE] = TOO_MANY_PARTIAL_MATCHES
                        status = FAILED
                        break
                    if stopped[0] != 0:
                        status = STOPPED
                        break
                    look_after = min(tried + STEPS_PER_LOOK, rules.max_partial_matches)
                if depth + 2 > len(node):
                    status = MORE_DEPTH
                    break
                label = label_of[choice]
                verdict = update(label, row, depth, buffers, conditions)  # noqa: F821 (declared above)
                if verdict == 0:
                    verdict = check(choice, label, row, depth, readable_from, readable_end, number, buffers, conditions)  # noqa: F821
                    if verdict == 0:
                        continue
                if verdict < 0:
                    if len(buffers.failed_at):
                        if buffers.failed_at[row - rows.base] == 0:
                            buffers.failed_at[row - rows.base] = start + 1
                            buffers.failed_why[row - rows.base] = verdict
                        continue
                    progress[FAILURE] = CONDITION_FAILED - verdict
                    status = FAILED
                    break
                depth += 1
                node[depth] = choice
                cursor[depth] = choice_at[choice]
            steps += tried
            span_steps += tried
            unlooked += tried + 1
            if unlooked >= STEPS_PER_LOOK:
                unlooked = 0
                if stopped[0] != 0:
                    status = STOPPED
            if status == FINISHED and span_steps > PER_KEY * rules.max_partial_matches:
                progress[FAILURE] = TOO_MANY_IN_KEY
                status = FAILED
            if status == FINISHED and steps > rules.max_in_all:
                progress[FAILURE] = TOO_MANY_IN_ALL
                status = FAILED
            if status == FINISHED and rules.mode == PREFERRED and found_length >= 0:
                status = _keep(matches, progress, buffers, rules, start, found_length, number)
            elif status == FINISHED and partial_length > 0 and not undecided:
                status = _keep_noted(matches, progress, rules, start, partial_length, number)
            if status == FINISHED and alive and rules.notes_open:
                status = _keep_noted(matches, progress, rules, start, 0, OPEN_START)
            if status != FINISHED or undecided:
                _give_back(matches, progress, buffers, rules, start - rows.base, stamp, matches_before, path_before)
                leaves = status != FINISHED
                break
            numbered += progress[MATCHES] - matches_before
            ahead = 1
            if rules.mode == PREFERRED and found_length > 0:
                ahead = _distance(automaton, rules, buffers, found_length)
                if ahead <= 0:
                    progress[FAILURE] = SKIP_TARGET_MISSING if ahead < 0 else SKIP_TO_FIRST_ROW
                    status, leaves = FAILED, True
                    break
                matches.ahead[progress[MATCHES] - 1] = ahead
            if alive and starts.open_from[span] < 0:
                starts.open_from[span] = start
            start += 1 if rules.every_start else ahead
        starts.row[span], starts.number[span] = start, numbered
        progress[STEPS], progress[SPAN_STEPS], progress[STAMP] = steps, span_steps, stamp
        if leaves:
            progress[FAILED_ROW] = start
            return status
        progress[SPAN] += 1
        progress[SPAN_STEPS], progress[SPAN_BEGAN] = 0, stamp
    return FINISHED


@inline_kernel
def _keep(matches, progress, buffers, rules, start, length, number):  # type: ignore[no-untyped-def]
    """Stores the current path as a match."""
    status = _note_path(matches, progress, buffers, rules, length)
    return _keep_noted(matches, progress, rules, start, length, number) if status == FINISHED else status


@inline_kernel
def _note_path(matches, progress, buffers, rules, length):  # type: ignore[no-untyped-def]
    """Stores the current path. The next path overwrites it, unless a match is stored with it."""
    path = progress[PATH]
    if rules.keep_path:
        if path + length > len(matches.path):
            return MORE_PATH
        for i in range(length):
            matches.path[path + i] = buffers.node[i + 1]
    return FINISHED


@inline_kernel
def _keep_noted(matches, progress, rules, start, length, number):  # type: ignore[no-untyped-def]
    match = progress[MATCHES]
    if match == len(matches.start):
        return MORE_MATCHES
    if rules.keep_path:
        progress[PATH] += length
    matches.start[match] = start
    matches.length[match] = length
    matches.number[match] = number
    matches.ahead[match] = 1
    progress[MATCHES] = match + 1
    return FINISHED


@inline_kernel
def _give_back(matches, progress, buffers, rules, first, stamp, matches_before, path_before):  # type: ignore[no-untyped-def]
    """Removes the matches of a start that has to be tried again; `first`: the start, counted from `rows.base`."""
    if rules.mode == INCREMENTAL:
        for match in range(matches_before, progress[MATCHES]):
            buffers.claimed[first + matches.length[match] - 1] = 0
    if rules.memo == MEMO_FOREVER:
        for tried in range(len(buffers.memo)):
            if buffers.memo[tried] == stamp:
                buffers.memo[tried] = 0
    progress[MATCHES] = matches_before
    progress[PATH] = path_before


@inline_kernel
def _distance(automaton, rules, buffers, length):  # type: ignore[no-untyped-def]
    """The number of rows to step ahead after a match; 0 or -1 if SKIP TO has no row to go to."""
    if rules.skip == PAST_LAST_ROW:
        return length
    if rules.skip == TO_NEXT_ROW:
        return 1
    target = -1
    for i in range(length):
        if rules.skip_labels[automaton.label[buffers.node[i + 1]]]:
            target = i
            if rules.skip == TO_FIRST:
                break
    return target


@inline_kernel
def no_update(label, row, depth, buffers, conditions):  # type: ignore[no-untyped-def]
    """No condition reads the run: there are no registers."""
    return 0


@inline_kernel
def no_check(state, label, row, depth, key_first, key_end, number, buffers, conditions):  # type: ignore[no-untyped-def]
    """No condition reads the run: reachability has checked everything."""
    return 1


def build_search(name: str, update: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., int]:
    """The search with these functions compiled into it.

    `update(label, row, depth, buffers, conditions)` sets the registers of depth + 1 after a row was consumed under a
    label; `check(state, label, row, depth, key_first, key_end, number, buffers, conditions)` tests the state's
    condition over the run: 1 true, 0 not, negative an error code. The name must be unique: numba files the compiled
    code under it.
    """
    return borrowing_kernel(search_in_python(update, check, name))


def search_in_python(update: Callable[..., Any], check: Callable[..., Any], name: str = "search") -> Any:
    """The search as a plain Python function: slow, for conditions that no kernel knows, and for tests."""
    # A closure would be the plain way, but numba doesn't find closures over kernels in its cache again.
    function = FunctionType(_search.__code__, {**globals(), "update": update, "check": check}, name)
    function.__qualname__ = name
    return function


search_plain = build_search("search_plain", no_update, no_check)
"""For patterns whose conditions look at the row and its neighbours only."""
