"""Generated conditions do what the interpreted ones do: on every conformance case that reads the run."""

from __future__ import annotations

import pytest
from tests.cases import Case, load_cases

from ostinato.kernel_cache import interpreted
from ostinato.language.match_recognize import parse_clause
from ostinato.matching import compiled
from ostinato.matching.search import search_in_python
from ostinato.predicates.generator import generate_functions
from ostinato.predicates.interpreter import Conditions
from ostinato.predicates.run_program import RunProgram
from ostinato.runtimes.local import match_table
from ostinato.runtimes.task import worker

CASES = [case for case in load_cases() if case.error is None and case.file != "catastrophic"]


def in_python(program: RunProgram, conditions: Conditions, rows: int) -> object:
    """The generated source, not compiled: compiling each takes a second."""
    update, check = generate_functions(program, conditions.place.tolist(), conditions.valid_place.tolist())
    return search_in_python(interpreted(update), interpreted(check))


def test_every_case_that_reads_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = 0

    def counting(program: RunProgram, conditions: Conditions, rows: int) -> object:
        nonlocal generated
        generated += 1
        return in_python(program, conditions, rows)

    monkeypatch.setattr(worker, "search_for", counting)
    for case in CASES:
        assert _difference(case) is None, case.id
    assert generated >= 30


@pytest.mark.kernel
def test_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "ROWS_BEFORE_COMPILING", 0)
    chosen = [case for case in CASES if case.name == "an aggregate may use the row's label" or "sum" in case.name][:2]
    for case in chosen:
        assert _difference(case) is None, case.id


def _difference(case: Case) -> str | None:
    found = match_table(parse_clause(case.clause, input_name=case.input_name), case.table())
    columns = [column.to_pylist() for column in found.columns]
    return case.difference(found.column_names, list(zip(*columns, strict=True)))
