"""Window-first, the state of the art before DejaVu: behind every row both patterns are matched again.

A comparator: it gives the same pairs as the product's strategies and runs in their place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import ostinato as ost
from ostinato.clause.matching.growths import ProbeMode
from ostinato.correlations.strategies.contained import by_past
from ostinato.correlations.strategies.sides import NO_TIME, Ints
from ostinato.correlations.strategies.step_matches import LiveMatches, Outcome, live_matches
from ostinato.correlations.strategies.steps import Regions, Step, as_of, live_probes, quiet_ends, regions_of
from ostinato.correlations.task.side_rows import WindowSide
from ostinato.errors import QueryError

NAME = "window_first"


def by_window_first(query: ost.CorrelationQuery) -> ost.CorrelationQuery:
    """The same correlation by window-first. Like live-first without a cache, it remembers no archive match."""
    options = replace(query.options, strategy="live_first", cache=False)
    return replace(query, options=options, comparator=window_first)


def window_first(step: Step) -> Outcome:
    """Matches both patterns in a window of the region's size behind every live row. Raises CORRELATION_STRATEGY."""
    assert isinstance(step.live, WindowSide)
    assert isinstance(step.archive, WindowSide)
    if step.live.owner.task.reads_number:
        raise QueryError("CORRELATION_STRATEGY", "window-first can't number live matches: it doesn't find all of them")
    if not step.live_ends_rise:
        return by_past(step, step.archive, step.archive.owner.task.rows_before)
    times = step.live.times
    key = np.repeat(np.arange(times.keys), np.diff(times.key_at))
    rows = np.arange(len(key))
    first = np.maximum(step.given, step.first_live_start)  # where a match to give can end at the earliest
    is_last = (rows >= first[key]) & (rows < step.live_end[key]) & (times.end != NO_TIME)
    rows, key = rows[is_last], key[is_last]
    windows = LiveMatches(key, times.end[rows] + 1, times.end[rows], rows, rows)
    regions = regions_of(step, windows)
    begins = _window_begins(step, windows, regions)
    # Whether a match of the standard's goes on behind the window only later rows can tell.
    end = rows + 1 if step.modes.live is ProbeMode.INCREMENTAL else step.live_end[key]
    found = step.live.find(live_probes(step, begins, rows + 1, end), step.modes.live)
    ends_there = found.start + found.length - 1 == rows[found.probe]
    live = live_matches(times, found, step.modes, step.given)
    live = live.chosen(ends_there[live.found])
    matched, growths = as_of(step, regions)
    # Window w holds at most one live match that ends with it; all its archive matches that start before that one join.
    live_of_window = np.full(len(rows), -1)
    live_of_window[found.probe[live.found]] = np.arange(len(live.key))
    paired = live_of_window[matched.probe]
    joins = np.flatnonzero(paired >= 0)
    joins = joins[growths.start[joins] < live.start[paired[joins]]]
    order = joins[np.lexsort((growths.start[joins], paired[joins]))]
    return Outcome(
        live,
        found,
        growths,
        matched,
        step.archive,
        paired[order],
        order,
        quiet_ends(step),
        step.search_from,
        np.empty(0, np.int64),
    )


def _window_begins(step: Step, windows: LiveMatches, regions: Regions) -> Ints:
    """The live row from which on a window is matched: its first, or one before it that a run leads in from."""
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
