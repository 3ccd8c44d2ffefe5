"""Rows -> partial matches and matches, breadth first: the loop of the matcher. Compiled once for every workload.

For each row, each condition that it fulfils and each step that asks for the condition, the partial matches of the row's
sequence at the step's source are visited, the newest first. Those that are over, or that the orders drop, go when they
are met. Then what the row made may be joined, as a segment, to what lies before it.

The kernel returns a status when it needs room and goes on where it was: `progress` says where.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ostinato.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.techniques.bounded_latency.births import (
    class_by_features,
    class_of_plain,
    count_birth,
    fill_longer,
    fill_start,
    mask_of_new,
    pseudo_random,
)
from ostinato.techniques.bounded_latency.outcomes import (
    FAILED,
    FINISHED,
    classify_made,
    complete_matches,
    keep,
    lacks_room,
    obey_guards_of,
)
from ostinato.techniques.bounded_latency.store import (
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
    note_row,
    remove,
    see_absences,
)
from ostinato.techniques.bounded_latency.upkeep import sweep
from ostinato.techniques.bounded_latency.visits import (
    TOO_OLD,
    age_at,
    checks_hold,
    edges_hold,
    gap_allows,
    limit_from,
    nothing_asked,
    obey,
    position_of,
    shares_pattern,
    step_checks_hold,
)

# Places in `progress`.
NEXT_ROW, CONDITION_AT, STEP, FRESH_AT, JOIN_AT, CURSOR, FRESH, SINCE_SWEEP, LEFT_BY_SWEEP, FAILURE = range(10)
PROGRESS = 10
NEW_ROW = -1
"""In CONDITION_AT: nothing of the next row was done yet."""
FROM_HEAD = -2
"""In CURSOR: the list is walked from its head."""
ROOT = 0
# Put in by `build_matcher`.
step_holds: Any
obey_guards: Any
classify_new: Any
complete: Any
walk: Any


# --- one step ---------------------------------------------------------------------------------------------------------


def _walk(row, step, segment, kept_for, plan, rows, store, lists, ledger, buckets, found, checks, samples, rules, progress):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Tries a step with every partial match that the row, or the segment that ends with it, may follow."""
    links, kin, positions = store.links, store.kin, rows.positions
    source, target = plan.steps.source[step], plan.steps.target[step]
    label = plan.nodes.label[target]
    starts = source == ROOT
    at = positions.sequence[row] * len(plan.nodes.label)
    if not starts and lists.heads[at + source] < 0:
        return FINISHED
    position = position_of(row, target, plan.extents.by_place, positions)
    gap_row = np.int64(row) if segment < 0 else np.int64(kin[segment, FIRST])
    gap_order = positions.order[gap_row]
    restricted, counting = kept_for.restricted[source], rules.counting
    asked = plan.steps.asked[step]
    has_one_way = plan.gaps.leave_at[source + 1] - plan.gaps.leave_at[source] == 1
    ends = plan.ends.at[target + 1] - plan.ends.at[target]
    limit = limit_from(target, position, plan.extents) if starts else np.int64(0)
    if starts and limit < position:  # between two windows
        return FINISHED
    pm = progress[CURSOR]
    if pm == FROM_HEAD:
        pm = np.int64(NOTHING) if starts else np.int64(lists.heads[at + source])
    work = np.int64(0)
    status = FINISHED
    while starts or pm >= 0:
        following, of_class, slot = np.int64(NOTHING), np.int64(0), np.int64(0)
        if not starts:
            following = links[pm, NEXT]
            if links[pm, ORDER] >= gap_order:
                pm = following
                continue
            of_class = links[pm, CLASS]
            slot = of_class * rules.ages
            wanted = links[pm, LIMIT] >= position
            if wanted and (restricted or counting):
                slot += age_at(source, links[pm, LIMIT], position, plan.extents, rules.ages)
                if restricted:
                    is_instance = store.rows.shape[1] > 0
                    wanted = obey(pm, slot, of_class, kept_for, links, store.masks, is_instance, ledger.dropped)
            if not wanted:
                ledger.live[of_class] -= 1
                remove(pm, at + source, links, kin, lists.heads, store.free, store.counts)
                pm = following
                continue
            if not shares_pattern(pm, segment, target, store.masks, plan.nodes.patterns):
                pm = following
                continue
        status = lacks_room(pm, segment, ends, links, store.rows, found, store)
        if status != FINISHED:
            break
        if counting:
            work += 1 + asked
            if not starts:
                ledger.visits[slot] += 1
                ledger.checks[of_class] += asked
        verdict = 1
        if not starts:
            last = links[pm, ROW]
            allowed = gap_allows(step, last, gap_row, segment, plan.gaps, positions, lists)
            if allowed == TOO_OLD:
                # Where this is the only way on, or no way leads over a gap, they are of no use to later rows either.
                if segment < 0 and (plan.gaps.only_adjacent[source] or has_one_way):
                    while pm >= 0:
                        following = links[pm, NEXT]
                        ledger.live[links[pm, CLASS]] -= 1
                        remove(pm, at + source, links, kin, lists.heads, store.free, store.counts)
                        pm = following
                break
            if not (allowed and edges_hold(step, last, gap_row, plan.asked, rows.values)):
                verdict = 0
        if verdict == 1:
            verdict = step_holds(step, pm, segment, row, label, plan.nodes.label, plan.asked, store, checks)  # noqa: F821
        if verdict == 1:
            new = next_free(store.free, store.counts)
            if starts:
                fill_start(new, target, row, limit, pseudo_random(rules.first_row + row), links, kin)
            else:
                fill_longer(new, target, row, pm, segment, links, kin)
            links[new, ORDER] = positions.order[row]
            mask_of_new(new, target, pm, segment, store.masks, plan.nodes.patterns)
            verdict = obey_guards(new, pm, segment, row, gap_row, step, label, plan, rows.values, store, checks)  # noqa: F821
            if verdict == 1:
                classify_new(new, target, row, plan, store, buckets, checks, samples, rules)  # noqa: F821
                if counting and pm >= 0:
                    count_birth(source, target, links[pm, CLASS], links[new, CLASS], buckets, ledger.births)
                if ends > 0:
                    verdict = complete(new, pm, segment, row, label, plan, store, ledger, found, checks, counting)  # noqa: F821
                kept = keep(new, target, row, position, at + target, kept_for, plan, store, lists, ledger, rules)
                if kept and plan.steps.join_at[target] < plan.steps.join_at[target + 1]:
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
    progress[CURSOR] = FROM_HEAD if status == FINISHED else pm
    return status


