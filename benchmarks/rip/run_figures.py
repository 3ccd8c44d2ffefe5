"""Figures 8, 9, 10 and 15, and the size of slices: the run-based variants."""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.queries import Q, prices
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.rip.library import measure_library
from benchmarks.rip.linear_query import linear_query
from benchmarks.rip.quotes import repeated_bids
from benchmarks.rip.variants import (
    ROWS,
    SEQ,
    Variant,
    compared,
    rb,
    rb_plus,
    speed_records,
    timed,
)

UNITS = (1, 2, 3, 4)
"""The paper goes up to 48 cores; beyond the cores of the machine a figure is marked."""
FEW_UNITS = (1, 2, 4)
FIGURE_9_QUERIES = ("Q1", "Q3", "Q6", "Q8", "Q9")
"""The paper names 6 and 8 of its four; 1, 3 and 9 are those with a goal."""
SPEED_UP_GOAL = Goal(Sense.AT_LEAST, 1.8, of_ratio=True)
SPEED_UP_QUERIES = ("Q1", "Q3", "Q9")
BEATS = Goal(Sense.AT_LEAST, 1.0, of_ratio=True)
SHARED_ROWS = (99, 250, 500, 1_000, 2_000, 5_000, 10_000)
"""From MAXLENGTH - 1, below which matches could be lost, to half a slice."""
SLICE_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
PAPER_QUOTES_SPEED = 68e3
"""SEQ with Q1 over real quotes, Section 5.9."""
TIMES_THE_PAPER = 20


def measure_run_based(scale: Scale) -> list[Record]:
    """Figure 8: RB and RB+ by the number of units, Q8."""
    query, price = linear_query(Q["Q8"]), prices(ROWS[scale])
    round_robins, slices = [rb(units) for units in UNITS], [rb_plus(units) for units in UNITS]
    times = timed(query, price, [*round_robins, *slices])
    return [
        *speed_records("figure 8", query, price, times),
        compared("figure 8", query, price, slices[1], round_robins[1], times, BEATS),
        *measure_library("figure 8", Q["Q8"], price, times.match_count),
    ]


def measure_speed_up(scale: Scale) -> list[Record]:
    """Figure 9: RB+ by query and units."""
    records = []
    for name in FIGURE_9_QUERIES:
        query, price = linear_query(Q[name]), prices(ROWS[scale])
        variants = [rb_plus(units) for units in FEW_UNITS]
        times = timed(query, price, variants)
        goal = SPEED_UP_GOAL if name in SPEED_UP_QUERIES else None
        goals = {variant: goal for variant in variants if variant.units == 2 and goal is not None}
        records += speed_records("figure 9", query, price, times, goals)
        records += measure_library("figure 9", Q[name], price, times.match_count, speed_up_goal=goal)
    return records


def measure_shared_part(scale: Scale) -> list[Record]:
    """Figure 10: RB+ on two units by the size of the shared part, Q1."""
    return _sweep(scale, "figure 10", [rb_plus(2, shared_rows=rows, setting=f"s = {rows:,}") for rows in SHARED_ROWS])


def measure_slice_size(scale: Scale) -> list[Record]:
    """Not in the paper: RB+ on two units by n, Q1."""
    return _sweep(scale, "slice size", [rb_plus(2, slice_rows=rows, setting=f"n = {rows:,}") for rows in SLICE_SIZES])


def _sweep(scale: Scale, figure: str, variants: list[Variant]) -> list[Record]:
    query, price = linear_query(Q["Q1"]), prices(ROWS[scale])
    return speed_records(figure, query, price, timed(query, price, variants))


def measure_quotes(scale: Scale) -> list[Record]:
    """Figure 15: Q1 over the bids of real quotes, RB+ by units; SEQ beside the paper's."""
    price = repeated_bids(ROWS[scale])
    if price is None:
        note = "real quotes are not there (OSTINATO_DATA names the folder with taq/quotes.parquet), not measured"
        return [Record("rip", "figure 15", "Q1, real quotes", "rows", 0, "rows", notes=(note,))]
    query = linear_query(Q["Q1"])
    times = timed(query, price, [rb_plus(units) for units in FEW_UNITS])
    speed = len(price) / times.seconds[SEQ]
    return [
        *speed_records("figure 15", query, price, times),
        beside_paper("figure 15", query.name, speed, PAPER_QUOTES_SPEED, "RIP, section 5.9"),
        *measure_library(
            "figure 15", Q["Q1"], price, times.match_count, speed_goal=times_the_paper(PAPER_QUOTES_SPEED)
        ),
    ]


def times_the_paper(paper_speed: float) -> Goal:
    """Rows a second that the issue asks for."""
    return Goal(Sense.AT_LEAST, TIMES_THE_PAPER * paper_speed)


def beside_paper(figure: str, query: str, speed: float, paper_speed: float, source: str) -> Record:
    """SEQ beside the paper's single core."""
    return Record(
        "rip",
        figure,
        f"{query}, SEQ beside the paper's",
        "speed",
        speed,
        "rows/s",
        baseline=Baseline("paper's SEQ", paper_speed, source=source),
        goal=times_the_paper(paper_speed),
    )
