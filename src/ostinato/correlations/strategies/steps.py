"""The input of one step, and the searches that strategies consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, Probes
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.cost_model import RegionSums
from ostinato.correlations.strategies.joining import ArchiveStarts, Lives, Pairs, join, join_equal
from ostinato.correlations.strategies.sides import Ints, Mask, Side, covered, probes_of, runs_of
from ostinato.correlations.strategies.step_matches import (
    Growths,
    LiveMatches,
    Modes,
    growths_of,
    live_matches,
)


class AllLive(NamedTuple):
    """All new live matches of a step, and for each key the first row at which a later one may start."""

    probe_matches: ProbeMatches
    matches: LiveMatches
    next_start: Ints


class CodesOfValues(Protocol):
    """Numbers the values of live and archive matches. Equal values get equal numbers; -1 equals nothing."""

    def __call__(
        self, live: LiveMatches, live_probe_matches: ProbeMatches, growths: Growths, archive_probe_matches: ProbeMatches
    ) -> tuple[Ints, Ints]:
        """The numbers of the live matches, and those of the growths."""
        ...


@dataclass(frozen=True, slots=True)
class StepInput:
    """The rows in memory, with the results of earlier steps about them. Arrays have one entry for each key, unless
    noted otherwise."""

    live: Side
    archive: Side
    region: Region
    modes: Modes
    first_live_start: Ints
    """The first live row that is tried as a start."""
    reported_before: Ints
    """Live matches that end (INCREMENTAL) or start (otherwise) before this row were found by earlier steps."""
    live_end: Ints
    """Live rows before this one may be consumed in this step."""
    live_ends_rise: bool
    """Whether no live row ends before an earlier one."""
    search_from: Ints
    """Archive starts before this row are known, or no longer needed."""
    reopened: Ints
    """Archive rows before `search_from` whose starts have to be searched again."""
    archive_end: Ints
    """Archive rows before this one may be consumed in this step."""
    base: Ints
    """The position of the archive's first row in memory."""
    known_growths: Growths
    """Archive matches of earlier steps."""
    finished: bool
    """Whether this is the end of input."""
    all_live: AllLive | None = None
    """All live matches, if they were searched already."""
    codes: CodesOfValues | None = None
    """Numbers the values that the join requires to be equal; None if there are none."""


@dataclass(frozen=True, slots=True)
class ArchiveRegions:
    """For each live match, the archive rows in which a match may start, and those that it may consume."""

    start: Ints
    stop: Ints
    as_of: Ints
    """The key's rows before this one ended before the live match ended. They are its archive."""


def regions_of(step: StepInput, live: LiveMatches) -> ArchiveRegions:
    """The regions of live matches. Ends of archive rows must rise inside a key."""
    times = step.archive.times
    as_of = times.first_at_least(times.end, live.key, live.end)
    if step.region.kind == "rows":
        start = np.maximum(times.key_at[live.key], as_of - int(step.region.size))
    else:
        start = times.first_at_least(times.start, live.key, live.end - int(step.region.size))
    stop = np.minimum(times.first_at_least(times.start, live.key, live.start), as_of)
    return ArchiveRegions(np.minimum(start, stop), stop, as_of)


def region_sums(step: StepInput, regions: ArchiveRegions) -> RegionSums:
    """The sizes of the regions, summed."""
    inside = covered(len(step.archive.times.start), regions.start, regions.stop)
    return RegionSums(len(regions.start), int((regions.as_of - regions.start).sum()), int(inside.sum()))


def all_live(step: StepInput) -> AllLive:
    """Searches all live rows, unless they were searched already."""
    if step.all_live is not None:
        return step.all_live
    times, end = step.live.times, step.live_end
    nonempty = np.flatnonzero(step.first_live_start < end)
    start, stop = step.first_live_start[nonempty], end[nonempty]
    probe_matches = step.live.find(live_probes(step, start, stop, stop), step.modes.live)
    next_start = end.copy()
    np.minimum.at(next_start, nonempty[probe_matches.open_probe], probe_matches.open_start)
    return AllLive(probe_matches, live_matches(times, probe_matches, step.modes, step.reported_before), next_start)


