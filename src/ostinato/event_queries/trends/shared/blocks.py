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

from ostinato.event_queries.trends.shared.layout import NONE, SharedLayout
from ostinato.event_queries.trends.shared.sections import (
    BURSTS,
    DONE,
    ENTRY_ENTRIES,
    ENTRY_FRESH,
    ENTRY_LANES,
    EXTENT_KIND,
    EXTENT_LANES,
    EXTENTS,
    FAR,
    LANE_EXTREME,
    LANE_HAS,
    LANE_IS_OPEN,
    LANE_POSITION,
    LANE_POSITION_FROM,
    LANE_ROW,
    LANE_STAMP,
    LAST_SEQUENCE,
    LOG_QUERIES,
    LOGS,
    LOOP_AHEAD,
    LOOP_KEEPS_CELL,
    LOOP_KEEPS_FROM,
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
    SNAPSHOTS,
    STOPPED,
    SYMBOL_ACTION,
    SYMBOL_ACTION_FROM,
    SYMBOL_LOG,
    SYMBOL_LOG_FROM,
    SYMBOL_ROW,
    TIME_ROW,
    UPDATES,
    packed,
)
from ostinato.event_queries.trends.shared.windows import close_until, move_windows
from ostinato.kernels.kernel_cache import borrowing_kernel, called_kernel
from ostinato.kernels.numbers.limbs import bit_length
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
_BITS = 60
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
def _apply(plan, lanes, table, ops, small, query, lane, shift):  # type: ignore[no-untyped-def]
    """Applies the collected changes of a lane to its large numbers, then doubles `ahead` `shift` times."""
    base = lanes[lanes[LANE_ROW] + lane]
    cells = lanes[lanes[LANE_ROW] + lane + 1] - base
    for index in range(ops[ops[ORDER_FROM] + query], ops[ops[ORDER_FROM] + query + 1]):
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
        loop = plan[plan[QUERY_LOOP_FROM] + query]
        ahead = base + plan[plan[LOOP_AHEAD] + loop]
        first, last = plan[plan[LOOP_KEEPS_FROM] + loop], plan[plan[LOOP_KEEPS_FROM] + loop + 1]
        for index in range(first, last):
            subtract(table, base + plan[plan[LOOP_KEEPS_CELL] + index], ahead)
        shift_left(table, ahead, shift)
        for index in range(first, last):
            add(table, base + plan[plan[LOOP_KEEPS_CELL] + index], ahead)


@woven
def _has_room(lanes, table, lane, shift):  # type: ignore[no-untyped-def]
    """Whether the lane's rows have room for the collected changes, `shift` doublings and one more event."""
    if not table.exact:
        return True
    longest = np.int64(1)
    for row in range(lanes[lanes[LANE_ROW] + lane], lanes[lanes[LANE_ROW] + lane + 1]):
        longest = max(longest, table.length[row])
    return longest + (shift + _BITS - 1) // _BITS + _SPARE_LIMBS <= table.limbs.shape[1]


@woven
def _begin(lanes, small, lane):  # type: ignore[no-untyped-def]
    """Starts a lane with no collected changes: the identity matrix."""
    base = lanes[lanes[LANE_ROW] + lane]
    cells = lanes[lanes[LANE_ROW] + lane + 1] - base
    for cell in range(cells):
        for other in range(cells + 1):
            small[base + cell, other] = 0
        small[base + cell, cell] = 1


@called_kernel
def _apply_extent(plan, logs, lanes, table, ops, small, extent, counters):  # type: ignore[no-untyped-def]
    """Applies the collected changes of all open lanes of the extent, up to the last entry of their logs."""
    for query in range(plan[QUERIES]):
        if plan[plan[QUERY_EXTENT] + query] == extent:
            for number in range(lanes[lanes[OPEN_FIRST] + extent], lanes[lanes[OPEN_NEXT] + extent]):
                lane = plan[plan[QUERY_FIRST_LANE] + query] + number % plan[plan[EXTENT_LANES] + extent]
                if not lanes[lanes[LANE_IS_OPEN] + lane]:
                    continue
                shift = np.int64(0)
                position = lanes[lanes[LANE_POSITION_FROM] + lane]
                loop = plan[plan[QUERY_LOOP_FROM] + query]
                if loop < plan[plan[QUERY_LOOP_FROM] + query + 1]:
                    now = logs[logs[ENTRY_ENTRIES] + plan[plan[LOOP_LOG] + loop]]
                    shift = now - lanes[lanes[LANE_POSITION] + position]
                if not _has_room(lanes, table, lane, shift):
                    return NUMBERS_FULL
                _apply(plan, lanes, table, ops, small, query, lane, shift)
                counters[SNAPSHOTS] += shift > 0
                if loop < plan[plan[QUERY_LOOP_FROM] + query + 1]:
                    lanes[lanes[LANE_POSITION] + position] = now
                # The count alone tells whether there is a trend.
                for at in range(lanes[lanes[LANE_EXTREME] + lane], lanes[lanes[LANE_EXTREME] + lane + 1]):
                    lanes[lanes[LANE_HAS] + at] = 1
    return DONE


