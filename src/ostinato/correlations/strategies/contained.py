"""A slower algorithm for events that lie inside one another: rows that ended before a live match aren't a prefix.

For each live match, it gathers the rows of its past, and matches the archive's pattern in them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from ostinato.correlations.strategies.sides import Ints, RowTimes, Side, probes_of
from ostinato.correlations.strategies.step_matches import NOT_FOUND_HERE, Growths, LiveMatches, StepOutcome, latest_ends
from ostinato.correlations.strategies.steps import StepInput, all_live, known_without, pairs_of, unknown
from ostinato.kernels.kernel_cache import kernel
from ostinato.kernels.stopping import check_stopped, stop_flag


class GatheringSide(Side, Protocol):
    """A side that can make a new side from some of its rows."""

    def gathered(self, rows: Ints, key_at: Ints) -> Side:
        """The side of these rows. Its key k has the rows `rows[key_at[k]:key_at[k + 1]]`."""
        ...


class _Pasts(NamedTuple):
    """For each live match, the rows of its past that its region needs."""

    rows: Ints
    at: Ints
    first: Ints
    """Number of these rows before the region, which only conditions and measures read."""
    position: Ints
    """Number of rows of the past before the gathered ones."""


def by_past(step: StepInput, archive: GatheringSide, rows_before: int) -> StepOutcome:
    """Live-first. Archive starts known from earlier steps join as usual; the others are searched in each past.

    `rows_before`: the number of rows before a start that conditions and measures read.
    """
    live_probe_matches, live, next_start = all_live(step)
    pasts = _gather(step, live, rows_before)
    with_past = np.flatnonzero(pasts.at[:-1] + pasts.first < pasts.at[1:])
    side = archive.gathered(pasts.rows, pasts.at)
    start, stop = (pasts.at[:-1] + pasts.first)[with_past], pasts.at[1:][with_past]
    archive_matches = side.find(probes_of(side.times, start, stop, stop, is_open=False), step.modes.as_of)
    own = with_past[archive_matches.probe]
    row = pasts.rows[archive_matches.start]
    position = step.base[live.key[own]] + pasts.position[own] + archive_matches.start - pasts.at[own]
    begins = side.times.start[archive_matches.start]
    joins = (archive_matches.length > 0) & (begins < live.start[own]) & unknown(step)[row]
    chosen = np.flatnonzero(joins)
    end = latest_ends(side.times.end, archive_matches.start[chosen], archive_matches.length[chosen])
    nowhere = np.full(len(chosen), NOT_FOUND_HERE)
    new = Growths(live.key[own[chosen]], position[chosen], begins[chosen], end, chosen, nowhere)
    known = known_without(step, unknown(step))  # their starts can no longer change
    pairs = pairs_of(replace(step, codes=None), live, known, live_probe_matches, archive_matches)
    both = Growths(*(np.concatenate(columns) for columns in zip(known, new, strict=True)))
    live_of_pair = np.concatenate([pairs.live, own[chosen]])
    growth_of_pair = np.concatenate([pairs.growth, len(known.key) + np.arange(len(chosen))])
    order = np.lexsort((growth_of_pair, live_of_pair))
    return StepOutcome(
        live,
        live_probe_matches,
        both,
        archive_matches,
        side,
        live_of_pair[order],
        growth_of_pair[order],
        next_start,
        step.search_from,
        step.reopened,
        remembered=np.arange(len(known.key)),
    )


def _gather(step: StepInput, live: LiveMatches, rows_before: int) -> _Pasts:
    times = step.archive.times
    by_rows = step.region.kind == "rows"
    size = int(step.region.size)
    count = np.zeros(len(live.key), np.int64)
    first, position = count.copy(), count.copy()
    empty = np.empty(0, np.int64)
    _fill(times, live, by_rows, size, rows_before, count, first, position, empty, empty, stop_flag())
    check_stopped()
    at = np.concatenate(([0], np.cumsum(count)))
    rows = np.empty(int(at[-1]), np.int64)
    _fill(times, live, by_rows, size, rows_before, count, first, position, at, rows, stop_flag())
    check_stopped()
    return _Pasts(rows, at, first, position)


@kernel
def _fill(times: RowTimes, live, by_rows, size, rows_before, count, first, position, at, rows, stopped):  # type: ignore[no-untyped-def]
    """Walks from the last row of each key back to the start of the region. Writes the rows if `rows` has room."""
    for match in range(len(live.key)):
        if stopped[0] != 0:
            return
        key, end = live.key[match], live.end[match]
        begin = times.key_at[key]
        inside, before = 0, 0
        write = at[match + 1] - 1 if len(at) else 0
        row = times.key_at[key + 1] - 1
        while row >= begin and before < rows_before + 1:
            if times.end[row] < end:
                in_region = inside < size if by_rows else end - times.start[row] <= size
                if in_region:
                    inside += 1
                elif before == rows_before:
                    break
                else:
                    before += 1
                if len(at):
                    rows[write] = row
                    write -= 1
            row -= 1
        passed = 0
        while row >= begin:
            passed += times.end[row] < end
            row -= 1
        count[match], first[match], position[match] = inside + before, before, passed
