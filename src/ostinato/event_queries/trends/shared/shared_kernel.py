"""The shared engine's walk over events. A log gets every event of its condition; a lane only sees the other events.

The kernel processes all events of one time together, in three steps. It closes windows that are over and opens new
ones. It brings lanes up to date that these events change other than through a loop, and changes them. Then the logs get
their entries. The kernel stops when a number wouldn't fit or the results are full. The driver makes room and calls it
again; a lane's stamp says whether the lane has already processed the time.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared.lane import is_possible, move_at_once, ready
from ostinato.event_queries.trends.shared.logs import append, forget
from ostinato.event_queries.trends.shared.sections import (
    ACTION_MOVE_FROM,
    ACTION_QUERY,
    ACTION_SIMPLE,
    BURSTS,
    DONE,
    ENTRY_FRESH,
    ENTRY_LANES,
    ENTRY_MARKED,
    EXTENT_KIND,
    EXTENT_LANES,
    EXTENTS,
    FAR,
    LANE_STAMP,
    LAST_SEQUENCE,
    LOG_QUERIES,
    LOOP_LOG,
    NOT_BEGUN,
    NUMBERS_FULL,
    OPEN_CHANGE,
    OPEN_FIRST,
    OPEN_NEXT,
    PLACE_ROW,
    QUERIES,
    QUERY_EXTENT,
    QUERY_FIRST_LANE,
    QUERY_LOOP_FROM,
    ROW,
    SAVED,
    SEQUENCE,
    SHARED,
    STOPPED,
    SYMBOL_ACTION,
    SYMBOL_ACTION_FROM,
    SYMBOL_LOG,
    SYMBOL_LOG_FROM,
    SYMBOL_ROW,
    TIME_ROW,
    UPDATES,
)
from ostinato.event_queries.trends.shared.times import take_time
from ostinato.event_queries.trends.shared.windows import close_until, move_windows, straddle
from ostinato.kernels.kernel_cache import borrowing_kernel
from ostinato.kernels.numbers.number_calls import woven


@woven
def _loops_now(plan, logs, query, serial):  # type: ignore[no-untyped-def]
    """Whether an event of this time belongs to a loop of the query."""
    for loop in range(plan[plan[QUERY_LOOP_FROM] + query], plan[plan[QUERY_LOOP_FROM] + query + 1]):
        if logs[logs[ENTRY_MARKED] + plan[plan[LOOP_LOG] + loop]] == serial:
            return True
    return False


@woven
def _act(plan, logs, log_sums, lanes, table, real, symbols, rows, doubles, span, serial, counters):  # type: ignore[no-untyped-def]
    """Applies the actions of one time's events to the lanes of their queries."""
    first, last, _low, _high = span
    for row in range(first, last):
        symbol = rows[SYMBOL_ROW, row]
        end = symbols[symbols[SYMBOL_ACTION_FROM] + symbol + 1]
        for index in range(symbols[symbols[SYMBOL_ACTION_FROM] + symbol], end):
            action = symbols[symbols[SYMBOL_ACTION] + index]
            query = plan[plan[ACTION_QUERY] + action]
            alone = last - first == 1 and plan[plan[ACTION_SIMPLE] + action] == 1
            if alone:
                if (
                    (
                        index + 1 < end
                        and plan[plan[ACTION_QUERY] + symbols[symbols[SYMBOL_ACTION] + index + 1]] == query
                    )
                    or (
                        index > symbols[symbols[SYMBOL_ACTION_FROM] + symbol]
                        and plan[plan[ACTION_QUERY] + symbols[symbols[SYMBOL_ACTION] + index - 1]] == query
                    )
                    or _loops_now(plan, logs, query, serial)
                ):
                    alone = False
            extent = plan[plan[QUERY_EXTENT] + query]
            ring = plan[plan[EXTENT_LANES] + extent]
            for number in range(lanes[lanes[OPEN_FIRST] + extent], lanes[lanes[OPEN_NEXT] + extent]):
                lane = plan[plan[QUERY_FIRST_LANE] + query] + number % ring
                if lanes[lanes[LANE_STAMP] + lane] == serial:
                    continue
                if not ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):
                    return NUMBERS_FULL
                counters[UPDATES] += 1
                if alone:
                    for move in range(plan[plan[ACTION_MOVE_FROM] + action], plan[plan[ACTION_MOVE_FROM] + action + 1]):
                        if is_possible(plan, lanes, query, lane, move):
                            move_at_once(plan, lanes, table, real, rows, doubles, row, move, query, lane)
                else:
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
                        span,
                        serial,
                        query,
                        lane,
                        counters,
                    )
                lanes[lanes[LANE_STAMP] + lane] = serial
    return DONE


