"""Rows and conditions, prepared once -> the matches inside any number of probes, which are ranges of rows.

A probe searches as if the rows before its `end` were all there are. Probes may overlap and don't influence one another.
So one call searches an archive at many moments, and the rows are prepared once. The growths of a start are all ends of
matches that begin there; one search of a start finds them for all moments.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.match_engine import (
    RowTimes,
    RunConditions,
    Task,
    check_longest,
    matches_of,
    rules_of,
    search_spans,
)
from ostinato.clause.matching.nfa_tables import NfaTables, pack_bits
from ostinato.clause.matching.reachability import NO_STATES, Reachable, reachable_states
from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.matching.symbols import symbols_of
from ostinato.kernels.constants import NO_TIME
from ostinato.kernels.kernel_cache import kernel
from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.rows.batches import Mask
from ostinato.rows.matches import Matches, ranges

Ints = NDArray[np.int64]


class ProbeMode(enum.Enum):
    """The matches of a probe to return; only CHAINED follows AFTER MATCH SKIP."""

    GROWING = "for each start every end once, in the preferred labeling"
    RECORDS = "for each start every match that was the preferred one when its last row arrived"
    MAXIMAL = "for each start the longest"
    PREFERRED = "for each start the preferred one at the end of the probe"
    INCREMENTAL = "for each last row the longest inside the probe"
    CHAINED = "the matches of the SQL standard, up to the first start that depends on later rows"


_MODES = {
    ProbeMode.GROWING: s.GROWING,
    ProbeMode.RECORDS: s.RECORDS,
    ProbeMode.MAXIMAL: s.MAXIMAL,
    ProbeMode.PREFERRED: s.PREFERRED,
    ProbeMode.INCREMENTAL: s.INCREMENTAL,
    ProbeMode.CHAINED: s.PREFERRED,
}


class Probes(NamedTuple):
    """One entry a probe; its rows lie in one key."""

    first: Ints
    last_end: Ints
    """Conditions over the run can read rows `first:last_end`. `first` counts as the first row of the partition."""
    start: Ints
    stop: Ints
    """Starts `start:stop` are tried."""
    end: Ints
    """Rows before this one are consumed."""
    is_open: NDArray[np.uint8]
    """Whether rows of the key may follow `end`; if not, `$` holds there and no start is open."""


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """Rows in order, those of key k at `key_at[k]:key_at[k + 1]`, and the states that may consume each."""

    task: Task
    key_at: Ints
    times: RowTimes
    reachable: Reachable
    run_conditions: RunConditions | None


class ProbeMatches(NamedTuple):
    """Matches ordered by probe, start and length, and the starts that later rows may matter to."""

    probe: Ints
    start: Ints
    length: Ints
    rank: Ints
    """The number of matches of its probe and start that were preferred to it."""
    path_at: Ints
    path: NDArray[np.int32] | None
    """The states of match m are `path[path_at[m]:path_at[m] + length[m]]`; None where the task needs no path."""
    open_probe: Ints
    open_start: Ints
    """Open starts: a later row may extend one of their runs. INCREMENTAL leaves out some of them, because an earlier
    start takes their matches. With CHAINED, the only open start of a probe is the one where it stopped."""


def prepare(
    task: Task,
    key_at: Ints,
    times: RowTimes,
    masks: Sequence[Mask],
    mask_of_state: Sequence[int],
    run_conditions: RunConditions | None = None,
    *,
    decided_until: Ints | None = None,
) -> PreparedRows:
    """Prepares the input of all probes. `mask_of_state` has the index of a mask, or ALWAYS.

    `decided_until`: for each key the row from which on later rows may change masks (NEXT). No probe consumes it.
    """
    check_longest(task, key_at)
    symbols = symbols_of(masks, mask_of_state, int(key_at[-1]))
    # A probe may end anywhere. A run that neither these rows nor any that follow can complete is in no probe.
    is_open = np.ones(len(key_at) - 1, np.uint8)
    end = key_at[1:] if decided_until is None else decided_until
    reachable = reachable_states(task.automaton, symbols.of_row, symbols.allowed, key_at[:-1], end, is_open)
    reachable.set_of_row[ranges(end, key_at[1:] - end)] = NO_STATES
    return PreparedRows(task, key_at, times, reachable, run_conditions)


def find(prepared: PreparedRows, probes: Probes, mode: ProbeMode, known_until: int = NO_TIME) -> ProbeMatches:
    """The matches of the mode in each probe; with WITHIN, rows that follow are later than `known_until`."""
    count = len(probes.start)
    starts = s.SpanStarts(probes.start.copy(), probes.stop, np.zeros(count, np.int64), np.full(count, -1, np.int64))
    rows = s.SearchRows(
        probes.first,
        probes.last_end,
        probes.end,
        probes.is_open,
        known_until,
        prepared.reachable.set_of_row,
        prepared.reachable.sets,
        prepared.times.us,
        int(probes.start.min(initial=prepared.key_at[-1])),
        prepared.times.reach_us,
    )
    stored = search_spans(prepared.task, _rules(prepared, mode), rows, starts, prepared.run_conditions)
    probe = np.repeat(np.arange(count), starts.number)
    matches = _in_order(stored, probe, keeps_path=prepared.task.needs_path)
    if mode is not ProbeMode.CHAINED:
        return matches
    stopped = np.flatnonzero(starts.row < probes.stop)
    return matches._replace(open_probe=stopped, open_start=starts.row[stopped])


def _rules(prepared: PreparedRows, mode: ProbeMode) -> s.SearchRules:
    task, reads_run = prepared.task, prepared.run_conditions is not None
    is_bounded = task.max_length is not None or task.within_us is not None
    memo = s.NO_MEMO
    if not reads_run:
        # Also for the preferred match: reachability was computed for all rows, so a probe that ends early tries more.
        memo = s.MEMO_FOREVER if mode is ProbeMode.INCREMENTAL and not is_bounded else s.MEMO_PER_START
    return rules_of(task, whole_keys(prepared.key_at), reads_run=reads_run)._replace(
        mode=_MODES[mode],
        memo=memo,
        timeouts=False,
        at_once=mode is not ProbeMode.CHAINED,
        every_start=mode is not ProbeMode.CHAINED,
        notes_open=True,
    )


def _in_order(stored: s.MatchBuffers, probe: Ints, *, keeps_path: bool) -> ProbeMatches:
    """Records of the search, ordered by probe, start and preference -> matches and open starts."""
    is_open = stored.number == s.OPEN_START
    path_at = np.cumsum(stored.length) - stored.length if keeps_path else np.zeros(len(probe), np.int64)
    open_probe, open_start = probe[is_open], stored.start[is_open]
    probe, start, length, path_at = (column[~is_open] for column in (probe, stored.start, stored.length, path_at))
    positions = np.arange(len(start))
    is_first = np.ones(len(start), np.bool_)
    is_first[1:] = (start[1:] != start[:-1]) | (probe[1:] != probe[:-1])
    rank = positions - positions[is_first][np.cumsum(is_first) - 1]
    # Timsort: a greedy search meets the longest match first, and one pass turns reversed runs round.
    group = np.cumsum(is_first) * (length.max(initial=0) + 1)
    order = np.argsort(group + length, kind="stable")
    return ProbeMatches(
        probe[order],
        start[order],
        length[order],
        rank[order],
        path_at[order],
        stored.path if keeps_path else None,
        open_probe,
        open_start,
    )


def matches_at(prepared: PreparedRows, matches: ProbeMatches, chosen: Ints, number: Ints | None = None) -> Matches:
    """The matches at the indexes `chosen`, in the form that measures read; `number`: MATCH_NUMBER(), 0 if unknown."""
    start, length = matches.start[chosen], matches.length[chosen]
    path = None if matches.path is None else matches.path[ranges(matches.path_at[chosen], length)]
    numbers = np.zeros(len(start), np.int64) if number is None else number
    return matches_of(prepared.task, prepared.key_at, start, length, numbers, path)


# --- quiet rows -------------------------------------------------------------------------------------------------------


def quiet_before(prepared: PreparedRows) -> Ints:
    """For each row the last quiet row up to it; the first of the key if there is none.

    No match that began before a quiet row can consume it, so a search from there on needs no earlier row. Conditions
    over the run count as true; WITHIN and MAXLENGTH don't count.
    """
    quiet = np.empty(int(prepared.key_at[-1]), np.int64)
    followers = _followers(prepared.task.automaton)
    reachable = prepared.reachable
    _fill_quiet(followers, reachable.set_of_row, reachable.sets, prepared.key_at, quiet, stop_flag())
    check_stopped()
    return quiet


def _followers(automaton: NfaTables) -> NDArray[np.uint64]:
    """The states (bits) that may follow each state; then the first states elsewhere, and at the partition's start."""
    lists = len(automaton.choice_at) - 1
    flags = np.zeros((lists, len(automaton.label)), np.bool_)
    owner = np.repeat(np.arange(lists), np.diff(automaton.choice_at))
    consuming = automaton.choices >= 0
    flags[owner[consuming], automaton.choices[consuming]] = True
    return pack_bits(flags)


@kernel
def _fill_quiet(followers, set_of_row, sets, key_at, quiet, stopped):  # type: ignore[no-untyped-def]
    states, width = len(followers) - 2, followers.shape[1]
    alive = np.zeros(width, np.uint64)  # possible states of runs that began before the row
    following = np.zeros(width, np.uint64)
    for key in range(len(key_at) - 1):
        alive[:] = np.uint64(0)
        last_quiet = key_at[key]
        begins = states + 1
        for row in range(key_at[key], key_at[key + 1]):
            if stopped[0] != 0:
                return
            here = sets[set_of_row[row]]
            goes_on = False
            following[:] = np.uint64(0)
            for state in range(states):
                if (alive[state >> 6] >> np.uint64(state & 63)) & np.uint64(1):
                    for word in range(width):
                        following[word] |= followers[state, word] & here[word]
            for word in range(width):
                goes_on = goes_on or following[word] != np.uint64(0)
                alive[word] = following[word] | (followers[begins, word] & here[word])
            if not goes_on:
                last_quiet = row
            quiet[row] = last_quiet
            begins = states
