"""Depth-first search for matches, guided by reachability: the kernel under every pattern that isn't a mere shift.

For each start row the choices of the automaton are tried in order of preference. A depth of d means that d rows are
consumed; per depth there is only the state that consumed the row (`node`), the next choice to try (`cursor`) and the
registers that conditions over the run read. Going back is `depth - 1`: what lies deeper is simply overwritten.

The kernel never raises and never drops anything: it returns a status, and `run_search` makes room and resumes at the
start row it stopped at.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import ACCEPT_AT_END
from ostinato.clause.matching.nfa_tables import Automaton
from ostinato.kernels.constants import NO_TIME
from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.kernels.stopping import check_stopped, stop_flag

# What the kernel returns.
FINISHED, MORE_MATCHES, MORE_PATH, MORE_DEPTH, MORE_MEMO, FAILED, STOPPED = 0, 1, 2, 3, 4, 5, 6
# Why it failed.
TOO_MANY_PARTIAL_MATCHES, SKIP_TO_FIRST_ROW, SKIP_TARGET_MISSING, TOO_MANY_IN_KEY, RESULT_TOO_LARGE = 1, 2, 3, 4, 5
CONDITION_FAILED = 100
"""Added to the code of an error inside a condition over the run (expressions/run_conditions/interpreter.py)."""

# Which matches count. GROWING: of each start every end once. RECORDS: of each start those that are the preferred match
# as of their last row. Both are for callers that ask how a start looked before later rows came (growths.py).
PREFERRED, ALL, INCREMENTAL, MAXIMAL, GROWING, RECORDS = 0, 1, 2, 3, 4, 5
# Where the search goes on after a preferred match.
PAST_LAST_ROW, TO_NEXT_ROW, TO_FIRST, TO_LAST = 0, 1, 2, 3
# Whether a (state, row) that was tried needn't be tried again: never, within one start, or at all.
NO_MEMO, MEMO_PER_START, MEMO_FOREVER = 0, 1, 2

NO_BOUND = -1
OPEN_START = -1
"""The number of a record that is no match: rows to come may carry on runs of its start."""
PER_KEY = 100
"""One span may try so many times the partial matches that one of its rows may."""
LARGEST_PATH = 1 << 29
"""How many rows of matches a task may hold: 2 GiB of states."""

STEPS_PER_LOOK = 4096
"""After so many steps the search looks whether it has to stop: less than a millisecond, with conditions a few."""

# Places in `progress`.
SPAN, MATCHES, PATH, FAILURE, FAILED_ROW, STEPS, STAMP, SPAN_STEPS, SPAN_BEGAN = 0, 1, 2, 3, 4, 5, 6, 7, 8


class Rules(NamedTuple):
    """How to search, as numbers."""

    mode: int
    skip: int
    skip_labels: NDArray[np.bool_]
    """For SKIP TO: whether a variable belongs to the target."""
    max_length: int
    within: int
    """The largest distance between `time` of the first and last row, or NO_BOUND."""
    max_partial_matches: int
    memo: int
    keep_path: bool
    timeouts: bool
    """Whether a start without a match gives the first run that was still open when WITHIN ended."""
    at_once: bool
    """INCREMENTAL in an open key: give what ends in the rows at hand; go on at the first start with an open run."""
    every_start: bool
    """Whether starts that a match skips are tried all the same."""
    notes_open: bool = False
    """Whether a start with an open run leaves a record of its own, OPEN_START, behind those of its matches."""


class Rows(NamedTuple):
    """The sorted rows, and spans of them, each searched by itself: spans may overlap.

    Of span k rows `first[k]:last_end[k]` can be read, those before `end[k]` be consumed.
    """

    first: NDArray[np.int64]
    last_end: NDArray[np.int64]
    end: NDArray[np.int64]
    is_open: NDArray[np.uint8]
    """Whether further rows of the key may follow."""
    known_until: int
    """Rows that follow are later than this."""
    set_of_row: NDArray[np.int32]
    sets: NDArray[np.uint64]
    time: NDArray[np.int64]
    base: int
    """No row before this one is consumed."""


class Starts(NamedTuple):
    """Per span: the row to try next as a start, the row where to stop, how many matches were numbered before."""

    row: NDArray[np.int64]
    stop: NDArray[np.int64]
    number: NDArray[np.int64]
    open_from: NDArray[np.int64]
    """With `at_once`: the first start whose runs rows to come may carry on, or -1."""


class Found(NamedTuple):
    """Room for matches: `path` holds, match after match, the state that consumed each row."""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    number: NDArray[np.int64]
    ahead: NDArray[np.int64]
    """How far from its start the search went on after the match."""
    path: NDArray[np.int32]


class Work(NamedTuple):
    """Room for the search itself; `registers` and the accumulators have a row per depth."""

    node: NDArray[np.int32]
    cursor: NDArray[np.int64]
    registers: NDArray[np.int64]
    whole: NDArray[np.int64]
    real: NDArray[np.float64]
    memo: NDArray[np.int64]
    claimed: NDArray[np.int64]
    """INCREMENTAL, GROWING: for each row from `base` on the stamp of the last start with a match that ends there."""
    stack: NDArray[np.float64]
    stack_whole: NDArray[np.int64]
    stack_null: NDArray[np.bool_]


# Without values here: `search_in_python` puts a pair of functions into the globals of the search.
update: Callable[..., Any]
check: Callable[..., Any]


def _search(automaton, rules, rows, starts, found, work, conditions, progress, stopped):  # type: ignore[no-untyped-def]
    spans = len(rows.first)
    states = len(automaton.label)
    status = FINISHED
    # Arrays as plain locals: reading them out of the tuples again in the loop costs reference counting each time.
    choice_at, choices, label_of = automaton.choice_at, automaton.choices, automaton.label
    set_of_row, sets, time = rows.set_of_row, rows.sets, rows.time
    node, cursor, memo, claimed = work.node, work.cursor, work.memo, work.claimed
    longest = rules.max_length if rules.max_length != NO_BOUND else len(set_of_row) + 1
    unlooked = 0  # steps of whole starts since the last look at the flag
    while progress[SPAN] < spans:
        span = progress[SPAN]
        first, last_end, end = rows.first[span], rows.last_end[span], rows.end[span]
        # What changes with every start is kept in locals: small arrays of two threads may share a line of the cache.
        start, stop, numbered = starts.row[span], starts.stop[span], starts.number[span]
        steps, span_steps, stamp = progress[STEPS], progress[SPAN_STEPS], progress[STAMP]
        began = progress[SPAN_BEGAN]  # what bears this stamp or an older one is of another span
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
            # Rows to come can matter to this start, unless WITHIN has passed for it.
            waits = rows.is_open[span] != 0
            timed_out = (
                rules.within != NO_BOUND
                and rows.known_until != NO_TIME
                and time[start] != NO_TIME
                and rows.known_until - time[start] >= rules.within
            )
            tried = 0
            look_after = min(STEPS_PER_LOOK, rules.max_partial_matches)
            depth = 0
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
                            break  # whatever comes now is never preferred to the empty match
                        continue  # the other modes have no empty matches
                    if rules.mode == MAXIMAL:
                        if depth <= found_length:
                            continue
                        found_length = depth
                        progress[MATCHES], progress[PATH] = matches_before, path_before
                    elif rules.mode == RECORDS:
                        if depth > most_rows:
                            continue
                        most_rows = depth - 1  # whatever comes now is the preferred one before this one's last row only
                    elif rules.mode != ALL and claimed[row - 1 - rows.base] > claims_after:
                        continue
                    status = _keep(
                        found, progress, work, rules, start, depth, number + progress[MATCHES] - matches_before
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
                if rules.timeouts and (
                    row >= end or (time[row] != NO_TIME and abs(time[row] - time[start]) > rules.within)
                ):
                    if partial_length < 0 and depth > 0 and depth < most_rows:
                        status = _note_path(found, progress, work, rules, depth)
                        if status != FINISHED:
                            break
                        partial_length = depth
                    continue
                if not (sets[set_of_row[row], choice >> 6] >> np.uint64(choice & 63)) & np.uint64(1):
                    continue
                if depth >= most_rows:
                    continue
                if rules.within != NO_BOUND and abs(time[row] - time[start]) > rules.within:
                    continue
                if rules.memo != NO_MEMO:
                    place = (depth if rules.memo == MEMO_PER_START else row - rows.base) * states + choice
                    if place >= len(memo):
                        status = MORE_MEMO
                        break
                    if rules.memo == MEMO_PER_START:
                        if memo[place] == stamp:
                            continue
                    elif memo[place] > began:
                        continue
                    memo[place] = stamp
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
                verdict = update(label, row, depth, work, conditions)  # noqa: F821 (declared above)
                if verdict == 0:
                    verdict = check(choice, label, row, depth, first, last_end, number, work, conditions)  # noqa: F821
                    if verdict == 0:
                        continue
                if verdict < 0:
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
            if status == FINISHED and rules.mode == PREFERRED and found_length >= 0:
                status = _keep(found, progress, work, rules, start, found_length, number)
            elif status == FINISHED and partial_length > 0 and not undecided:
                status = _keep_noted(found, progress, rules, start, partial_length, number)
            if status == FINISHED and alive and rules.notes_open:
                status = _keep_noted(found, progress, rules, start, 0, OPEN_START)
            if status != FINISHED or undecided:
                _give_back(found, progress, work, rules, start - rows.base, stamp, matches_before, path_before)
                leaves = status != FINISHED
                break
            numbered += progress[MATCHES] - matches_before
            ahead = 1
            if rules.mode == PREFERRED and found_length > 0:
                ahead = _distance(automaton, rules, work, found_length)
                if ahead <= 0:
                    progress[FAILURE] = SKIP_TARGET_MISSING if ahead < 0 else SKIP_TO_FIRST_ROW
                    status, leaves = FAILED, True
                    break
                found.ahead[progress[MATCHES] - 1] = ahead
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
def _keep(found, progress, work, rules, start, length, number):  # type: ignore[no-untyped-def]
    """Writes the match that the search stands on."""
    status = _note_path(found, progress, work, rules, length)
    return _keep_noted(found, progress, rules, start, length, number) if status == FINISHED else status


@inline_kernel
def _note_path(found, progress, work, rules, length):  # type: ignore[no-untyped-def]
    """Writes down the path that the search stands on; the next one written takes its place, unless it is kept."""
    path = progress[PATH]
    if rules.keep_path:
        if path + length > len(found.path):
            return MORE_PATH
        for i in range(length):
            found.path[path + i] = work.node[i + 1]
    return FINISHED


@inline_kernel
def _keep_noted(found, progress, rules, start, length, number):  # type: ignore[no-untyped-def]
    match = progress[MATCHES]
    if match == len(found.start):
        return MORE_MATCHES
    if rules.keep_path:
        progress[PATH] += length
    found.start[match] = start
    found.length[match] = length
    found.number[match] = number
    found.ahead[match] = 1
    progress[MATCHES] = match + 1
    return FINISHED


@inline_kernel
def _give_back(found, progress, work, rules, place, stamp, matches_before, path_before):  # type: ignore[no-untyped-def]
    """Forgets what was written for a start that has to be tried again; `place` counts from the first row consumed."""
    if rules.mode == INCREMENTAL:
        for match in range(matches_before, progress[MATCHES]):
            work.claimed[place + found.length[match] - 1] = 0
    if rules.memo == MEMO_FOREVER:
        for tried in range(len(work.memo)):
            if work.memo[tried] == stamp:
                work.memo[tried] = 0
    progress[MATCHES] = matches_before
    progress[PATH] = path_before


@inline_kernel
def _distance(automaton, rules, work, length):  # type: ignore[no-untyped-def]
    """How many rows to step ahead after a match; 0 or -1 where SKIP TO has no row to go to."""
    if rules.skip == PAST_LAST_ROW:
        return length
    if rules.skip == TO_NEXT_ROW:
        return 1
    target = -1
    for i in range(length):
        if rules.skip_labels[automaton.label[work.node[i + 1]]]:
            target = i
            if rules.skip == TO_FIRST:
                break
    return target


@inline_kernel
def no_update(label, row, depth, work, conditions):  # type: ignore[no-untyped-def]
    """No condition reads the run: there are no registers."""
    return 0


@inline_kernel
def no_check(state, label, row, depth, key_first, key_end, number, work, conditions):  # type: ignore[no-untyped-def]
    """No condition reads the run: reachability has said everything."""
    return 1


def build_search(name: str, update: Callable[..., Any], check: Callable[..., Any]) -> Callable[..., int]:
    """The search with these functions compiled into it.

    `update(label, row, depth, work, conditions)` sets the registers of depth + 1 after a row was consumed under a
    label; `check(state, label, row, depth, key_first, key_end, number, work, conditions)` tests the state's condition
    over the run: 1 true, 0 not, negative an error code. The name must be unique: numba files the compiled code under
    it.
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


