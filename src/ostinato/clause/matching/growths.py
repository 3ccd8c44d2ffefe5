"""Rows and conditions, prepared once -> the matches inside any number of probes: parts of the rows that may overlap.

A probe asks what is found if the rows before its `end` are all there are, whatever other probes ask. So an archive as
of many moments is searched in one call, and the rows are prepared once. What one search of a start can tell about all
moments are its growths: every end of a match that begins there.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching import search_arrays as s
from ostinato.clause.matching.match_engine import OverRun, Task, check_longest, rules_of
from ostinato.clause.matching.nfa_tables import Automaton, pack_bits
from ostinato.clause.matching.reachability import NO_STATES, Reachable, reachable_states
from ostinato.clause.matching.search import search_plain
from ostinato.clause.matching.search_driver import run_search
from ostinato.clause.matching.search_failures import failure_of
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

    GROWING = "of each start every end once, in the preferred labeling"
    RECORDS = "of each start those that are its preferred match as of their own last row"
    MAXIMAL = "of each start the longest"
    PREFERRED = "of each start the preferred one as of the end of the probe"
    INCREMENTAL = "for each last row the longest inside the probe"
    CHAINED = "the standard's, up to the first start that rows to come decide"


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
    """Conditions over the run can read rows `first:last_end`; `first` counts as the first row of the partition."""
    start: Ints
    stop: Ints
    """Starts `start:stop` are tried."""
    end: Ints
    """Rows before this one are consumed."""
    is_open: NDArray[np.uint8]
    """Whether rows of the key may follow `end`; if not, `$` holds there and no start is open."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows in order, those of key k at `key_at[k]:key_at[k + 1]`, and the states that may consume each."""

    task: Task
    key_at: Ints
    time_us: Ints
    """Only where WITHIN needs it."""
    reachable: Reachable
    over_run: OverRun | None


class ProbeMatches(NamedTuple):
    """Matches ordered by probe, start and length; apart from them the starts that rows to come may matter to."""

    probe: Ints
    start: Ints
    length: Ints
    rank: Ints
    """Among the matches of its probe and start: how many were preferred to it."""
    path_at: Ints
    path: NDArray[np.int32] | None
    """The states of match m are `path[path_at[m]:path_at[m] + length[m]]`; None where the task needs no path."""
    open_probe: Ints
    open_start: Ints
    """Probe and start of each start with a run that could have consumed the row `end`, so that it may get further
    matches. INCREMENTAL leaves out some whose matches an earlier start gets. CHAINED: where the probe stopped."""


def prepare(
    task: Task,
    key_at: Ints,
    time_us: Ints,
    masks: Sequence[Mask],
    mask_of_state: Sequence[int],
    over_run: OverRun | None = None,
    *,
    decided_until: Ints | None = None,
) -> Prepared:
    """Prepares the input of all probes. `mask_of_state` names a mask or ALWAYS; `over_run`: conditions over the run.

    `decided_until`: of each key the row from which on masks may change with rows to come (NEXT); no probe consumes it.
    """
    check_longest(task, key_at)
    symbols = symbols_of(masks, mask_of_state, int(key_at[-1]))
    # A probe may end anywhere, and what can't be completed with the rows at hand and any that follow can't be in it.
    is_open = np.ones(len(key_at) - 1, np.uint8)
    end = key_at[1:] if decided_until is None else decided_until
    reachable = reachable_states(task.automaton, symbols.of_row, symbols.allowed, key_at[:-1], end, is_open)
    reachable.set_of_row[ranges(end, key_at[1:] - end)] = NO_STATES
    return Prepared(task, key_at, time_us, reachable, over_run)


