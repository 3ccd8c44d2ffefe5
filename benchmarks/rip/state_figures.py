"""Figures 11 to 14 and table 2: the state pipeline, alone and beside the run-based variants."""

from __future__ import annotations

from benchmarks.experiment import Scale
from benchmarks.queries import QUERIES, PatternQuery, Q, Shape, prices
from benchmarks.records import Record
from benchmarks.rip.library import measure_library
from benchmarks.rip.linear_query import linear_query
from benchmarks.rip.run_figures import BEATS, FEW_UNITS, beside_paper, times_the_paper
from benchmarks.rip.variants import ROWS, SEQ, compared, rb_plus, sb, sb_plus, speed_records, timed

TRANSFER_SIZES = (100, 500, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000)
SMALL_TRANSFER_ROWS = 200_000
"""Rows for figure 12: a hundred events a transfer take long."""
BALANCED = PatternQuery(
    "balanced",
    "A B C D",
    "A AS A.price > 0, B AS B.price > 0, C AS C.price > 0, D AS D.price > 149",
    Shape.ROW_ONLY,
)
"""All states try every event. The paper doesn't say which query it balanced."""
PAPER_TABLE_2_SPEED = 1.44e6


def measure_pipeline(scale: Scale) -> list[Record]:
    """Figure 11: SB by query."""
    records = []
    for pattern_query in QUERIES:
        query, price = linear_query(pattern_query), prices(ROWS[scale])
        records += speed_records("figure 11", query, price, timed(query, price, [sb(query)]))
    return records


def measure_transfer_size(scale: Scale) -> list[Record]:
    """Figure 12: SB by the size of transfer batches, Q7."""
    query, price = linear_query(Q["Q7"]), prices(SMALL_TRANSFER_ROWS if scale is Scale.SMALL else ROWS[scale])
    variants = [sb(query, transfer_rows=rows, setting=f"transfers of {rows:,}") for rows in TRANSFER_SIZES]
    return speed_records("figure 12", query, price, timed(query, price, variants))


def measure_balanced(scale: Scale) -> list[Record]:
    """Figure 13: the best case of the state pipeline."""
    return _techniques(scale, "figure 13", BALANCED)


def measure_head_and_shoulders(scale: Scale) -> list[Record]:
    """Figure 14: SEQ, SB and RB+, Q1."""
    return _techniques(scale, "figure 14", Q["Q1"])


def _techniques(scale: Scale, figure: str, pattern_query: PatternQuery) -> list[Record]:
    query, price = linear_query(pattern_query), prices(ROWS[scale])
    pipeline, slices = sb(query), {units: rb_plus(units) for units in FEW_UNITS}
    times = timed(query, price, [pipeline, *slices.values()])
    return [
        *speed_records(figure, query, price, times),
        compared(figure, query, price, slices[2], pipeline, times, BEATS),
        *measure_library(figure, pattern_query, price, times.match_count),
    ]


def measure_first_state_twice(scale: Scale) -> list[Record]:
    """Table 2: SB and SB+, Q11; SEQ beside the paper's."""
    query, price = linear_query(Q["Q11"]), prices(ROWS[scale])
    times = timed(query, price, [sb(query), sb_plus(query)])
    speed = len(price) / times.seconds[SEQ]
    return [
        *speed_records("table 2", query, price, times),
        beside_paper("table 2", query.name, speed, PAPER_TABLE_2_SPEED, "RIP, table 2"),
        *measure_library(
            "table 2", Q["Q11"], price, times.match_count, speed_goal=times_the_paper(PAPER_TABLE_2_SPEED)
        ),
    ]
