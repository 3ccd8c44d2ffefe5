"""Observations of a run -> the factors of DejaVu's Table 2 -> the cost of each strategy (Equations 1 to 4).

Times are seconds, amounts are rows. Joining costs the same for all strategies. It is part of every cost, so that costs
can be compared with measured times.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, NamedTuple, TypeVar

StrategyName = Literal["eager", "live_first", "archive_first"]
_Sums = TypeVar("_Sums", "Searches", "RegionSums")


class PlannerChoice(NamedTuple):
    """A strategy, and whether it caches the matches of the side that it searches in regions."""

    strategy: StrategyName
    cache: bool

    @property
    def label(self) -> str:
        """The choice in words."""
        name = self.strategy.replace("_", "-")
        if self.strategy == "eager":
            return name
        return f"{name} {'with' if self.cache else 'without'} cache"


CHOICES = (
    PlannerChoice("live_first", True),
    PlannerChoice("archive_first", True),
    PlannerChoice("eager", False),
    PlannerChoice("live_first", False),
    PlannerChoice("archive_first", False),
)
"""Among equally cheap choices, the planner takes the first."""


# --- observations -----------------------------------------------------------------------------------------------------


class Searches(NamedTuple):
    """Sums over searches of one kind on one side.

    A row in overlapping searches counts several times. Growths of one start are one match.
    """

    rows: float = 0.0
    seconds: float = 0.0
    matches: float = 0.0


class RegionSums(NamedTuple):
    """Sums over the recency regions of one side's matches.

    `rows` counts a row once for each region that contains it, `covered` counts it once.
    """

    amount: float = 0.0
    rows: float = 0.0
    covered: float = 0.0


NO_REGIONS = RegionSums()
_NO_SEARCHES = Searches()


@dataclass(frozen=True, slots=True)
class Observed:
    """Sums over some steps. Searches that a strategy doesn't do stay zero."""

    rows: float = 0.0
    """Number of live rows that arrived."""
    live: Searches = _NO_SEARCHES
    """Searches of the live pattern in all rows."""
    archive: Searches = _NO_SEARCHES
    live_in_regions: Searches = _NO_SEARCHES
    """Searches of the live pattern in regions of archive matches only."""
    archive_in_regions: Searches = _NO_SEARCHES
    live_regions: RegionSums = NO_REGIONS
    """Regions of live matches. They consist of archive rows."""
    archive_regions: RegionSums = NO_REGIONS
    results: float = 0.0
    join_seconds: float = 0.0

    def plus(self, more: Observed, decay: float = 1.0) -> Observed:
        """The sum of both. The earlier observations are multiplied by `decay`; below 1, they fade."""
        return Observed(
            rows=decay * self.rows + more.rows,
            live=_sum(self.live, more.live, decay),
            archive=_sum(self.archive, more.archive, decay),
            live_in_regions=_sum(self.live_in_regions, more.live_in_regions, decay),
            archive_in_regions=_sum(self.archive_in_regions, more.archive_in_regions, decay),
            live_regions=_sum(self.live_regions, more.live_regions, decay),
            archive_regions=_sum(self.archive_regions, more.archive_regions, decay),
            results=decay * self.results + more.results,
            join_seconds=decay * self.join_seconds + more.join_seconds,
        )


def _sum(before: _Sums, more: _Sums, decay: float) -> _Sums:
    return type(before)(*(decay * a + b for a, b in zip(before, more, strict=True)))


