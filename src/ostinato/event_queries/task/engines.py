"""A group of programs -> the engine that runs them. `trends/engine_groups.py` makes the groups."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.event_queries.plan.event_program import Program, TrendEngine
from ostinato.event_queries.trends.engine_choice import needs_graphlets
from ostinato.event_queries.trends.engine_groups import EngineGroup
from ostinato.event_queries.trends.graphlets.graphlet_engine import GraphletEngine
from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine
from ostinato.event_queries.trends.shared.shared_engine import SharedEngine
from ostinato.event_queries.workload_options import Sharing


def engine_of(group: EngineGroup, exact: bool, sharing: Sharing) -> TrendEngine:
    return sharing_engine(group.programs, exact, sharing) if group.shared else SeparateEngine(group.programs, exact)


def sharing_engine(programs: Sequence[Program], exact: bool, sharing: Sharing) -> TrendEngine:
    """An engine for programs that share their loops."""
    engine = GraphletEngine if needs_graphlets(programs) else SharedEngine
    return engine(programs, exact, sharing)
