"""Where the cells of a lane are, and how wide they are. Kernels only."""

from __future__ import annotations

from ostinato.event_queries.trends.shared.sections import (
    EXTENT_KIND,
    EXTENT_LANES,
    EXTENT_LENGTH,
    EXTENT_SLIDE,
    LANE_EXTREME,
    LANE_REAL_ROW,
    LANE_ROW,
    QUERY_EXTREMES,
    QUERY_REALS,
    QUERY_SLOTS,
)
from ostinato.kernels.numbers.number_calls import woven


@woven
def cells_of_lane(plan, lanes, query, lane):  # type: ignore[no-untyped-def]
    """First row and width of the lane's cells: exact numbers, sums of doubles, extremes.

    An exact cell holds its count and then its sums. An extreme cell holds a flag for "there is a trend" and then its
    extremes.
    """
    return (
        lanes[lanes[LANE_ROW] + lane],
        1 + plan[plan[QUERY_SLOTS] + query],
        lanes[lanes[LANE_REAL_ROW] + lane],
        plan[plan[QUERY_REALS] + query],
        lanes[lanes[LANE_EXTREME] + lane],
        1 + plan[plan[QUERY_EXTREMES] + query],
    )


@woven
def window_shape(plan, extent):  # type: ignore[no-untyped-def]
    """Kind, length, slide of the windows of an extent, and the number of lanes that one query needs for them."""
    return (
        plan[plan[EXTENT_KIND] + extent],
        plan[plan[EXTENT_LENGTH] + extent],
        plan[plan[EXTENT_SLIDE] + extent],
        plan[plan[EXTENT_LANES] + extent],
    )
