"""What was observed while running -> the factors of DejaVu's Table 2 -> what each strategy costs (Equations 1 to 4).

Times are seconds, amounts are rows. The cost of joining the results is the same for all strategies; it stands in all of
them, so that costs can be compared with what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, TypeVar

from ostinato.correlations.strategies.strategies import StrategyName

_Sums = TypeVar("_Sums", "Searches", "Regions")


class Choice(NamedTuple):
    """A strategy, and whether the side that is looked into keeps its matches."""

    strategy: StrategyName
    cache: bool


CHOICES = (
    Choice("live_first", True),
    Choice("archive_first", True),
    Choice("eager", False),
    Choice("live_first", False),
    Choice("archive_first", False),
)
"""Of choices that cost the same the first is taken."""


# --- what is observed -------------------------------------------------------------------------------------------------


class Searches(NamedTuple):
    """Searches of one kind on one side: rows looked at (again, where they overlap), seconds, matches found.

    Growths of one start are one match.
    """

    rows: float = 0.0
    seconds: float = 0.0
    matches: float = 0.0


class Regions(NamedTuple):
    """The recency regions of one side's matches: how many, rows of all together, rows that lie in one at least."""

    amount: float = 0.0
    rows: float = 0.0
    covered: float = 0.0


_NO_SEARCHES, _NO_REGIONS = Searches(), Regions()


@dataclass(frozen=True, slots=True)
class Observed:
    """Sums over some steps. What a strategy doesn't do leaves its part at zero."""

    rows: float = 0.0
    """Live rows that arrived."""
    live: Searches = _NO_SEARCHES
    """Of the live pattern, in all rows."""
    archive: Searches = _NO_SEARCHES
    live_in_regions: Searches = _NO_SEARCHES
    """Of the live pattern, in regions of archive matches only."""
    archive_in_regions: Searches = _NO_SEARCHES
    live_regions: Regions = _NO_REGIONS
    """Those of live matches: they lie in the archive's rows."""
    archive_regions: Regions = _NO_REGIONS
    results: float = 0.0
    join_seconds: float = 0.0

    def plus(self, more: Observed, keeps: float = 1.0) -> Observed:
        """Both, the earlier ones counting `keeps` of what they did: a share below one forgets."""
        return Observed(
            rows=keeps * self.rows + more.rows,
            live=_sum(self.live, more.live, keeps),
            archive=_sum(self.archive, more.archive, keeps),
            live_in_regions=_sum(self.live_in_regions, more.live_in_regions, keeps),
            archive_in_regions=_sum(self.archive_in_regions, more.archive_in_regions, keeps),
            live_regions=_sum(self.live_regions, more.live_regions, keeps),
            archive_regions=_sum(self.archive_regions, more.archive_regions, keeps),
            results=keeps * self.results + more.results,
            join_seconds=keeps * self.join_seconds + more.join_seconds,
        )


def _sum(before: _Sums, more: _Sums, keeps: float) -> _Sums:
    return type(before)(*(keeps * a + b for a, b in zip(before, more, strict=True)))


# --- what follows from it ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Factors:
    """Table 2 of the paper; its letters stand behind the fields."""

    rows: float  # N
    live_cost: float  # c_l, of a row, where the pattern is matched in all rows
    archive_cost: float  # c_a
    live_cost_in_regions: float  # c'_l
    archive_cost_in_regions: float  # c'_a
    join_cost: float  # c_j, of a result
    live_matches: float  # M_l
    archive_matches: float  # M_a
    results: float  # M_j
    live_region: float  # P_l, rows in the region of a live match
    archive_region: float  # P_a
    live_region_step: float  # delta_l, rows in the region of a live match that lie in no earlier one's
    archive_region_step: float  # delta_a

    def per_row(self) -> dict[str, float]:
        """The factors that don't grow with the rows; numbers of matches and results as shares of the rows."""
        counts = ("live_matches", "archive_matches", "results")
        values = {part.name: float(getattr(self, part.name)) for part in fields(self) if part.name != "rows"}
        return {name: value / self.rows if name in counts else value for name, value in values.items()}


class _Side(NamedTuple):
    cost: float
    cost_in_regions: float
    matches: float
    region: float | None


def factors_of(seen: Observed) -> Factors | None:
    """The factors as far as they were observed, and estimates of the others; None while a side was never searched.

    What was measured in all rows stands in for regions, and the other way round; matches come as often elsewhere;
    regions of the one side are as long as those of the other, and lie evenly.
    """
    live = _side(seen.live, seen.live_in_regions, seen.live_regions, seen.rows)
    archive = _side(seen.archive, seen.archive_in_regions, seen.archive_regions, seen.rows)
    if not seen.rows or live is None or archive is None:
        return None
    live_region = _first_known(live.region, archive.region)
    archive_region = _first_known(archive.region, live.region)
    return Factors(
        rows=seen.rows,
        live_cost=live.cost,
        archive_cost=archive.cost,
        live_cost_in_regions=live.cost_in_regions,
        archive_cost_in_regions=archive.cost_in_regions,
        join_cost=_first_known(_per(seen.join_seconds, seen.results)),
        live_matches=live.matches,
        archive_matches=archive.matches,
        results=seen.results,
        live_region=live_region,
        archive_region=archive_region,
        live_region_step=_step(seen.live_regions, live_region, seen.rows, live.matches),
        archive_region_step=_step(seen.archive_regions, archive_region, seen.rows, archive.matches),
    )


def _side(everywhere: Searches, in_regions: Searches, regions: Regions, rows: float) -> _Side | None:
    cost, inside = _per(everywhere.seconds, everywhere.rows), _per(in_regions.seconds, in_regions.rows)
    if cost is None and inside is None:
        return None
    share = _first_known(_per(everywhere.matches, everywhere.rows), _per(in_regions.matches, in_regions.rows))
    region = _per(regions.rows, regions.amount)
    return _Side(_first_known(cost, inside), _first_known(inside, cost), rows * share, region)


def _step(regions: Regions, region: float, rows: float, matches: float) -> float:
    """How many rows of a region aren't in an earlier one."""
    observed = _per(regions.covered, regions.amount)
    return _first_known(observed, min(region, rows / matches) if matches else region)


def _per(amount: float, count: float) -> float | None:
    return amount / count if count > 0 else None


def _first_known(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0.0)


# --- what it costs ----------------------------------------------------------------------------------------------------


def costs_of(factors: Factors) -> dict[Choice, float]:
    """Seconds that each choice takes for the rows of the factors."""
    return {choice: _cost(choice, factors) for choice in CHOICES}


def _cost(choice: Choice, f: Factors) -> float:
    joining = f.results * f.join_cost
    match choice.strategy:
        case "eager":  # N (c_l + c_a)
            return f.rows * (f.live_cost + f.archive_cost) + joining
        case "live_first":  # Equation 3; without cache Equation 1
            looked_at = min(f.live_region, f.live_region_step) if choice.cache else f.live_region
            return f.rows * f.live_cost + f.live_matches * looked_at * f.archive_cost_in_regions + joining
        case "archive_first":  # Equation 4
            looked_at = min(f.archive_region, f.archive_region_step) if choice.cache else f.archive_region
            return f.rows * f.archive_cost + f.archive_matches * looked_at * f.live_cost_in_regions + joining
