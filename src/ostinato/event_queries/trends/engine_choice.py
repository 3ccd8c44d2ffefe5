"""Programs -> the engine that can run them together. Tasks and `explain` both ask here; no kernel is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.event_queries.plan.event_program import Program
from ostinato.event_queries.trends.graphlets import graphlet_engine as graphlets
from ostinato.event_queries.trends.shared import loops


def needs_graphlets(programs: Sequence[Program]) -> bool:
    """Whether conditions between adjacent events decide: then bursts are shared as graphlets, otherwise in one log."""
    return any(program.edges for program in programs)


def tested_condition(program: Program) -> int | None:
    """The condition of the repeated events that the program compares with their neighbours; None: it compares none.

    Only programs for which it is the same run in one engine. A program that compares nothing would pay for the
    comparisons of the others.
    """
    loop = graphlets.tested_loop(program) if program.edges else None
    return None if loop is None else loop.condition


def declined(programs: Sequence[Program]) -> str | None:
    """Why these can't run in the shared engine; None if they can."""
    return graphlets.declined(programs) if needs_graphlets(programs) else loops.declined(programs)


def fitting(programs: Sequence[Program]) -> tuple[int, ...]:
    """The programs, by number, whose open windows fit into one engine. A large program is left out before others."""
    return tuple(range(len(programs))) if needs_graphlets(programs) else loops.fitting(programs)
