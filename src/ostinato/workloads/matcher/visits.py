"""Kernels about one partial match and one event: whether the partial match is still kept, and whether the event may
follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.expressions.run_conditions.kernel_arithmetic import real_equal, real_less
from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.matcher.plan_tables import SPAN, UNBOUNDED
from ostinato.workloads.matcher.quick_checks import RUN_PROGRAM, quick_verdict
from ostinato.workloads.matcher.run_checks import condition_holds, read_chain, update_kept
from ostinato.workloads.matcher.store import TAG, last_absent

NEVER_OVER = np.iinfo(np.int64).max
"""The last position at which a partial match can grow, where nothing bounds its length."""


class KernelKeepMasks(NamedTuple):
    """`KeepMasks` in the form that the kernel reads."""

    masks: NDArray[np.int64]
    threshold: NDArray[np.int64]
    restricted: NDArray[np.bool_]
    """[node] whether some slot isn't kept for all patterns."""
    admitted: NDArray[np.bool_]
    """[row] whether it may take a step; empty: every row may."""


@inline_kernel
def position_of(row, node, by_place, positions):  # type: ignore[no-untyped-def]
    """Position of the row, in the unit of the node's extent."""
    return positions.place[row] if by_place[node] else positions.time[row]


@inline_kernel
def limit_from(node, position, extents):  # type: ignore[no-untyped-def]
    """The last position at which a match that starts at `position` may grow."""
    if extents.kind[node] == UNBOUNDED:
        return np.int64(NEVER_OVER)
    if extents.kind[node] == SPAN:
        return position + extents.length[node]
    return position // extents.slide[node] * extents.slide[node] + extents.length[node] - 1


@inline_kernel
def age_at(node, limit, position, extents, ages):  # type: ignore[no-untyped-def]
    """Age of a partial match: the elapsed fraction of its window, times `ages`; 0 where nothing bounds it."""
    over = extents.positions[node] - 1.0 - float(limit - position)
    return min(np.int64(over * extents.ages[node]), ages - 1)


@inline_kernel
def shares_pattern(pm, segment, target, masks, patterns):  # type: ignore[no-untyped-def]
    """Whether a step leads to a pattern that both the partial match and the segment are kept for."""
    for word in range(patterns.shape[1]):
        shared = masks[pm, word] & patterns[target, word]
        if segment >= 0:
            shared &= masks[segment, word]
        if shared != 0:
            return True
    return False


@inline_kernel
def apply_masks(pm, slot, of_class, keep_masks, links, masks, dropped):  # type: ignore[no-untyped-def]
    """Takes away the patterns that the keep masks drop. Returns whether any is left."""
    mask_index = 0 if links[pm, TAG] < keep_masks.threshold[slot] else 1
    left = False
    for word in range(masks.shape[1]):
        remaining = masks[pm, word] & keep_masks.masks[mask_index, slot, word]
        left |= remaining != 0
        lost = np.uint64(masks[pm, word] ^ remaining)
        masks[pm, word] = remaining
        pattern = word * 64
        while lost != 0:
            if lost & np.uint64(1):
                dropped[of_class, pattern] += 1
            lost >>= np.uint64(1)
            pattern += 1
    return left


@inline_kernel
def _edge_holds(edge, before_row, after_row, check_table, values):  # type: ignore[no-untyped-def]
    before, after, op = check_table.edge_before[edge], check_table.edge_after[edge], check_table.edge_op[edge]
    if not (values.valid[before, before_row] and values.valid[after, after_row]):
        return False
    if check_table.edge_real[edge]:
        x, y = values.real[after, after_row], values.real[before, before_row]
        less, equal = real_less(x, y), real_equal(x, y)
    else:
        left, right = values.whole[after, after_row], values.whole[before, before_row]
        less, equal = left < right, left == right
    if op < 2:  # <, <=
        return less or (op == 1 and equal)
    if op < 4:  # >, >=
        return not less and (op == 3 or not equal)
    return equal == (op == 4)


