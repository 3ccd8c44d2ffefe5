"""A step's two sides -> pairs of live and archive matches. Three strategies give the same pairs at different costs.

`eager` matches both patterns in all rows. `live_first` searches the archive only behind live matches, `archive_first`
searches live rows only ahead of archive matches (DejaVu, sections 3 and 4). Without the cache, a region is searched
again for every match of the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ostinato.clause.matching.growths import ProbeMatches
from ostinato.correlations.strategies.archive_first import archive_first, archive_first_cached
from ostinato.correlations.strategies.cost_model import StrategyName
from ostinato.correlations.strategies.sides import Ints, covered
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches, StepOutcome
from ostinato.correlations.strategies.steps import (
    StepInput,
    all_live,
    as_of,
    pairs_of,
    region_sums,
    regions_of,
    searched,
    unsearched,
)

Strategy = Callable[[StepInput], StepOutcome]


def strategy(name: StrategyName, *, cache: bool) -> Strategy:
    """The strategy of this name. Eager has nothing to cache."""
    match name:
        case "eager":
            return eager
        case "live_first":
            return live_first_cached if cache else live_first
        case "archive_first":
            return archive_first_cached if cache else archive_first


def eager(step: StepInput) -> StepOutcome:
    """Finds all live matches and all growths of all archive starts."""
    live_probe_matches, live, next_start = all_live(step)
    archive_probe_matches, growths = searched(step, unsearched(step))
    return _joined(step, live, live_probe_matches, growths, archive_probe_matches, next_start, step.archive_end)


def live_first(step: StepInput) -> StepOutcome:
    """Equation 1: matches the archive pattern in the region of each live match."""
    live_probe_matches, live, next_start = all_live(step)
    regions = regions_of(step, live)
    archive_probe_matches, growths = as_of(step, regions)
    return StepOutcome(
        live,
        live_probe_matches,
        growths,
        archive_probe_matches,
        step.archive,
        archive_probe_matches.probe,
        np.arange(len(growths.key)),
        next_start,
        step.search_from,
        np.empty(0, np.int64),
        live_regions=region_sums(step, regions),
    )


def live_first_cached(step: StepInput) -> StepOutcome:
    """Equation 3: searches each archive start in the union of all regions once, with all its ends."""
    live_probe_matches, live, next_start = all_live(step)
    regions = regions_of(step, live)
    times = step.archive.times
    needed = covered(len(times.start), regions.start, regions.stop) & unsearched(step)
    archive_probe_matches, growths = searched(step, needed)
    until = step.search_from.copy()
    np.maximum.at(until, live.key, regions.stop)
    unneeded = step.reopened[~needed[step.reopened]]
    outcome = _joined(step, live, live_probe_matches, growths, archive_probe_matches, next_start, until, unneeded)
    return replace(outcome, live_regions=region_sums(step, regions))


def _joined(
    step: StepInput,
    live: LiveMatches,
    live_probe_matches: ProbeMatches,
    growths: Growths,
    archive_probe_matches: ProbeMatches,
    next_start: Ints,
    until: Ints,
    still_open: Ints | None = None,
) -> StepOutcome:
    open_starts = archive_probe_matches.open_start
    if still_open is not None and len(still_open):
        open_starts = np.sort(np.concatenate([open_starts, still_open]))
    pairs = pairs_of(step, live, growths, live_probe_matches, archive_probe_matches)
    return StepOutcome(
        live, live_probe_matches, growths, archive_probe_matches, step.archive, *pairs, next_start, until, open_starts
    )