class Outcome(NamedTuple):
    """What was found, and how the search ended."""

    found: Found
    failure: int
    failed_row: int
    steps: int


def run_search(
    search: Callable[..., int],
    automaton: Automaton,
    rules: Rules,
    rows: Rows,
    starts: Starts,
    conditions: Any,
    register_counts: tuple[int, int],
) -> Outcome:
    """Runs the kernel to the end, making room whenever it asks for it. `starts` is changed in place."""
    states, row_count = len(automaton.label), int(rows.end.max(initial=rows.base)) - rows.base
    depth = 1024  # large enough that threads don't write to one line of the cache
    found = Found(
        start=np.empty(1024, np.int64),
        length=np.empty(1024, np.int64),
        number=np.empty(1024, np.int64),
        ahead=np.empty(1024, np.int64),
        path=np.empty(8192 if rules.keep_path else 0, np.int32),
    )
    work = _room(depth, register_counts, rules, states, row_count)
    progress = np.zeros(9, np.int64)
    stopped = stop_flag()
    while True:
        status = search(automaton, rules, rows, starts, found, work, conditions, progress, stopped)
        check_stopped()
        if status == MORE_MATCHES:
            found = Found._make([*(_double(array) for array in found[:-1]), found.path])
        elif status == MORE_PATH and len(found.path) >= LARGEST_PATH:
            return Outcome(_cut(found, progress), RESULT_TOO_LARGE, int(progress[FAILED_ROW]), int(progress[STEPS]))
        elif status == MORE_PATH:
            found = found._replace(path=_double(found.path))
        elif status == MORE_DEPTH:
            depth *= 4
            room = _room(depth, register_counts, rules, states, row_count)
            work = room._replace(memo=work.memo, claimed=work.claimed)
        elif status == MORE_MEMO:
            work = work._replace(memo=np.concatenate([work.memo, np.zeros(max(len(work.memo), 1024), np.int64)]))
        else:
            return Outcome(
                _cut(found, progress), int(progress[FAILURE]), int(progress[FAILED_ROW]), int(progress[STEPS])
            )


def _room(depth: int, register_counts: tuple[int, int], rules: Rules, states: int, rows: int) -> Work:
    registers, accumulators = register_counts
    memo = rows * states if rules.memo == MEMO_FOREVER else 1024 if rules.memo == MEMO_PER_START else 0
    return Work(
        node=np.zeros(depth, np.int32),
        cursor=np.zeros(depth, np.int64),
        registers=np.full((depth, registers), -1, np.int64),
        whole=np.zeros((depth, accumulators), np.int64),
        real=np.zeros((depth, accumulators), np.float64),
        memo=np.zeros(memo, np.int64),
        claimed=np.zeros(rows if rules.mode in (INCREMENTAL, GROWING) else 0, np.int64),
        stack=np.zeros(64, np.float64),
        stack_whole=np.zeros(64, np.int64),
        stack_null=np.zeros(64, np.bool_),
    )


def _double(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.empty(max(len(array), 1024), array.dtype)])


def _cut(found: Found, progress: NDArray[np.int64]) -> Found:
    matches, path = int(progress[MATCHES]), int(progress[PATH])
    return Found._make([*(array[:matches] for array in found[:-1]), found.path[:path]])
