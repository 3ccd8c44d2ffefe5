"""The rows of both sides in one step, and the searches that the strategies are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, Probes
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.joining import Lives, Pairs, Starts, join, join_equal
from ostinato.correlations.strategies.sides import Ints, Mask, Side, covered, probes_of, runs_of
from ostinato.correlations.strategies.step_matches import (
    Growths,
    LiveMatches,
    Modes,
    RegionSums,
    growths_of,
    live_matches,
)


class AllLive(NamedTuple):
    """Every live match of a step that wasn't given before, and where those to come may start in each key."""

    found: ProbeMatches
    matches: LiveMatches
    next_start: Ints


class CodesOfValues(Protocol):
    """Equal values of live and archive matches get equal numbers; -1: equals nothing."""

    def __call__(
        self, live: LiveMatches, live_found: ProbeMatches, growths: Growths, archive_found: ProbeMatches
    ) -> tuple[Ints, Ints]:
        """The numbers of the live matches, and of the growths."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """The rows at hand and what is known of them from earlier steps; per key where nothing else is said."""

    live: Side
    archive: Side
    region: Region
    modes: Modes
    first_live_start: Ints
    """The live row from which starts are tried."""
    given: Ints
    """INCREMENTAL: live matches with a last row before this one were given; otherwise those that start before it."""
    live_end: Ints
    """The live row before which rows may be consumed yet."""
    live_ends_rise: bool
    """Whether no live row ends before one that stands in front of it."""
    search_from: Ints
    """The archive's starts before this row are known, or never needed again."""
    reopened: Ints
    """The archive's rows before that whose starts have to be searched again."""
    archive_end: Ints
    """The archive's row before which rows may be consumed yet."""
    base: Ints
    """The place of the archive's first row at hand."""
    known: Growths
    """Archive matches of earlier steps."""
    finished: bool
    """Whether no rows follow."""
    all_live: AllLive | None = None
    """Every live match, where these were searched already."""
    codes: CodesOfValues | None = None
    """Where the join asks values of both matches to be equal: what numbers these values."""


@dataclass(frozen=True, slots=True)
class Regions:
    """For each live match the archive's rows in which a match may start, and those that it may consume."""

    start: Ints
    stop: Ints
    as_of: Ints
    """Rows of the key before this one are the archive as of the live match."""


def regions_of(step: Step, live: LiveMatches) -> Regions:
    """The regions of live matches; the archive's ends don't fall inside a key."""
    times = step.archive.times
    as_of = times.first_at_least(times.end, live.key, live.end)
    if step.region.kind == "rows":
        start = np.maximum(times.key_at[live.key], as_of - int(step.region.size))
    else:
        start = times.first_at_least(times.start, live.key, live.end - int(step.region.size))
    stop = np.minimum(times.first_at_least(times.start, live.key, live.start), as_of)
    return Regions(np.minimum(start, stop), stop, as_of)


def region_sums(step: Step, regions: Regions) -> RegionSums:
    """How large the regions are."""
    inside = covered(len(step.archive.times.start), regions.start, regions.stop)
    return RegionSums(len(regions.start), int((regions.as_of - regions.start).sum()), int(inside.sum()))


def all_live(step: Step) -> AllLive:
    """Searches all live rows, unless that was done."""
    if step.all_live is not None:
        return step.all_live
    times, end = step.live.times, step.live_end
    asked = np.flatnonzero(step.first_live_start < end)
    start, stop = step.first_live_start[asked], end[asked]
    found = step.live.find(live_probes(step, start, stop, stop), step.modes.live)
    next_start = end.copy()
    np.minimum.at(next_start, asked[found.open_probe], found.open_start)
    return AllLive(found, live_matches(times, found, step.modes, step.given), next_start)


def live_probes(step: Step, start: Ints, stop: Ints, end: Ints) -> Probes:
    """Probes of live rows: of a probe that ends inside its key rows follow, so `$` doesn't hold at its end."""
    times = step.live.times
    follows = end < times.key_at[times.key_of(start) + 1]
    return probes_of(times, start, stop, end, is_open=follows | (not step.finished))


def quiet_ends(step: Step) -> Ints:
    """Where live matches to come may start, if nothing was searched: nothing from before leads on to the last row."""
    result = step.live_end.copy()
    filled = step.first_live_start < step.live_end
    last = step.live_end[filled] - 1
    result[filled] = np.maximum(step.live.quiet_before()[last], step.first_live_start[filled])
    return result


def unknown(step: Step) -> Mask:
    """The archive's rows whose starts aren't known yet."""
    times = step.archive.times
    result: Mask = np.arange(len(times.start)) >= np.repeat(step.search_from, np.diff(times.key_at))
    result[step.reopened] = True
    return result


def unsearched(step: Step) -> Mask:
    """Those of them that can be searched yet, together with the rows in front of them."""
    times = step.archive.times
    may_be = np.arange(len(times.start)) < np.repeat(step.archive_end, np.diff(times.key_at))
    may_be[step.reopened] = True
    return unknown(step) & may_be


def searched(step: Step, starts: Mask) -> tuple[ProbeMatches, Growths]:
    """All ends of the matches that start in these rows, and those known before."""
    times = step.archive.times
    start, stop = runs_of(starts, times.key_at)
    end = step.archive_end[times.key_of(start)]
    found = step.archive.find(probes_of(times, start, stop, end, is_open=not step.finished), step.modes.growing)
    known = step.known
    if len(known.key):
        row = known.place - step.base[known.key] + times.key_at[known.key]
        again = row >= times.key_at[known.key]
        again[again] = starts[row[again]]
        known = known.chosen(~again)
    return found, known.merged(growths_of(times, step.base, found))


def as_of(step: Step, regions: Regions) -> tuple[ProbeMatches, Growths]:
    """The archive's matches of every region, as of its own end. All have rows: growth g is match g of probe g."""
    times = step.archive.times
    asked = np.flatnonzero(regions.start < regions.stop)
    probes = probes_of(times, regions.start[asked], regions.stop[asked], regions.as_of[asked], is_open=False)
    matched = step.archive.find(probes, step.modes.as_of)
    kept = np.flatnonzero(matched.length > 0)
    matched = matched._replace(
        probe=asked[matched.probe[kept]],
        start=matched.start[kept],
        length=matched.length[kept],
        rank=matched.rank[kept],
        path_at=matched.path_at[kept],
    )
    return matched, growths_of(times, step.base, matched)


def pairs_of(
    step: Step, live: LiveMatches, growths: Growths, live_found: ProbeMatches, archive_found: ProbeMatches
) -> Pairs:
    """Live matches with the archive matches of their regions, as of them."""
    entries = growths.entries()
    first = growths.chosen(entries[:-1])
    key_at = np.searchsorted(first.key, np.arange(step.archive.times.keys + 1))
    starts = Starts(key_at, first.start, first.place, entries, growths.end)
    lives = Lives(live.key, live.start, live.end, seen(step, live))
    if step.codes is None:
        return join(lives, starts, step.region)
    live_code, growth_code = step.codes(live, live_found, growths, archive_found)
    return join_equal(lives, live_code, starts, growth_code, step.region)


def seen(step: Step, live: LiveMatches) -> Ints:
    """The number of the archive's rows as of each live match."""
    times = step.archive.times
    as_of = times.first_at_least(times.end, live.key, live.end)
    return as_of - times.key_at[live.key] + step.base[live.key]
