"""Where a query's numbers lie: how wide its cells are, and where those of a lane begin. Kernels only."""

from __future__ import annotations

from ostinato.event_queries.trends.shared.sections import (
    LANE_EXTREME,
    LANE_REAL_ROW,
    LANE_ROW,
    QUERY_EXTREMES,
    QUERY_REALS,
    QUERY_SLOTS,
)
from ostinato.kernels.numbers.number_calls import woven


@woven
def cell_widths(plan, query):  # type: ignore[no-untyped-def]
    """Of a cell: its count and exact sums, its sums of doubles, whether it holds a trend and its extremes."""
    return (
        1 + plan[plan[QUERY_SLOTS] + query],
        plan[plan[QUERY_REALS] + query],
        1 + plan[plan[QUERY_EXTREMES] + query],
    )


@woven
def lane_starts(lanes, lane):  # type: ignore[no-untyped-def]
    """The lane's first number, first sum of doubles and first extreme."""
    return lanes[lanes[LANE_ROW] + lane], lanes[lanes[LANE_REAL_ROW] + lane], lanes[lanes[LANE_EXTREME] + lane]
