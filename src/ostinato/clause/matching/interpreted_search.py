"""The search with the interpreter of conditions in it: for patterns that read the run, without compiling anything."""

from __future__ import annotations

from ostinato.clause.matching.search import build_search
from ostinato.expressions.run_conditions.interpreter import check, update

search_interpreted = build_search("search_interpreted", update, check, cached=True)
