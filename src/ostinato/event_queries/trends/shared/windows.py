"""Windows of the shared kernel: open lanes, close them, write their results."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.lane import bring_up_to_date
from ostinato.event_queries.trends.shared.lookups import (
    add_signed,
    cells_of_lane,
    lane_of_window,
    window_shape,
    within,
)
from ostinato.event_queries.trends.shared.same_time import take_time
from ostinato.kernels.kernel_cache import called_kernel
from ostinato.kernels.numbers.number_calls import add, add_small, set_small, set_zero, woven


@called_kernel
def _open_lane(arrays, query, lane):  # type: ignore[no-untyped-def]
    """Opens a window: it has no trends yet, and START holds the empty trend."""
    plan, logs, lanes, table, real = arrays.plan, arrays.logs, arrays.lanes, arrays.table, arrays.real
    cells = cells_of_lane(arrays, query, lane)
    for row in within(lanes, s.LANE_ROW, lane):
        set_zero(table, row)
    for row in within(lanes, s.LANE_REAL_ROW, lane):
        set_zero(real, row)
    for at in within(lanes, s.LANE_EXTREME, lane):
        lanes[lanes[s.LANE_HAS] + at] = 0
        lanes[lanes[s.LANE_KEY] + at] = 0
    for index in within(plan, s.QUERY_ONE_FROM, query):
        set_small(table, cells.base + plan[plan[s.QUERY_ONE_CELL] + index] * cells.width, np.int64(1))
    for index in within(plan, s.QUERY_FULL_ONE_FROM, query):
        full_cell = plan[plan[s.QUERY_FULL_ONE_CELL] + index]
        lanes[lanes[s.LANE_HAS] + cells.extreme_base + full_cell * cells.extreme_width] = 1
    position = lanes[s.LANE_POSITION] + lanes[lanes[s.LANE_POSITION_FROM] + lane]
    for loop in within(plan, s.QUERY_LOOP_FROM, query):
        log = plan[plan[s.LOOP_LOG] + loop]
        lanes[position] = logs[logs[s.ENTRY_ENTRIES] + log]
        logs[logs[s.ENTRY_LANES] + log] += 1
        position += 1
    lanes[lanes[s.LANE_IS_OPEN] + lane] = 1
    lanes[lanes[s.LANE_STAMP] + lane] = 0


@called_kernel
def _close_lane(arrays, output, query, lane, start):  # type: ignore[no-untyped-def]
    """Closes a window and writes its result, if it has any trend."""
    plan, logs, lanes, table, real = arrays.plan, arrays.logs, arrays.lanes, arrays.table, arrays.real
    results, progress = output.results, output.progress
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(arrays, query, lane)
    number, row = progress[s.RESULTS], progress[s.RESULT_ROWS]
    real_result, extreme_result = progress[s.RESULT_REALS], progress[s.RESULT_EXTREMES]
    if number == results[s.RESULT_ROOM] or lanes[s.RESULT_TABLE] + row + width > table.limbs.shape[0]:
        return s.RESULTS_FULL
    if (
        lanes[s.RESULT_REAL_TABLE] + real_result + reals >= real.limbs.shape[0]
        or extreme_result + extreme_width > results[s.RESULT_EXTREME_ROOM]
    ):
        return s.RESULTS_FULL
    if not bring_up_to_date(arrays, query, lane):
        return s.NUMBERS_FULL
    lanes[lanes[s.LANE_IS_OPEN] + lane] = 0
    for loop in within(plan, s.QUERY_LOOP_FROM, query):
        logs[logs[s.ENTRY_LANES] + plan[plan[s.LOOP_LOG] + loop]] -= 1
    any_trend = False
    for index in within(plan, s.QUERY_FULL_RESULT_FROM, query):
        if lanes[lanes[s.LANE_HAS] + extreme_base + plan[plan[s.QUERY_FULL_RESULT_CELL] + index] * extreme_width]:
            any_trend = True
    if not any_trend:
        return s.DONE
    into = lanes[s.RESULT_TABLE] + row
    for offset in range(width):
        set_zero(table, into + offset)
        for term in within(plan, s.QUERY_RESULT_FROM, query):
            source = base + plan[plan[s.QUERY_RESULT_CELL] + term] * width + offset
            add_signed(table, into + offset, source, plan[plan[s.QUERY_RESULT_SIGN] + term])
    add_small(table, into, plan[plan[s.QUERY_RESULT_CONSTANT] + query])
    for offset in range(reals):
        set_zero(real, lanes[s.RESULT_REAL_TABLE] + real_result + offset)
    for offset in range(extreme_width):
        results[results[s.RESULT_HAS] + extreme_result + offset] = 0
    for index in within(plan, s.QUERY_FULL_RESULT_FROM, query):
        full_cell = plan[plan[s.QUERY_FULL_RESULT_CELL] + index]
        for offset in range(reals):
            add(real, lanes[s.RESULT_REAL_TABLE] + real_result + offset, real_base + full_cell * reals + offset)
        for offset in range(extreme_width):
            at = extreme_base + full_cell * extreme_width + offset
            if lanes[lanes[s.LANE_HAS] + at] and (
                not results[results[s.RESULT_HAS] + extreme_result + offset]
                or lanes[lanes[s.LANE_KEY] + at] < results[results[s.RESULT_KEY] + extreme_result + offset]
            ):
                results[results[s.RESULT_KEY] + extreme_result + offset] = lanes[lanes[s.LANE_KEY] + at]
                results[results[s.RESULT_HAS] + extreme_result + offset] = 1
    results[results[s.RESULT_QUERY] + number] = query
    results[results[s.RESULT_SEQUENCE] + number] = progress[s.SEQUENCE]
    results[results[s.RESULT_WINDOW] + number] = start
    results[results[s.RESULT_ROW] + number] = into
    results[results[s.RESULT_REAL] + number] = lanes[s.RESULT_REAL_TABLE] + real_result
    results[results[s.RESULT_EXTREME] + number] = extreme_result
    progress[s.RESULTS] = number + 1
    progress[s.RESULT_ROWS] = row + width
    progress[s.RESULT_REALS] = real_result + reals
    progress[s.RESULT_EXTREMES] = extreme_result + extreme_width
    return s.DONE


@woven
def _close_first(arrays, output, extent):  # type: ignore[no-untyped-def]
    """Closes the oldest open window of the extent, for each of its queries."""
    plan, lanes = arrays.plan, arrays.lanes
    number = lanes[lanes[s.OPEN_FIRST] + extent]
    kind, _, slide = window_shape(plan, extent)
    for query in range(plan[s.QUERIES]):
        if plan[plan[s.QUERY_EXTENT] + query] == extent:
            lane = lane_of_window(plan, query, number)
            if lanes[lanes[s.LANE_IS_OPEN] + lane]:
                start = number * slide if kind else np.iinfo(np.int64).min
                status = _close_lane(arrays, output, query, lane, start)
                if status != s.DONE:
                    return status
    lanes[lanes[s.OPEN_FIRST] + extent] = number + 1
    return s.DONE


@woven
def _open_next(arrays, extent):  # type: ignore[no-untyped-def]
    """Opens the next window of the extent, for each of its queries."""
    plan, lanes = arrays.plan, arrays.lanes
    number = lanes[lanes[s.OPEN_NEXT] + extent]
    for query in range(plan[s.QUERIES]):
        if plan[plan[s.QUERY_EXTENT] + query] == extent:
            _open_lane(arrays, query, lane_of_window(plan, query, number))
    lanes[lanes[s.OPEN_NEXT] + extent] = number + 1


@woven
def close_until(arrays, output, extent, until):  # type: ignore[no-untyped-def]
    """Closes the windows that end at or before `until`."""
    plan, lanes = arrays.plan, arrays.lanes
    kind, length, slide = window_shape(plan, extent)
    while lanes[lanes[s.OPEN_FIRST] + extent] < lanes[lanes[s.OPEN_NEXT] + extent]:
        if until != s.FAR and (kind == 0 or lanes[lanes[s.OPEN_FIRST] + extent] * slide + length > until):
            break
        status = _close_first(arrays, output, extent)
        if status != s.DONE:
            return status
    return s.DONE


@woven
def move_windows(arrays, output, extent, here):  # type: ignore[no-untyped-def]
    """Closes windows that are over and opens windows that start at or before position `here`."""
    plan, lanes = arrays.plan, arrays.lanes
    status = close_until(arrays, output, extent, here)
    if status != s.DONE:
        return status
    kind, length, slide = window_shape(plan, extent)
    if kind == 0:
        if lanes[lanes[s.OPEN_NEXT] + extent] == 0:
            _open_next(arrays, extent)
        lanes[lanes[s.OPEN_CHANGE] + extent] = s.FAR
        return s.DONE
    earliest = (here - length) // slide + 1
    if kind == 2:
        earliest = max(earliest, 0)
    if lanes[lanes[s.OPEN_NEXT] + extent] < earliest:
        lanes[lanes[s.OPEN_FIRST] + extent] = earliest
        lanes[lanes[s.OPEN_NEXT] + extent] = earliest
    while lanes[lanes[s.OPEN_NEXT] + extent] * slide <= here:
        _open_next(arrays, extent)
    lanes[lanes[s.OPEN_CHANGE] + extent] = lanes[lanes[s.OPEN_NEXT] + extent] * slide
    if lanes[lanes[s.OPEN_FIRST] + extent] < lanes[lanes[s.OPEN_NEXT] + extent]:
        lanes[lanes[s.OPEN_CHANGE] + extent] = min(
            lanes[lanes[s.OPEN_CHANGE] + extent], lanes[lanes[s.OPEN_FIRST] + extent] * slide + length
        )
    return s.DONE


@woven
def straddle(arrays, events, output, extent, span, serial):  # type: ignore[no-untyped-def]
    """Windows that count events may separate events of one time: each lane processes its own events."""
    plan, lanes, rows = arrays.plan, arrays.lanes, events.rows
    first, last, _low, _high = span
    _, length, slide = window_shape(plan, extent)
    number = lanes[lanes[s.OPEN_FIRST] + extent]
    while number * slide <= rows[s.PLACE_ROW, last - 1]:
        if number >= lanes[lanes[s.OPEN_NEXT] + extent]:
            if (
                lanes[lanes[s.OPEN_NEXT] + extent] - lanes[lanes[s.OPEN_FIRST] + extent]
                == plan[plan[s.EXTENT_LANES] + extent]
            ):
                status = _close_first(arrays, output, extent)
                if status != s.DONE:
                    return status
            _open_next(arrays, extent)
        own = (first, last, number * slide, number * slide + length)
        for query in range(plan[s.QUERIES]):
            if plan[plan[s.QUERY_EXTENT] + query] == extent:
                lane = lane_of_window(plan, query, number)
                if lanes[lanes[s.LANE_IS_OPEN] + lane] and lanes[lanes[s.LANE_STAMP] + lane] != serial:
                    if not bring_up_to_date(arrays, query, lane):
                        return s.NUMBERS_FULL
                    take_time(arrays, events, own, serial, query, lane)
                    lanes[lanes[s.LANE_STAMP] + lane] = serial
        number += 1
    # The windows are checked again at the next time.
    lanes[lanes[s.OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
    return s.DONE


@woven
def forget_windows(arrays, extent):  # type: ignore[no-untyped-def]
    """Another sequence follows: no window of the extent has been opened yet."""
    plan, lanes = arrays.plan, arrays.lanes
    lanes[lanes[s.OPEN_FIRST] + extent] = s.NOT_BEGUN if plan[plan[s.EXTENT_KIND] + extent] else 0
    lanes[lanes[s.OPEN_NEXT] + extent] = lanes[lanes[s.OPEN_FIRST] + extent]
    lanes[lanes[s.OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
