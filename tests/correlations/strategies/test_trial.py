"""Tests a trial on two made-up sides with known matches and known costs per row."""

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
"""Fixed seconds of a search, for any number of rows."""


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


@dataclass(slots=True)
class PlantedSide:
    """A side with one row per time unit and a match of two rows every `every` rows.

    A row costs one second, or two inside `dear`.
    """

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
def test_a_trial_observes_matches_regions_and_costs(kind: str) -> None:
    """Regions of live matches, every 10 rows, overlap. Those of archive matches, every 500 rows, cover a fifth."""
    live, archive = PlantedSide(every=10), PlantedSide(every=500)
    observed = try_out(step_of(live, archive, Region(kind, REGION)), TRIED)  # type: ignore[arg-type]
    assert (observed.rows, observed.live, observed.archive[0]) == (TRIED, (TRIED, TRIED, 200), TRIED)
    assert observed.archive.matches == 4
    assert observed.live_regions.covered == TRIED  # each match adds 10 rows
    assert observed.live_regions.rows == pytest.approx(200 * REGION, rel=0.02)
    assert observed.archive_regions.covered == observed.archive_regions.rows == pytest.approx(4 * REGION, rel=0.03)
    assert observed.archive_in_regions.rows == 0  # live regions are everywhere
    assert observed.live_in_regions.seconds == observed.live_in_regions.rows == observed.archive_regions.rows


def test_rows_of_regions_may_cost_more() -> None:
    """There are four regions of 100 rows. The rows of one region cost twice as much."""
    live, archive = PlantedSide(every=500), PlantedSide(every=10, dear=range(4_400, 4_500))
    factors = factors_of(try_out(step_of(live, archive, Region("time", REGION)), TRIED))
    assert factors is not None
    assert factors.archive_cost == pytest.approx(1.05)
    assert factors.archive_cost_in_regions == pytest.approx(1.25, abs=0.02)


def test_a_region_longer_than_the_trial_covers_its_rows_once() -> None:
    live, archive = PlantedSide(every=1_000), PlantedSide(every=1_000)
    observed = try_out(step_of(live, archive, Region("time", 4_000)), TRIED)
    assert observed.live_regions.amount == 2
    assert observed.live_regions.covered == TRIED


def test_a_trial_without_rows_observes_nothing() -> None:
    step = step_of(PlantedSide(every=10), PlantedSide(every=10), Region("time", REGION))
    observed = try_out(step, 0)
    assert (observed.rows, observed.live_regions) == (0, RegionSums())
    assert factors_of(observed) is None


def test_overlapping_rows_are_counted_once() -> None:
    ranges = RowRanges(ints(0, 2, 3, 20), ints(5, 4, 9, 21)).without_overlaps()
    assert (ranges.start.tolist(), ranges.stop.tolist()) == ([0, 4, 5, 20], [5, 4, 9, 21])
    assert ranges.rows == 10
    assert ranges.first(7) == (pytest.approx([0, 5]), pytest.approx([5, 7]))