@woven
def _enter_logs(plan, logs, log_sums, symbols, rows, doubles, first, last, serial, counters):  # type: ignore[no-untyped-def]
    """Appends the events of one time to the logs of their conditions."""
    for row in range(first, last):
        symbol = rows[SYMBOL_ROW, row]
        for index in range(symbols[symbols[SYMBOL_LOG_FROM] + symbol], symbols[symbols[SYMBOL_LOG_FROM] + symbol + 1]):
            log = symbols[symbols[SYMBOL_LOG] + index]
            if logs[logs[ENTRY_FRESH] + log]:
                logs[logs[ENTRY_FRESH] + log] = 0
                counters[BURSTS] += 1
                if plan[plan[LOG_QUERIES] + log] > 1:
                    counters[SHARED] += 1
            counters[SAVED] += logs[logs[ENTRY_LANES] + log]
            append(plan, logs, log_sums, log, rows, doubles, row, serial)


@woven
def _take_windows(  # type: ignore[no-untyped-def]
    plan, logs, log_sums, lanes, table, real, results, progress, symbols, rows, doubles, span, serial, counters
):
    first, last, _low, _high = span
    for extent in range(plan[EXTENTS]):
        kind = plan[plan[EXTENT_KIND] + extent]
        here = rows[PLACE_ROW, first] if kind == 2 else rows[TIME_ROW, first]
        if here >= lanes[lanes[OPEN_CHANGE] + extent]:
            status = move_windows(plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters)
            if status != DONE:
                return status
        if kind == 2 and rows[PLACE_ROW, last - 1] >= lanes[lanes[OPEN_CHANGE] + extent]:
            status = straddle(
                plan, logs, log_sums, lanes, table, real, results, progress, extent,
                symbols, rows, doubles, span, serial, counters,
            )  # fmt: skip
            if status != DONE:
                return status
    return DONE


@borrowing_kernel
def walk(  # type: ignore[no-untyped-def]
    plan,
    logs,
    log_sums,
    lanes,
    table,
    real,
    results,
    progress,
    symbols,
    starts,
    rows,
    doubles,
    until,
    counters,
    stopped,
):
    """Walks over the sequences from `progress[SEQUENCE]` to before `progress[LAST_SEQUENCE]`.

    Closes the windows of a sequence that end at or before its `until`.
    """
    while progress[SEQUENCE] < progress[LAST_SEQUENCE]:
        sequence = progress[SEQUENCE]
        end = starts[sequence + 1]
        first = progress[ROW]
        while first < end:
            last = first + 1
            matters = rows[SYMBOL_ROW, first] != 0
            while last < end and rows[TIME_ROW, last] == rows[TIME_ROW, first]:
                matters |= rows[SYMBOL_ROW, last] != 0
                last += 1
            if matters:
                if stopped[0] != 0:
                    return STOPPED
                serial = first + 1
                span = (first, last, np.iinfo(np.int64).min, FAR)
                for row in range(first, last):
                    symbol = rows[SYMBOL_ROW, row]
                    for index in range(
                        symbols[symbols[SYMBOL_LOG_FROM] + symbol], symbols[symbols[SYMBOL_LOG_FROM] + symbol + 1]
                    ):
                        logs[logs[ENTRY_MARKED] + symbols[symbols[SYMBOL_LOG] + index]] = serial
                status = _take_windows(
                    plan, logs, log_sums, lanes, table, real, results, progress,
                    symbols, rows, doubles, span, serial, counters,
                )  # fmt: skip
                if status == DONE:
                    status = _act(
                        plan, logs, log_sums, lanes, table, real, symbols, rows, doubles, span, serial, counters
                    )
                if status != DONE:
                    progress[ROW] = first
                    return status
                _enter_logs(plan, logs, log_sums, symbols, rows, doubles, first, last, serial, counters)
            first = last
        progress[ROW] = first
        for extent in range(plan[EXTENTS]):
            status = close_until(
                plan, logs, log_sums, lanes, table, real, results, progress, extent, until[sequence], counters
            )
            if status != DONE:
                return status
        if until[sequence] == FAR:
            forget(plan, logs, log_sums)
            for extent in range(plan[EXTENTS]):
                lanes[lanes[OPEN_FIRST] + extent] = NOT_BEGUN if plan[plan[EXTENT_KIND] + extent] else 0
                lanes[lanes[OPEN_NEXT] + extent] = lanes[lanes[OPEN_FIRST] + extent]
                lanes[lanes[OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
        progress[SEQUENCE] = sequence + 1
    return DONE


@borrowing_kernel
def bring_up(plan, logs, log_sums, lanes, table, real, counters):  # type: ignore[no-untyped-def]
    """Brings every open lane up to the last entry of its logs, so that the logs can be emptied."""
    for query in range(plan[QUERIES]):
        extent = plan[plan[QUERY_EXTENT] + query]
        for number in range(lanes[lanes[OPEN_FIRST] + extent], lanes[lanes[OPEN_NEXT] + extent]):
            lane = plan[plan[QUERY_FIRST_LANE] + query] + number % plan[plan[EXTENT_LANES] + extent]
            if not ready(plan, logs, log_sums, lanes, table, real, query, lane, counters):
                return NUMBERS_FULL
    return DONE
