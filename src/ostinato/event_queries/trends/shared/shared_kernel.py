"""The shared engine's walk over events. A log gets every event of its condition; a lane only sees the other events.

The kernel processes all events of one time together, in three steps. It closes windows that are over and opens new
ones. It brings lanes up to date that these events change other than through a loop, and changes them. Then the logs get
their entries. The kernel stops when a number wouldn't fit or the results are full. The driver makes room and calls it
again; a lane's stamp says whether the lane has already processed the time.
"""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.lane import bring_up_to_date, is_possible, move_at_once
from ostinato.event_queries.trends.shared.logs import append, count_event, forget
from ostinato.event_queries.trends.shared.lookups import lane_of_window, open_windows, within
from ostinato.event_queries.trends.shared.same_time import take_time
from ostinato.event_queries.trends.shared.windows import close_until, forget_windows, move_windows, straddle
from ostinato.kernels.kernel_cache import borrowing_kernel
from ostinato.kernels.numbers.number_calls import woven


@woven
def _loops_now(arrays, query, serial):  # type: ignore[no-untyped-def]
    """Whether an event of this time belongs to a loop of the query."""
    plan, logs = arrays.plan, arrays.logs
    for loop in within(plan, s.QUERY_LOOP_FROM, query):
        if logs[logs[s.ENTRY_MARKED] + plan[plan[s.LOOP_LOG] + loop]] == serial:
            return True
    return False


@woven
def _act(arrays, events, span, serial):  # type: ignore[no-untyped-def]
    """Applies the actions of one time's events to the lanes of their queries."""
    plan, lanes, symbols, rows = arrays.plan, arrays.lanes, events.symbols, events.rows
    first, last, _low, _high = span
    for row in range(first, last):
        symbol = rows[s.SYMBOL_ROW, row]
        end = symbols[symbols[s.SYMBOL_ACTION_FROM] + symbol + 1]
        for index in range(symbols[symbols[s.SYMBOL_ACTION_FROM] + symbol], end):
            action = symbols[symbols[s.SYMBOL_ACTION] + index]
            query = plan[plan[s.ACTION_QUERY] + action]
            alone = last - first == 1 and plan[plan[s.ACTION_SIMPLE] + action] == 1
            if alone:
                if (
                    (
                        index + 1 < end
                        and plan[plan[s.ACTION_QUERY] + symbols[symbols[s.SYMBOL_ACTION] + index + 1]] == query
                    )
                    or (
                        index > symbols[symbols[s.SYMBOL_ACTION_FROM] + symbol]
                        and plan[plan[s.ACTION_QUERY] + symbols[symbols[s.SYMBOL_ACTION] + index - 1]] == query
                    )
                    or _loops_now(arrays, query, serial)
                ):
                    alone = False
            extent = plan[plan[s.QUERY_EXTENT] + query]
            for number in open_windows(lanes, extent):
                lane = lane_of_window(plan, query, number)
                if lanes[lanes[s.LANE_STAMP] + lane] == serial:
                    continue
                if not bring_up_to_date(arrays, query, lane):
                    return s.NUMBERS_FULL
                arrays.counters[s.UPDATES] += 1
                if alone:
                    for move in within(plan, s.ACTION_MOVE_FROM, action):
                        if is_possible(arrays, query, lane, move):
                            move_at_once(arrays, events, row, move, query, lane)
                else:
                    take_time(arrays, events, span, serial, query, lane)
                lanes[lanes[s.LANE_STAMP] + lane] = serial
    return s.DONE


@woven
def _enter_logs(arrays, events, first, last, serial):  # type: ignore[no-untyped-def]
    """Appends the events of one time to the logs of their conditions."""
    symbols = events.symbols
    for row in range(first, last):
        for index in within(symbols, s.SYMBOL_LOG_FROM, events.rows[s.SYMBOL_ROW, row]):
            log = symbols[symbols[s.SYMBOL_LOG] + index]
            count_event(arrays, log)
            append(arrays, events, log, row, serial)


@woven
def _take_windows(arrays, events, output, span, serial):  # type: ignore[no-untyped-def]
    """Opens and closes windows before the events of one time are applied."""
    plan, lanes, rows = arrays.plan, arrays.lanes, events.rows
    first, last, _low, _high = span
    for extent in range(plan[s.EXTENTS]):
        kind = plan[plan[s.EXTENT_KIND] + extent]
        here = rows[s.PLACE_ROW, first] if kind == 2 else rows[s.TIME_ROW, first]
        if here >= lanes[lanes[s.OPEN_CHANGE] + extent]:
            status = move_windows(arrays, output, extent, here)
            if status != s.DONE:
                return status
        if kind == 2 and rows[s.PLACE_ROW, last - 1] >= lanes[lanes[s.OPEN_CHANGE] + extent]:
            status = straddle(arrays, events, output, extent, span, serial)
            if status != s.DONE:
                return status
    return s.DONE


@borrowing_kernel
def walk(arrays, events, output, until, stopped):  # type: ignore[no-untyped-def]
    """Walks over the sequences from `progress[SEQUENCE]` to before `progress[LAST_SEQUENCE]`.

    Closes the windows of a sequence that end at or before its `until`.
    """
    plan, logs, progress = arrays.plan, arrays.logs, output.progress
    starts, symbols, rows = events.starts, events.symbols, events.rows
    while progress[s.SEQUENCE] < progress[s.LAST_SEQUENCE]:
        sequence = progress[s.SEQUENCE]
        end = starts[sequence + 1]
        first = progress[s.ROW]
        while first < end:
            last = first + 1
            matters = rows[s.SYMBOL_ROW, first] != 0
            while last < end and rows[s.TIME_ROW, last] == rows[s.TIME_ROW, first]:
                matters |= rows[s.SYMBOL_ROW, last] != 0
                last += 1
            if matters:
                if stopped[0] != 0:
                    return s.STOPPED
                serial = first + 1
                span = (first, last, np.iinfo(np.int64).min, s.FAR)
                for row in range(first, last):
                    symbol = rows[s.SYMBOL_ROW, row]
                    for index in within(symbols, s.SYMBOL_LOG_FROM, symbol):
                        logs[logs[s.ENTRY_MARKED] + symbols[symbols[s.SYMBOL_LOG] + index]] = serial
                status = _take_windows(arrays, events, output, span, serial)
                if status == s.DONE:
                    status = _act(arrays, events, span, serial)
                if status != s.DONE:
                    progress[s.ROW] = first
                    return status
                _enter_logs(arrays, events, first, last, serial)
            first = last
        progress[s.ROW] = first
        for extent in range(plan[s.EXTENTS]):
            status = close_until(arrays, output, extent, until[sequence])
            if status != s.DONE:
                return status
        if until[sequence] == s.FAR:
            forget(arrays)
            for extent in range(plan[s.EXTENTS]):
                forget_windows(arrays, extent)
        progress[s.SEQUENCE] = sequence + 1
    return s.DONE


@borrowing_kernel
def bring_up(arrays):  # type: ignore[no-untyped-def]
    """Brings every open lane up to the last entry of its logs, so that the logs can be emptied."""
    plan, lanes = arrays.plan, arrays.lanes
    for query in range(plan[s.QUERIES]):
        extent = plan[plan[s.QUERY_EXTENT] + query]
        for number in open_windows(lanes, extent):
            if not bring_up_to_date(arrays, query, lane_of_window(plan, query, number)):
                return s.NUMBERS_FULL
    return s.DONE
