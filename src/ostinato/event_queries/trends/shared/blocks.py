"""The walk over events for plain counts: a lane collects changes in a small matrix and applies many of them at once.

It is used for COUNT(*) without NOT, where no two events have the same time. There, an event either adds cells of a lane
to other cells, or it belongs to a loop and doubles `ahead`. So each cell is always a small multiple of the lane's
stored numbers: `cell i = sum of small[i, j] * number j + small[i, last]`. An event changes a few of these small
integers. The large numbers change only when a small integer reaches 58 bits or the window ends: once for about sixty
events of the loop, instead of once for each event of the query.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.layout import NONE, SharedLayout
from ostinato.event_queries.trends.shared.logs import count_event
from ostinato.event_queries.trends.shared.lookups import lane_of_window, open_windows, rows_fit, within
from ostinato.event_queries.trends.shared.sections import packed
from ostinato.event_queries.trends.shared.windows import close_until, forget_windows, move_windows
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel
from ostinato.kernels.numbers.limbs import BITS, bit_length
from ostinato.kernels.numbers.number_calls import add, add_scaled, add_small, shift_left, subtract, woven

Ints = NDArray[np.int64]

ORDER_FROM, ORDER, OPS, RECORDS = range(4)
"""Sections of `ops`. ORDER: for each query the order in which its cells are applied; a cell comes before its sources.
OPS: for each action rows (into, source, sign); the last column as `source` stands for the number 1. RECORDS: all fields
of an action side by side. Looking them up one by one took longer than the action itself."""
(
    OF_QUERY,
    OF_EXTENT,
    OF_RING,
    OF_LANE,
    OF_ROW,
    OF_POSITION,
    OF_CELLS,
    OF_LOG,
    OF_AHEAD,
    OF_KEEP,
    OF_OPS,
    OF_OPS_END,
    RECORD,
) = range(13)
_LARGE = 1 << 58
"""Bound for small numbers. A handful of numbers below twice this bound can be added without overflow."""
_SPARE_LIMBS = 8


def ops_of(layout: SharedLayout) -> Ints | None:
    """The actions as sums of cells. None if they aren't sums, or if cells depend on one another in a cycle."""
    queries, actions, targets = layout.queries, layout.actions, layout.targets
    if queries.slots.any() or queries.reals.any() or queries.extremes.any():
        return None
    if len(actions.reset_cell) or (np.diff(queries.loop_from) > 1).any():
        return None
    rows: list[tuple[int, int, int]] = []
    begins = [0]
    feeds: list[set[tuple[int, int]]] = [set() for _ in queries.extent]
    for action, query in enumerate(actions.query):
        one = int(queries.cells[query])
        for move in range(actions.move_from[action], actions.move_from[action + 1]):
            target = actions.target[move]
            terms = range(actions.term_from[move], actions.term_from[move + 1])
            for into in targets.add_cell[targets.add_from[target] : targets.add_from[target + 1]]:
                for term in terms:
                    rows.append((int(into), int(actions.term_cell[term]), int(actions.term_sign[term])))
                    feeds[query].add((int(actions.term_cell[term]), int(into)))
                if actions.constant[move]:
                    rows.append((int(into), one, int(actions.constant[move])))
        begins.append(len(rows))
    for loop, log_query in enumerate(np.repeat(np.arange(len(queries.extent)), np.diff(queries.loop_from))):
        ahead = int(layout.loops.ahead[loop])
        keeps = layout.loops.keeps_cell[layout.loops.keeps_from[loop] : layout.loops.keeps_from[loop + 1]]
        feeds[log_query] |= {(ahead, int(keep)) for keep in keeps}
    orders = [_order(int(cells), feeds[query]) for query, cells in enumerate(queries.cells)]
    if any(order is None for order in orders):
        return None
    for action, query in enumerate(actions.query):
        # Every cell is read before it is written.
        rank = {cell: number for number, cell in enumerate(orders[query] or ())}
        rows[begins[action] : begins[action + 1]] = sorted(
            rows[begins[action] : begins[action + 1]], key=lambda row: rank[row[0]]
        )
    flat = np.array([cell for order in orders for cell in order or ()], np.int64)
    order_from = np.cumsum([0, *(len(order or ()) for order in orders)])
    ops = np.array(rows, np.int64).reshape(-1)
    records = [_record(layout, action, begins) for action in range(len(actions.query))]
    return packed({ORDER_FROM: order_from, ORDER: flat, OPS: ops, RECORDS: np.array(records, np.int64).reshape(-1)})


