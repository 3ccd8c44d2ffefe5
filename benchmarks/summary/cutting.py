"""A summary of everything -> one of n events, by someone who knew the whole stream: the event in the fewest matches
goes, again and again. What that leaves is what a choice on line can be measured with."""

from __future__ import annotations

from ostinato.kernels.kernel_cache import borrowing_kernel
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
        place, _ = lowest_benefit(rules, columns, scratch, choice, marks[NOW])
        remove(rules, columns, scratch, choice.any_match, choice.window, place)


_compiled = borrowing_kernel(_cut_down, cached=False)
"""Not kept on disk: what is kept doesn't see changes of the kernels that it calls, which stand in other files."""


def cut_down(whole: Summary, state: SummaryState, size: int) -> SummaryState:
    """The state with so many events. `whole` weighs present benefit only; the state given stays as it was."""
    cut = state.copied()
    _compiled(whole.rules, cut.columns, whole.room(cut.is_wide), whole.choice, size)
    return cut
