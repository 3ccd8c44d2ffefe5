"""Engine, bounds, output and Spark plan of a query, each with its reason, in words."""

from __future__ import annotations

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import DEFAULT_MAX_PARTIAL_MATCHES
from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output, SkipKind
from ostinato.explanation.readable import plain_name
from ostinato.explanation.slicing_text import length_of_time, sliced_steps, slicing_lines
from ostinato.explanation.understood import Understood

_SKIPS = {
    SkipKind.PAST_LAST_ROW: "the search goes on behind its last row",
    SkipKind.TO_NEXT_ROW: "the search goes on at the row behind its first",
    SkipKind.TO_FIRST: "the search goes on at its first row of {}",
    SkipKind.TO_LAST: "the search goes on at its last row of {}",
}
_MODES = {
    MatchMode.ALL: "ALL MATCHES: every match from every row, in every labeling",
    MatchMode.INCREMENTAL: "INCREMENTAL MATCHES: the longest match for each last row",
    MatchMode.MAXIMAL: "MAXIMAL MATCHES: the longest match for each first row",
}
_OUTPUTS = {
    Output.ONE_ROW: "one row per match",
    Output.ALL_ROWS: "all rows of each match, a row for an empty match too",
    Output.ALL_ROWS_OMIT_EMPTY: "all rows of each match, nothing for empty ones",
    Output.ALL_ROWS_WITH_UNMATCHED: "all rows of each match, and the rows that are in none with measures NULL",
}


def _output(clause: MatchRecognize) -> str:
    return _OUTPUTS[clause.output] + (", and partial matches that timed out" if clause.show_timeouts else "")


def execution_part(understood: Understood) -> list[str]:
    """Lines of `label  text`."""
    plan = understood.plan
    clause = plan.bound.clause
    pairs = [
        ("engine", _engine(understood)),
        *((f"not {name}", reason) for name, reason in _others(plan).items()),
        ("search", _search(plan) if plan.sequence is None else ""),
        ("repeated work", memo_rule(plan) if plan.sequence is None else ""),
        ("bounds", _bounds(plan)),
        ("which matches", _matches(clause)),
        ("output", f"{_output(clause)}: {_output_columns(understood)}"),
        ("labels", _labels(plan)),
        ("Spark plan", _spark_plan(plan)),
        ("sorting", _sorting(clause)),
        *slicing_lines(understood),
    ]
    return [f"{label:<15}  {text}" for label, text in pairs if text]


# --- engine ---


def _engine(understood: Understood) -> str:
    plan, typed = understood.plan, understood.typed
    if plan.sequence is not None:
        count = len(plan.sequence)
        rows = "one row" if count == 1 else f"{count} rows"
        return f"shifts: every match has {rows}, so conditions lie at fixed distances: joined for all starts at once"
    how = "compiled"
    if typed is None and plan.run_conditions:
        how = "compiled if the kernel knows all conditions for the types of the columns"
    elif typed is not None and typed.general is not None:
        how = "in Python, because of the conditions that the kernel doesn't know"
    return f"search: the automaton is walked from each start row in order of preference, {how}"


def _others(plan: MatchPlan) -> dict[str, str]:
    if plan.sequence is not None:
        return {"search": "not needed where the length is fixed; the automaton above is what it would walk"}
    return plan.declined


def _search(plan: MatchPlan) -> str:
    guide = "a pass from the last row to the first notes which states can still lead to a match; no others are tried"
    return guide + (" (conditions over the run are taken as true there)" if plan.run_conditions else "")


def memo_rule(plan: MatchPlan) -> str:
    """How the engine avoids trying the same (state, row) twice, as `clause/matching/match_engine.py` decides it."""
    clause = plan.bound.clause
    bounded = clause.within is not None or clause.max_length is not None
    if plan.run_conditions:
        return (
            "a state at a row may be tried again: conditions depend on the rows before; max_partial_matches bounds it"
        )
    match clause.mode:
        case MatchMode.ALL:
            return "none to save: each partial match tried may become a match of its own"
        case MatchMode.INCREMENTAL if not bounded:
            return "a state at a row is tried once, whatever the start: time stays linear in rows"
        case MatchMode.PREFERRED if not bounded:
            return "none: every step that is tried leads to a match, so nothing is undone; no memo needed"
        case _:
            return "a state at a row is tried once per start"


# --- what counts ---


def _bounds(plan: MatchPlan) -> str:
    clause, bounds = plan.bound.clause, []
    if clause.within is not None:
        first = plan.bound.order_by[0].column if plan.bound.order_by else "the first ORDER BY column"
        bounds.append(f"WITHIN {length_of_time(clause.within)} from the first to the last {plain_name(first)}")
    if clause.max_length is not None:
        bounds.append(f"MAXLENGTH {clause.max_length} rows")
    if bounds:
        bounds = [" and ".join(bounds) + " (part of matching, not a filter behind it)"]
    if plan.sequence is None:
        bounds.append(f"max_partial_matches {DEFAULT_MAX_PARTIAL_MATCHES:,} from one row unless set otherwise")
    return "; ".join(bounds)


def _matches(clause: MatchRecognize) -> str:
    if clause.mode is not MatchMode.PREFERRED:
        return _MODES[clause.mode]
    after = _SKIPS[clause.skip.kind].format(clause.skip.target)
    return f"the preferred one from each start, as the standard says; after it {after}"


def _output_columns(understood: Understood) -> str:
    bound = understood.plan.bound
    names = ", ".join(plain_name(name) for name in bound.output_names)
    return names + (", and what else the input has" if bound.shows_all_rows and not understood.columns.given else "")


def _labels(plan: MatchPlan) -> str:
    if plan.needs_path:
        return "kept for the rows of each match found: output or measures ask which variable a row is"
    return "forgotten once a match is found: neither output nor measures ask for them"


# --- Spark ---


def _spark_plan(plan: MatchPlan) -> str:
    around = "select the measures" if plan.bound.measures else "select the output columns"
    steps = sliced_steps(plan) or _steps_by_key(plan)
    return " -> ".join(["select what is shipped", *steps, "where (raises what a row reported)", around])


def _steps_by_key(plan: MatchPlan) -> list[str]:
    keys = ", ".join(plain_name(name) for name in plan.bound.partition_by)
    together = f"repartition by {keys}" if keys else "repartition into one task (no PARTITION BY)"
    return [together, *(["[sort]"] if plan.bound.order_by else []), "mapInArrow (match)"]


def _sorting(clause: MatchRecognize) -> str:
    if not clause.order_by:
        return "no ORDER BY: rows as they arrive in process; on Spark no order is certain, and a warning says so"
    return (
        "by the Python worker, after ORDER BY then all shipped columns; by Spark (the step in brackets) where the "
        "input is estimated above the memory budget of a task"
    )
