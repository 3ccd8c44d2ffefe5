"""The search with the interpreter of run conditions compiled into it: one kernel for all queries that read the run."""

from __future__ import annotations

from ostinato.clause.matching.search import build_search
from ostinato.expressions.run_conditions.interpreter import check
from ostinato.expressions.run_conditions.run_registers import update

search_interpreted = build_search("search_interpreted", update, check)
