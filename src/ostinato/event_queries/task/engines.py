"""A group of programs -> the engine that runs them. `plan/engine_groups.py` makes the groups."""

from __future__ import annotations

from ostinato.event_queries.event_options import Sharing
from ostinato.event_queries.plan.engine_groups import EngineGroup
from ostinato.event_queries.plan.event_program import TrendEngine
from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine
from ostinato.event_queries.trends.shared.shared_engine import SharedEngine


def engine_of(group: EngineGroup, exact: bool, sharing: Sharing) -> TrendEngine:
    if group.shared:
        return SharedEngine(group.programs, exact, sharing)
    return SeparateEngine(group.programs, exact)
