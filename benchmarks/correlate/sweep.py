"""The points of figures 10 to 14 (a case and its position in a picture), and the records of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.correlate.queries import Q1, Q2
from benchmarks.correlate.running import LIVE, Case, Ran, Setup
from benchmarks.correlate.streams import Clusters, Marks, Quotes, Ticks, quotes_file
from benchmarks.experiment import Scale
from benchmarks.records import Baseline, Record

ROWS = {Scale.SMALL: 100_000, Scale.FULL: 1_000_000}
QUOTE_ROWS = {Scale.SMALL: 40_000, Scale.FULL: 131_401}
REGIONS = {Scale.SMALL: (10, 100, 500, 1_000), Scale.FULL: (10, 50, *range(100, 1_001, 100))}
SWEPT_REGION = 500
DISTANCES = {Scale.SMALL: (10, 50, 200, 500), Scale.FULL: (10, 20, 50, 100, 200, 300, 400, 500)}
RISES = {Scale.SMALL: (2, 8, 32), Scale.FULL: (2, 4, 8, 16, 32, 64)}
RATIOS = {
    Scale.SMALL: ((1, 10), (1, 1), (10, 1)),
    Scale.FULL: ((1, 10), (1, 5), (1, 2), (1, 1), (2, 1), (5, 1), (10, 1)),
}
RARE = 1_000
"""Rows between two matches of the rarer pattern."""
OVERLAPS = {"regions apart": 50, "regions overlap": 2_000}
"""Region sizes around the distance of matches, which is 100 to 1,000 rows."""
RISING = {Scale.SMALL: (0, 50, 100), Scale.FULL: (0, 20, 40, 60, 80, 100)}
"""Percent of a hot spot's rows that the archive pattern finds expensive; the rest is the live pattern's."""


@dataclass(frozen=True, slots=True)
class Point:
    """A case in a picture: its panel, and its position on the axis."""

    figure: str
    panel: str
    axis: str
    x: str
    case: Case

    @property
    def name(self) -> str:
        return f"{self.panel}, {self.axis} {self.x}"


def region_points(scale: Scale) -> list[Point]:
    """Figures 10 and 11: Q1 where matches come every 50 rows."""
    stream = Ticks(ROWS[scale])
    return [Point("figure 10", "Q1", "region", f"{size}", Case(Q1, stream, f"{size}")) for size in REGIONS[scale]]


def overlap_points(scale: Scale) -> list[Point]:
    """Figure 12a: the distance of live matches, up to the size of their regions, where regions stop overlapping."""
    return [
        Point("figure 12a", "Q2", "distance", f"{every}", Case(Q2, Marks(ROWS[scale], every, 50), f"{SWEPT_REGION}"))
        for every in DISTANCES[scale]
    ]


def cost_points(scale: Scale) -> list[Point]:
    """Figure 12b: the longer a slow rise, the more rows the archive pattern visits from each of its rows in vain."""
    return [
        Point(
            "figure 12b", "Q2", "rise", f"{rise}", Case(Q2, Marks(ROWS[scale], 50, 50, rise, fall=2), f"{SWEPT_REGION}")
        )
        for rise in RISES[scale]
    ]


def ratio_points(scale: Scale) -> list[Point]:
    """Figure 13a: the ratio of live to archive matches, with separate and with overlapping regions."""
    points = []
    for panel, region in OVERLAPS.items():
        for live, archive in RATIOS[scale]:
            stream = Marks(ROWS[scale], RARE // live, RARE // archive)
            points.append(Point("figure 13a", panel, "ratio", f"{live}:{archive}", Case(Q2, stream, f"{region}")))
    return points


def hot_spot_points(scale: Scale) -> list[Point]:
    """Figure 13b: the pattern for which regions are expensive, with as many live as archive matches."""
    points = []
    for percent in RISING[scale]:
        stream = Clusters(ROWS[scale], percent / 100)
        case = Case(Q2, stream, f"{stream.span}")
        points.append(Point("figure 13b", "hot spots", "rising", f"{percent}", case))
    return points


def quote_points(scale: Scale) -> list[Point]:
    """Figure 14: Q1 on real quotes, regions by rows; none without the file."""
    if quotes_file() is None:
        return []
    stream = Quotes(QUOTE_ROWS[scale])
    return [
        Point("figure 14", "quotes", "region", f"{size}", Case(Q1, stream, f"{size} ROWS", order_by="ts, event_id"))
        for size in REGIONS[scale]
    ]


def all_points(scale: Scale) -> list[Point]:
    """Every configuration of the sweep."""
    figures = (region_points, overlap_points, cost_points, ratio_points, hot_spot_points, quote_points)
    return [point for figure in figures for point in figure(scale)]


def speeds(point: Point, ran: Mapping[Setup, Ran]) -> list[Record]:
    """The speed of each strategy, over that of live-first without a cache where it was measured."""
    baseline = Baseline(LIVE.name, ran[LIVE].speed) if LIVE in ran else None
    return [
        Record(
            "correlate",
            point.figure,
            f"{point.name}: {setup.name}",
            "speed",
            ran_setup.speed,
            "rows/s",
            None if setup == LIVE else baseline,
        )
        for setup, ran_setup in ran.items()
    ]