@woven
def _touch(plan, logs, lanes, table, ops, small, record, lane_of_query, positions, entries, counters):  # type: ignore[no-untyped-def]
    """Applies one event outside the loop to one lane; returns False if a number might not fit."""
    cells = ops[record + OF_CELLS]
    base = ops[record + OF_ROW] + lane_of_query * cells
    log = ops[record + OF_LOG]
    shift = np.int64(0)
    if log >= 0:
        position = positions + ops[record + OF_POSITION] + lane_of_query
        shift = logs[entries + log] - lanes[position]
    if table.exact:
        longest = np.int64(1)
        for number in range(base, base + cells):
            longest = max(longest, table.length[number])
        if longest + shift // _BITS + _SPARE_LIMBS > table.limbs.shape[1]:
            return False
    high = np.int64(0)
    if shift:
        ahead = base + ops[record + OF_AHEAD]
        for other in range(cells + 1):
            high |= small[ahead, other] ^ (small[ahead, other] >> 63)
        if shift < _BITS and high < _LARGE >> shift:
            if ops[record + OF_KEEP] >= 0:
                keep = base + ops[record + OF_KEEP]
                for other in range(cells + 1):
                    small[keep, other] += (small[ahead, other] << shift) - small[ahead, other]
            for other in range(cells + 1):
                small[ahead, other] <<= shift
        else:
            lane = ops[record + OF_LANE] + lane_of_query
            _apply(plan, lanes, table, ops, small, ops[record + OF_QUERY], lane, shift)
        lanes[position] = logs[entries + log]
        logs[logs[ENTRY_FRESH] + log] = 1
        counters[SNAPSHOTS] += 1
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
        _apply(plan, lanes, table, ops, small, ops[record + OF_QUERY], lane, np.int64(0))
    return True


@borrowing_kernel
def walk_blocks(  # type: ignore[no-untyped-def]
    plan, logs, log_sums, lanes, table, real, results, progress, symbols, starts, rows, ops, small, counters, stopped
):
    """Like `walk`, for plans that `ops_of` accepts: sequences from `progress[SEQUENCE]` on, each to its end."""
    actions, action_from, records = symbols[SYMBOL_ACTION], symbols[SYMBOL_ACTION_FROM], ops[RECORDS]
    open_first, open_next, stamps = lanes[OPEN_FIRST], lanes[OPEN_NEXT], lanes[LANE_STAMP]
    positions, entries = lanes[LANE_POSITION], logs[ENTRY_ENTRIES]
    while progress[SEQUENCE] < progress[LAST_SEQUENCE]:
        sequence = progress[SEQUENCE]
        end = starts[sequence + 1]
        for row in range(progress[ROW], end):
            symbol = rows[SYMBOL_ROW, row]
            if symbol == 0:
                continue
            progress[ROW] = row
            if stopped[0] != 0:
                return STOPPED
            for extent in range(plan[EXTENTS]):
                kind = plan[plan[EXTENT_KIND] + extent]
                here = rows[PLACE_ROW, row] if kind == 2 else rows[TIME_ROW, row]
                if here >= lanes[lanes[OPEN_CHANGE] + extent]:
                    status = _apply_extent(plan, logs, lanes, table, ops, small, extent, counters)
                    if status != DONE:
                        return status
                    before = lanes[lanes[OPEN_NEXT] + extent]
                    status = move_windows(
                        plan, logs, log_sums, lanes, table, real, results, progress, extent, here, counters
                    )
                    if status != DONE:
                        return status
                    for query in range(plan[QUERIES]):
                        if plan[plan[QUERY_EXTENT] + query] == extent:
                            first = max(before, lanes[lanes[OPEN_FIRST] + extent])
                            for number in range(first, lanes[lanes[OPEN_NEXT] + extent]):
                                ring = plan[plan[EXTENT_LANES] + extent]
                                _begin(lanes, small, plan[plan[QUERY_FIRST_LANE] + query] + number % ring)
            for index in range(symbols[action_from + symbol], symbols[action_from + symbol + 1]):
                record = records + RECORD * symbols[actions + index]
                extent, ring = ops[record + OF_EXTENT], ops[record + OF_RING]
                for number in range(lanes[open_first + extent], lanes[open_next + extent]):
                    lane_of_query = number % ring if ring > 1 else 0  # a division takes as long as the rest
                    stamp = stamps + ops[record + OF_LANE] + lane_of_query
                    if lanes[stamp] != row + 1:
                        if not _touch(
                            plan, logs, lanes, table, ops, small, record, lane_of_query, positions, entries, counters
                        ):
                            return NUMBERS_FULL
                        lanes[stamp] = row + 1
                        counters[UPDATES] += 1
            for index in range(
                symbols[symbols[SYMBOL_LOG_FROM] + symbol], symbols[symbols[SYMBOL_LOG_FROM] + symbol + 1]
            ):
                log = symbols[symbols[SYMBOL_LOG] + index]
                logs[logs[ENTRY_ENTRIES] + log] += 1
                if logs[logs[ENTRY_FRESH] + log]:
                    logs[logs[ENTRY_FRESH] + log] = 0
                    counters[BURSTS] += 1
                    counters[SHARED] += plan[plan[LOG_QUERIES] + log] > 1
                counters[SAVED] += logs[logs[ENTRY_LANES] + log]
        progress[ROW] = end
        for extent in range(plan[EXTENTS]):
            status = _apply_extent(plan, logs, lanes, table, ops, small, extent, counters)
            if status == DONE:
                status = close_until(plan, logs, log_sums, lanes, table, real, results, progress, extent, FAR, counters)
            if status != DONE:
                return status
            lanes[lanes[OPEN_FIRST] + extent] = NOT_BEGUN if plan[plan[EXTENT_KIND] + extent] else 0
            lanes[lanes[OPEN_NEXT] + extent] = lanes[lanes[OPEN_FIRST] + extent]
            lanes[lanes[OPEN_CHANGE] + extent] = np.iinfo(np.int64).min
        for log in range(plan[LOGS]):
            logs[logs[ENTRY_ENTRIES] + log] = 0
            logs[logs[ENTRY_FRESH] + log] = 1
        progress[SEQUENCE] = sequence + 1
    return DONE
