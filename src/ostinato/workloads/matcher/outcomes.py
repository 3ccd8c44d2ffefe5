"""What a step makes: guards, class, the matches that it completes, and whether it is kept.

`class_of_new`, `end_holds` and `guard_holds` are put in by `matcher_kernels.build_matcher`: they ask the run
conditions, where a plan has any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ostinato.kernels.kernel_cache import inline_kernel
from ostinato.workloads.matcher.births import sample
from ostinato.workloads.matcher.materialise import MATCH_ROWS, MATCHES, write_match
from ostinato.workloads.matcher.store import CLASS, LENGTH, LIMIT, NODE, ROW, SERIAL, SPARE, USED, add_listed
from ostinato.workloads.matcher.visits import age_at, edges_hold, obey

FINISHED, MORE_PARTIAL_MATCHES, MORE_MATCHES, FAILED, STOPPED = range(5)
"""What the kernel returns."""

SWEEP_ROWS = 1024
"""After so many rows, or as many as there were partial matches after the last time, those that are over are looked for
everywhere: a sequence in which nothing happens any more mustn't keep its own for ever."""

# Put in by `matcher_kernels.build_matcher`.
class_of_new: Any
end_holds: Any
guard_holds: Any


class Rules(NamedTuple):
    """How to match, as numbers."""

    ages: int
    counting: bool
    """Whether anybody reads the ledger (`live` is always right)."""
    first_row: int
    """The number in the stream of row 0 of this call, as if history had just gone by; may be negative."""
    sweep_rows: int = SWEEP_ROWS


@inline_kernel
def lacks_room(pm, segment, ends, links, found, store):  # type: ignore[no-untyped-def]
    """FINISHED where one more visit can be done, or what it needs first."""
    if store.counts[SPARE] == 0 and store.counts[USED] == len(store.serial):
        return MORE_PARTIAL_MATCHES
    if ends > 0:
        length = np.int64(1) if segment < 0 else links[segment, LENGTH]
        if pm >= 0:
            length += links[pm, LENGTH]
        matches = found.counts[MATCHES] + ends
        if matches > len(found.pattern) or found.counts[MATCH_ROWS] + ends * length > len(found.rows):
            return MORE_MATCHES
    return FINISHED


def complete_matches(new, pm, segment, row, label, plan, store, ledger, found, checks, counting, whole):  # type: ignore[no-untyped-def]
    """Writes the matches that end with what was made. 1, or an error."""
    node = store.kin[new, NODE]
    for end in range(plan.ends.at[node], plan.ends.at[node + 1]):
        pattern = plan.ends.pattern[end]
        if store.masks[new, pattern >> 6] & (np.int64(1) << (pattern & 63)) == 0:
            continue
        verdict = end_holds(end, pm, segment, row, label, plan.nodes.label, plan.ends, store, checks)  # noqa: F821
        if verdict < 0:
            return verdict
        if verdict == 1:
            write_match(pattern, pm, segment, row, label, plan.nodes.label, store, found)
            if counting:
                ledger.completed[store.links[new, CLASS], pattern] += 1
            if whole:
                ledger.whole_ended[store.links[new, CLASS], pattern] += 1
    return 1


def obey_guards_of(new, pm, segment, row, gap_row, step, label, plan, values, store, checks):  # type: ignore[no-untyped-def]
    """Takes away the patterns whose guards fail. 1, 0 where none is left, or an error."""
    asked, masks = plan.asked, store.masks
    first, end = asked.guard_at[step], asked.guard_at[step + 1]
    if first == end:
        return 1
    for guard in range(first, end):
        asker = len(asked.guard_at) - 1 + guard
        verdict = 1
        if not edges_hold(asker, store.links[pm, ROW], gap_row, asked, values):
            verdict = 0
        else:
            verdict = guard_holds(asker, pm, segment, row, label, plan.nodes.label, asked, store, checks)  # noqa: F821
        if verdict < 0:
            return verdict
        if verdict == 0:
            for word in range(masks.shape[1]):
                masks[new, word] &= ~asked.guard_patterns[guard, word]
    for word in range(masks.shape[1]):
        if masks[new, word] != 0:
            return 1
    return 0


def classify_made(new, node, row, plan, store, buckets, checks, samples, rules):  # type: ignore[no-untyped-def]
    """What a new partial match carries along, and its class."""
    serial = store.counts[SERIAL]
    store.counts[SERIAL], store.serial[new] = serial + 1, serial
    if plan.nodes.is_sink[node]:
        store.links[new, CLASS] = buckets.class_at[node]
        return
    store.links[new, CLASS] = class_of_new(new, node, row, store, buckets, checks)  # noqa: F821
    sample(new, node, serial, store.features, store.nulls, buckets, samples)


@inline_kernel
def keep(new, node, row, position, at, kept_for, plan, store, lists, ledger, rules):  # type: ignore[no-untyped-def]
    """Puts it into its list, unless nothing can follow or the orders leave it no pattern. Whether it did."""
    links = store.links
    of_class, is_sink = links[new, CLASS], plan.nodes.is_sink[node]
    restricted = kept_for.restricted[node] and not is_sink
    slot = of_class * rules.ages
    if restricted or rules.counting:
        slot += age_at(node, links[new, LIMIT], position, plan.extents, rules.ages)
    if restricted and not obey(new, slot, of_class, kept_for, links, store.masks, ledger.dropped):
        ledger.refused[slot] += 1
        return False
    if rules.counting:
        ledger.created[slot] += 1
    if is_sink:
        return False
    add_listed(new, at, links, store.kin, lists.heads, store.counts)
    ledger.live[of_class] += 1
    return True