@inline_kernel
def edges_hold(owner, before_row, after_row, check_table, values):  # type: ignore[no-untyped-def]
    for edge in range(check_table.edge_at[owner], check_table.edge_at[owner + 1]):
        if not _edge_holds(edge, before_row, after_row, check_table, values):
            return False
    return True


TOO_OLD = 2


@inline_kernel
def gap_allows(step, last, row, segment, gaps, positions, lists):  # type: ignore[no-untyped-def]
    """Whether the rows between `last` and `row` allow the step: 1, 0, or TOO_OLD.

    Lists are in order of last rows, so all partial matches after one that is too old are too old as well.
    """
    if gaps.adjacent[step] and positions.link[row] != positions.link[last] + 1:
        return TOO_OLD if positions.link[last] < positions.link[row] - 1 else 0
    for at in range(gaps.absent_at[step], gaps.absent_at[step + 1]):
        absence = gaps.absent[at]
        if segment >= 0:
            occurred = lists.absent_by_row[row, absence]
        else:
            occurred = last_absent(absence, row, positions.sequence[row], positions.order, lists)
        if occurred >= 0 and positions.order[occurred] > positions.order[last]:
            return TOO_OLD
    return 1


@inline_kernel
def is_dead_end(node, last, sequence, gaps, positions, lists):  # type: ignore[no-untyped-def]
    """Whether no later row can take any step from the row `last` at a node, because of the rows between."""
    order, now = positions.order, lists.last_row[sequence]
    for at in range(gaps.leave_at[node], gaps.leave_at[node + 1]):
        step = gaps.leave[at]
        is_over = gaps.adjacent[step] and positions.link[now] > positions.link[last]
        for absent in range(gaps.absent_at[step], gaps.absent_at[step + 1]):
            occurred = lists.absent[sequence, gaps.absent[absent]]
            # A later row may still have the time of the last one. Then no row of that time lies between.
            is_over |= occurred >= 0 and order[last] < order[occurred] < order[now]
        if not is_over:
            return False
    return True


# --- run conditions ---------------------------------------------------------------------------------------------------


@inline_kernel
def no_checks(owner, pm, segment, row, label, labels, check_table, store, checks):  # type: ignore[no-untyped-def]
    return 1


@inline_kernel
def step_checks_hold(step, pm, segment, row, label, labels, check_table, store, checks):  # type: ignore[no-untyped-def]
    """The run conditions of a step: 1, 0 or an error. Afterwards `checks.buffers` has the registers of the new partial
    match."""
    first, end = check_table.check_at[step], check_table.check_at[step + 1]
    is_slow = end > first
    if pm >= 0 and segment < 0:
        is_slow = False
        for at in range(first, end):
            verdict = quick_verdict(at, pm, row, store.features, store.nulls, checks.quick, checks.conditions)
            if verdict == 0:
                return 0
            is_slow |= verdict == RUN_PROGRAM
    if not is_slow and not checks.quick.reads_run[step]:
        return 1
    if len(checks.register_of) > 0:
        reads = len(checks.reads.needed) - 1 if is_slow else step
        read_chain(
            pm, segment, row, label, labels, checks.register_of, reads, checks.reads, store.links, store.ancestry,
            checks.buffers.registers,
        )  # fmt: skip
    else:
        verdict = update_kept(
            pm, segment, row, label, labels, store.links, store.ancestry, store.registers, store.int_totals,
            store.real_totals, checks.buffers, checks.conditions,
        )  # fmt: skip
        if verdict < 0:
            return verdict
    if is_slow:
        return checks_hold(step, pm, segment, row, label, labels, check_table, store, checks)
    return 1


@inline_kernel
def checks_hold(owner, pm, segment, row, label, labels, check_table, store, checks):  # type: ignore[no-untyped-def]
    """The run conditions of a step, a guard or an end, by their programs, with the registers in `checks.buffers`."""
    for at in range(check_table.check_at[owner], check_table.check_at[owner + 1]):
        verdict = condition_holds(
            check_table.check[at], pm, segment, row, label, labels, store.links, store.ancestry, checks.each,
            checks.register, checks.buffers, checks.conditions,
        )  # fmt: skip
        if verdict != 1:
            return verdict
    return 1
