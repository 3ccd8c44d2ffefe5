"""Plan + options of a stream -> the reason why each step searches open matches again, if there is one. No kernels."""

from __future__ import annotations

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.query.clause import MatchMode
from ostinato.streams.stream_settings import StreamSettings

MOST_STATES = 1 << 10


def why_searched_again(plan: MatchPlan, settings: StreamSettings) -> str | None:
    """The reason why every step reads all open rows and searches an open start again from its first row.

    None if a step appends its new rows, and reads old ones only where a start may end.
    """
    if plan.has_ids and settings.eager:
        return "match_id and run_id compare a row with all earlier ones of its time, which may come with eager"
    if settings.emit == "early":
        return 'emit="early" needs all rows of a key'
    if settings.forget_us is not None:
        return "forget_keys_after needs all rows of a key"
    if plan.run_conditions:
        return "conditions over the run depend on all its rows"
    if plan.bound.clause.mode is not MatchMode.PREFERRED:
        return f"{plan.bound.clause.mode.value} compares all matches of a start"
    if margins_of(plan).after:
        return "NEXT reads rows that haven't come yet"
    if len(plan.nfa.states) > MOST_STATES:
        return f"the pattern has more than {MOST_STATES:,} states"
    return None
