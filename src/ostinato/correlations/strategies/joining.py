"""Live matches, and archive matches with all their ends -> the pairs that recency joins.

A live match joins each archive start in its region once. It takes the last growth of the start that had ended before
the live match ended. Live matches are ordered by end. So each archive start enters the list of active starts once, and
leaves it once at the front. For each live match, the kernel walks the active starts before it; every step gives a pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.sides import Ints
from ostinato.kernels.kernel_cache import inline_kernel, kernel
from ostinato.kernels.stopping import check_stopped, stop_flag

_LARGEST = np.iinfo(np.int64).max


class Lives(NamedTuple):
    """Live matches by key, then by rising ends."""

    key: Ints
    start: Ints
    end: Ints
    archive_rows: Ints
    """Number of the key's archive rows that ended before the match ended. Only used for regions by rows."""


class ArchiveStarts(NamedTuple):
    """Archive starts with their growths, ordered by start and position. Key k has `key_at[k]:key_at[k + 1]`."""

    key_at: Ints
    start: Ints
    position: Ints
    """Number of the key's archive rows before the start. Only used for regions by rows."""
    growth_at: Ints
    """Entry i has the growths `growth_at[i]:growth_at[i + 1]`, at least one."""
    end: Ints
    """The time at which each growth ends. It rises within an entry."""


class Pairs(NamedTuple):
    """Indices into the live matches and the growths, ordered by both."""

    live: Ints
    growth: Ints


def join(lives: Lives, starts: ArchiveStarts, region: Region) -> Pairs:
    """Pairs each live match with the archive matches that start before it and inside its region."""
    return _join(lives, starts, region, np.empty(0, np.int64))


def join_equal(lives: Lives, live_code: Ints, starts: ArchiveStarts, growth_code: Ints, region: Region) -> Pairs:
    """The pairs whose live match and growth have the same code. A negative code equals nothing.

    Codes refine the key, so the kernel never visits pairs with different codes. If the next growth of a start has
    another code, a growth is the match of its start only until the next one ends.
    """
    growth_key = np.repeat(np.arange(len(starts.key_at) - 1), np.diff(starts.growth_at[starts.key_at]))
    codes = int(max(live_code.max(initial=0), growth_code.max(initial=0))) + 1
    live_at, growth_at = np.flatnonzero(live_code >= 0), np.flatnonzero(growth_code >= 0)
    both = np.concatenate(
        [lives.key[live_at] * codes + live_code[live_at], (growth_key * codes + growth_code)[growth_at]]
    )
    values, refined = np.unique(both, return_inverse=True)
    live_key, growth_key = refined[: len(live_at)], refined[len(live_at) :]
    live_order, growth_order = np.argsort(live_key, kind="stable"), np.argsort(growth_key, kind="stable")
    live_at, growth_at, growth_key = live_at[live_order], growth_at[growth_order], growth_key[growth_order]
    coded_lives = Lives(live_key[live_order], lives.start[live_at], lives.end[live_at], lives.archive_rows[live_at])
    coded_starts = _chosen(starts, growth_at, growth_key, len(values))
    pairs = _join(coded_lives, coded_starts, region, _until(starts)[growth_at])
    live, growth = live_at[pairs.live], growth_at[pairs.growth]
    order = np.lexsort((growth, live))
    return Pairs(live[order], growth[order])


