"""The clauses of a workload -> sections about the groups that are matched together, their shared states and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.explanation.explained_clauses import is_streaming
from ostinato.explanation.losses_text import bounds_lines
from ostinato.explanation.merged_plan_text import merged_plan_lines
from ostinato.explanation.planned_clause import PlannedClause
from ostinato.explanation.text_sections import underlined
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.plan.clause_groups import ClausesPlan, ClauseStream, plan_clauses
from ostinato.workloads.workload_request import WorkloadRequest

_INDENT = " " * len("shared matcher   ")
_ENGINE_ALONE = "The sections below name the engine that a clause would use alone."


def clause_group_sections(
    workload: WorkloadRequest, planned: Mapping[str, PlannedClause], table: Any = None
) -> list[str]:
    """The sections about all clauses. They come before those of single clauses.

    `table` is the argument of `explain`. A streaming DataFrame has other groups than a batch.
    """
    names = list(planned)
    request = workload.request.for_queries(names)
    sections = [together_text(workload, planned, table)]
    plan = _plan(workload, planned, table)
    if plan is not None:
        typed = [each.typed for each in planned.values() if each.typed is not None]
        sections += [_shared_text(workload, stream, typed, names) for stream in plan.streams]
    if names and not request.is_empty:
        lines = bounds_lines(request.bounds(names))
        sections.append(underlined("Bounds of the clauses", lines))
    return [section for section in sections if section]


def together_text(workload: WorkloadRequest, planned: Mapping[str, PlannedClause], table: Any = None) -> str:
    """The groups of clauses that run together. Empty for a single clause without a bound, or if the groups depend on
    unknown types."""
    names, plan, on_stream = list(planned), _plan(workload, planned, table), is_streaming(table)
    bounded = [name for name, is_bounded in zip(names, _bounded(workload, names), strict=True) if is_bounded]
    if not bounded and (plan is None or len(names) < 2):
        return ""
    lines = []
    if plan is None:  # a clause with a bound has no other engine
        lines.append(f"shared matcher   {', '.join(bounded)}: they have a bound. explain(workload, table) shows more.")
        lines.append(f"{_INDENT}{_ENGINE_ALONE}")
    else:
        for stream in plan.streams:
            lines += _stream_lines(workload, stream, names, on_stream)
        lines += [f"alone            {names[number]}: {reason}" for number, reason in plan.alone.items()]
        if on_stream and plan.alone:
            lines.append(f"{_INDENT}Each has its own stream operator, as in ost.match_recognize.")
    return underlined("How the clauses run together" + (", on a stream" if on_stream else ""), lines)


def _stream_lines(workload: WorkloadRequest, stream: ClauseStream, names: Sequence[str], on_stream: bool) -> list[str]:
    members = ", ".join(names[member.clause] for member in stream.clauses)
    states = "each has its own states" if workload.options.sharing == "never" else "equal sub-patterns share a state"
    lines = [f"shared matcher   {members}: {states}.", f"{_INDENT}{_ENGINE_ALONE}"]
    if stream.by_choice:
        most = "" if stream.most_held is None else f" or needs more than {stream.most_held:,} partial matches"
        lines.append(f"{_INDENT}A batch uses that engine if sharing fails{most}.")
    if on_stream:
        lines.append(
            f"{_INDENT}One stream operator runs them. A match is emitted when the watermark passes its last row."
        )
    return lines


def _shared_text(
    workload: WorkloadRequest, stream: ClauseStream, typed: Sequence[TypedPlan], names: Sequence[str]
) -> str:
    """The states of one merged plan, described by the variables of the clauses."""
    merged = merge([clause.program for clause in stream.clauses], separate=workload.options.sharing == "never")
    automata = [typed[clause.clause].plan.nfa for clause in stream.clauses]
    variables = [
        [nfa.states[node.state].variable for node in clause.graph.nodes]
        for nfa, clause in zip(automata, stream.clauses, strict=True)
    ]
    members = ", ".join(names[clause.clause] for clause in stream.clauses)
    return underlined(f"Shared states: {members}", merged_plan_lines(merged, variables))


def _plan(workload: WorkloadRequest, planned: Mapping[str, PlannedClause], table: Any) -> ClausesPlan | None:
    """None if types aren't known. Raises BOUND_NOT_SUPPORTED."""
    names = list(planned)
    typed = [each.typed for each in planned.values() if each.typed is not None]
    if not names or len(typed) < len(names):
        return None
    bounded = _bounded(workload, names)
    return plan_clauses(typed, names, bounded, workload.options.sharing, on_stream=is_streaming(table))


def _bounded(workload: WorkloadRequest, names: Sequence[str]) -> tuple[bool, ...]:
    own = workload.request.for_queries(names)
    return (False,) * len(names) if own.is_empty else own.bounds(names).bounded
