"""A planned clause -> lines about its engine, bounds, output and Spark plan, each with its reason."""

from __future__ import annotations

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.typed_plan import DEFAULT_MAX_PARTIAL_MATCHES
from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output, SkipKind
from ostinato.clause.stream.searched_again import why_searched_again
from ostinato.clause.stream.stream_limits import check_streamable
from ostinato.errors import QueryError
from ostinato.explanation.planned_clause import PlannedClause
from ostinato.explanation.readable import key_name, plain_name
from ostinato.explanation.slicing_text import length_of_time, sliced_steps, slicing_lines
from ostinato.explanation.window_lines import window_pairs
from ostinato.streams.stream_settings import StreamSettings

_SKIPS = {
    SkipKind.PAST_LAST_ROW: "after its last row",
    SkipKind.TO_NEXT_ROW: "at the row after its first row",
    SkipKind.TO_FIRST: "at its first row of {}",
    SkipKind.TO_LAST: "at its last row of {}",
}
_MODES = {
    MatchMode.ALL: "ALL MATCHES: every match from every row, with every assignment of variables to its rows.",
    MatchMode.INCREMENTAL: "INCREMENTAL MATCHES: the longest match for each last row.",
    MatchMode.MAXIMAL: "MAXIMAL MATCHES: the longest match for each first row.",
}
_OUTPUTS = {
    Output.ONE_ROW: "one row per match",
    Output.ALL_ROWS: "all rows of each match, and one row for an empty match",
    Output.ALL_ROWS_OMIT_EMPTY: "all rows of each match, and none for an empty match",
    Output.ALL_ROWS_WITH_UNMATCHED: "all rows of each match, and unmatched rows with NULL measures",
}


def _output(clause: MatchRecognize) -> str:
    return _OUTPUTS[clause.output] + (", and partial matches that timed out" if clause.show_timeouts else "")


_OF_A_CLAUSE = (
    "bounds",
    "which matches",
    "output",
    "labels",
    "slices",
    "shared part",
    "handover",
    "in process",
    "on a stream",
)
"""Lines that a window doesn't have, or has in other words."""
_OF_A_WINDOW = (
    ("output", "each row of the input, with the values of its match"),
    ("on a stream", "Row patterns in windows are refused there."),
)


def execution_lines(planned: PlannedClause) -> list[str]:
    """Lines of `label  text`."""
    plan = planned.plan
    clause = plan.bound.clause
    pairs = [
        ("engine", _engine(planned)),
        *((f"not {name}", reason) for name, reason in _other_engines(plan).items()),
        ("search", _search(plan) if plan.sequence is None else ""),
        ("repeated work", memo_rule(plan) if plan.sequence is None else ""),
        ("bounds", _bounds(plan)),
        ("which matches", _matches(clause)),
        ("output", f"{_output(clause)}: {_output_columns(planned)}"),
        ("labels", _labels(plan)),
        ("Spark plan", _spark_plan(plan)),
        ("sorting", _sorting(clause)),
        *slicing_lines(planned),
        ("on a stream", _on_a_stream(planned)),
    ]
    if plan.window is not None:
        pairs = [pair for pair in pairs if pair[0] not in _OF_A_CLAUSE]
        pairs += [*window_pairs(plan, plan.window), *_OF_A_WINDOW]
    return [f"{label:<15}  {text}" for label, text in pairs if text]


# --- engine ---


def _engine(planned: PlannedClause) -> str:
    plan, typed = planned.plan, planned.typed
    if plan.sequence is not None:
        count = len(plan.sequence)
        rows = "one row" if count == 1 else f"{count} rows"
        return f"shifts. Every match has {rows}, so the worker tests all start rows at once over shifted columns."
    how = "It is compiled."
    if typed is None and plan.run_conditions:
        how = "It is compiled if the kernel supports all conditions for the column types. Otherwise it runs in Python."
    elif typed is not None and typed.general is not None:
        how = "It runs in Python, because the kernel doesn't support all conditions."
    return f"search. It follows the automaton from each start row, in order of preference. {how}"


def _other_engines(plan: MatchPlan) -> dict[str, str]:
    if plan.sequence is not None:
        return {"search": "Matches have a fixed length, so the automaton above isn't used."}
    return plan.declined