def live_probes(step: StepInput, start: Ints, stop: Ints, end: Ints) -> Probes:
    """Probes of live rows. `$` doesn't hold at the end of a probe that other rows of its key follow."""
    times = step.live.times
    follows = end < times.key_at[times.key_of(start) + 1]
    return probes_of(times, start, stop, end, is_open=follows | (not step.finished))


def quiet_ends(step: StepInput) -> Ints:
    """Where later live matches may start, if not all rows were searched. No run from before reaches the last row."""
    result = step.live_end.copy()
    filled = step.first_live_start < step.live_end
    last = step.live_end[filled] - 1
    result[filled] = np.maximum(step.live.quiet_before()[last], step.first_live_start[filled])
    return result


def unknown(step: StepInput) -> Mask:
    """Marks the archive rows whose starts aren't known yet."""
    times = step.archive.times
    result: Mask = np.arange(len(times.start)) >= np.repeat(step.search_from, np.diff(times.key_at))
    result[step.reopened] = True
    return result


def unsearched(step: StepInput) -> Mask:
    """Marks the unknown starts that can be searched in this step."""
    times = step.archive.times
    may_be = np.arange(len(times.start)) < np.repeat(step.archive_end, np.diff(times.key_at))
    may_be[step.reopened] = True
    return unknown(step) & may_be


def searched(step: StepInput, starts: Mask) -> tuple[ProbeMatches, Growths]:
    """Finds all growths of these starts, and merges them with the known ones."""
    times = step.archive.times
    start, stop = runs_of(starts, times.key_at)
    end = step.archive_end[times.key_of(start)]
    probe_matches = step.archive.find(probes_of(times, start, stop, end, is_open=not step.finished), step.modes.growing)
    return probe_matches, known_without(step, starts).merged(growths_of(times, step.base, probe_matches))


def known_without(step: StepInput, starts: Mask) -> Growths:
    """The growths of earlier steps, without those of the marked archive rows."""
    known, key_at = step.known_growths, step.archive.times.key_at
    row = known.position - step.base[known.key] + key_at[known.key]
    is_marked = row >= key_at[known.key]
    is_marked[is_marked] = starts[row[is_marked]]
    return known.take(~is_marked)


def as_of(step: StepInput, regions: ArchiveRegions) -> tuple[ProbeMatches, Growths]:
    """The archive matches of every region, among the rows before its `as_of`. None is empty, so growth g is match g."""
    times = step.archive.times
    nonempty = np.flatnonzero(regions.start < regions.stop)
    probes = probes_of(times, regions.start[nonempty], regions.stop[nonempty], regions.as_of[nonempty], is_open=False)
    probe_matches = step.archive.find(probes, step.modes.as_of)
    with_rows = np.flatnonzero(probe_matches.length > 0)
    probe_matches = probe_matches._replace(
        probe=nonempty[probe_matches.probe[with_rows]],
        start=probe_matches.start[with_rows],
        length=probe_matches.length[with_rows],
        rank=probe_matches.rank[with_rows],
        path_at=probe_matches.path_at[with_rows],
    )
    return probe_matches, growths_of(times, step.base, probe_matches)


def pairs_of(
    step: StepInput,
    live: LiveMatches,
    growths: Growths,
    live_probe_matches: ProbeMatches,
    archive_probe_matches: ProbeMatches,
) -> Pairs:
    """Pairs live matches with the archive matches of their regions that had ended before the live match ended."""
    entries = growths.entries()
    first = growths.take(entries[:-1])
    key_at = np.searchsorted(first.key, np.arange(step.archive.times.keys + 1))
    starts = ArchiveStarts(key_at, first.start, first.position, entries, growths.end)
    lives = Lives(live.key, live.start, live.end, archive_rows_as_of(step, live))
    if step.codes is None:
        return join(lives, starts, step.region)
    live_code, growth_code = step.codes(live, live_probe_matches, growths, archive_probe_matches)
    return join_equal(lives, live_code, starts, growth_code, step.region)


def archive_rows_as_of(step: StepInput, live: LiveMatches) -> Ints:
    """For each live match, the number of archive rows that ended before it ended."""
    times = step.archive.times
    as_of = times.first_at_least(times.end, live.key, live.end)
    return as_of - times.key_at[live.key] + step.base[live.key]
