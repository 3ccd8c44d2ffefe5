"""The engines of a stream with their programs, ready to run. `plan/engine_groups.py` chooses them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ostinato.event_queries.plan.engine_groups import engine_groups
from ostinato.event_queries.plan.event_plan import EventsPlan
from ostinato.event_queries.plan.event_program import Program, TrendEngine
from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine
from ostinato.event_queries.trends.shared.shared_engine import SharedEngine, Sharing, declined

__all__ = ["EngineRun", "ProgramAt", "Sharing", "engine_runs"]

ProgramAt = tuple[int, int]
"""(query, index of its program)."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """Programs that one engine runs over the events of a stream."""

    members: tuple[ProgramAt, ...]
    programs: tuple[Program, ...]
    shared: bool

    def of_queries(self, queries: Collection[int]) -> EngineRun:
        """The same engine for the programs of some queries only."""
        stay = [i for i, (query, _) in enumerate(self.members) if query in queries]
        programs = tuple(self.programs[i] for i in stay)
        is_shared = self.shared and declined(programs) is None
        return EngineRun(tuple(self.members[i] for i in stay), programs, is_shared)

    def engine(self, exact: bool, sharing: Sharing) -> TrendEngine:
        if self.shared:
            return SharedEngine(self.programs, exact, sharing)
        return SeparateEngine(self.programs, exact)


def engine_runs(plan: EventsPlan, stream: int, sharing: Sharing = "dynamic") -> tuple[EngineRun, ...]:
    """The engines of a stream's aggregate queries."""
    return tuple(
        EngineRun(tuple((member.query, member.program) for member in group.members), group.programs, group.shared)
        for group in engine_groups(plan, sharing=sharing)
        if group.stream == stream
    )
