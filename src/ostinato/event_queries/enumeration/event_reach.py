"""The rows that may follow a row, by selection strategy; and how far a match may reach from its start."""

from __future__ import annotations

import numpy as np

from ostinato.kernels.kernel_cache import inline_kernel


@inline_kernel
def next_rows(follows, limit, group_end):  # type: ignore[no-untyped-def]
    """SKIP TILL NEXT MATCH: the rows that may follow; all have one time."""
    if follows >= limit:
        return np.int64(0), np.int64(0)
    return follows, min(np.int64(group_end[follows]), limit)


@inline_kernel
def strict_rows(row, first, end, limit, group_end):  # type: ignore[no-untyped-def]
    """STRICT: the next row, if it and this one are alone at their times among the rows [first, end)."""
    later = row + 1
    if later >= limit or group_end[row] != later or min(np.int64(group_end[later]), end) != later + 1:
        return np.int64(0), np.int64(0)
    if row > first and group_end[row - 1] != row:
        return np.int64(0), np.int64(0)
    return later, later + 1


@inline_kernel
def reach_of_start(step, row, first, end, rules, position, steps, members, absences, label_end):  # type: ignore[no-untyped-def]
    """Returns three rows for matches that start here. They end before the first row (-1: no match starts here). No
    forbidden event may follow them before the second row. They end at the third row or later."""
    absent_until, accept_from = np.int64(end), np.int64(rules.accept_from)
    if rules.span >= 0:
        absent_until = _first_above(position, row, end, position[row] + rules.span)
    limit = min(absent_until, np.int64(rules.accept_until))
    if limit < end or rules.span >= 0:
        for label in range(len(label_end)):
            label_end[label] = members.rank[label, limit]
    for at in range(steps.absent_at[step], steps.absent_at[step + 1]):
        start = np.int64(absences.latest_start[steps.absent[at], row])
        if start >= first:
            if rules.span < 0:
                return np.int64(-1), absent_until, accept_from
            accept_from = max(accept_from, _first_above(position, start, end, position[start] + rules.span))
    return limit, absent_until, accept_from


@inline_kernel
def _first_above(position, low, high, value):  # type: ignore[no-untyped-def]
    """The first of the rows [low, high) whose position is above the value, or `high`. Fast if that row is near."""
    ahead = 1
    while low + ahead < high and position[low + ahead] <= value:
        low += ahead
        ahead *= 2
    high = min(high, low + ahead)
    while low < high:
        middle = (low + high) // 2
        if position[middle] > value:
            high = middle
        else:
            low = middle + 1
    return np.int64(low)