# --- one row, all rows ------------------------------------------------------------------------------------------------


def _advance(until, kept_for, plan, rows, store, lists, ledger, buckets, found, checks, samples, rules, progress):  # type: ignore[no-untyped-def]  # fmt: skip
    """Rows from `progress[NEXT_ROW]` up to `until`: all steps of each, and of the segments that it completes.

    Not made of smaller functions: each that has the loop inside it is compiled for itself, too.
    """
    fulfilled, steps = rows.fulfilled, plan.steps
    row, at, step = progress[NEXT_ROW], progress[CONDITION_AT], progress[STEP]
    fresh, join = progress[FRESH_AT], progress[JOIN_AT]
    status = FINISHED
    while row < until and status == FINISHED:
        row_end = fulfilled.at[row + 1]
        if len(kept_for.admitted) > 0 and not kept_for.admitted[row]:
            row_end = fulfilled.at[row]
        if at == NEW_ROW:
            see_absences(row, rows.positions, lists)
            at, fresh, join = fulfilled.at[row], np.int64(0), np.int64(NOTHING)
            step = steps.at[fulfilled.condition[at]] if at < row_end else np.int64(0)
            progress[FRESH], progress[CURSOR] = 0, FROM_HEAD
        while True:
            if at < row_end:
                if step == steps.at[fulfilled.condition[at] + 1]:
                    at += 1
                    if at < row_end:
                        step = steps.at[fulfilled.condition[at]]
                    continue
                taken, segment = step, np.int64(NOTHING)
            else:
                if fresh == progress[FRESH]:
                    break
                segment = np.int64(store.fresh[fresh])
                node = store.kin[segment, NODE]
                if join < 0:
                    join = steps.join_at[node]
                if join == steps.join_at[node + 1]:
                    fresh, join = fresh + 1, np.int64(NOTHING)
                    continue
                taken = steps.join[join]
            status = walk(row, taken, segment, kept_for, plan, rows, store, lists, ledger, buckets, found, checks, samples, rules, progress)  # fmt: skip  # noqa: E501, F821
            if status != FINISHED:
                break
            if segment < 0:
                step += 1
            else:
                join += 1
        if status != FINISHED:
            break
        note_row(row, rows.positions, fulfilled, plan.absence_of, lists)
        at = np.int64(NEW_ROW)
        progress[SINCE_SWEEP] += 1
        if progress[SINCE_SWEEP] >= max(rules.sweep_rows, progress[LEFT_BY_SWEEP]):
            sweep(
                row, plan.extents.by_place, plan.gaps, rows.positions, store.links, store.kin, lists, store.free,
                store.counts, ledger.live,
            )  # fmt: skip
            progress[SINCE_SWEEP], progress[LEFT_BY_SWEEP] = 0, store.counts[USED] - store.counts[SPARE]
        row += 1
    progress[NEXT_ROW], progress[CONDITION_AT], progress[STEP] = row, at, step
    progress[FRESH_AT], progress[JOIN_AT] = fresh, join
    return status


# --- the kernels ------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """The functions that ask run conditions, or those that know there are none."""

    step_holds: Callable[..., Any]
    guard_holds: Callable[..., Any]
    end_holds: Callable[..., Any]
    class_of_new: Callable[..., Any]


NOTHING_ASKED = Asked(nothing_asked, nothing_asked, nothing_asked, class_of_plain)
RUN_ASKED = Asked(step_checks_hold, checks_hold, checks_hold, class_by_features)


def build_matcher(name: str, asked: Asked, compiled: Callable[[Any], Any] = inline_kernel) -> Any:
    """The loop with these functions compiled into it; kept on disk under a name that must be unique."""
    classify_new = compiled(_with_globals(classify_made, class_of_new=asked.class_of_new))
    complete = compiled(_with_globals(complete_matches, end_holds=asked.end_holds))
    obey_guards = compiled(_with_globals(obey_guards_of, guard_holds=asked.guard_holds))
    walk = compiled(
        _with_globals(
            _walk,
            step_holds=asked.step_holds,
            obey_guards=obey_guards,
            classify_new=classify_new,
            complete=complete,
        )
    )
    advance = _with_globals(_advance, walk=walk)
    advance.__name__ = advance.__qualname__ = name
    return borrowing_kernel(advance) if compiled is inline_kernel else advance


def _with_globals(function: Callable[..., Any], **values: Any) -> FunctionType:
    # A closure would be the plain way, but numba doesn't find closures over kernels in its cache again.
    return FunctionType(function.__code__, {**function.__globals__, **values}, function.__name__)


advance_plain = build_matcher("advance_plain", NOTHING_ASKED)
"""For plans without run conditions and features."""
advance_checked = build_matcher("advance_checked", RUN_ASKED)
