"""A step's two sides -> pairs of live and archive matches. Three strategies give the same pairs at different costs.

`eager` matches both patterns in all rows. `live_first` looks into the archive only behind live matches, `archive_first`
for live matches only ahead of archive matches (DejaVu, sections 3 and 4). Without the cache, the side that is looked
into is searched again for every match of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches
from ostinato.correlations.strategies.archive_first import archive_first, archive_first_cached
from ostinato.correlations.strategies.sides import Ints, covered
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, Outcome
from ostinato.correlations.strategies.steps import (
    Step,
    all_live,
    as_of,
    pairs_of,
    region_sums,
    regions_of,
    searched,
    unsearched,
)

StrategyName = Literal["eager", "live_first", "archive_first"]
Strategy = Callable[[Step], Outcome]


def strategy(name: StrategyName, *, cache: bool) -> Strategy:
    """The strategy of this name. Eager has nothing to cache."""
    match name:
        case "eager":
            return eager
        case "live_first":
            return live_first_cached if cache else live_first
        case "archive_first":
            return archive_first_cached if cache else archive_first


def eager(step: Step) -> Outcome:
    """Every live match, every growth of every archive start."""
    found, live, next_start = all_live(step)
    archive_found, growths = searched(step, unsearched(step))
    return _joined(step, live, found, growths, archive_found, next_start, step.archive_end)


def live_first(step: Step) -> Outcome:
    """Equation 1: for each live match the archive pattern is matched in its region."""
    found, live, next_start = all_live(step)
    regions = regions_of(step, live)
    matched, growths = as_of(step, regions)
    return Outcome(
        live,
        found,
        growths,
        matched,
        step.archive,
        matched.probe,
        np.arange(len(growths.key)),
        next_start,
        step.search_from,
        np.empty(0, np.int64),
        live_regions=region_sums(step, regions),
    )


def live_first_cached(step: Step) -> Outcome:
    """Equation 3: in the union of all regions each archive start is searched once, with all its ends."""
    found, live, next_start = all_live(step)
    regions = regions_of(step, live)
    times = step.archive.times
    needed = covered(len(times.start), regions.start, regions.stop) & unsearched(step)
    archive_found, growths = searched(step, needed)
    until = step.search_from.copy()
    np.maximum.at(until, live.key, regions.stop)
    unneeded = step.reopened[~needed[step.reopened]]
    outcome = _joined(step, live, found, growths, archive_found, next_start, until, unneeded)
    return replace(outcome, live_regions=region_sums(step, regions))


def _joined(
    step: Step,
    live: LiveMatches,
    found: ProbeMatches,
    growths: Growths,
    archive_found: ProbeMatches,
    next_start: Ints,
    until: Ints,
    still_open: Ints | None = None,
) -> Outcome:
    open_starts = archive_found.open_start
    if still_open is not None and len(still_open):
        open_starts = np.sort(np.concatenate([open_starts, still_open]))
    pairs = pairs_of(step, live, growths, found, archive_found)
    return Outcome(live, found, growths, archive_found, step.archive, *pairs, next_start, until, open_starts)