def _chosen(starts: ArchiveStarts, growths: Ints, key: Ints, keys: int) -> ArchiveStarts:
    """Entries of the chosen growths by new keys. A start has an entry in each key in which it has a growth."""
    entry = np.repeat(np.arange(len(starts.start)), np.diff(starts.growth_at))[growths]
    begins = np.ones(len(growths), np.bool_)
    begins[1:] = (entry[1:] != entry[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(begins)
    return ArchiveStarts(
        key_at=np.searchsorted(key[first], np.arange(keys + 1)),
        start=starts.start[entry[first]],
        position=starts.position[entry[first]],
        growth_at=np.append(first, len(growths)),
        end=starts.end[growths],
    )


def _until(starts: ArchiveStarts) -> Ints:
    """For each growth, the latest end of a live match that takes it. After that, the next growth has ended, too."""
    until = np.append(starts.end[1:], _LARGEST)[: len(starts.end)]
    until[starts.growth_at[1:] - 1] = _LARGEST
    return until


def _join(lives: Lives, starts: ArchiveStarts, region: Region, until: Ints) -> Pairs:
    by_rows, size = region.kind == "rows", min(int(region.size), _LARGEST)
    order = _by_first_end(starts)
    pairs_of = np.zeros(len(lives.key), np.int64)
    none = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
    _walk(lives, starts, until, order, by_rows, size, pairs_of, *none, stop_flag())
    check_stopped()
    largest_count = int(pairs_of.sum())
    if not largest_count:
        return none
    pairs = Pairs(np.empty(largest_count, np.int64), np.empty(largest_count, np.int64))
    count = _walk(lives, starts, until, order, by_rows, size, pairs_of, *pairs, stop_flag())
    check_stopped()
    return Pairs(pairs.live[:count], pairs.growth[:count])


def _by_first_end(starts: ArchiveStarts) -> Ints:
    """The entries of each key, ordered by the end of their first growth."""
    first_end = starts.end[starts.growth_at[:-1]]
    key = np.repeat(np.arange(len(starts.key_at) - 1), np.diff(starts.key_at))
    falls = (first_end[1:] < first_end[:-1]) & (key[1:] == key[:-1])
    return np.lexsort((first_end, key)) if falls.any() else np.arange(len(key))


class OrderedPairs(NamedTuple):
    """Pairs ordered by key and start of the archive match, then by end of the live match."""

    live: Ints
    growth: Ints
    of_live: Ints
    """Number of pairs of each live match."""
    of_growth: Ints


def by_start(pairs: Pairs, growth_key: Ints, growth_start: Ints, lives: int) -> OrderedPairs:
    """Reorders pairs that are ordered by live match. `lives`: the number of live matches."""
    group = _groups(growth_key, growth_start)
    ordered = OrderedPairs(
        np.empty_like(pairs.live), np.empty_like(pairs.growth), np.zeros(lives, np.int64), np.zeros_like(group)
    )
    _by_group(pairs, group, np.zeros(len(group) + 1, np.int64), ordered)
    return ordered


def _groups(key: Ints, start: Ints) -> Ints:
    """Numbers groups of equal (key, start), in ascending order."""
    same_key = key[1:] == key[:-1]
    if (key[1:] < key[:-1]).any() or (same_key & (start[1:] < start[:-1])).any():
        order = np.lexsort((start, key))
        group = np.empty_like(order)
        group[order] = _groups(key[order], start[order])
        return group
    rises = np.zeros(len(key), np.int64)
    rises[1:] = ~same_key | (start[1:] != start[:-1])
    return np.cumsum(rises)


@kernel
def _by_group(pairs, group, next_slot, ordered):  # type: ignore[no-untyped-def]
    """Stable counting sort. `next_slot` is all zero and has one entry more than there are groups."""
    for i in range(len(pairs.live)):
        ordered.of_live[pairs.live[i]] += 1
        ordered.of_growth[pairs.growth[i]] += 1
    for growth in range(len(group)):
        next_slot[group[growth] + 1] += ordered.of_growth[growth]
    for i in range(1, len(next_slot)):
        next_slot[i] += next_slot[i - 1]
    for i in range(len(pairs.live)):
        growth = pairs.growth[i]
        slot = next_slot[group[growth]]
        next_slot[group[growth]] = slot + 1
        ordered.live[slot], ordered.growth[slot] = pairs.live[i], growth


@kernel
def _walk(lives, starts, until, order, by_rows, size, pairs_of, live_of_pair, growth_of_pair, stopped):  # type: ignore[no-untyped-def]
    """Without room for pairs: writes an upper bound of each live match's pairs to `pairs_of`. Else writes the pairs."""
    fills = len(live_of_pair) > 0
    active = np.empty(len(order), np.int64)  # entries with a growth that ended before the live match, by start
    grown = starts.growth_at[:-1].copy()  # for each entry, the last growth that was taken
    front, back, waiting, count, key = 0, 0, 0, 0, -1
    for live in range(len(lives.key)):
        if stopped[0] != 0:
            return count
        if lives.key[live] != key:
            key = lives.key[live]
            front, back, waiting = 0, 0, starts.key_at[key]
        end, start = lives.end[live], lives.start[live]
        while waiting < starts.key_at[key + 1] and starts.end[starts.growth_at[order[waiting]]] < end:
            _insert(active, front, back, order[waiting])
            back += 1
            waiting += 1
        while front < back and _is_past(lives, starts, live, active[front], by_rows, size):
            front += 1
        if not fills:
            pairs_of[live] = _count_before(active, starts.start, front, back, start)
            continue
        for i in range(front, back):
            entry = active[i]
            if starts.start[entry] >= start:
                break
            growth, last = grown[entry], starts.growth_at[entry + 1] - 1
            while growth < last and starts.end[growth + 1] < end:
                growth += 1
            grown[entry] = growth
            if len(until) == 0 or end <= until[growth]:
                live_of_pair[count], growth_of_pair[count] = live, growth
                count += 1
    return count


@inline_kernel
def _insert(active, front, back, entry):  # type: ignore[no-untyped-def]
    """Inserts mostly at the end: later starts end later, unless matches lie inside one another."""
    slot = back
    while slot > front and active[slot - 1] > entry:
        active[slot] = active[slot - 1]
        slot -= 1
    active[slot] = entry


@inline_kernel
def _is_past(lives, starts, live, entry, by_rows, size):  # type: ignore[no-untyped-def]
    """Whether the entry starts before the region of the live match, and so before all later regions."""
    if by_rows:
        return lives.archive_rows[live] - starts.position[entry] > size
    # Unsigned: the start lies before the end, but perhaps too far for a signed difference.
    return np.uint64(lives.end[live]) - np.uint64(starts.start[entry]) > np.uint64(size)


@inline_kernel
def _count_before(active, start_of, front, back, start):  # type: ignore[no-untyped-def]
    """Number of active entries that start before the live match."""
    low, high = front, back
    while low < high:
        middle = (low + high) >> 1
        if start_of[active[middle]] < start:
            low = middle + 1
        else:
            high = middle
    return low - front
