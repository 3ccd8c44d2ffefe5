"""Archive-first: searches live matches only in the regions ahead of archive matches (DejaVu, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode
from ostinato.correlations.strategies.cost_model import RegionSums
from ostinato.correlations.strategies.joining import Pairs
from ostinato.correlations.strategies.sides import Ints, covered, first_at_least, runs_of
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, StepOutcome, live_matches
from ostinato.correlations.strategies.steps import (
    StepInput,
    archive_rows_as_of,
    live_probes,
    pairs_of,
    quiet_ends,
    searched,
    unsearched,
)
from ostinato.kernels.constants import NO_TIME


def archive_first(step: StepInput) -> StepOutcome:
    """Equation 4 without its minimum: matches the live pattern in the region ahead of each archive start."""
    ahead = _regions_ahead(step)
    times = step.live.times
    probe_matches = step.live.find(live_probes(step, ahead.start, ahead.stop, ahead.end), step.modes.live)
    live = live_matches(times, probe_matches, step.modes, step.reported_before)
    entry = ahead.entry[probe_matches.probe[live.match_index]]
    return _outcome(step, ahead, probe_matches, live, _pairs_ahead(step, ahead, live, entry))


def _pairs_ahead(step: StepInput, ahead: _RegionsAhead, live: LiveMatches, entry: Ints) -> Pairs:
    """Pairs each live match with the archive start (entry) of its region. A match in two regions occurs twice."""
    growths, entries = ahead.growths, ahead.growths.entries()
    growth = first_at_least(entries, growths.end, entry, live.end) - 1
    joins = growth >= entries[entry]
    start, position = growths.start[entries[entry]], growths.position[entries[entry]]
    joins &= start < live.start
    if step.region.kind == "rows":
        joins &= archive_rows_as_of(step, live) - position <= int(step.region.size)
    else:
        joins &= live.end - start <= int(step.region.size)
    return Pairs(np.flatnonzero(joins), growth[joins])


def archive_first_cached(step: StepInput) -> StepOutcome:
    """Equation 4: searches the union of the regions ahead of archive matches, so each live match is found once."""
    ahead = _regions_ahead(step)
    times = step.live.times
    start, stop = runs_of(covered(len(times.start), ahead.start, ahead.stop), times.key_at)
    chained = step.modes.live is ProbeMode.CHAINED
    end = step.live_end[times.key_of(start)] if chained else stop
    probe_matches = step.live.find(live_probes(step, start, stop, end), step.modes.live)
    live = live_matches(times, probe_matches, step.modes, step.reported_before)
    return _outcome(
        step, ahead, probe_matches, live, pairs_of(step, live, ahead.growths, probe_matches, ahead.probe_matches)
    )


@dataclass(frozen=True, slots=True)
class _RegionsAhead:
    """The archive's matches, and the live rows to search for each start that a live match can still follow."""

    growths: Growths
    probe_matches: ProbeMatches
    entry: Ints
    """The archive start of each range of rows, as an index into `growths.entries()`."""
    start: Ints
    stop: Ints
    end: Ints


def _regions_ahead(step: StepInput) -> _RegionsAhead:
    probe_matches, growths = searched(step, unsearched(step))
    entries = growths.entries()
    first = growths.take(entries[:-1])  # the earliest end of each start
    times, live = step.archive.times, step.live.times
    if step.region.kind == "rows":
        last = times.key_at[first.key] + first.position - step.base[first.key] + int(step.region.size)
        is_past = last < times.key_at[first.key]  # too far back for any later live match
        is_in_memory = ~is_past & (last < times.key_at[first.key + 1])
        latest = np.where(is_past, NO_TIME, np.iinfo(np.int64).max - 1)
        latest[is_in_memory] = times.end[last[is_in_memory]]
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
        begin = np.maximum(begin, step.reported_before[first.key])
    stop = np.minimum(stop, step.live_end[first.key])
    with_live_rows = np.flatnonzero(begin < stop)
    begin, stop, key = begin[with_live_rows], stop[with_live_rows], first.key[with_live_rows]
    begin = np.maximum(step.live.quiet_before()[begin], step.first_live_start[key])
    end = step.live_end[key] if step.modes.live is ProbeMode.CHAINED else stop
    return _RegionsAhead(growths, probe_matches, with_live_rows, begin, stop, end)


def _outcome(
    step: StepInput, ahead: _RegionsAhead, probe_matches: ProbeMatches, live: LiveMatches, pairs: Pairs
) -> StepOutcome:
    return StepOutcome(
        live,
        probe_matches,
        ahead.growths,
        ahead.probe_matches,
        step.archive,
        *pairs,
        quiet_ends(step),
        step.archive_end,
        ahead.probe_matches.open_start,
        archive_regions=RegionSums(
            amount=len(ahead.entry),
            rows=int((ahead.stop - ahead.start).sum()),
            covered=int(covered(len(step.live.times.start), ahead.start, ahead.stop).sum()),
        ),
    )
