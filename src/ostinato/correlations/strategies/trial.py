"""A step -> what searching a few of its rows shows of the cost model's factors, before a strategy is chosen.

One stretch of rows in the middle is searched, on both sides: everywhere, and once more in the regions of what the other
side found there, as lazy strategies do. Nothing comes of it but numbers; the step itself is done afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.correlations.strategies.cost_model import Observed, Regions, Searches
from ostinato.correlations.strategies.sides import Ints, Side, Times, probes_of
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, growths_of, live_matches
from ostinato.correlations.strategies.steps import Step, regions_of

MOSTLY = 0.8
"""Where so much of a stretch lies in regions, a row costs there what it costs everywhere."""
LEAST_ROWS = 200
"""Of fewer rows the clock shows nothing."""

LOADING_SECONDS = 0.001
"""A search of nothing that takes longer has loaded kernels."""


class Ranges(NamedTuple):
    """Rows `start:stop`, each range inside one key."""

    start: Ints
    stop: Ints

    @property
    def rows(self) -> int:
        return int((self.stop - self.start).sum())

    def first(self, rows: int) -> Ranges:
        """The first so many of the rows."""
        length = self.stop - self.start
        stop = self.start + np.clip(rows - (np.cumsum(length) - length), 0, length)
        kept = self.start < stop
        return Ranges(self.start[kept], stop[kept])

    def without_overlaps(self) -> Ranges:
        """Of each range, in their order, the rows that lie behind all ranges before it."""
        behind = np.maximum.accumulate(np.append(0, self.stop[:-1])) if len(self.stop) else self.stop
        return Ranges(np.minimum(np.maximum(self.start, behind), self.stop), self.stop)


def middle(first: Ints, end: Ints, rows: int) -> Ranges:
    """So many rows in the middle of all that keys have, key after key.

    >>> middle(np.array([0, 10]), np.array([6, 16]), 4)
    Ranges(start=array([ 4, 10]), stop=array([ 6, 12]))
    """
    length = np.maximum(end - first, 0)
    before = np.cumsum(length) - length
    skipped = max(int(length.sum()) - rows, 0) // 2
    start = first + np.clip(skipped - before, 0, length)
    stop = first + np.clip(skipped + rows - before, 0, length)
    kept = start < stop
    return Ranges(start[kept], stop[kept])


def try_out(step: Step, rows: int) -> Observed:
    """Searches about so many rows of each side, most of them twice."""
    live = _Clocked.on(step.live, step.modes.live, step.live_end)
    archive = _Clocked.on(step.archive, step.modes.growing, step.archive_end)
    live_rows = middle(step.first_live_start, step.live_end, rows)
    archive_rows = middle(step.search_from, step.archive_end, rows)
    live_found, live_seconds = live.searched(live_rows)
    archive_found, archive_seconds = archive.searched(archive_rows)
    matches = live_matches(live.times, live_found, step.modes, step.given)
    growths = growths_of(archive.times, step.base, archive_found)
    starts = growths.chosen(growths.entries()[:-1])
    behind, ahead = _behind(step, matches), _ahead(step, starts)
    return Observed(
        rows=live_rows.rows,
        live=Searches(live_rows.rows, live_seconds, len(matches.key)),
        archive=Searches(archive_rows.rows, archive_seconds, len(starts.key)),
        live_in_regions=live.in_regions(ahead, live_rows.rows),
        archive_in_regions=archive.in_regions(behind, archive_rows.rows),
        live_regions=_sums(behind, _extent(live.times, live_rows, archive.times)),
        archive_regions=_sums(ahead, _extent(archive.times, archive_rows, live.times)),
    )


# --- searches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clocked:
    """Searches of one side by the clock."""

    side: Side
    mode: ProbeMode
    end: Ints
    """Of each key the row before which rows may be consumed."""
    idle: float
    """What a search costs that searches nothing."""

    @staticmethod
    def on(side: Side, mode: ProbeMode, end: Ints) -> _Clocked:
        nothing = Ranges(np.empty(0, np.int64), np.empty(0, np.int64))
        clocked = _Clocked(side, mode, end, 0.0)
        idle = clocked.searched(nothing)[1]
        if idle > LOADING_SECONDS:
            idle = clocked.searched(nothing)[1]
        return replace(clocked, idle=idle)

    @property
    def times(self) -> Times:
        return self.side.times

    def searched(self, rows: Ranges) -> tuple[ProbeMatches, float]:
        """The matches that start in the rows, and the seconds that it took to find them."""
        before = self.side.cost.seconds
        found = self.side.find(self._probes(rows), self.mode)
        return found, max(self.side.cost.seconds - before - self.idle, 0.0)

    def _probes(self, rows: Ranges) -> Probes:
        inside = self.mode is ProbeMode.INCREMENTAL
        end = rows.stop if inside else self.end[self.times.key_of(rows.start)]
        return probes_of(self.times, rows.start, rows.stop, end, is_open=True)

    def in_regions(self, regions: Ranges, stretch: int) -> Searches:
        """What a row costs there, each searched once; nothing where they are too few, or nearly all rows."""
        rows = regions.without_overlaps().first(stretch)
        if not LEAST_ROWS <= rows.rows < MOSTLY * stretch:
            return Searches()
        found, seconds = self.searched(rows)
        return Searches(rows.rows, seconds, len(found.start))


# --- regions ----------------------------------------------------------------------------------------------------------


def _behind(step: Step, live: LiveMatches) -> Ranges:
    """The archive's rows in the regions of live matches."""
    found = regions_of(step, live)
    return Ranges(found.start, found.stop)


def _ahead(step: Step, starts: Growths) -> Ranges:
    """The live rows in which live matches of these archive starts may end."""
    times, live = step.archive.times, step.live.times
    if step.region.kind == "rows":
        row = times.key_at[starts.key] + starts.place - step.base[starts.key] + int(step.region.size)
        latest = times.end[np.minimum(row, times.key_at[starts.key + 1] - 1)]
    else:
        latest = starts.start + int(step.region.size)
    begin = live.first_at_least(live.start, starts.key, starts.end + 1)
    stop = np.minimum(live.first_at_least(live.start, starts.key, latest + 1), step.live_end[starts.key])
    return Ranges(np.minimum(begin, stop), stop)


def _extent(times: Times, stretch: Ranges, others: Times) -> int | None:
    """How many of the other side's rows a stretch inside one key takes; None where it has several keys."""
    if len(stretch.start) != 1:
        return None
    key = times.key_of(stretch.start)
    begin = others.first_at_least(others.start, key, times.start[stretch.start])
    end = others.first_at_least(others.start, key, times.start[stretch.stop - 1] + 1)
    return int(end[0] - begin[0])


def _sums(regions: Ranges, extent: int | None) -> Regions:
    """The first region of a stretch lies behind it for the most part: as if the stretch came again and again."""
    new = regions.without_overlaps()
    covered = new.rows
    if extent is not None and len(regions.stop):
        gap = extent - int(regions.stop[-1] - regions.stop[0])
        length = int(regions.stop[0] - regions.start[0])
        covered += min(max(gap, 0), length) - length
    return Regions(len(regions.start), regions.rows, covered)
