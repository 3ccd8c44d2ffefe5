"""One clause and one table through the engine and through the oracle, and what differs between the two."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from tests.cases import Case

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import MatchError
from ostinato.local.local_clause import match_table
from ostinato.reference.clause_oracle import match_rows


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table; no column is still a row."""
    return [tuple(row.values()) for row in table.to_pylist()]


def difference(text: str, table: pa.Table) -> str | None:
    """What the engine gives otherwise than the oracle; None when nothing. NotImplementedError: the oracle declines."""
    query = parse_clause(text)
    try:
        found = match_table(query, table)
    except MatchError as error:
        codes = oracle_codes(query, table)
        return None if error.code in codes else f"engine fails with {error}; the oracle's errors: {sorted(codes)}"
    try:
        expected = match_rows(query, table.column_names, table.to_pylist())
    except MatchError as error:
        return f"the oracle fails with {error}, the engine gives {found.to_pylist()}"
    return differing(found.column_names, rows_of(found), expected)


def oracle_codes(query: MatchRecognize, table: pa.Table) -> set[str]:
    """The errors of all keys: which of them comes first is not told by the query."""
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
    """Rows as a multiset, columns in their order; names can't be compared where there is no row."""
    wanted = tuple(expected[0]) if expected else tuple(names)
    case = Case(
        name="law",
        file="law",
        columns=(),
        rows=(),
        clause="",
        expect_columns=wanted,
        expect=tuple(_plain(tuple(row.values())) for row in expected),
    )
    return case.difference(names, [_plain(row) for row in rows])


def _plain(value: Any) -> Any:
    """-0.0 equals 0.0."""
    if isinstance(value, tuple | list):
        return tuple(_plain(part) for part in value)
    return value + 0.0 if isinstance(value, float) else value
