"""Window-first, the state of the art before DejaVu: behind every row both patterns are matched again.

A comparator: it gives the same pairs as the product's strategies and runs in their place.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

import ostinato as ost
from ostinato.clause.matching.growths import ProbeMode
from ostinato.correlations.strategies.contained import by_past
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.step_matches import LiveMatches, StepOutcome, live_matches
from ostinato.correlations.strategies.steps import ArchiveRegions, StepInput, as_of, live_probes, quiet_ends, regions_of
from ostinato.correlations.task.side_rows import WindowSide
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.correlation_runs import CorrelationRows, CorrelationRun

NAME = "window_first"


class WindowFirstQuery(ost.CorrelationQuery):
    """A correlation that runs by window-first in process."""

    __slots__ = ()

    def _rows(self, live: Any, settings: Settings) -> dict[str, CorrelationRows]:
        return CorrelationRun(self.options, self.limits, settings, window_first).results(self.texts, live, self.archive)


def by_window_first(query: ost.CorrelationQuery) -> ost.CorrelationQuery:
    """The same correlation by window-first. Like live-first without a cache, it remembers no archive match."""
    values = {field.name: getattr(query, field.name) for field in fields(query)}
    return WindowFirstQuery(**values | {"options": replace(query.options, strategy="live_first", cache=False)})


def window_first(step: StepInput) -> StepOutcome:
    """Matches both patterns in a window as large as the region behind every live row. Raises CORRELATION_STRATEGY."""
    assert isinstance(step.live, WindowSide)
    assert isinstance(step.archive, WindowSide)
    if step.live.owner.task.reads_number:
        raise QueryError("CORRELATION_STRATEGY", "window-first can't number live matches: it doesn't find all of them")
    if not step.live_ends_rise:
        return by_past(step, step.archive, step.archive.owner.task.rows_before)
    times = step.live.times
    key = np.repeat(np.arange(times.keys), np.diff(times.key_at))
    rows = np.arange(len(key))
    first = np.maximum(step.reported_before, step.first_live_start)  # the earliest last row of a new match
    is_last = (rows >= first[key]) & (rows < step.live_end[key]) & (times.end != NO_TIME)
    rows, key = rows[is_last], key[is_last]
    windows = LiveMatches(key, times.end[rows] + 1, times.end[rows], rows, rows)
    regions = regions_of(step, windows)
    begins = _window_begins(step, windows, regions)
    # For the standard's matches, later rows decide whether a match goes on behind the window.
    end = rows + 1 if step.modes.live is ProbeMode.INCREMENTAL else step.live_end[key]
    live_probe_matches = step.live.find(live_probes(step, begins, rows + 1, end), step.modes.live)
    ends_there = live_probe_matches.start + live_probe_matches.length - 1 == rows[live_probe_matches.probe]
    live = live_matches(times, live_probe_matches, step.modes, step.reported_before)
    live = live.take(ends_there[live.match_index])
    archive_matches, growths = as_of(step, regions)
    # At most one live match ends with a window. It joins all archive matches of the window that start before it.
    live_of_window = np.full(len(rows), -1)
    live_of_window[live_probe_matches.probe[live.match_index]] = np.arange(len(live.key))
    paired = live_of_window[archive_matches.probe]
    joins = np.flatnonzero(paired >= 0)
    joins = joins[growths.start[joins] < live.start[paired[joins]]]
    order = joins[np.lexsort((growths.start[joins], paired[joins]))]
    return StepOutcome(
        live,
        live_probe_matches,
        growths,
        archive_matches,
        step.archive,
        paired[order],
        order,
        quiet_ends(step),
        step.search_from,
        np.empty(0, np.int64),
    )


def _window_begins(step: StepInput, windows: LiveMatches, regions: ArchiveRegions) -> Ints:
    """The first live row that is matched for each window: its first row, or an earlier one if a run leads in."""
    times = step.live.times
    if step.region.kind == "rows":
        archive = step.archive.times
        inside = np.minimum(regions.start, np.maximum(len(archive.start) - 1, 0))
        limit = archive.start[inside] if len(archive.start) else np.zeros(len(inside), np.int64)
        limit = np.where(regions.start < regions.as_of, limit, windows.end)
    else:
        limit = windows.end - int(step.region.size)
    first = np.minimum(times.first_at_least(times.start, windows.key, limit), windows.row)
    return np.maximum(np.minimum(step.live.quiet_before()[first], windows.row), step.first_live_start[windows.key])