def _record(layout: SharedLayout, action: int, begins: list[int]) -> list[int]:
    """The fields of an action, in the order of the OF_ constants."""
    queries, loops, windows = layout.queries, layout.loops, layout.windows
    query = int(layout.actions.query[action])
    lanes = windows.lanes[queries.extent]
    loop_counts = np.diff(queries.loop_from)
    loop = int(queries.loop_from[query])
    log = ahead = keep = NONE
    if loop_counts[query]:
        log, ahead = int(loops.log[loop]), int(loops.ahead[loop])
        keeps = loops.keeps_cell[loops.keeps_from[loop] : loops.keeps_from[loop + 1]]
        keep = int(keeps[0]) if len(keeps) else NONE
    return [
        query,
        int(queries.extent[query]),
        int(lanes[query]),
        int(queries.first_lane[query]),
        int((queries.cells * lanes)[:query].sum()),
        int((loop_counts * lanes)[:query].sum()),
        int(queries.cells[query]),
        log,
        ahead,
        keep,
        begins[action],
        begins[action + 1],
    ]


def _order(cells: int, feeds: set[tuple[int, int]]) -> list[int] | None:
    """The cells ordered so that each comes before its sources; None if there is a cycle."""
    order: list[int] = []
    left = set(range(cells))
    while left:
        ready = sorted(cell for cell in left if not any(source == cell and into in left for source, into in feeds))
        if not ready:
            return None
        order += ready
        left -= set(ready)
    return order


def one_at_a_time(symbols: Sequence[NDArray[np.int64]], layout: SharedLayout) -> bool:
    """Whether each symbol concerns a query at most once, by one action or one loop."""
    action_from, action, log_from, log = symbols
    loop_query = np.repeat(np.arange(len(layout.queries.extent)), np.diff(layout.queries.loop_from))
    for symbol in range(len(action_from) - 1):
        acted = layout.actions.query[action[action_from[symbol] : action_from[symbol + 1]]]
        looped = loop_query[np.isin(layout.loops.log, log[log_from[symbol] : log_from[symbol + 1]])]
        every = np.concatenate([acted, looped])
        if len(np.unique(every)) < len(every):
            return False
    return True


@called_kernel
def _apply(arrays, ops, small, query, lane, shift):  # type: ignore[no-untyped-def]
    """Applies the collected changes of a lane to its large numbers, then doubles `ahead` `shift` times."""
    plan, lanes, table = arrays.plan, arrays.lanes, arrays.table
    base = lanes[lanes[s.LANE_ROW] + lane]
    cells = lanes[lanes[s.LANE_ROW] + lane + 1] - base
    for index in within(ops, ORDER_FROM, query):
        cell = ops[ops[ORDER] + index]
        row = small[base + cell]
        if row[cell] > 1:
            shift_left(table, base + cell, bit_length(row[cell]) - 1)
        for other in range(cells):
            if other != cell and row[other] != 0:
                add_scaled(table, base + cell, base + other, row[other])
            row[other] = 0
        if row[cells] != 0:
            add_small(table, base + cell, row[cells])
        row[cells] = 0
        row[cell] = 1
    if shift:
        loop = plan[plan[s.QUERY_LOOP_FROM] + query]
        ahead = base + plan[plan[s.LOOP_AHEAD] + loop]
        for index in within(plan, s.LOOP_KEEPS_FROM, loop):
            subtract(table, base + plan[plan[s.LOOP_KEEPS_CELL] + index], ahead)
        shift_left(table, ahead, shift)
        for index in within(plan, s.LOOP_KEEPS_FROM, loop):
            add(table, base + plan[plan[s.LOOP_KEEPS_CELL] + index], ahead)


