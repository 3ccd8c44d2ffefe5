"""Runs one clause over one table in the engine and in the oracle, and describes the difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from tests.cases import Case
from tests.laws.declined import Declined

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import MatchError
from ostinato.local.local_clause import match_table
from ostinato.reference.clause_oracle import match_rows


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table. Without columns, each row is an empty tuple."""
    return [tuple(row.values()) for row in table.to_pylist()]


def with_ids(text: str) -> MatchRecognize:
    """The clause; for every second text with ids of matches and runs, because these need the labels of matches."""
    clause = parse_clause(text)
    return replace(clause, ids=IdColumns("the_match", "the_run")) if len(text) % 2 else clause


def difference(text: str, table: pa.Table, declined: Declined) -> str | None:
    """Describes how the engine's rows differ from the oracle's; None if they are equal."""
    query = parse_clause(text)
    try:
        with declined.example():
            result = match_table(query, table)
    except MatchError as error:
        with declined.oracle():
            codes = oracle_codes(query, table)
        return None if error.code in codes else f"engine fails with {error}; the oracle's errors: {sorted(codes)}"
    try:
        with declined.oracle():
            expected = match_rows(query, table.column_names, table.to_pylist())
    except MatchError as error:
        return f"the oracle fails with {error}, the engine gives {result.to_pylist()}"
    declined.answered(rows=bool(expected))
    return differing(result.column_names, rows_of(result), expected)


def oracle_codes(query: MatchRecognize, table: pa.Table) -> set[str]:
    """The error codes of all keys. The query doesn't define which error comes first."""
    keys = [key.column.text for key in query.partition_by]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        groups.setdefault(repr([row[name] for name in keys]), []).append(row)
    codes = set()
    for rows in groups.values():
        try:
            match_rows(query, table.column_names, rows)
        except MatchError as error:
            codes.add(error.code)
    return codes


def differing(names: list[str], rows: list[tuple[Any, ...]], expected: list[dict[str, object]]) -> str | None:
    """Compares rows as a multiset, and columns in their order. Compares names only if a row is expected."""
    expected_names = tuple(expected[0]) if expected else tuple(names)
    expected_case = Case(
        name="law",
        file="law",
        columns=(),
        rows=(),
        clause="",
        expect_columns=expected_names,
        expect=tuple(_plain(tuple(row.values())) for row in expected),
    )
    return expected_case.difference(names, [_plain(row) for row in rows])


def _plain(value: Any) -> Any:
    """The value with -0.0 replaced by 0.0."""
    if isinstance(value, tuple | list):
        return tuple(_plain(item) for item in value)
    return value + 0.0 if isinstance(value, float) else value
