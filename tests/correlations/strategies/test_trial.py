"""What a trial shows of two sides whose matches, and what a row costs, the test has put there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from ostinato.clause.matching.growths import ProbeMatches, ProbeMode, Probes
from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.cost_model import RegionSums, factors_of
from ostinato.correlations.strategies.sides import Ints, SearchCost, Times
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
    times: Times = field(init=False)
    cost: SearchCost = field(default_factory=SearchCost)

    def __post_init__(self) -> None:
        self.times = Times(ints(0, ROWS), np.arange(ROWS), np.arange(ROWS))

    def find(self, probes: Probes, mode: ProbeMode) -> ProbeMatches:
        self.cost.seconds += CALL
        probe, start = [], []
        for i, (first, stop, end) in enumerate(zip(probes.start, probes.stop, probes.end, strict=True)):
            rows = np.arange(first, stop)
            self.cost.seconds += len(rows) + np.isin(rows, self.dear).sum()
            found = rows[(rows % self.every == 0) & (rows + 2 <= end)]
            probe += [i] * len(found)
            start += found.tolist()
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
        given=ints(0),
        live_end=ints(ROWS),
        live_ends_rise=True,
        search_from=ints(0),
        reopened=ints(),
        archive_end=ints(ROWS),
        base=ints(0),
        known=Growths.none(),
        finished=True,
    )


@pytest.mark.parametrize("kind", ["time", "rows"])
def test_matches_regions_and_costs(kind: str) -> None:
    """A live match every 10 rows: their regions overlap. An archive match every 500: a fifth of the rows is ahead."""
    live, archive = PlantedSide(every=10), PlantedSide(every=500)
    seen = try_out(step_of(live, archive, Region(kind, REGION)), TRIED)  # type: ignore[arg-type]
    assert (seen.rows, seen.live, seen.archive[0]) == (TRIED, (TRIED, TRIED, 200), TRIED)
    assert seen.archive.matches == 4
    assert seen.live_regions.covered == TRIED  # each adds 10 rows
    assert seen.live_regions.rows == pytest.approx(200 * REGION, rel=0.02)
    assert seen.archive_regions.covered == seen.archive_regions.rows == pytest.approx(4 * REGION, rel=0.03)
    assert seen.archive_in_regions.rows == 0  # they are everywhere
    assert seen.live_in_regions.seconds == seen.live_in_regions.rows == seen.archive_regions.rows


def test_rows_of_regions_may_cost_more() -> None:
    """Four regions of 100 rows, of which one is dear."""
    live, archive = PlantedSide(every=500), PlantedSide(every=10, dear=range(4_400, 4_500))
    factors = factors_of(try_out(step_of(live, archive, Region("time", REGION)), TRIED))
    assert factors is not None
    assert factors.archive_cost == pytest.approx(1.05)
    assert factors.archive_cost_in_regions == pytest.approx(1.25, abs=0.02)


def test_a_region_longer_than_the_stretch_covers_it_once() -> None:
    live, archive = PlantedSide(every=1_000), PlantedSide(every=1_000)
    seen = try_out(step_of(live, archive, Region("time", 4_000)), TRIED)
    assert seen.live_regions.amount == 2
    assert seen.live_regions.covered == TRIED


def test_no_rows_show_nothing() -> None:
    step = step_of(PlantedSide(every=10), PlantedSide(every=10), Region("time", REGION))
    seen = try_out(step, 0)
    assert (seen.rows, seen.live_regions) == (0, RegionSums())
    assert factors_of(seen) is None


def test_overlaps_count_once() -> None:
    found = RowRanges(ints(0, 2, 3, 20), ints(5, 4, 9, 21)).without_overlaps()
    assert (found.start.tolist(), found.stop.tolist()) == ([0, 4, 5, 20], [5, 4, 9, 21])
    assert found.rows == 10
    assert found.first(7) == (pytest.approx([0, 5]), pytest.approx([5, 7]))