@woven
def _begin(arrays, small, lane):  # type: ignore[no-untyped-def]
    """Starts a lane with no collected changes: the identity matrix."""
    lanes = arrays.lanes
    base = lanes[lanes[s.LANE_ROW] + lane]
    cells = lanes[lanes[s.LANE_ROW] + lane + 1] - base
    for cell in range(cells):
        for other in range(cells + 1):
            small[base + cell, other] = 0
        small[base + cell, cell] = 1


@called_kernel
def _apply_extent(arrays, ops, small, extent):  # type: ignore[no-untyped-def]
    """Applies the collected changes of all open lanes of the extent, up to the last entry of their logs."""
    plan, logs, lanes, table, counters = arrays.plan, arrays.logs, arrays.lanes, arrays.table, arrays.counters
    for query in range(plan[s.QUERIES]):
        if plan[plan[s.QUERY_EXTENT] + query] == extent:
            for number in open_windows(lanes, extent):
                lane = lane_of_window(plan, query, number)
                if not lanes[lanes[s.LANE_IS_OPEN] + lane]:
                    continue
                shift = np.int64(0)
                position = lanes[lanes[s.LANE_POSITION_FROM] + lane]
                loop = plan[plan[s.QUERY_LOOP_FROM] + query]
                if loop < plan[plan[s.QUERY_LOOP_FROM] + query + 1]:
                    now = logs[logs[s.ENTRY_ENTRIES] + plan[plan[s.LOOP_LOG] + loop]]
                    shift = now - lanes[lanes[s.LANE_POSITION] + position]
                if not rows_fit(table, within(lanes, s.LANE_ROW, lane), shift, _SPARE_LIMBS):
                    return s.NUMBERS_FULL
                _apply(arrays, ops, small, query, lane, shift)
                counters[s.SNAPSHOTS] += shift > 0
                if loop < plan[plan[s.QUERY_LOOP_FROM] + query + 1]:
                    lanes[lanes[s.LANE_POSITION] + position] = now
                # The count alone tells whether there is a trend.
                for at in within(lanes, s.LANE_EXTREME, lane):
                    lanes[lanes[s.LANE_HAS] + at] = 1
    return s.DONE


@woven
def _apply_event(arrays, ops, small, record, lane_of_query, positions, entries):  # type: ignore[no-untyped-def]
    """Applies one event outside the loop to one lane; returns False if a number might not fit."""
    logs, lanes, table, counters = arrays.logs, arrays.lanes, arrays.table, arrays.counters
    cells = ops[record + OF_CELLS]
    base = ops[record + OF_ROW] + lane_of_query * cells
    log = ops[record + OF_LOG]
    shift = np.int64(0)
    if log >= 0:
        position = positions + ops[record + OF_POSITION] + lane_of_query
        shift = logs[entries + log] - lanes[position]
    if not rows_fit(table, range(base, base + cells), shift, _SPARE_LIMBS):
        return False
    high = np.int64(0)
    if shift:
        ahead = base + ops[record + OF_AHEAD]
        for other in range(cells + 1):
            high |= small[ahead, other] ^ (small[ahead, other] >> 63)
        if shift < BITS and high < _LARGE >> shift:
            if ops[record + OF_KEEP] >= 0:
                keep = base + ops[record + OF_KEEP]
                for other in range(cells + 1):
                    small[keep, other] += (small[ahead, other] << shift) - small[ahead, other]
            for other in range(cells + 1):
                small[ahead, other] <<= shift
        else:
            lane = ops[record + OF_LANE] + lane_of_query
            _apply(arrays, ops, small, ops[record + OF_QUERY], lane, shift)
        lanes[position] = logs[entries + log]
        logs[logs[s.ENTRY_FRESH] + log] = 1
        counters[s.SNAPSHOTS] += 1
        high = np.int64(0)
    first = ops[OPS]
    for op in range(first + 3 * ops[record + OF_OPS], first + 3 * ops[record + OF_OPS_END], 3):
        into, source = base + ops[op], ops[op + 1]
        if source == cells:
            small[into, cells] += ops[op + 2]
        elif ops[op + 2] > 0:
            for other in range(cells + 1):
                small[into, other] += small[base + source, other]
                high |= small[into, other] ^ (small[into, other] >> 63)
        else:
            for other in range(cells + 1):
                small[into, other] -= small[base + source, other]
                high |= small[into, other] ^ (small[into, other] >> 63)
    if high >= _LARGE:
        lane = ops[record + OF_LANE] + lane_of_query
        _apply(arrays, ops, small, ops[record + OF_QUERY], lane, np.int64(0))
    return True


