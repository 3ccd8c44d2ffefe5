"""Rows -> partial matches and matches, breadth first: the loop of the matcher. Compiled once for every workload.

For each row, each condition that it fulfils and each step with that condition, the kernel visits the partial matches of
the row's sequence at the step's source, the newest first. On the way it removes expired ones, and those that the keep
masks drop. Then the new partial matches of the row may be joined, as segments, to earlier ones.

The kernel returns a status when it needs room. The next call goes on at the same point, which is in `progress`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.workloads.matcher.births import (
    count_birth,
    fill_longer,
    fill_start,
    is_fully_kept,
    mask_of_new,
    pseudo_random,
)
from ostinato.workloads.matcher.kernel_progress import (
    CONDITION_AT,
    CURSOR,
    FAILURE,
    FRESH,
    FRESH_AT,
    FROM_HEAD,
    JOIN_AT,
    LEFT_BY_SWEEP,
    MAX_LIVE,
    NEW_ROW,
    NEXT_ROW,
    SINCE_SWEEP,
    STEP,
    WORK_LEFT,
)
from ostinato.workloads.matcher.outcomes import FAILED, FINISHED, STOPPED, lacks_room, list_new_match
from ostinato.workloads.matcher.store import (
    CLASS,
    FIRST,
    LIMIT,
    NEXT,
    NODE,
    NOTHING,
    ORDER,
    ROW,
    SPARE,
    USED,
    next_free,
    note_absences,
    note_row,
    remove,
)
from ostinato.workloads.matcher.upkeep import sweep
from ostinato.workloads.matcher.visits import (
    TOO_OLD,
    age_at,
    apply_masks,
    edges_hold,
    gap_allows,
    limit_from,
    position_of,
    shares_pattern,
)

ROOT = 0
STEPS_PER_LOOK = 1024
"""Partial matches between two checks whether the call has to stop."""
# Put in by `matcher_kernels.build_matcher`.
step_holds: Any
apply_guards: Any
classify_new: Any
complete: Any
walk: Any


# --- one step ---------------------------------------------------------------------------------------------------------


def walk_step(row, step, segment, keep_masks, plan, rows, store, lists, ledger, buckets, buffer, checks, samples, rules, progress, stopped):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Tries a step with every partial match that the row, or the segment that ends with it, may follow."""
    links, ancestry, positions = store.links, store.ancestry, rows.positions
    source, target = plan.steps.source[step], plan.steps.target[step]
    label = plan.nodes.label[target]
    starts = source == ROOT
    first_list = positions.sequence[row] * len(plan.nodes.label)
    if not starts and lists.heads[first_list + source] < 0:
        return FINISHED
    position = position_of(row, target, plan.extents.by_place, positions)
    gap_row = np.int64(row) if segment < 0 else np.int64(ancestry[segment, FIRST])
    gap_order = positions.order[gap_row]
    restricted, counting = keep_masks.restricted[source], rules.counting
    check_count = plan.steps.check_count[step]
    has_one_step = plan.gaps.leave_at[source + 1] - plan.gaps.leave_at[source] == 1
    ends = plan.ends.at[target + 1] - plan.ends.at[target]
    limit = limit_from(target, position, plan.extents) if starts else np.int64(0)
    if starts and limit < position:  # between two windows
        return FINISHED
    pm = progress[CURSOR]
    if pm == FROM_HEAD:
        pm = np.int64(NOTHING) if starts else np.int64(lists.heads[first_list + source])
    work = np.int64(0)
    status = FINISHED
    unlooked = 0
    while starts or pm >= 0:
        unlooked += 1
        if unlooked == STEPS_PER_LOOK:
            unlooked = 0
            if stopped[0] != 0:
                status = STOPPED
                break
        following, of_class, slot = np.int64(NOTHING), np.int64(0), np.int64(0)
        if not starts:
            following = links[pm, NEXT]
            if links[pm, ORDER] >= gap_order:
                pm = following
                continue
            of_class = links[pm, CLASS]
            slot = of_class * rules.ages
            is_alive = links[pm, LIMIT] >= position
            if is_alive and (restricted or counting):
                slot += age_at(source, links[pm, LIMIT], position, plan.extents, rules.ages)
                if restricted:
                    is_alive = apply_masks(pm, slot, of_class, keep_masks, links, store.masks, ledger.dropped)
            if not is_alive:
                ledger.live[of_class] -= 1
                remove(pm, first_list + source, links, ancestry, lists.heads, store.free, store.counts)
                pm = following
                continue
            if not shares_pattern(pm, segment, target, store.masks, plan.nodes.patterns):
                pm = following
                continue
        status = lacks_room(pm, segment, ends, links, buffer, store)
        if status != FINISHED:
            break
        if counting:
            work += 1 + check_count
            if not starts:
                ledger.visits[slot] += 1
                ledger.checks[of_class] += check_count
                if is_fully_kept(pm, source, store.masks, plan.nodes.patterns):
                    ledger.whole_visits[of_class] += 1
        verdict = 1
        if not starts:
            last = links[pm, ROW]
            allowed = gap_allows(step, last, gap_row, segment, plan.gaps, positions, lists)
            if allowed == TOO_OLD:
                # If this is the only step from here, or no step allows a gap, later rows can't use them either.
                if segment < 0 and (plan.gaps.only_adjacent[source] or has_one_step):
                    while pm >= 0:
                        following = links[pm, NEXT]
                        ledger.live[links[pm, CLASS]] -= 1
                        remove(pm, first_list + source, links, ancestry, lists.heads, store.free, store.counts)
                        pm = following
                break
            if not (allowed and edges_hold(step, last, gap_row, plan.check_table, rows.values)):
                verdict = 0
        if verdict == 1:
            verdict = step_holds(step, pm, segment, row, label, plan.nodes.label, plan.check_table, store, checks)  # noqa: F821
        if verdict == 1:
            new = next_free(store.free, store.counts)
            if starts:
                fill_start(new, target, row, limit, pseudo_random(rules.first_row + row), links, ancestry)
            else:
                fill_longer(new, target, row, pm, segment, links, ancestry)
            links[new, ORDER] = positions.order[row]
            mask_of_new(new, target, pm, segment, store.masks, plan.nodes.patterns)
            new_is_fully_kept = counting and is_fully_kept(new, target, store.masks, plan.nodes.patterns)
            verdict = apply_guards(new, pm, segment, row, gap_row, step, label, plan, rows.values, store, checks)  # noqa: F821
            if verdict == 1:
                classify_new(new, target, row, plan, store, buckets, checks, samples, rules)  # noqa: F821
                if new_is_fully_kept:
                    ledger.whole_made[links[new, CLASS]] += 1
                if counting and pm >= 0 and is_fully_kept(pm, source, store.masks, plan.nodes.patterns):
                    count_birth(source, target, of_class, links[new, CLASS], buckets, ledger.births)
                if ends > 0:
                    verdict = complete(new, pm, segment, row, label, plan, store, ledger, buffer, checks, counting, new_is_fully_kept)  # fmt: skip  # noqa: E501, F821
                is_kept = list_new_match(
                    new, target, row, position, first_list + target, keep_masks, plan, store, lists, ledger, rules
                )
                if is_kept and plan.steps.join_at[target] < plan.steps.join_at[target + 1]:
                    store.fresh[progress[FRESH]] = new
                    progress[FRESH] += 1
        if verdict < 0:
            progress[FAILURE] = verdict
            status = FAILED
            break
        if starts:
            break
        pm = following
    if counting:
        ledger.step_work[plan.steps.number[step]] += work
        progress[WORK_LEFT] -= work
    progress[CURSOR] = FROM_HEAD if status == FINISHED else pm
    return status