def find(prepared: Prepared, probes: Probes, mode: ProbeMode, known_until: int = NO_TIME) -> ProbeMatches:
    """The matches of the mode in each probe; with WITHIN, rows that follow are later than `known_until`."""
    task, over_run = prepared.task, prepared.over_run
    count = len(probes.start)
    starts = s.SpanStarts(probes.start.copy(), probes.stop, np.zeros(count, np.int64), np.full(count, -1, np.int64))
    outcome = run_search(
        search_plain if over_run is None else over_run.search,
        task.automaton,
        _rules(prepared, mode),
        s.SearchRows(
            probes.first,
            probes.last_end,
            probes.end,
            probes.is_open,
            known_until,
            prepared.reachable.set_of_row,
            prepared.reachable.sets,
            prepared.time_us,
            int(probes.start.min(initial=prepared.key_at[-1])),
        ),
        starts,
        () if over_run is None else over_run.conditions,
        (0, 0) if over_run is None else over_run.register_counts,
    )
    if outcome.failure:
        raise failure_of(task, outcome.failure, outcome.failed_row)
    matches = _in_order(outcome.matches, np.repeat(np.arange(count), starts.number), keeps_path=task.needs_path)
    if mode is not ProbeMode.CHAINED:
        return matches
    stopped = np.flatnonzero(starts.row < probes.stop)
    return matches._replace(open_probe=stopped, open_start=starts.row[stopped])


def _rules(prepared: Prepared, mode: ProbeMode) -> s.SearchRules:
    task, reads_run = prepared.task, prepared.over_run is not None
    is_bounded = task.max_length is not None or task.within_us is not None
    memo = s.NO_MEMO
    if not reads_run:
        # Also for the preferred match: a probe that ends early leaves states that look reachable and aren't.
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
    """The records of the search, which come by probe, start and preference, as matches and open starts."""
    is_open = stored.number == s.OPEN_START
    path_at = np.cumsum(stored.length) - stored.length if keeps_path else np.zeros(len(probe), np.int64)
    open_probe, open_start = probe[is_open], stored.start[is_open]
    probe, start, length, path_at = (column[~is_open] for column in (probe, stored.start, stored.length, path_at))
    positions = np.arange(len(start))
    is_first = np.ones(len(start), np.bool_)
    is_first[1:] = (start[1:] != start[:-1]) | (probe[1:] != probe[:-1])
    rank = positions - positions[is_first][np.cumsum(is_first) - 1]
    # Timsort: a greedy search meets the longest first, and whole runs in reverse take it one pass.
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


def matches_at(prepared: Prepared, matches: ProbeMatches, chosen: Ints, number: Ints | None = None) -> Matches:
    """The chosen matches (places in `found`) as measures are read from them; `number`: MATCH_NUMBER(), 0 if unknown."""
    task, key_at = prepared.task, prepared.key_at
    start, length = matches.start[chosen], matches.length[chosen]
    path = np.empty(0, np.int32) if matches.path is None else matches.path[ranges(matches.path_at[chosen], length)]
    excluded_state = np.array([state.excluded for state in task.nfa.states], np.bool_)
    key = np.searchsorted(key_at, start, side="right") - 1
    return Matches(
        start=start,
        length=length,
        number=np.zeros(len(start), np.int64) if number is None else number,
        path_at=np.zeros(len(start), np.int64) if matches.path is None else np.cumsum(length) - length,
        label=task.automaton.label[path],
        excluded=excluded_state[path],
        key_first=key_at[key],
        key_end=key_at[key + 1],
    )


# --- quiet rows -------------------------------------------------------------------------------------------------------


def quiet_before(prepared: Prepared) -> Ints:
    """For each row the last row up to it that no match begun before can consume; the first of the key if there is none.

    A search of this row and later ones needs nothing from before. Conditions over the run count as true; WITHIN and
    MAXLENGTH don't count.
    """
    quiet = np.empty(int(prepared.key_at[-1]), np.int64)
    followers = _followers(prepared.task.automaton)
    reachable = prepared.reachable
    _fill_quiet(followers, reachable.set_of_row, reachable.sets, prepared.key_at, quiet, stop_flag())
    check_stopped()
    return quiet


def _followers(automaton: Automaton) -> NDArray[np.uint64]:
    """The states (bits) that may consume a row behind each state, then behind no row: elsewhere, and at the start."""
    lists = len(automaton.choice_at) - 1
    flags = np.zeros((lists, len(automaton.label)), np.bool_)
    owner = np.repeat(np.arange(lists), np.diff(automaton.choice_at))
    consuming = automaton.choices >= 0
    flags[owner[consuming], automaton.choices[consuming]] = True
    return pack_bits(flags)


@kernel
def _fill_quiet(followers, set_of_row, sets, key_at, quiet, stopped):  # type: ignore[no-untyped-def]
    states, width = len(followers) - 2, followers.shape[1]
    alive = np.zeros(width, np.uint64)  # states in which a run may be that began before the row
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
