"""A summary of all events -> a summary of n events, in hindsight: repeatedly drops the event in the fewest matches.
Online strategies are compared with it."""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel
from ostinato.summaries.engine.counting_kernels import count_matches, remove
from ostinato.summaries.engine.event_benefit import lowest_benefit
from ostinato.summaries.engine.kernel_tables import COUNT, FIRST_OLD_CELL, LAST_OLD_CELL, NOW
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.engine.summary_state import SummaryState


def _cut_down(rules, columns, scratch, choice, size):  # type: ignore[no-untyped-def]
    marks = columns.marks
    while marks[COUNT] > size:
        if marks[FIRST_OLD_CELL] <= marks[LAST_OLD_CELL]:
            count_matches(rules, columns, scratch, choice.window)
        position, _ = lowest_benefit(rules, columns, scratch, choice, marks[NOW])
        remove(rules, columns, scratch, choice.any_match, choice.window, position)


_compiled = called_kernel(_cut_down)
"""Not stored: benchmarks call it a few times only."""


def cut_down(summary: Summary, state: SummaryState, size: int) -> SummaryState:
    """The state with `size` events. `summary` uses present benefit only. The given state doesn't change."""
    cut = state.copied()
    _compiled(summary.rules, cut.columns, summary.scratch(cut.is_wide), summary.choice, size)
    return cut
