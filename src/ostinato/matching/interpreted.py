"""The search with the interpreter of conditions in it: for patterns that read the run, without compiling anything."""

from __future__ import annotations

from ostinato.expressions.run_conditions.interpreter import check, update
from ostinato.matching.search import build_search

search_interpreted = build_search("search_interpreted", update, check, cached=True)