@borrowing_kernel
def walk_blocks(arrays, events, output, ops, small, stopped):  # type: ignore[no-untyped-def]
    """Like `walk`, for plans that `ops_of` accepts: sequences from `progress[SEQUENCE]` on, each to its end."""
    plan, logs, lanes, progress = arrays.plan, arrays.logs, arrays.lanes, output.progress
    starts, symbols, rows = events.starts, events.symbols, events.rows
    actions, action_from, records = symbols[s.SYMBOL_ACTION], symbols[s.SYMBOL_ACTION_FROM], ops[RECORDS]
    open_first, open_next, stamps = lanes[s.OPEN_FIRST], lanes[s.OPEN_NEXT], lanes[s.LANE_STAMP]
    positions, entries = lanes[s.LANE_POSITION], logs[s.ENTRY_ENTRIES]
    while progress[s.SEQUENCE] < progress[s.LAST_SEQUENCE]:
        sequence = progress[s.SEQUENCE]
        end = starts[sequence + 1]
        for row in range(progress[s.ROW], end):
            symbol = rows[s.SYMBOL_ROW, row]
            if symbol == 0:
                continue
            progress[s.ROW] = row
            if stopped[0] != 0:
                return s.STOPPED
            for extent in range(plan[s.EXTENTS]):
                kind = plan[plan[s.EXTENT_KIND] + extent]
                here = rows[s.PLACE_ROW, row] if kind == 2 else rows[s.TIME_ROW, row]
                if here >= lanes[lanes[s.OPEN_CHANGE] + extent]:
                    status = _apply_extent(arrays, ops, small, extent)
                    if status != s.DONE:
                        return status
                    before = lanes[lanes[s.OPEN_NEXT] + extent]
                    status = move_windows(arrays, output, extent, here)
                    if status != s.DONE:
                        return status
                    for query in range(plan[s.QUERIES]):
                        if plan[plan[s.QUERY_EXTENT] + query] == extent:
                            first = max(before, lanes[lanes[s.OPEN_FIRST] + extent])
                            for number in range(first, lanes[lanes[s.OPEN_NEXT] + extent]):
                                _begin(arrays, small, lane_of_window(plan, query, number))
            for index in range(symbols[action_from + symbol], symbols[action_from + symbol + 1]):
                record = records + RECORD * symbols[actions + index]
                extent, ring = ops[record + OF_EXTENT], ops[record + OF_RING]
                for number in range(lanes[open_first + extent], lanes[open_next + extent]):
                    lane_of_query = number % ring if ring > 1 else 0  # a division takes as long as the rest
                    stamp = stamps + ops[record + OF_LANE] + lane_of_query
                    if lanes[stamp] != row + 1:
                        if not _apply_event(arrays, ops, small, record, lane_of_query, positions, entries):
                            return s.NUMBERS_FULL
                        lanes[stamp] = row + 1
                        arrays.counters[s.UPDATES] += 1
            for index in within(symbols, s.SYMBOL_LOG_FROM, symbol):
                log = symbols[symbols[s.SYMBOL_LOG] + index]
                logs[logs[s.ENTRY_ENTRIES] + log] += 1
                count_event(arrays, log)
        progress[s.ROW] = end
        for extent in range(plan[s.EXTENTS]):
            status = _apply_extent(arrays, ops, small, extent)
            if status == s.DONE:
                status = close_until(arrays, output, extent, s.FAR)
            if status != s.DONE:
                return status
            forget_windows(arrays, extent)
        for log in range(plan[s.LOGS]):
            logs[logs[s.ENTRY_ENTRIES] + log] = 0
            logs[logs[s.ENTRY_FRESH] + log] = 1
        progress[s.SEQUENCE] = sequence + 1
    return s.DONE
