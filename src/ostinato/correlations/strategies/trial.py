"""A step -> factors of the cost model, measured on a few of its rows before a strategy is chosen.

The trial searches one stretch of rows in the middle of each side: all of it first, then only the regions of the other
side's matches, as lazy strategies do. It gives measurements only; the step itself runs afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.correlations.strategies.cost_model import Observed, RegionSums, Searches
from ostinato.correlations.strategies.sides import Ints, RowTimes, Side, probes_of
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, growths_of, live_matches
from ostinato.correlations.strategies.steps import StepInput, regions_of

MOSTLY = 0.8
"""If regions cover more of a stretch than this fraction, they aren't measured apart: a row costs the same there."""
LEAST_ROWS = 200
"""Fewer rows are too few to be timed."""

LOADING_SECONDS = 0.001
"""An empty search that takes longer has loaded kernels."""


class RowRanges(NamedTuple):
    """Ranges of rows `start:stop`, each inside one key."""

    start: Ints
    stop: Ints

    @property
    def rows(self) -> int:
        return int((self.stop - self.start).sum())

    def first(self, rows: int) -> RowRanges:
        """The ranges cut after the first `rows` rows."""
        length = self.stop - self.start
        stop = self.start + np.clip(rows - (np.cumsum(length) - length), 0, length)
        is_nonempty = self.start < stop
        return RowRanges(self.start[is_nonempty], stop[is_nonempty])

    def without_overlaps(self) -> RowRanges:
        """Each range without the rows of earlier ranges."""
        behind = np.maximum.accumulate(np.append(0, self.stop[:-1])) if len(self.stop) else self.stop
        return RowRanges(np.minimum(np.maximum(self.start, behind), self.stop), self.stop)


def middle(first: Ints, end: Ints, rows: int) -> RowRanges:
    """The middle `rows` of all rows, key after key.

    >>> middle(np.array([0, 10]), np.array([6, 16]), 4)
    RowRanges(start=array([ 4, 10]), stop=array([ 6, 12]))
    """
    length = np.maximum(end - first, 0)
    before = np.cumsum(length) - length
    skipped = max(int(length.sum()) - rows, 0) // 2
    start = first + np.clip(skipped - before, 0, length)
    stop = first + np.clip(skipped + rows - before, 0, length)
    is_nonempty = start < stop
    return RowRanges(start[is_nonempty], stop[is_nonempty])


def try_out(step: StepInput, rows: int) -> Observed:
    """Searches about `rows` rows of each side, most of them twice."""
    live = _Clocked.on(step.live, step.modes.live, step.live_end)
    archive = _Clocked.on(step.archive, step.modes.growing, step.archive_end)
    live_rows = middle(step.first_live_start, step.live_end, rows)
    archive_rows = middle(step.search_from, step.archive_end, rows)
    live_probe_matches, live_seconds = live.searched(live_rows)
    archive_probe_matches, archive_seconds = archive.searched(archive_rows)
    matches = live_matches(live.times, live_probe_matches, step.modes, step.reported_before)
    growths = growths_of(archive.times, step.base, archive_probe_matches)
    starts = growths.take(growths.entries()[:-1])
    archive_region_rows, live_region_rows = _behind(step, matches), _ahead(step, starts)
    return Observed(
        rows=live_rows.rows,
        live=Searches(live_rows.rows, live_seconds, len(matches.key)),
        archive=Searches(archive_rows.rows, archive_seconds, len(starts.key)),
        live_in_regions=live.in_regions(live_region_rows, live_rows.rows),
        archive_in_regions=archive.in_regions(archive_region_rows, archive_rows.rows),
        live_regions=_sums(archive_region_rows, _extent(live.times, live_rows, archive.times)),
        archive_regions=_sums(live_region_rows, _extent(archive.times, archive_rows, live.times)),
    )


# --- searches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clocked:
    """Timed searches of one side."""

    side: Side
    mode: ProbeMode
    end: Ints
    """For each key, the row before which rows may be consumed."""
    idle_seconds: float
    """Seconds of an empty search."""

    @staticmethod
    def on(side: Side, mode: ProbeMode, end: Ints) -> _Clocked:
        nothing = RowRanges(np.empty(0, np.int64), np.empty(0, np.int64))
        clocked = _Clocked(side, mode, end, 0.0)
        idle_seconds = clocked.searched(nothing)[1]
        if idle_seconds > LOADING_SECONDS:
            idle_seconds = clocked.searched(nothing)[1]
        return replace(clocked, idle_seconds=idle_seconds)

    @property
    def times(self) -> RowTimes:
        return self.side.times

    def searched(self, rows: RowRanges) -> tuple[ProbeMatches, float]:
        """The matches that start in the rows, and the seconds of the search."""
        before = self.side.cost.seconds
        probe_matches = self.side.find(self._probes(rows), self.mode)
        return probe_matches, max(self.side.cost.seconds - before - self.idle_seconds, 0.0)

    def _probes(self, rows: RowRanges) -> Probes:
        inside = self.mode is ProbeMode.INCREMENTAL
        end = rows.stop if inside else self.end[self.times.key_of(rows.start)]
        return probes_of(self.times, rows.start, rows.stop, end, is_open=True)

    def in_regions(self, regions: RowRanges, stretch: int) -> Searches:
        """Searches each row of the regions once. Empty if the regions have too few rows, or nearly all."""
        rows = regions.without_overlaps().first(stretch)
        if not LEAST_ROWS <= rows.rows < MOSTLY * stretch:
            return Searches()
        probe_matches, seconds = self.searched(rows)
        return Searches(rows.rows, seconds, len(probe_matches.start))


# --- regions ----------------------------------------------------------------------------------------------------------


def _behind(step: StepInput, live: LiveMatches) -> RowRanges:
    """The archive rows in the regions of live matches."""
    regions = regions_of(step, live)
    return RowRanges(regions.start, regions.stop)


def _ahead(step: StepInput, starts: Growths) -> RowRanges:
    """The live rows in which a live match that joins one of these archive starts may end."""
    times, live = step.archive.times, step.live.times
    if step.region.kind == "rows":
        row = times.key_at[starts.key] + starts.position - step.base[starts.key] + int(step.region.size)
        latest = times.end[np.minimum(row, times.key_at[starts.key + 1] - 1)]
    else:
        latest = starts.start + int(step.region.size)
    begin = live.first_at_least(live.start, starts.key, starts.end + 1)
    stop = np.minimum(live.first_at_least(live.start, starts.key, latest + 1), step.live_end[starts.key])
    return RowRanges(np.minimum(begin, stop), stop)


def _extent(times: RowTimes, stretch: RowRanges, others: RowTimes) -> int | None:
    """Number of the other side's rows in the time of a stretch; None if the stretch has several keys."""
    if len(stretch.start) != 1:
        return None
    key = times.key_of(stretch.start)
    begin = others.first_at_least(others.start, key, times.start[stretch.start])
    end = others.first_at_least(others.start, key, times.start[stretch.stop - 1] + 1)
    return int(end[0] - begin[0])


def _sums(regions: RowRanges, extent: int | None) -> RegionSums:
    """Sums the regions as if the stretch repeated: most of its first region lies before the stretch."""
    new = regions.without_overlaps()
    covered = new.rows
    if extent is not None and len(regions.stop):
        gap = extent - int(regions.stop[-1] - regions.stop[0])
        length = int(regions.stop[0] - regions.start[0])
        covered += min(max(gap, 0), length) - length
    return RegionSums(len(regions.start), regions.rows, covered)
