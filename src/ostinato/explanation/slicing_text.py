"""A planned clause -> lines about slices: their ranges, the rows they share, their starts, or why there are none."""

from __future__ import annotations

from datetime import timedelta

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import declined_by_tasks, declined_by_threads, slicing_of, useless_for_threads
from ostinato.clause.query.months import Months
from ostinato.explanation.planned_clause import PlannedClause
from ostinato.explanation.readable import key_name
from ostinato.expressions.syntax import MatchNumber
from ostinato.slices.cutting import SLICES_PER_WORKER_IF_WASTED, SMALLEST_SLICE
from ostinato.slices.handover_kind import Handover, is_chained, kind_of

_FEWEST = SMALLEST_SLICE * SLICES_PER_WORKER_IF_WASTED
_HANDOVERS = {
    Handover.ANY: "Each slice tries all its rows as starts: matches of other slices don't matter.",
    Handover.MEETING: "Each slice starts where all possible earlier matches have ended: a match skips start rows.",
    Handover.QUIET: "Each slice starts at a row that no match spans: its output depends on all matches that reach it.",
}


def slicing_lines(planned: PlannedClause) -> list[tuple[str, str]]:
    """Pairs of label and text."""
    plan = planned.plan
    declined = declined_by_tasks(plan)
    lines = [("slices", _slices(plan) if declined is None else f"None on Spark: {declined}.")]
    if slicing_of(plan).declined is None:
        lines.append(("shared part", _overlap(plan)))
    if declined is None:
        lines.append(("handover", _HANDOVERS[kind_of(plan.bound.clause)]))
    return [*lines, ("in process", _in_process(planned))]


def sliced_steps(plan: MatchPlan) -> list[str] | None:
    """The steps of a Spark plan that cuts into ranges by default; None for other plans."""
    if plan.bound.partition_by or declined_by_tasks(plan) is not None:
        return None
    steps = [f"ranges of {_order(plan)}", "mapInArrow (sort and match a slice)"]
    steps += ["repartition results and edges", "mapInArrow (stitch the edges in one task)"]
    if any(isinstance(slot, MatchNumber) for slot in plan.slots):
        steps += ["repartition by slice", "mapInArrow (renumber matches)"]
    return steps


def length_of_time(length: timedelta | Months) -> str:
    """The length in the largest unit that divides it."""
    if isinstance(length, Months):
        return f"{length.count:,} calendar month{'s' * (length.count != 1)}"
    seconds = length.total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds and seconds % size == 0:
            count = int(seconds // size)
            return f"{count:,} {unit}{'s' * (count != 1)}"
    return f"{seconds:,g} second{'s' * (seconds != 1)}"


def _slices(plan: MatchPlan) -> str:
    if plan.bound.partition_by:
        return (
            f'Each key runs in one task. With skew="slice", Spark cuts the rows into ranges of {_order(plan)} instead.'
        )
    return f"Spark cuts the rows into ranges of {_order(plan)}, one task each, because there is no PARTITION BY."


def _order(plan: MatchPlan) -> str:
    bound = plan.bound
    names = dict.fromkeys((*bound.partition_by, *(key.column for key in bound.order_by)))
    return f"({', '.join(key_name(bound, name) for name in names)})"


def _overlap(plan: MatchPlan) -> str:
    """How far a match may extend into the slices after its own."""
    shared = slicing_of(plan).shared
    if shared.rows is not None:
        count = f"{shared.rows:,} row{'s' * (shared.rows != 1)}"
        return f"A match extends at most {count} beyond the slice that it starts in: {shared.why}."
    if shared.within_us is not None:
        length = length_of_time(timedelta(microseconds=shared.within_us))
        return f"A match extends up to {length} beyond the slice that it starts in: {shared.why}."
    return f"A match extends any number of rows beyond the slice that it starts in: {shared.why}."


def _in_process(planned: PlannedClause) -> str:
    typed = planned.typed
    same = "ost.match runs the same plan, with Ostinato's own evaluator in place of Spark's."
    declined = slicing_of(planned.plan).declined if typed is None else declined_by_threads(typed)
    if declined is not None:
        return f"{same} workers=n has no effect: {declined}."
    useless = useless_for_threads(planned.plan)
    if useless is not None:
        return f"{same} workers=n has no effect without slice_rows: {useless}."
    is_open = typed is None and planned.plan.run_conditions
    supported = ", if the kernel supports all conditions" if is_open else ""
    text = f"{same} With workers=n, n threads match slices{supported}. The result stays the same."
    return f"{text} {_size(planned.plan)}".rstrip()


def _size(plan: MatchPlan) -> str:
    """The rows that a thread needs by default, and the reason for which one thread does the rest."""
    shared = slicing_of(plan).shared
    if shared.rows is None:
        why = "matches extend too far beyond their slice"
    elif is_chained(plan.bound.clause.mode, plan.bound.clause.skip):
        why = "matches skip rows and no row is found where all earlier matches have ended"
    else:
        return ""
    return f"Without slice_rows, each thread needs {_FEWEST:,} rows, and one thread does the rest if {why}."
