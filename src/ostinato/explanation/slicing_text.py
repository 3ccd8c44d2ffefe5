"""Slices of one ordered partition in words: their size, the rows they share, the handover, or why there are none."""

from __future__ import annotations

from datetime import timedelta

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import declined_by_tasks, declined_by_threads, slicing_of, useless_for_threads
from ostinato.explanation.readable import plain_name
from ostinato.explanation.understood import Understood
from ostinato.expressions.syntax import MatchNumber
from ostinato.slices.cutting import SLICES_THAT_MAY_BE_IN_VAIN, SMALLEST_SLICE
from ostinato.slices.handover import Handover, kind_of
from ostinato.slices.in_process import is_chained

_FEWEST = SMALLEST_SLICE * SLICES_THAT_MAY_BE_IN_VAIN
_HANDOVERS = {
    Handover.ANY: "at once: every start is tried, whatever the slices before it found",
    Handover.MEETING: "at the row where all chains of starts meet that may come in from before: matches skip starts",
    Handover.QUIET: "at a row that no match can lead over: which rows are taken depends on all matches that reach them",
}


def slicing_lines(understood: Understood) -> list[tuple[str, str]]:
    """Labels and texts."""
    plan = understood.plan
    declined = declined_by_tasks(plan)
    lines = [("slices", _slices(plan) if declined is None else f"none on Spark: {declined}")]
    if slicing_of(plan).declined is None:
        lines.append(("shared part", _shared_part(plan)))
    if declined is None:
        lines.append(("handover", f"a slice takes over {_HANDOVERS[kind_of(plan.bound.clause)]}"))
    return [*lines, ("in process", _in_process(understood))]


def sliced_steps(plan: MatchPlan) -> list[str] | None:
    """The steps of a Spark plan that always cuts into ranges; None where keys or a reason forbid it."""
    if plan.bound.partition_by or declined_by_tasks(plan) is not None:
        return None
    steps = [f"ranges of {_order(plan)}", "mapInArrow (order and match a slice)"]
    steps += ["repartition results and edges", "mapInArrow (stitch the edges in one task)"]
    if any(isinstance(slot, MatchNumber) for slot in plan.slots):
        steps += ["repartition by slice", "mapInArrow (numbers go on)"]
    return steps


def length_of_time(length: timedelta) -> str:
    """The length in the largest unit that divides it."""
    seconds = length.total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds and seconds % size == 0:
            count = int(seconds // size)
            return f"{count:,} {unit}{'s' * (count != 1)}"
    return f"{seconds:,g} second{'s' * (seconds != 1)}"


def _slices(plan: MatchPlan) -> str:
    if plan.bound.partition_by:
        return f'each key is one task\'s; with skew="slice" rows are cut into ranges of {_order(plan)} instead'
    return f"rows are cut into ranges of {_order(plan)}, a task each: there is no PARTITION BY to spread them by"


def _order(plan: MatchPlan) -> str:
    bound = plan.bound
    names = dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by)))
    return f"({', '.join(plain_name(name) for name in names)})"


def _shared_part(plan: MatchPlan) -> str:
    """How far a match may reach into the slices after the one that owns its first row."""
    shared = slicing_of(plan).shared
    if shared.rows is not None:
        count = f"{shared.rows:,} row{'s' * (shared.rows != 1)}"
        return f"a match reaches at most {count} beyond the slice that it starts in: {shared.why}"
    if shared.within_us is not None:
        length = length_of_time(timedelta(microseconds=shared.within_us))
        return f"a match reaches rows up to {length} beyond the slice that it starts in: {shared.why}"
    return f"as long as runs live, never cut off: {shared.why}"


def _in_process(understood: Understood) -> str:
    typed = understood.typed
    same = "ost.match runs the same plan without Spark; our evaluator computes what Spark does above"
    declined = slicing_of(understood.plan).declined if typed is None else declined_by_threads(typed)
    if declined is not None:
        return f"{same}; workers=n has no effect: {declined}"
    useless = useless_for_threads(understood.plan)
    if useless is not None:
        return f"{same}; workers=n has no effect without slice_rows: {useless}"
    is_open = typed is None and understood.plan.run_conditions
    known = " if the kernel knows all conditions" if is_open else ""
    return f"{same}; workers=n lets n threads match slices{known}, the result is the same{_size(understood.plan)}"


def _size(plan: MatchPlan) -> str:
    """The default size of slices, and the reasons to stop cutting."""
    shared = slicing_of(plan).shared
    if shared.rows is None:
        why = "matches lead too far beyond their slice"
    elif is_chained(plan.bound.clause.mode, plan.bound.clause.skip):
        why = "matches skip rows and chains of starts don't meet"
    else:
        return ""
    return f"; without slice_rows, each thread needs {_FEWEST:,} rows, and one thread goes on alone where {why}"