# --- one row, all rows ------------------------------------------------------------------------------------------------


def advance_rows(until, keep_masks, plan, rows, store, lists, ledger, buckets, buffer, checks, samples, rules, progress, stopped):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Rows from `progress[NEXT_ROW]` up to `until`: all steps of each, and of the segments that it completes.

    Not split into smaller functions: numba would compile each of them with its own copy of the loop.
    """
    fulfilled, steps = rows.fulfilled, plan.steps
    row, condition_at, step = progress[NEXT_ROW], progress[CONDITION_AT], progress[STEP]
    fresh, join = progress[FRESH_AT], progress[JOIN_AT]
    status = FINISHED
    while row < until and status == FINISHED:
        if stopped[0] != 0:
            status = STOPPED
            break
        row_end = fulfilled.at[row + 1]
        if len(keep_masks.admitted) > 0 and not keep_masks.admitted[row]:
            row_end = fulfilled.at[row]
        if condition_at == NEW_ROW:
            note_absences(row, rows.positions, lists)
            condition_at, fresh, join = fulfilled.at[row], np.int64(0), np.int64(NOTHING)
            step = steps.at[fulfilled.condition[condition_at]] if condition_at < row_end else np.int64(0)
            progress[FRESH], progress[CURSOR] = 0, FROM_HEAD
        while True:
            if condition_at < row_end:
                if step == steps.at[fulfilled.condition[condition_at] + 1]:
                    condition_at += 1
                    if condition_at < row_end:
                        step = steps.at[fulfilled.condition[condition_at]]
                    continue
                tried, segment = step, np.int64(NOTHING)
            else:
                if fresh == progress[FRESH]:
                    break
                segment = np.int64(store.fresh[fresh])
                node = store.ancestry[segment, NODE]
                if join < 0:
                    join = steps.join_at[node]
                if join == steps.join_at[node + 1]:
                    fresh, join = fresh + 1, np.int64(NOTHING)
                    continue
                tried = steps.join[join]
            status = walk(row, tried, segment, keep_masks, plan, rows, store, lists, ledger, buckets, buffer, checks, samples, rules, progress, stopped)  # fmt: skip  # noqa: E501, F821
            if status != FINISHED:
                break
            if segment < 0:
                step += 1
            else:
                join += 1
        if status != FINISHED:
            break
        note_row(row, rows.positions, fulfilled, plan.absence_of, lists)
        condition_at = np.int64(NEW_ROW)
        progress[SINCE_SWEEP] += 1
        if progress[SINCE_SWEEP] >= max(rules.sweep_rows, progress[LEFT_BY_SWEEP]):
            sweep(row, keep_masks, plan, rows.positions, store, lists, ledger, rules.ages)
            progress[SINCE_SWEEP], progress[LEFT_BY_SWEEP] = 0, store.counts[USED] - store.counts[SPARE]
        row += 1
        if progress[WORK_LEFT] <= 0 or store.counts[USED] - store.counts[SPARE] > progress[MAX_LIVE]:
            break
    progress[NEXT_ROW], progress[CONDITION_AT], progress[STEP] = row, condition_at, step
    progress[FRESH_AT], progress[JOIN_AT] = fresh, join
    return status
