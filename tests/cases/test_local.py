"""The in-process engine on every conformance case."""

from __future__ import annotations

import pytest
from tests.cases import Case, arrow_type, load_cases

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import OstinatoError
from ostinato.local.local_clause import match_table


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.id)
def test_case(case: Case) -> None:
    if case.error is not None:
        with pytest.raises(OstinatoError) as caught:
            match_table(parse_clause(case.clause, input_name=case.input_name), case.table())
        assert caught.value.code == case.error, str(caught.value)
        return
    found = match_table(parse_clause(case.clause, input_name=case.input_name), case.table())
    columns = [column.to_pylist() for column in found.columns]
    assert case.difference(found.column_names, list(zip(*columns, strict=True))) is None
    for name, written, kind in zip(case.expect_columns, case.expect_types, found.schema.types, strict=True):
        assert written is None or kind == arrow_type(written), f"{name}: expected {written}, got {kind}"
