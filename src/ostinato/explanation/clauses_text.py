"""The MATCH_RECOGNIZE queries of a workload -> groups that are matched together, their shared states and bounds, and
the reasons why other queries run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.explanation.asked import is_streaming
from ostinato.explanation.bounded_text import plan_part
from ostinato.explanation.events_text import AsksWorkload
from ostinato.explanation.losses_text import bounds_part
from ostinato.explanation.understood import Understood
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.plan.clause_groups import ClausesPlan, ClauseStream, plan_clauses

_INDENT = " " * len("shared matcher   ")


def clause_sections(workload: AsksWorkload, understood: Mapping[str, Understood], table: Any = None) -> list[str]:
    """The sections about all clauses together, which come before those of single clauses.

    `table` is what `explain` was given: on a streaming DataFrame other clauses run together than on a batch.
    """
    names = list(understood)
    request = workload.request.for_queries(names)
    sections = [together_text(workload, understood, table)]
    plan = _plan(workload, understood, table)
    if plan is not None:
        typed = [each.typed for each in understood.values() if each.typed is not None]
        sections += [_shared_text(workload, stream, typed, names) for stream in plan.streams]
    if names and not request.is_empty:
        lines = bounds_part(request.bounds(names))
        sections.append(underlined("What may be given up of the clauses", lines))
    return [section for section in sections if section]


def together_text(workload: AsksWorkload, understood: Mapping[str, Understood], table: Any = None) -> str:
    """The groups of queries that run together. Empty for a single query without a bound, and where the decision needs
    types that aren't known."""
    names, plan, on_stream = list(understood), _plan(workload, understood, table), is_streaming(table)
    bounded = [name for name, is_bounded in zip(names, _bounded(workload, names), strict=True) if is_bounded]
    if not bounded and (plan is None or len(names) < 2):
        return ""
    lines = []
    if plan is None:  # a clause with a bound has no other engine
        lines.append(f"shared matcher   {', '.join(bounded)}: because of the bound; explain(workload, table) says more")
        lines.append(f"{_INDENT}where a section below names an engine, that is the one the clause would have by itself")
    else:
        for stream in plan.streams:
            lines += _stream_lines(workload, stream, names, on_stream)
        lines += [f"by itself        {names[number]}: {reason}" for number, reason in plan.alone.items()]
        if on_stream and plan.alone:
            lines.append(f"{_INDENT}an operator for each, as ost.match_recognize has it")
    return underlined("How the clauses run together" + (", on a stream" if on_stream else ""), lines)


def underlined(title: str, lines: Sequence[str]) -> str:
    """A section between those of single queries."""
    return "\n".join([title, "-" * len(title), *lines])


def _stream_lines(workload: AsksWorkload, stream: ClauseStream, names: Sequence[str], on_stream: bool) -> list[str]:
    members = ", ".join(names[member.clause] for member in stream.clauses)
    states = "states of its own for each" if workload.options.sharing == "never" else "one state for equal sub-patterns"
    lines = [
        f"shared matcher   {members}: {states}; where a section below names an",
        f"{_INDENT}engine, that is the one the clause would have by itself",
    ]
    if stream.by_choice:
        most = "" if stream.most_held is None else f" or holds more than {stream.most_held:,} partial matches"
        lines.append(f"{_INDENT}each by itself, with that engine, in a batch where sharing fails{most}")
    if on_stream:
        lines.append(f"{_INDENT}one operator; a match leaves when the watermark has passed its last row")
    return lines


def _shared_text(workload: AsksWorkload, stream: ClauseStream, typed: Sequence[TypedPlan], names: Sequence[str]) -> str:
    """The states of one plan, by the variables of the clauses."""
    merged = merge([clause.program for clause in stream.clauses], separate=workload.options.sharing == "never")
    automata = [typed[clause.clause].plan.nfa for clause in stream.clauses]
    variables = [
        [nfa.states[node.state].variable for node in clause.graph.nodes]
        for nfa, clause in zip(automata, stream.clauses, strict=True)
    ]
    called = ", ".join(names[clause.clause] for clause in stream.clauses)
    return underlined(f"What matches share: {called}", plan_part(merged, variables))


def _plan(workload: AsksWorkload, understood: Mapping[str, Understood], table: Any) -> ClausesPlan | None:
    """None where types aren't known. Raises BOUND_NOT_SUPPORTED."""
    names = list(understood)
    typed = [each.typed for each in understood.values() if each.typed is not None]
    if not names or len(typed) < len(names):
        return None
    bounded = _bounded(workload, names)
    return plan_clauses(typed, names, bounded, workload.options.sharing, on_stream=is_streaming(table))


def _bounded(workload: AsksWorkload, names: Sequence[str]) -> tuple[bool, ...]:
    own = workload.request.for_queries(names)
    return (False,) * len(names) if own.is_empty else own.bounds(names).bounded
