"""Windows of the shared kernel: lanes are opened and closed, and give their results."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane import ready
from ostinato.event_queries.trends.shared.places import cell_widths, lane_starts
from ostinato.event_queries.trends.shared.sections import (
    DONE,
    ENTRY_ENTRIES,
    ENTRY_LANES,
    EXTENT_KIND,
    EXTENT_LANES,
    EXTENT_LENGTH,
    EXTENT_SLIDE,
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
    QUERY_EONE_CELL,
    QUERY_EONE_FROM,
    QUERY_ERESULT_CELL,
    QUERY_ERESULT_FROM,
    QUERY_EXTENT,
    QUERY_FIRST_LANE,
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
    """A window begins: no trends yet, START holds one empty one."""
    width, _, ewidth = cell_widths(plan, query)
    for row in range(lanes[lanes[LANE_ROW] + lane], lanes[lanes[LANE_ROW] + lane + 1]):
        set_zero(table, row)
    for row in range(lanes[lanes[LANE_REAL_ROW] + lane], lanes[lanes[LANE_REAL_ROW] + lane + 1]):
        set_zero(real, row)
    for at in range(lanes[lanes[LANE_EXTREME] + lane], lanes[lanes[LANE_EXTREME] + lane + 1]):
        lanes[lanes[LANE_HAS] + at] = 0
        lanes[lanes[LANE_KEY] + at] = 0
    for place in range(plan[plan[QUERY_ONE_FROM] + query], plan[plan[QUERY_ONE_FROM] + query + 1]):
        set_small(table, lanes[lanes[LANE_ROW] + lane] + plan[plan[QUERY_ONE_CELL] + place] * width, np.int64(1))
    for place in range(plan[plan[QUERY_EONE_FROM] + query], plan[plan[QUERY_EONE_FROM] + query + 1]):
        lanes[lanes[LANE_HAS] + lanes[lanes[LANE_EXTREME] + lane] + plan[plan[QUERY_EONE_CELL] + place] * ewidth] = 1
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
    """The window's result, if it has any trend."""
    width, reals, ewidth = cell_widths(plan, query)
    base, real_base, extreme_base = lane_starts(lanes, lane)
    number, row = progress[RESULTS], progress[RESULT_ROWS]
    rrow, erow = progress[RESULT_REALS], progress[RESULT_EXTREMES]
    if number == results[RESULT_ROOM] or lanes[RESULT_TABLE] + row + width > table.limbs.shape[0]:
        return RESULTS_FULL
    if lanes[RESULT_REAL_TABLE] + rrow + reals >= real.limbs.shape[0] or erow + ewidth > results[RESULT_EXTREME_ROOM]:
        return RESULTS_FULL
    if not ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):
        return NUMBERS_FULL
    lanes[lanes[LANE_IS_OPEN] + lane] = 0
    for loop in range(plan[plan[QUERY_LOOP_FROM] + query], plan[plan[QUERY_LOOP_FROM] + query + 1]):
        logs[logs[ENTRY_LANES] + plan[plan[LOOP_LOG] + loop]] -= 1
    any_trend = False
    for place in range(plan[plan[QUERY_ERESULT_FROM] + query], plan[plan[QUERY_ERESULT_FROM] + query + 1]):
        if lanes[lanes[LANE_HAS] + extreme_base + plan[plan[QUERY_ERESULT_CELL] + place] * ewidth]:
            any_trend = True
    if not any_trend:
        return DONE
    into = lanes[RESULT_TABLE] + row
    for part in range(width):
        set_zero(table, into + part)
        for term in range(plan[plan[QUERY_RESULT_FROM] + query], plan[plan[QUERY_RESULT_FROM] + query + 1]):
            what = base + plan[plan[QUERY_RESULT_CELL] + term] * width + part
            if plan[plan[QUERY_RESULT_SIGN] + term] > 0:
                add(table, into + part, what)
            else:
                subtract(table, into + part, what)
    add_small(table, into, plan[plan[QUERY_RESULT_CONSTANT] + query])
    for part in range(reals):
        set_zero(real, lanes[RESULT_REAL_TABLE] + rrow + part)
    for part in range(ewidth):
        results[results[RESULT_HAS] + erow + part] = 0
    for place in range(plan[plan[QUERY_ERESULT_FROM] + query], plan[plan[QUERY_ERESULT_FROM] + query + 1]):
        ecell = plan[plan[QUERY_ERESULT_CELL] + place]
        for part in range(reals):
            add(real, lanes[RESULT_REAL_TABLE] + rrow + part, real_base + ecell * reals + part)
        for part in range(ewidth):
            at = extreme_base + ecell * ewidth + part
            if lanes[lanes[LANE_HAS] + at] and (
                not results[results[RESULT_HAS] + erow + part]
                or lanes[lanes[LANE_KEY] + at] < results[results[RESULT_KEY] + erow + part]
            ):
                results[results[RESULT_KEY] + erow + part] = lanes[lanes[LANE_KEY] + at]
                results[results[RESULT_HAS] + erow + part] = 1
    results[results[RESULT_QUERY] + number] = query
    results[results[RESULT_SEQUENCE] + number] = progress[SEQUENCE]
    results[results[RESULT_WINDOW] + number] = start
    results[results[RESULT_ROW] + number] = into
    results[results[RESULT_REAL] + number] = lanes[RESULT_REAL_TABLE] + rrow
    results[results[RESULT_EXTREME] + number] = erow
    progress[RESULTS] = number + 1
    progress[RESULT_ROWS] = row + width
    progress[RESULT_REALS] = rrow + reals
    progress[RESULT_EXTREMES] = erow + ewidth
    return DONE


