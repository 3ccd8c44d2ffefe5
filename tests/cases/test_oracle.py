"""Every conformance case through the reference oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.cases import Case, load_cases

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.key_columns import key_columns
from ostinato.errors import OstinatoError
from ostinato.reference import match_rows

NEEDS_A_SCHEMA = frozenset({"NOT_A_CONDITION", "TYPE_MISMATCH", "UNKNOWN_FUNCTION"})
"""Codes that an engine with a schema gives; the oracle sees values only, so such a clause may pass or stop it."""
NEEDS_A_SCHEMA_TOO = frozenset({"errors: within over a text", "errors: a named argument of a function without names"})


BEYOND_THE_ORACLE = frozenset(
    {
        "aggregates: labels joined to a word",
        "expressions: string functions",
        "expressions: number functions",
        "expressions: arrays in conditions and measures",
        "label_history: labels compared as an array",
    }
)
"""Cases with Spark functions that the oracle says it doesn't know; other engines run them."""


def run(case: Case) -> tuple[Sequence[str], list[list[Any]]]:
    """The oracle's columns and rows for one case."""
    names = [column.name for column in case.columns]
    query = parse_clause(case.clause, input_name=case.input_name)
    computed = [key.name for key in key_columns(query, names)]
    bound = bind(query, [*names, *computed])
    rows = match_rows(query, names, [dict(zip(names, row, strict=True)) for row in case.rows])
    return bound.output_names, [[row[name] for name in bound.output_names] for row in rows]


# The oracle enumerates: patterns made to explode are for the engines that promise linear time.
SMALL = [case for case in load_cases() if case.file != "catastrophic"]


@pytest.mark.parametrize("case", [case for case in SMALL if not case.error], ids=lambda case: case.id)
def test_rows(case: Case) -> None:
    if case.id in BEYOND_THE_ORACLE:
        with pytest.raises(NotImplementedError):  # once it knows the function, strike the case off the list
            run(case)
        return
    names, rows = run(case)
    assert case.difference(names, rows) is None


REFUSED = [case for case in SMALL if case.error and case.error not in NEEDS_A_SCHEMA]


@pytest.mark.parametrize(
    "case", [case for case in REFUSED if case.id not in NEEDS_A_SCHEMA_TOO], ids=lambda case: case.id
)
def test_errors(case: Case) -> None:
    with pytest.raises(OstinatoError) as raised:
        run(case)
    assert raised.value.code == case.error
