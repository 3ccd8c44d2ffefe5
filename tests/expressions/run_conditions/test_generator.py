"""Generated conditions do what the interpreted ones do: on every conformance case that reads the run."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.cases import Case, load_cases

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching import compiled_search as compiled
from ostinato.clause.matching.search import search_in_python
from ostinato.clause.task import clause_worker as worker
from ostinato.expressions.run_conditions.generator import generate_functions
from ostinato.expressions.run_conditions.interpreter import Conditions
from ostinato.expressions.run_conditions.run_program import RunProgram
from ostinato.kernels.kernel_cache import interpreted
from ostinato.local.local_clause import match_table
from ostinato.reference.oracle import match_rows

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
    """Really compiled, so only two programs: a comparison with the run, and an aggregate of it."""
    monkeypatch.setattr(compiled, "ROWS_BEFORE_COMPILING", 0)
    monkeypatch.setattr(compiled, "_compiled", {})
    table = pa.table({"id": [1, 2, 3, 4], "x": [3, None, 5, 1]})
    for condition, lengths in (("B.x > A.x OR B.x IS NULL", [3, 1]), ("sum(x) < 9", [3, 1])):
        text = f"ORDER BY id MEASURES count(*) AS n PATTERN (A B*) DEFINE B AS {condition}"
        found = match_table(parse_clause(text), table).column("n").to_pylist()
        assert found == [row["n"] for row in match_rows(parse_clause(text), table.column_names, table.to_pylist())]
        assert found == lengths
    assert len(compiled._compiled) == 2


def _difference(case: Case) -> str | None:
    found = match_table(parse_clause(case.clause, input_name=case.input_name), case.table())
    columns = [column.to_pylist() for column in found.columns]
    return case.difference(found.column_names, list(zip(*columns, strict=True)))
