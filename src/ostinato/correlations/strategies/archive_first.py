"""Archive matches drive: live matches are looked for only in the regions ahead of them (DejaVu, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode
from ostinato.correlations.strategies.joining import Pairs
from ostinato.correlations.strategies.sides import NO_TIME, Ints, covered, first_at_least, runs_of
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, Outcome, RegionSums, live_matches
from ostinato.correlations.strategies.steps import Step, live_probes, pairs_of, quiet_ends, searched, seen, unsearched


def archive_first(step: Step) -> Outcome:
    """Equation 4 without its minimum: for each archive start the live pattern is matched in the region ahead of it."""
    ahead = _ahead(step)
    times = step.live.times
    found = step.live.find(live_probes(step, ahead.start, ahead.stop, ahead.end), step.modes.live)
    live = live_matches(times, found, step.modes, step.given)
    return _outcome(step, ahead, found, live, _pairs_ahead(step, ahead, live, ahead.entry[found.probe[live.found]]))


def _pairs_ahead(step: Step, ahead: _Ahead, live: LiveMatches, entry: Ints) -> Pairs:
    """Each live match with the archive start (entry) that it was looked for: a match found for two is there twice."""
    growths, entries = ahead.growths, ahead.growths.entries()
    growth = first_at_least(entries, growths.end, entry, live.end) - 1
    joins = growth >= entries[entry]
    start, place = growths.start[entries[entry]], growths.place[entries[entry]]
    joins &= start < live.start
    if step.region.kind == "rows":
        joins &= seen(step, live) - place <= int(step.region.size)
    else:
        joins &= live.end - start <= int(step.region.size)
    return Pairs(np.flatnonzero(joins), growth[joins])


def archive_first_cached(step: Step) -> Outcome:
    """Equation 4: in the union of the regions ahead of archive matches each live match is found once."""
    ahead = _ahead(step)
    times = step.live.times
    start, stop = runs_of(covered(len(times.start), ahead.start, ahead.stop), times.key_at)
    chained = step.modes.live is ProbeMode.CHAINED
    end = step.live_end[times.key_of(start)] if chained else stop
    found = step.live.find(live_probes(step, start, stop, end), step.modes.live)
    live = live_matches(times, found, step.modes, step.given)
    return _outcome(step, ahead, found, live, pairs_of(step, live, ahead.growths, found, ahead.found))


@dataclass(frozen=True, slots=True)
class _Ahead:
    """The archive's matches, and for those starts that may still get a live match the live rows to search."""

    growths: Growths
    found: ProbeMatches
    entry: Ints
    """The start whose region each range of rows is, counted as in `growths.entries()`."""
    start: Ints
    stop: Ints
    end: Ints


def _ahead(step: Step) -> _Ahead:
    found, growths = searched(step, unsearched(step))
    entries = growths.entries()
    first = growths.chosen(entries[:-1])  # the earliest end of each start
    times, live = step.archive.times, step.live.times
    if step.region.kind == "rows":
        last = times.key_at[first.key] + first.place - step.base[first.key] + int(step.region.size)
        gone = last < times.key_at[first.key]  # so far back that no live match to come reaches them
        is_there = ~gone & (last < times.key_at[first.key + 1])
        latest = np.where(gone, NO_TIME, np.iinfo(np.int64).max - 1)
        latest[is_there] = times.end[last[is_there]]
    else:
        latest = first.start + int(step.region.size)
    begin = live.first_at_least(live.start, first.key, first.start + 1)
    if step.live_ends_rise:
        begin = np.maximum(begin, live.first_at_least(live.end, first.key, first.end + 1))
        stop = live.first_at_least(live.end, first.key, latest + 1)
    else:
        stop = live.key_at[first.key + 1]
    begin = np.maximum(begin, step.first_live_start[first.key])
    if step.modes.live is ProbeMode.INCREMENTAL:
        begin = np.maximum(begin, step.given[first.key])
    stop = np.minimum(stop, step.live_end[first.key])
    asked = np.flatnonzero(begin < stop)
    begin, stop, key = begin[asked], stop[asked], first.key[asked]
    begin = np.maximum(step.live.quiet_before()[begin], step.first_live_start[key])
    end = step.live_end[key] if step.modes.live is ProbeMode.CHAINED else stop
    return _Ahead(growths, found, asked, begin, stop, end)


def _outcome(step: Step, ahead: _Ahead, found: ProbeMatches, live: LiveMatches, pairs: Pairs) -> Outcome:
    open_starts = ahead.found.open_start
    return Outcome(
        live,
        found,
        ahead.growths,
        ahead.found,
        step.archive,
        *pairs,
        quiet_ends(step),
        step.archive_end,
        open_starts,
        archive_regions=RegionSums(
            amount=len(ahead.entry),
            rows=int((ahead.stop - ahead.start).sum()),
            covered=int(covered(len(step.live.times.start), ahead.start, ahead.stop).sum()),
        ),
    )
