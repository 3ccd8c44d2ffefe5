"""Windows of the shared kernel: open lanes, close them, write their results."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane import ready
from ostinato.event_queries.trends.shared.lane_cells import cells_of_lane, window_shape
from ostinato.event_queries.trends.shared.sections import (
    DONE,
    ENTRY_ENTRIES,
    ENTRY_LANES,
    EXTENT_LANES,
    FAR,
    LANE_EXTREME,
    LANE_HAS,
    LANE_IS_OPEN,
    LANE_KEY,
    LANE_POSITION,
    LANE_POSITION_FROM,
    LANE_REAL_ROW,
    LANE_ROW,
    LANE_STAMP,
    LOOP_LOG,
    NUMBERS_FULL,
    OPEN_CHANGE,
    OPEN_FIRST,
    OPEN_NEXT,
    PLACE_ROW,
    QUERIES,
    QUERY_EXTENT,
    QUERY_FIRST_LANE,
    QUERY_FULL_ONE_CELL,
    QUERY_FULL_ONE_FROM,
    QUERY_FULL_RESULT_CELL,
    QUERY_FULL_RESULT_FROM,
    QUERY_LOOP_FROM,
    QUERY_ONE_CELL,
    QUERY_ONE_FROM,
    QUERY_RESULT_CELL,
    QUERY_RESULT_CONSTANT,
    QUERY_RESULT_FROM,
    QUERY_RESULT_SIGN,
    RESULT_EXTREME,
    RESULT_EXTREME_ROOM,
    RESULT_EXTREMES,
    RESULT_HAS,
    RESULT_KEY,
    RESULT_QUERY,
    RESULT_REAL,
    RESULT_REAL_TABLE,
    RESULT_REALS,
    RESULT_ROOM,
    RESULT_ROW,
    RESULT_ROWS,
    RESULT_SEQUENCE,
    RESULT_TABLE,
    RESULT_WINDOW,
    RESULTS,
    RESULTS_FULL,
    SEQUENCE,
)
from ostinato.event_queries.trends.shared.times import take_time
from ostinato.kernels.kernel_cache import called_kernel
from ostinato.kernels.numbers.number_calls import add, add_small, set_small, set_zero, subtract, woven


@called_kernel
def open_lane(plan, logs, lanes, table, real, query, lane):  # type: ignore[no-untyped-def]
    """Opens a window: it has no trends yet, and START holds the empty trend."""
    _, width, _, _, _, extreme_width = cells_of_lane(plan, lanes, query, lane)
    for row in range(lanes[lanes[LANE_ROW] + lane], lanes[lanes[LANE_ROW] + lane + 1]):
        set_zero(table, row)
    for row in range(lanes[lanes[LANE_REAL_ROW] + lane], lanes[lanes[LANE_REAL_ROW] + lane + 1]):
        set_zero(real, row)
    for at in range(lanes[lanes[LANE_EXTREME] + lane], lanes[lanes[LANE_EXTREME] + lane + 1]):
        lanes[lanes[LANE_HAS] + at] = 0
        lanes[lanes[LANE_KEY] + at] = 0
    for index in range(plan[plan[QUERY_ONE_FROM] + query], plan[plan[QUERY_ONE_FROM] + query + 1]):
        set_small(table, lanes[lanes[LANE_ROW] + lane] + plan[plan[QUERY_ONE_CELL] + index] * width, np.int64(1))
    for index in range(plan[plan[QUERY_FULL_ONE_FROM] + query], plan[plan[QUERY_FULL_ONE_FROM] + query + 1]):
        lanes[
            lanes[LANE_HAS]
            + lanes[lanes[LANE_EXTREME] + lane]
            + plan[plan[QUERY_FULL_ONE_CELL] + index] * extreme_width
        ] = 1
    first = plan[plan[QUERY_LOOP_FROM] + query]
    for loop in range(first, plan[plan[QUERY_LOOP_FROM] + query + 1]):
        log = plan[plan[LOOP_LOG] + loop]
        lanes[lanes[LANE_POSITION] + lanes[lanes[LANE_POSITION_FROM] + lane] + loop - first] = logs[
            logs[ENTRY_ENTRIES] + log
        ]
        logs[logs[ENTRY_LANES] + log] += 1
    lanes[lanes[LANE_IS_OPEN] + lane] = 1
    lanes[lanes[LANE_STAMP] + lane] = 0


@called_kernel
def _close_lane(plan, logs, log_sums, lanes, table, real, results, progress, query, lane, start, counters):  # type: ignore[no-untyped-def]
    """Closes a window and writes its result, if it has any trend."""
    base, width, real_base, reals, extreme_base, extreme_width = cells_of_lane(plan, lanes, query, lane)
    number, row = progress[RESULTS], progress[RESULT_ROWS]
    real_result, extreme_result = progress[RESULT_REALS], progress[RESULT_EXTREMES]
    if number == results[RESULT_ROOM] or lanes[RESULT_TABLE] + row + width > table.limbs.shape[0]:
        return RESULTS_FULL
    if (
        lanes[RESULT_REAL_TABLE] + real_result + reals >= real.limbs.shape[0]
        or extreme_result + extreme_width > results[RESULT_EXTREME_ROOM]
    ):
        return RESULTS_FULL
    if not ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):
        return NUMBERS_FULL
    lanes[lanes[LANE_IS_OPEN] + lane] = 0
    for loop in range(plan[plan[QUERY_LOOP_FROM] + query], plan[plan[QUERY_LOOP_FROM] + query + 1]):
        logs[logs[ENTRY_LANES] + plan[plan[LOOP_LOG] + loop]] -= 1
    any_trend = False
    for index in range(plan[plan[QUERY_FULL_RESULT_FROM] + query], plan[plan[QUERY_FULL_RESULT_FROM] + query + 1]):
        if lanes[lanes[LANE_HAS] + extreme_base + plan[plan[QUERY_FULL_RESULT_CELL] + index] * extreme_width]:
            any_trend = True
    if not any_trend:
        return DONE
    into = lanes[RESULT_TABLE] + row
    for offset in range(width):
        set_zero(table, into + offset)
        for term in range(plan[plan[QUERY_RESULT_FROM] + query], plan[plan[QUERY_RESULT_FROM] + query + 1]):
            source = base + plan[plan[QUERY_RESULT_CELL] + term] * width + offset
            if plan[plan[QUERY_RESULT_SIGN] + term] > 0:
                add(table, into + offset, source)
            else:
                subtract(table, into + offset, source)
    add_small(table, into, plan[plan[QUERY_RESULT_CONSTANT] + query])
    for offset in range(reals):
        set_zero(real, lanes[RESULT_REAL_TABLE] + real_result + offset)
    for offset in range(extreme_width):
        results[results[RESULT_HAS] + extreme_result + offset] = 0
    for index in range(plan[plan[QUERY_FULL_RESULT_FROM] + query], plan[plan[QUERY_FULL_RESULT_FROM] + query + 1]):
        full_cell = plan[plan[QUERY_FULL_RESULT_CELL] + index]
        for offset in range(reals):
            add(real, lanes[RESULT_REAL_TABLE] + real_result + offset, real_base + full_cell * reals + offset)
        for offset in range(extreme_width):
            at = extreme_base + full_cell * extreme_width + offset
            if lanes[lanes[LANE_HAS] + at] and (
                not results[results[RESULT_HAS] + extreme_result + offset]
                or lanes[lanes[LANE_KEY] + at] < results[results[RESULT_KEY] + extreme_result + offset]
            ):
                results[results[RESULT_KEY] + extreme_result + offset] = lanes[lanes[LANE_KEY] + at]
                results[results[RESULT_HAS] + extreme_result + offset] = 1
    results[results[RESULT_QUERY] + number] = query
    results[results[RESULT_SEQUENCE] + number] = progress[SEQUENCE]
    results[results[RESULT_WINDOW] + number] = start
    results[results[RESULT_ROW] + number] = into
    results[results[RESULT_REAL] + number] = lanes[RESULT_REAL_TABLE] + real_result
    results[results[RESULT_EXTREME] + number] = extreme_result
    progress[RESULTS] = number + 1
    progress[RESULT_ROWS] = row + width
    progress[RESULT_REALS] = real_result + reals
    progress[RESULT_EXTREMES] = extreme_result + extreme_width
    return DONE


@woven
def _close_first(plan, logs, log_sums, lanes, table, real, results, progress, extent, counters):  # type: ignore[no-untyped-def]
    """Closes the oldest open window of the extent, for each of its queries."""
    number = lanes[lanes[OPEN_FIRST] + extent]
    kind, _, slide, ring = window_shape(plan, extent)
    for query in range(plan[QUERIES]):
        if plan[plan[QUERY_EXTENT] + query] == extent:
            lane = plan[plan[QUERY_FIRST_LANE] + query] + number % ring
            if lanes[lanes[LANE_IS_OPEN] + lane]:
                start = number * slide if kind else np.iinfo(np.int64).min
                status = _close_lane(
                    plan, logs, log_sums, lanes, table, real, results, progress, query, lane, start, counters
                )
                if status != DONE:
                    return status
    lanes[lanes[OPEN_FIRST] + extent] = number + 1
    return DONE


@woven
def _open_next(plan, logs, lanes, table, real, extent):  # type: ignore[no-untyped-def]
    """Opens the next window of the extent, for each of its queries."""
    number = lanes[lanes[OPEN_NEXT] + extent]
    for query in range(plan[QUERIES]):
        if plan[plan[QUERY_EXTENT] + query] == extent:
            lane = plan[plan[QUERY_FIRST_LANE] + query] + number % plan[plan[EXTENT_LANES] + extent]
            open_lane(plan, logs, lanes, table, real, query, lane)
    lanes[lanes[OPEN_NEXT] + extent] = number + 1


@woven
def close_until(plan, logs, log_sums, lanes, table, real, results, progress, extent, until, counters):  # type: ignore[no-untyped-def]
    """Closes the windows that end at or before `until`."""
    kind, length, slide, _ = window_shape(plan, extent)
    while lanes[lanes[OPEN_FIRST] + extent] < lanes[lanes[OPEN_NEXT] + extent]:
        if until != FAR and (kind == 0 or lanes[lanes[OPEN_FIRST] + extent] * slide + length > until):
            break
        status = _close_first(plan, logs, log_sums, lanes, table, real, results, progress, extent, counters)
        if status != DONE:
            return status
    return DONE


@woven
def move_windows(plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters):  # type: ignore[no-untyped-def]
    """Closes windows that are over and opens windows that start at or before position `here`."""
    status = close_until(plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters)
    if status != DONE:
        return status
    kind, length, slide, _ = window_shape(plan, extent)
    if kind == 0:
        if lanes[lanes[OPEN_NEXT] + extent] == 0:
            _open_next(plan, logs, lanes, table, real, extent)
        lanes[lanes[OPEN_CHANGE] + extent] = FAR
        return DONE
    earliest = (here - length) // slide + 1
    if kind == 2:
        earliest = max(earliest, 0)
    if lanes[lanes[OPEN_NEXT] + extent] < earliest:
        lanes[lanes[OPEN_FIRST] + extent] = earliest
        lanes[lanes[OPEN_NEXT] + extent] = earliest
    while lanes[lanes[OPEN_NEXT] + extent] * slide <= here:
        _open_next(plan, logs, lanes, table, real, extent)
    lanes[lanes[OPEN_CHANGE] + extent] = lanes[lanes[OPEN_NEXT] + extent] * slide
    if lanes[lanes[OPEN_FIRST] + extent] < lanes[lanes[OPEN_NEXT] + extent]:
        lanes[lanes[OPEN_CHANGE] + extent] = min(
            lanes[lanes[OPEN_CHANGE] + extent], lanes[lanes[OPEN_FIRST] + extent] * slide + length
        )
    return DONE


@woven
def straddle(  # type: ignore[no-untyped-def]
    plan, logs, log_sums, lanes, table, real, results, progress, extent, symbols, rows, doubles, span, serial, counters
):
    """Windows that count events may separate events of one time: each lane processes its own events."""
    first, last, _low, _high = span
    _, length, slide, ring = window_shape(plan, extent)
    number = lanes[lanes[OPEN_FIRST] + extent]
    while number * slide <= rows[PLACE_ROW, last - 1]:
        if number >= lanes[lanes[OPEN_NEXT] + extent]:
            if lanes[lanes[OPEN_NEXT] + extent] - lanes[lanes[OPEN_FIRST] + extent] == ring:
                status = _close_first(plan, logs, log_sums, lanes, table, real, results, progress, extent, counters)
                if status != DONE:
                    return status
            _open_next(plan, logs, lanes, table, real, extent)
        own = (first, last, number * slide, number * slide + length)
        for query in range(plan[QUERIES]):
            if plan[plan[QUERY_EXTENT] + query] == extent:
                lane = plan[plan[QUERY_FIRST_LANE] + query] + number % ring
                if lanes[lanes[LANE_IS_OPEN] + lane] and lanes[lanes[LANE_STAMP] + lane] != serial:
                    if not ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):
                        return NUMBERS_FULL
                    take_time(
                        plan,
                        logs,
                        log_sums,
                        lanes,
                        table,
                        real,
                        symbols,
                        rows,
                        doubles,
                        own,
                        serial,
                        query,
                        lane,
                        counters,
                    )
                    lanes[lanes[LANE_STAMP] + lane] = serial
        number += 1
    # The windows are checked again at the next time.
    lanes[lanes[OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
    return DONE
