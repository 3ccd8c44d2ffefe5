"""The MATCH_RECOGNIZE queries of a workload -> which of them are matched together, and why the others aren't."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.explanation.events_text import AsksWorkload
from ostinato.explanation.understood import Understood
from ostinato.planning.bounded_clauses import plan_clauses


def together_text(asked: AsksWorkload, understood: Mapping[str, Understood]) -> str:
    """A section of its own; empty where types aren't known, or one query is all there is."""
    names = list(understood)
    typed = [each.typed for each in understood.values() if each.typed is not None]
    if len(names) < 2 or len(typed) < len(names):
        return ""
    own = asked.request.for_queries(names)
    bounded = own.bounds(names).bounded if not own.is_empty else (False,) * len(names)
    plan = plan_clauses(typed, names, bounded, asked.options.sharing)
    title = "How the clauses run together"
    lines = [title, "-" * len(title)]
    for stream in plan.streams:
        shared = ", ".join(names[member.clause] for member in stream.clauses)
        lines.append(f"shared matcher   {shared}: one state for equal sub-patterns; where a section below names an")
        lines.append("                 engine, that is the one the clause would have by itself")
    lines += [f"by itself        {names[number]}: {reason}" for number, reason in plan.alone.items()]
    return "\n".join(lines)
