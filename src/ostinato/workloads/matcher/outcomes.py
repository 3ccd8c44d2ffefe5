"""Kernels about a new partial match: its guards, its class, the matches that it completes, and whether it is kept.

`matcher_kernels.build_matcher` puts in `class_of_new`, `end_holds` and `guard_holds`. They check run conditions, if the
plan has any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.matcher.births import sample
from ostinato.workloads.matcher.materialise import MATCH_ROWS, MATCHES, write_match
from ostinato.workloads.matcher.store import CLASS, LENGTH, LIMIT, NODE, ROW, SERIAL, SPARE, USED, add_listed
from ostinato.workloads.matcher.visits import age_at, apply_masks, edges_hold

FINISHED, MORE_PARTIAL_MATCHES, MORE_MATCHES, FAILED, STOPPED = range(5)
"""Statuses that the kernel returns."""

SWEEP_ROWS = 1024
"""Rows between two sweeps, or the number of partial matches that the last sweep left, if that is larger. A sweep
removes expired partial matches of all sequences: those of an idle sequence would stay for ever."""

# Put in by `matcher_kernels.build_matcher`.
class_of_new: Any
end_holds: Any
guard_holds: Any


class Rules(NamedTuple):
    """Settings of the matcher, as numbers."""

    ages: int
    counting: bool
    """Whether the ledger is read. `live` is always counted."""
    first_row: int
    """Number in the stream of row 0 of this call, as if the history came directly before the new rows; may be
    negative."""
    sweep_rows: int = SWEEP_ROWS


@inline_kernel
def lacks_room(pm, segment, ends, links, buffer, store):  # type: ignore[no-untyped-def]
    """FINISHED where there is room for one more visit, or the status of the room that is missing."""
    if store.counts[SPARE] == 0 and store.counts[USED] == len(store.serial):
        return MORE_PARTIAL_MATCHES
    if ends > 0:
        length = np.int64(1) if segment < 0 else links[segment, LENGTH]
        if pm >= 0:
            length += links[pm, LENGTH]
        matches = buffer.counts[MATCHES] + ends
        if matches > len(buffer.pattern) or buffer.counts[MATCH_ROWS] + ends * length > len(buffer.rows):
            return MORE_MATCHES
    return FINISHED


def complete_matches(new, pm, segment, row, label, plan, store, ledger, buffer, checks, counting, new_is_fully_kept):  # type: ignore[no-untyped-def]
    """Writes the matches that the new partial match completes. 1, or an error."""
    node = store.ancestry[new, NODE]
    for end in range(plan.ends.at[node], plan.ends.at[node + 1]):
        pattern = plan.ends.pattern[end]
        if store.masks[new, pattern >> 6] & (np.int64(1) << (pattern & 63)) == 0:
            continue
        verdict = end_holds(end, pm, segment, row, label, plan.nodes.label, plan.ends, store, checks)  # noqa: F821
        if verdict < 0:
            return verdict
        if verdict == 1:
            write_match(pattern, pm, segment, row, label, plan.nodes.label, store, buffer)
            if counting:
                ledger.completed[store.links[new, CLASS], pattern] += 1
            if new_is_fully_kept:
                ledger.whole_ended[store.links[new, CLASS], pattern] += 1
    return 1


def apply_guards_of(new, pm, segment, row, gap_row, step, label, plan, values, store, checks):  # type: ignore[no-untyped-def]
    """Takes away the patterns whose guards fail. 1, 0 where none is left, or an error."""
    check_table, masks = plan.check_table, store.masks
    first, end = check_table.guard_at[step], check_table.guard_at[step + 1]
    if first == end:
        return 1
    for guard in range(first, end):
        owner = len(check_table.guard_at) - 1 + guard
        verdict = 1
        if not edges_hold(owner, store.links[pm, ROW], gap_row, check_table, values):
            verdict = 0
        else:
            verdict = guard_holds(owner, pm, segment, row, label, plan.nodes.label, check_table, store, checks)  # noqa: F821
        if verdict < 0:
            return verdict
        if verdict == 0:
            for word in range(masks.shape[1]):
                masks[new, word] &= ~check_table.guard_patterns[guard, word]
    for word in range(masks.shape[1]):
        if masks[new, word] != 0:
            return 1
    return 0


def classify_made(new, node, row, plan, store, buckets, checks, samples, rules):  # type: ignore[no-untyped-def]
    """Sets the serial number and the class of a new partial match, and samples its features."""
    serial = store.counts[SERIAL]
    store.counts[SERIAL], store.serial[new] = serial + 1, serial
    if plan.nodes.is_sink[node]:
        store.links[new, CLASS] = buckets.class_at[node]
        return
    store.links[new, CLASS] = class_of_new(new, node, row, store, buckets, checks)  # noqa: F821
    sample(new, node, serial, store.features, store.nulls, buckets, samples)


@inline_kernel
def list_new_match(new, node, row, position, list_index, keep_masks, plan, store, lists, ledger, rules):  # type: ignore[no-untyped-def]
    """Adds a new partial match to its list, unless no step can follow or the keep masks leave it no pattern. Returns
    whether it did."""
    links = store.links
    of_class, is_sink = links[new, CLASS], plan.nodes.is_sink[node]
    restricted = keep_masks.restricted[node] and not is_sink
    slot = of_class * rules.ages
    if restricted or rules.counting:
        slot += age_at(node, links[new, LIMIT], position, plan.extents, rules.ages)
    if restricted and not apply_masks(new, slot, of_class, keep_masks, links, store.masks, ledger.dropped):
        ledger.refused[slot] += 1
        return False
    if rules.counting:
        ledger.created[slot] += 1
    if is_sink:
        return False
    add_listed(new, list_index, links, store.ancestry, lists.heads, store.counts)
    ledger.live[of_class] += 1
    return True
