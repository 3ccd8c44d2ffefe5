"""Kept events of many summaries -> numbers of matches, in total and by event, as doubles. For small summaries.

The kernel follows each start through its window, forwards and back: O(w d) for each start. Bridges need O(Z d) for each
event. This is faster for small summaries, above all for many of them.

Counts only use additions and products of non-negative whole numbers. So a result below `EXACT` was never rounded. Any
other result (also NaN) must be counted with integers.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import borrowing_kernel, inline_kernel
from ostinato.summaries.engine.bridge_kernels import begins

EXACT = 2.0**53
"""Doubles represent every whole number up to here."""


@inline_kernel
def _follow(rules, type, start, end, forward):  # type: ignore[no-untyped-def]
    """`forward[k]`: partial matches with the start, by state, before event start + k. Returns the number of matches."""
    states = len(rules.final)
    for z in range(states):
        forward[1, z] = 0.0
    for begin in range(rules.begin_first[type[start]], rules.begin_first[type[start] + 1]):
        forward[1, rules.begin_target[begin]] += 1.0
    for event in range(start + 1, end):
        k, letter = event - start, type[event]
        for z in range(states):
            forward[k + 1, z] = forward[k, z] if rules.may_skip[letter, z] else 0.0
        for move in range(rules.move_first[letter], rules.move_first[letter + 1]):
            forward[k + 1, rules.move_target[move]] += forward[k, rules.move_source[move]]
    complete = 0.0
    for z in range(states):
        if rules.final[z]:
            complete += forward[end - start, z]
    return complete


@inline_kernel
def _come_back(rules, type, start, end, forward, backward, contributions):  # type: ignore[no-untyped-def]
    """Adds to each event after the start the matches with both. `backward`: ways to complete, by state."""
    states = len(rules.final)
    old = 0
    for z in range(states):
        backward[old, z] = 1.0 if rules.final[z] else 0.0
    for event in range(end - 1, start, -1):
        letter = type[event]
        for z in range(states):
            backward[1 - old, z] = backward[old, z] if rules.may_skip[letter, z] else 0.0
        for move in range(rules.move_first[letter], rules.move_first[letter + 1]):
            source, ways = rules.move_source[move], backward[old, rules.move_target[move]]
            backward[1 - old, source] += ways
            contributions[event] += forward[event - start, source] * ways
        old = 1 - old


@borrowing_kernel
def count_each(rules, first, time, type, window, forward, backward, totals, contributions, stopped):  # type: ignore[no-untyped-def]
    """Summary i has the events `first[i]:first[i + 1]`. The moves of `rules` have no weights. `forward` has one row
    more than the largest summary has events, `backward` has two rows. Both have a column for each state."""
    for summary in range(len(totals)):
        if stopped[0] != 0:
            return
        totals[summary] = 0.0
        end = first[summary]
        for event in range(first[summary], first[summary + 1]):
            contributions[event] = 0.0
        for start in range(first[summary], first[summary + 1]):
            if not begins(rules, type[start]):
                continue
            end = max(end, start + 1)
            while end < first[summary + 1] and time[end] - time[start] <= window:
                end += 1
            complete = _follow(rules, type, start, end, forward)
            if complete != 0.0:
                totals[summary] += complete
                contributions[start] += complete
                _come_back(rules, type, start, end, forward, backward, contributions)
