"""What a trial shows of two sides whose matches, and what a row costs, the test has put there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.cost_model import RegionSums, factors_of
from ostinato.correlations.strategies.sides import Ints, RowTimes, SearchCost
from ostinato.correlations.strategies.step_matches import Growths, Modes
from ostinato.correlations.strategies.steps import StepInput
from ostinato.correlations.strategies.trial import RowRanges, try_out

ROWS, TRIED, REGION = 10_000, 2_000, 100
CALL = 0.5
"""Seconds that a search takes whatever it searches."""


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


@dataclass(slots=True)
class PlantedSide:
    """One row a time unit, a match of two rows every so many; a row costs a second, or two inside `dear`."""

    every: int
    dear: range = range(0)
    times: RowTimes = field(init=False)
    cost: SearchCost = field(default_factory=SearchCost)

    def __post_init__(self) -> None:
        self.times = RowTimes(ints(0, ROWS), np.arange(ROWS), np.arange(ROWS))

    def find(self, probes: Probes, mode: ProbeMode) -> ProbeMatches:
        self.cost.seconds += CALL
        probe, start = [], []
        for i, (first, stop, end) in enumerate(zip(probes.start, probes.stop, probes.end, strict=True)):
            rows = np.arange(first, stop)
            self.cost.seconds += len(rows) + np.isin(rows, self.dear).sum()
            starts = rows[(rows % self.every == 0) & (rows + 2 <= end)]
            probe += [i] * len(starts)
            start += starts.tolist()
        count, none = len(start), ints()
        return ProbeMatches(
            ints(*probe), ints(*start), np.full(count, 2), np.zeros(count, np.int64), none, None, none, none
        )

    def quiet_before(self) -> Ints:
        raise NotImplementedError


def step_of(live: PlantedSide, archive: PlantedSide, region: Region) -> StepInput:
    return StepInput(
        live=live,
        archive=archive,
        region=region,
        modes=Modes(ProbeMode.INCREMENTAL, ProbeMode.GROWING, ProbeMode.MAXIMAL),
        first_live_start=ints(0),
        reported_before=ints(0),
        live_end=ints(ROWS),
        live_ends_rise=True,
        search_from=ints(0),
        reopened=ints(),
        archive_end=ints(ROWS),
        base=ints(0),
        known_growths=Growths.none(),
        finished=True,
    )


@pytest.mark.parametrize("kind", ["time", "rows"])
def test_matches_regions_and_costs(kind: str) -> None:
    """A live match every 10 rows: their regions overlap. An archive match every 500: a fifth of the rows is ahead."""
    live, archive = PlantedSide(every=10), PlantedSide(every=500)
    observed = try_out(step_of(live, archive, Region(kind, REGION)), TRIED)  # type: ignore[arg-type]
    assert (observed.rows, observed.live, observed.archive[0]) == (TRIED, (TRIED, TRIED, 200), TRIED)
    assert observed.archive.matches == 4
    assert observed.live_regions.covered == TRIED  # each adds 10 rows
    assert observed.live_regions.rows == pytest.approx(200 * REGION, rel=0.02)
    assert observed.archive_regions.covered == observed.archive_regions.rows == pytest.approx(4 * REGION, rel=0.03)
    assert observed.archive_in_regions.rows == 0  # they are everywhere
    assert observed.live_in_regions.seconds == observed.live_in_regions.rows == observed.archive_regions.rows


def test_rows_of_regions_may_cost_more() -> None:
    """Four regions of 100 rows, of which one is dear."""
    live, archive = PlantedSide(every=500), PlantedSide(every=10, dear=range(4_400, 4_500))
    factors = factors_of(try_out(step_of(live, archive, Region("time", REGION)), TRIED))
    assert factors is not None
    assert factors.archive_cost == pytest.approx(1.05)
    assert factors.archive_cost_in_regions == pytest.approx(1.25, abs=0.02)


def test_a_region_longer_than_the_stretch_covers_it_once() -> None:
    live, archive = PlantedSide(every=1_000), PlantedSide(every=1_000)
    observed = try_out(step_of(live, archive, Region("time", 4_000)), TRIED)
    assert observed.live_regions.amount == 2
    assert observed.live_regions.covered == TRIED


def test_no_rows_show_nothing() -> None:
    step = step_of(PlantedSide(every=10), PlantedSide(every=10), Region("time", REGION))
    observed = try_out(step, 0)
    assert (observed.rows, observed.live_regions) == (0, RegionSums())
    assert factors_of(observed) is None


def test_overlaps_count_once() -> None:
    ranges = RowRanges(ints(0, 2, 3, 20), ints(5, 4, 9, 21)).without_overlaps()
    assert (ranges.start.tolist(), ranges.stop.tolist()) == ([0, 4, 5, 20], [5, 4, 9, 21])
    assert ranges.rows == 10
    assert ranges.first(7) == (pytest.approx([0, 5]), pytest.approx([5, 7]))
