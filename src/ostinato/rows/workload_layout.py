"""The output columns of many queries -> one layout for all: stored columns, and a common table for people.

Each distinct (column, type) is a stored column, so that a query's rows can be read back unchanged. The common table
has one column for each name; values that have different types in different queries are text there.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings
from ostinato.rows.batches import one_array
from ostinato.rows.column_leaves import by_column_name

QUERY = "query"


class Role(enum.Enum):
    """The role of a column in a query's result; the value is its name in the common table."""

    GROUP = "group"
    WINDOW_START = "window_start"
    WINDOW_END = "window_end"
    AGGREGATE = "aggregates"
    MEASURE = "measures"
    MATCH_NUMBER = "match_number"
    MATCH_ID = "match_id"
    MATCH_START = "match_start"
    MATCH_END = "match_end"
    EVENTS = "events"


IN_STRUCTS = (Role.GROUP, Role.AGGREGATE, Role.MEASURE)
"""Roles that a query may have many columns of: each role is a struct in the common table."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of one query's result. `key` is its name in a struct of the common table, if it is in one."""

    name: str
    role: Role
    type: pa.DataType
    key: str = ""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column that several queries may fill."""

    role: Role
    key: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class CommonColumn:
    """A column of the common table, or a field of its structs: the stored columns that it shows."""

    role: Role
    key: str
    type: pa.DataType
    stored: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WorkloadLayout:
    """`column_numbers[q][i]` is the stored column of the i-th column of query q."""

    stored: tuple[StoredColumn, ...]
    column_numbers: tuple[tuple[int, ...], ...]

    @property
    def common(self) -> tuple[CommonColumn, ...]:
        """The columns of the common table beside `query`, those of one struct together."""
        stored_by_name: dict[tuple[Role, str], list[int]] = {}
        for number, column in enumerate(self.stored):
            stored_by_name.setdefault((column.role, column.key), []).append(number)
        columns = []
        for role in Role:
            for (other, key), numbers in stored_by_name.items():
                if other is role:
                    kind = self.stored[numbers[0]].type if len(numbers) == 1 else pa.string()
                    columns.append(CommonColumn(role, key, kind, tuple(numbers)))
        return tuple(columns)


def make_layout(queries: Sequence[Sequence[OutputColumn]]) -> WorkloadLayout:
    """Puts equal columns of queries together."""
    stored: dict[tuple[Role, str, pa.DataType], int] = {}
    column_numbers = []
    for columns in queries:
        keys = [(column.role, column.key, column.type) for column in columns]
        column_numbers.append(tuple(stored.setdefault(key, len(stored)) for key in keys))
    return WorkloadLayout(tuple(StoredColumn(*key) for key in stored), tuple(column_numbers))


def common_table(
    layout: WorkloadLayout, names: Sequence[str], tables: Sequence[pa.Table], settings: Settings
) -> pa.Table:
    """The rows of all queries in one table, in the order of the queries."""
    tables_by_query = []
    common = layout.common
    for q, (name, table) in enumerate(zip(names, tables, strict=True)):
        values_by_column = dict(zip(layout.column_numbers[q], table.columns, strict=True))
        arrays: dict[str, pa.Array] = {QUERY: pa.repeat(pa.scalar(name, pa.string()), table.num_rows)}
        for role in Role:
            columns = [column for column in common if column.role is role]
            values = [_shown(column, values_by_column, table.num_rows, settings) for column in columns]
            if columns and role in IN_STRUCTS:
                fields = [pa.field(column.key, column.type) for column in columns]
                arrays[role.value] = pa.StructArray.from_arrays(values, fields=fields)
            elif columns:
                arrays[role.value] = values[0]
        tables_by_query.append(pa.table(arrays))
    return pa.concat_tables(tables_by_query)


def _shown(
    column: CommonColumn, values_by_column: dict[int, pa.ChunkedArray], count: int, settings: Settings
) -> pa.Array:
    values = next((values_by_column[number] for number in column.stored if number in values_by_column), None)
    if values is None:
        return pa.nulls(count, column.type)
    array = one_array(values)
    return array if array.type == column.type else as_text(array, settings)


def as_text(array: pa.Array, settings: Settings) -> pa.Array:
    """The values as Spark casts them to STRING; NULL stays NULL."""
    return evaluate(Cast(Column("value"), "STRING"), by_column_name({"value": array}), len(array), settings)