# --- factors ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Factors:
    """Table 2 of the paper, with its letters behind the fields."""

    rows: float  # N
    live_cost: float  # c_l, seconds for a row when the pattern is matched in all rows
    archive_cost: float  # c_a
    live_cost_in_regions: float  # c'_l
    archive_cost_in_regions: float  # c'_a
    join_cost: float  # c_j, seconds for a result
    live_matches: float  # M_l
    archive_matches: float  # M_a
    results: float  # M_j
    live_region: float  # P_l, rows in the region of a live match
    archive_region: float  # P_a
    live_region_step: float  # delta_l, rows in the region of a live match that no earlier region has
    archive_region_step: float  # delta_a

    def per_row(self) -> dict[str, float]:
        """All factors but `rows`. Numbers of matches and results are divided by the number of rows."""
        counts = ("live_matches", "archive_matches", "results")
        values = {field.name: float(getattr(self, field.name)) for field in fields(self) if field.name != "rows"}
        return {name: value / self.rows if name in counts else value for name, value in values.items()}


class _SideFactors(NamedTuple):
    cost: float
    cost_in_regions: float
    matches: float
    region: float | None


def factors_of(observed: Observed) -> Factors | None:
    """Observed factors, with estimates for those that weren't observed. None until both sides were searched.

    The estimates assume that a row costs the same inside regions and outside, that matches are equally frequent
    everywhere, that regions of both sides have the same length, and that regions are evenly spread.
    """
    live = _side(observed.live, observed.live_in_regions, observed.live_regions, observed.rows)
    archive = _side(observed.archive, observed.archive_in_regions, observed.archive_regions, observed.rows)
    if not observed.rows or live is None or archive is None:
        return None
    live_region = _first_known(live.region, archive.region)
    archive_region = _first_known(archive.region, live.region)
    return Factors(
        rows=observed.rows,
        live_cost=live.cost,
        archive_cost=archive.cost,
        live_cost_in_regions=live.cost_in_regions,
        archive_cost_in_regions=archive.cost_in_regions,
        join_cost=_first_known(_per(observed.join_seconds, observed.results)),
        live_matches=live.matches,
        archive_matches=archive.matches,
        results=observed.results,
        live_region=live_region,
        archive_region=archive_region,
        live_region_step=_step(observed.live_regions, live_region, observed.rows, live.matches),
        archive_region_step=_step(observed.archive_regions, archive_region, observed.rows, archive.matches),
    )


def _side(everywhere: Searches, in_regions: Searches, regions: RegionSums, rows: float) -> _SideFactors | None:
    cost, inside = _per(everywhere.seconds, everywhere.rows), _per(in_regions.seconds, in_regions.rows)
    if cost is None and inside is None:
        return None
    matches_per_row = _first_known(_per(everywhere.matches, everywhere.rows), _per(in_regions.matches, in_regions.rows))
    region = _per(regions.rows, regions.amount)
    return _SideFactors(_first_known(cost, inside), _first_known(inside, cost), rows * matches_per_row, region)


def _step(regions: RegionSums, region: float, rows: float, matches: float) -> float:
    """Mean number of rows of a region that aren't in an earlier one."""
    covered = _per(regions.covered, regions.amount)
    return _first_known(covered, min(region, rows / matches) if matches else region)


def _per(amount: float, count: float) -> float | None:
    return amount / count if count > 0 else None


def _first_known(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0.0)


# --- costs ------------------------------------------------------------------------------------------------------------


def costs_of(factors: Factors) -> dict[PlannerChoice, float]:
    """Seconds that each choice would take for `factors.rows` rows."""
    return {choice: _cost(choice, factors) for choice in CHOICES}


def _cost(choice: PlannerChoice, f: Factors) -> float:
    joining = f.results * f.join_cost
    match choice.strategy:
        case "eager":  # N (c_l + c_a)
            return f.rows * (f.live_cost + f.archive_cost) + joining
        case "live_first":  # Equation 3; without cache Equation 1
            rows_searched = min(f.live_region, f.live_region_step) if choice.cache else f.live_region
            return f.rows * f.live_cost + f.live_matches * rows_searched * f.archive_cost_in_regions + joining
        case "archive_first":  # Equation 4
            rows_searched = min(f.archive_region, f.archive_region_step) if choice.cache else f.archive_region
            return f.rows * f.archive_cost + f.archive_matches * rows_searched * f.live_cost_in_regions + joining