def _search(plan: MatchPlan) -> str:
    text = (
        "A pass from the last row to the first marks the states that can lead to a match. The search tries no others."
    )
    return text + (" The pass assumes that conditions on the rows matched so far hold." if plan.run_conditions else "")


def memo_rule(plan: MatchPlan) -> str:
    """How the engine avoids trying a state twice on one row. `clause/matching/match_engine.py` makes the decision."""
    clause = plan.bound.clause
    bounded = clause.within is not None or clause.max_length is not None
    if plan.run_conditions:
        return (
            "A state may be tried several times on one row, because conditions depend on the rows before. "
            "max_partial_matches limits the work."
        )
    match clause.mode:
        case MatchMode.ALL:
            return "Nothing is repeated: each partial match can become a match of its own."
        case MatchMode.INCREMENTAL if not bounded:
            return "Each state is tried once on a row for all starts, so time is linear in the rows."
        case MatchMode.PREFERRED if not bounded:
            return "Nothing is repeated: every step that is tried leads to a match."
        case _:
            return "Each state is tried once on a row for each start."


# --- matches and output ---


def _bounds(plan: MatchPlan) -> str:
    clause, bounds = plan.bound.clause, []
    if clause.within is not None:
        first = plan.bound.order_by[0].column if plan.bound.order_by else "the first ORDER BY column"
        bounds.append(
            f"WITHIN {length_of_time(clause.within)} from the first to the last {key_name(plan.bound, first)}"
        )
    if clause.max_length is not None:
        bounds.append(f"MAXLENGTH {clause.max_length} rows")
    if bounds:
        bounds = [" and ".join(bounds) + ". Longer matches aren't searched."]
    if plan.sequence is None:
        most = f"{DEFAULT_MAX_PARTIAL_MATCHES:,}"
        bounds.append(f"max_partial_matches is {most} from one row by default. The query fails beyond it.")
    return " ".join(bounds)


def _matches(clause: MatchRecognize) -> str:
    if clause.mode is not MatchMode.PREFERRED:
        return _MODES[clause.mode]
    next_start = _SKIPS[clause.skip.kind].format(clause.skip.target)
    return f"The preferred match from a start row, as in the SQL standard. The next search starts {next_start}."


def _output_columns(planned: PlannedClause) -> str:
    bound = planned.plan.bound
    names = ", ".join(plain_name(name) for name in bound.output_names)
    return names + (
        ", and the other columns of the input" if bound.shows_all_rows and not planned.columns.from_table else ""
    )


def _labels(plan: MatchPlan) -> str:
    if plan.needs_path:
        return "Kept for each match: the output or a measure uses the variables of its rows."
    return "Dropped once a match is found: neither the output nor a measure uses the variables of its rows."


# --- Spark ---


def _spark_plan(plan: MatchPlan) -> str:
    around = "select the measures" if plan.bound.measures else "select the output columns"
    steps = sliced_steps(plan) or _steps_by_key(plan)
    return " -> ".join(["select the columns above", *steps, "where (raises errors found in rows)", around])


def _steps_by_key(plan: MatchPlan) -> list[str]:
    keys = ", ".join(key_name(plan.bound, name) for name in plan.bound.partition_by)
    together = f"repartition by {keys}" if keys else "repartition into one task (no PARTITION BY)"
    return [together, *(["[sort]"] if plan.bound.order_by else []), "mapInArrow (match)"]


def _sorting(clause: MatchRecognize) -> str:
    if not clause.order_by:
        return "No ORDER BY. In process, rows keep the order of arrival. Spark has no defined order and warns."
    return (
        "The Python worker sorts by ORDER BY, then by all columns sent. Spark sorts (the step in brackets) if it "
        "estimates that the input exceeds the memory budget of a task."
    )


def _on_a_stream(planned: PlannedClause) -> str:
    """The cost of a step; empty for a clause that no stream can run."""
    plan = planned.plan
    order = plan.bound.order_by
    try:
        check_streamable(plan, planned.columns.types.get(order[0].column) if order else None)
    except QueryError:
        return ""
    reason = why_searched_again(plan, StreamSettings())
    if reason is None:
        return (
            "Each step appends its new rows, and reads old rows only where a match may end. With the options "
            'emit="early" and forget_keys_after, and with ids on an eager stream, each step searches the open rows of '
            "its keys again."
        )
    return (
        f"Each step reads and searches the open rows of its keys again, because {reason}. The cost of a step grows "
        "with the open partial matches."
    )
