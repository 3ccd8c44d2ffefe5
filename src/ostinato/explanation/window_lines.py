"""Plan of a window with a row pattern -> what its frame changes: pairs of a label and a text."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.query.clause import SkipKind
from ostinato.clause.query.window_pattern import BEFORE_MATCH, WindowPattern


def window_pairs(plan: MatchPlan, window: WindowPattern) -> Iterator[tuple[str, str]]:
    """The plan is that of `plan_window`."""
    yield "frame", f"from the current row to {_frame_end(window)}"
    yield "match", _match(plan, window)
    whole, split = len(build_nfa(plan.pattern).states), len(plan.nfa.states)
    if split != whole:
        yield "PREV and NEXT", f"end at the frame: {split} states instead of {whole}, by their distance from its start"
    yield "cost", _cost(plan, window)


def _frame_end(window: WindowPattern) -> str:
    if window.frame_end is None:
        return "the end of the partition"
    if window.frame_end == 0:
        return "itself"
    return f"{window.frame_end:,} row{'s'[: window.frame_end - 1]} after it"


def _match(plan: MatchPlan, window: WindowPattern) -> str:
    if not window.seek:
        return "begins at the current row (INITIAL)"
    if BEFORE_MATCH in plan.bound.variables:
        return "the first one in the frame (SEEK); the search of a row passes over the rows before its match"
    return "the first one in the frame (SEEK); the next match of INITIAL, because nothing before a match is read"


def _cost(plan: MatchPlan, window: WindowPattern) -> str:
    if plan.bound.clause.skip.kind is SkipKind.PAST_LAST_ROW and not plan.run_conditions and window.frame_end is None:
        return "linear in rows"
    if BEFORE_MATCH in plan.bound.variables:
        return "rows times the distance to the end of their match"
    if plan.run_conditions:
        return "rows plus all trials: conditions over the run are tested by the search, which may turn back"
    return "rows plus the rows of all matches"
