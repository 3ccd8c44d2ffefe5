"""Programs -> the engine that can run them together. Tasks and `explain` use it; it loads no kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.event_queries.plan.event_program import Program
from ostinato.event_queries.trends import loops
from ostinato.event_queries.trends.graphlets import graphlet_engine as graphlets


def needs_graphlets(programs: Sequence[Program]) -> bool:
    """Whether programs have conditions between adjacent events. Graphlets share such programs, a log shares others."""
    return any(program.edges for program in programs)


def tested_condition(program: Program) -> int | None:
    """The condition of the repeated events that the program compares with their neighbours; None if it compares none.

    Only programs with the same such condition run in one engine. A program that compares nothing would pay for the
    comparisons of the others.
    """
    loop = graphlets.tested_loop(program) if program.edges else None
    return None if loop is None else loop.condition


def declined(programs: Sequence[Program]) -> str | None:
    """The reason why the programs can't run in the shared engine; None if they can."""
    return graphlets.declined(programs) if needs_graphlets(programs) else loops.declined(programs)


def fitting(programs: Sequence[Program]) -> tuple[int, ...]:
    """The numbers of the programs whose open windows fit into one engine. Large programs are left out first."""
    return tuple(range(len(programs))) if needs_graphlets(programs) else loops.fitting(programs)
