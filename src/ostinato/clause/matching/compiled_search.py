"""The search with a query's own conditions compiled into it: for conditions over the run, where rows are many.

Compiling takes a second or two, so a query is interpreted until it has seen enough rows in this process to pay it back;
Spark reuses its Python workers, so a large query pays once per worker.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable

from ostinato.clause.matching.interpreted_search import search_interpreted
from ostinato.clause.matching.search import build_search
from ostinato.expressions.run_conditions.generator import generate_functions
from ostinato.expressions.run_conditions.interpreter import Conditions
from ostinato.expressions.run_conditions.run_program import RunProgram

ROWS_BEFORE_COMPILING = 50_000_000
"""Compiled, Q1 takes 22 and Q3 83 ns a row less (docs/benchmarks.md); compiling takes 2 to 4 s."""

_MOST_KEPT = 64
_compiled: dict[str, Callable[..., int]] = {}
_rows_seen: dict[str, int] = {}


def search_for(program: RunProgram, conditions: Conditions, rows: int) -> Callable[..., int]:
    """The interpreting search, or the compiled one once the query has seen enough rows."""
    key = _fingerprint(program, conditions)
    if key in _compiled:
        return _compiled[key]
    _rows_seen[key] = _rows_seen.get(key, 0) + rows
    if _rows_seen[key] < ROWS_BEFORE_COMPILING:
        return search_interpreted
    if len(_compiled) >= _MOST_KEPT:
        _compiled.pop(next(iter(_compiled)))
    _rows_seen.clear()
    _compiled[key] = compile_search(program, conditions)
    return _compiled[key]


def compile_search(program: RunProgram, conditions: Conditions) -> Callable[..., int]:
    """The search for this program; numba compiles it when it is first called."""
    update, check = generate_functions(program, conditions.place.tolist(), conditions.valid_place.tolist())
    return build_search("search_generated", update, check)


def _fingerprint(program: RunProgram, conditions: Conditions) -> str:
    """What the generated code depends on: the program, and which columns hold NULLs."""
    nullable = conditions.valid_place.tobytes()
    return hashlib.sha256(_pickled(id(program), program) + nullable).hexdigest()


_programs: dict[int, tuple[RunProgram, bytes]] = {}


def _pickled(identity: int, program: RunProgram) -> bytes:
    """Pickling takes longer than matching a small batch: the bytes of programs in use are kept."""
    if identity not in _programs:
        if len(_programs) >= _MOST_KEPT:
            _programs.clear()
        _programs[identity] = (program, pickle.dumps(program))  # holds the program, so that its id stays its own
    return _programs[identity][1]
