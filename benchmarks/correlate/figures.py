"""Figures 10 to 14: the speed of every strategy at every point of the sweep, with the goals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from benchmarks.correlate import anew, sweep
from benchmarks.correlate.running import (
    ALL,
    ARCHIVE_CACHED,
    AUTO,
    EAGER,
    LIVE,
    LIVE_CACHED,
    WINDOW_FIRST,
    Setup,
    answer,
    core_seconds,
    digest,
    measured,
    table_of,
)
from benchmarks.correlate.streams import Quotes, Stream, Ticks
from benchmarks.correlate.sweep import Point, speeds
from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense

WINDOW_ROWS = 2_000
"""Window-first matches every window again. This many rows are enough to measure its speed."""
NOISE = 1.1
"""Largest ratio between measured speeds of equal strategies."""
EAGER_GOAL = Goal(Sense.AT_MOST, NOISE, of_ratio=True)
PAPER_GAIN = 54
QUOTES_GOAL = Goal(Sense.AT_LEAST, 100, of_ratio=True)
QUOTES_GOAL_REGION = "500"
PLANNER_LIMIT = 1.1


def measure_regions(scale: Scale) -> list[Record]:
    """Figure 10, and window-first on fewer rows."""
    records = []
    for point in sweep.region_points(scale):
        records += speeds(point, measured(point.case))
        records += _window_first(point, Ticks(WINDOW_ROWS))
    return records


def _window_first(point: Point, stream: Stream) -> list[Record]:
    """On fewer rows, checked against live-first."""
    ran = measured(replace(point.case, stream=stream), (LIVE, WINDOW_FIRST))
    return speeds(point, {WINDOW_FIRST: ran[WINDOW_FIRST]})


def measure_eager(scale: Scale) -> list[Record]:
    """Figure 11: eager over the better of the two lazy strategies with a cache."""
    records = []
    for point in sweep.region_points(scale):
        ran = measured(point.case)
        lazy = max((LIVE_CACHED, ARCHIVE_CACHED), key=lambda setup: ran[setup].speed)
        baseline = Baseline(lazy.name, ran[lazy].speed)
        case = f"{point.name}: {EAGER.name}"
        records.append(
            Record("correlate", "figure 11", case, "speed", ran[EAGER].speed, "rows/s", baseline, EAGER_GOAL)
        )
    return records


def _swept(points: Iterable[Point]) -> list[Record]:
    return [record for point in points for record in speeds(point, measured(point.case))]


def measure_overlap(scale: Scale) -> list[Record]:
    return _swept(sweep.overlap_points(scale))


def measure_cost(scale: Scale) -> list[Record]:
    return _swept(sweep.cost_points(scale))


def measure_ratio(scale: Scale) -> list[Record]:
    return _swept(sweep.ratio_points(scale))


def measure_hot_spots(scale: Scale) -> list[Record]:
    return _swept(sweep.hot_spot_points(scale))


def measure_quotes(scale: Scale) -> list[Record]:
    """Figure 14, and the best strategy at the region that the goal names."""
    points = sweep.quote_points(scale)
    if not points:
        note = "set OSTINATO_DATA to a folder that holds taq/quotes.parquet"
        return [Record("correlate", "figure 14", "quotes: skipped", "rows", 0, "", notes=(note,))]
    records = _swept(points)
    for point in points:
        records += _window_first(point, Quotes(WINDOW_ROWS))
        if point.x == QUOTES_GOAL_REGION:
            records += _gains(point)
    return records


def _gains(point: Point) -> list[Record]:
    """Gains of the best setup over live-first without a cache (ours, and as published), in time and rows searched."""
    ran, best = measured(point.case), best_of(point)
    note = f"{best.name}; the paper has a factor of {PAPER_GAIN}; all write {ran[best].results:,} results"
    published = Baseline(anew.NAME, point.case.stream.rows / _seconds_anew(point))
    record = partial(Record, "correlate", point.figure, f"{point.name}: best")
    return [
        record("gain", ran[best].speed, "rows/s", Baseline(LIVE.name, ran[LIVE].speed), QUOTES_GOAL, (note,)),
        record("gain", ran[best].speed, "rows/s", published, QUOTES_GOAL),
        record("rows searched", ran[best].searched, "", Baseline(LIVE.name, ran[LIVE].searched)),
    ]


def _seconds_anew(point: Point) -> float:
    """Seconds of the published baseline, after its answer was checked."""
    quotes, region = table_of(point.case.stream), int(point.x)
    action = partial(anew.answer_anew, point.case.query, quotes, region)
    expect(f"{point.name}: {anew.NAME}", digest(action()), digest(answer(point.case, LIVE_CACHED).table))
    return core_seconds({anew.NAME: action})[anew.NAME]


def best_of(point: Point) -> Setup:
    """The fastest setup that a user can name."""
    ran = measured(point.case)
    return max((setup for setup in ALL if setup != AUTO), key=lambda setup: ran[setup].speed)


def measure_planner(scale: Scale) -> list[Record]:
    """Number of configurations in which "auto" takes at most 10 % longer than the best, and the exceptions."""
    points = sweep.all_points(scale)
    over = {point: time_over_best(point) for point in points}
    worst = max(points, key=over.__getitem__)
    near = sum(ratio <= PLANNER_LIMIT for ratio in over.values())
    missed = [f"{point.figure}, {point.name}: {over[point]:.2f} times {best_of(point).name}" for point in points]
    notes = tuple(text for text, ratio in zip(missed, over.values(), strict=True) if ratio > PLANNER_LIMIT)
    case = f"{len(points)} configurations"
    all_near = Goal(Sense.AT_LEAST, len(points))
    return [
        Record("correlate", "planner", case, "within 10 % of the best", near, "", goal=all_near, notes=notes),
        Record(
            "correlate",
            "planner",
            f"worst: {worst.figure}, {worst.name}",
            "time over the best",
            over[worst],
            "",
            goal=Goal(Sense.AT_MOST, PLANNER_LIMIT),
        ),
    ]


def time_over_best(point: Point) -> float:
    ran = measured(point.case)
    return ran[AUTO].core_seconds / ran[best_of(point)].core_seconds