@woven
def _close_first(plan, logs, log_sums, lanes, table, real, results, progress, extent, counters):  # type: ignore[no-untyped-def]
    """The oldest open window of the extent, for each of its queries."""
    number = lanes[lanes[OPEN_FIRST] + extent]
    slide, ring = plan[plan[EXTENT_SLIDE] + extent], plan[plan[EXTENT_LANES] + extent]
    for query in range(plan[QUERIES]):
        if plan[plan[QUERY_EXTENT] + query] == extent:
            lane = plan[plan[QUERY_FIRST_LANE] + query] + number % ring
            if lanes[lanes[LANE_IS_OPEN] + lane]:
                start = number * slide if plan[plan[EXTENT_KIND] + extent] else np.iinfo(np.int64).min
                status = _close_lane(
                    plan, logs, log_sums, lanes, table, real, results, progress, query, lane, start, counters
                )
                if status != DONE:
                    return status
    lanes[lanes[OPEN_FIRST] + extent] = number + 1
    return DONE


@woven
def _open_next(plan, logs, lanes, table, real, extent):  # type: ignore[no-untyped-def]
    number = lanes[lanes[OPEN_NEXT] + extent]
    for query in range(plan[QUERIES]):
        if plan[plan[QUERY_EXTENT] + query] == extent:
            lane = plan[plan[QUERY_FIRST_LANE] + query] + number % plan[plan[EXTENT_LANES] + extent]
            open_lane(plan, logs, lanes, table, real, query, lane)
    lanes[lanes[OPEN_NEXT] + extent] = number + 1


@woven
def close_until(plan, logs, log_sums, lanes, table, real, results, progress, extent, until, counters):  # type: ignore[no-untyped-def]
    """Closes the windows that end at or before `until`."""
    kind, length, slide = (
        plan[plan[EXTENT_KIND] + extent],
        plan[plan[EXTENT_LENGTH] + extent],
        plan[plan[EXTENT_SLIDE] + extent],
    )
    while lanes[lanes[OPEN_FIRST] + extent] < lanes[lanes[OPEN_NEXT] + extent]:
        if until != FAR and (kind == 0 or lanes[lanes[OPEN_FIRST] + extent] * slide + length > until):
            break
        status = _close_first(plan, logs, log_sums, lanes, table, real, results, progress, extent, counters)
        if status != DONE:
            return status
    return DONE


@woven
def move_windows(plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters):  # type: ignore[no-untyped-def]
    """Closes what is over and opens what begins at or before position `here`."""
    status = close_until(plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters)
    if status != DONE:
        return status
    kind, length, slide = (
        plan[plan[EXTENT_KIND] + extent],
        plan[plan[EXTENT_LENGTH] + extent],
        plan[plan[EXTENT_SLIDE] + extent],
    )
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
    """One time has events of several windows that count events: each lane takes its own."""
    first, last, _low, _high = span
    length, slide, ring = (
        plan[plan[EXTENT_LENGTH] + extent],
        plan[plan[EXTENT_SLIDE] + extent],
        plan[plan[EXTENT_LANES] + extent],
    )
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
    # The next time looks at its windows again.
    lanes[lanes[OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
    return DONE
