"""The rows of many queries in one table: which column of which query goes where. Types only; no values here.

Internally each distinct (column, type) is a column of its own, so that a query's rows can be read back as they were.
The table for people has one column for each name; what queries give in different types is text there.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings

QUERY = "query"


class Role(enum.Enum):
    """What a column of a query's result is, by the name that the common table has for it."""

    GROUP = "group"
    WINDOW_START = "window_start"
    WINDOW_END = "window_end"
    AGGREGATE = "aggregates"
    MEASURE = "measures"
    MATCH_NUMBER = "match_number"
    MATCH_START = "match_start"
    MATCH_END = "match_end"
    EVENTS = "events"


IN_STRUCTS = (Role.GROUP, Role.AGGREGATE, Role.MEASURE)
"""Roles of which a query may have many columns: each is a struct in the common table."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of one query's result. `key` is its name in the common table's struct, where it stands in one."""

    name: str
    role: Role
    type: pa.DataType
    key: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
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
class Layout:
    """`places[q][i]` is the stored column of the i-th column of query q."""

    stored: tuple[Stored, ...]
    places: tuple[tuple[int, ...], ...]

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


def make_layout(queries: Sequence[Sequence[OutputColumn]]) -> Layout:
    """Puts equal columns of queries together."""
    stored: dict[tuple[Role, str, pa.DataType], int] = {}
    places = []
    for columns in queries:
        keys = [(column.role, column.key, column.type) for column in columns]
        places.append(tuple(stored.setdefault(key, len(stored)) for key in keys))
    return Layout(tuple(Stored(*key) for key in stored), tuple(places))


def common_table(layout: Layout, names: Sequence[str], tables: Sequence[pa.Table], settings: Settings) -> pa.Table:
    """The rows of all queries in one table, in the order of the queries."""
    parts = []
    common = layout.common
    for q, (name, table) in enumerate(zip(names, tables, strict=True)):
        mine = {place: table.column(i) for i, place in enumerate(layout.places[q])}
        arrays: dict[str, pa.Array] = {QUERY: pa.repeat(pa.scalar(name, pa.string()), table.num_rows)}
        for role in Role:
            columns = [column for column in common if column.role is role]
            values = [_shown(column, mine, table.num_rows, settings) for column in columns]
            if columns and role in IN_STRUCTS:
                fields = [pa.field(column.key, column.type) for column in columns]
                arrays[role.value] = pa.StructArray.from_arrays(values, fields=fields)
            elif columns:
                arrays[role.value] = values[0]
        parts.append(pa.table(arrays))
    return pa.concat_tables(parts)


def _shown(column: CommonColumn, mine: dict[int, pa.ChunkedArray], count: int, settings: Settings) -> pa.Array:
    values = next((mine[place] for place in column.stored if place in mine), None)
    if values is None:
        return pa.nulls(count, column.type)
    array = values.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks or [pa.array([], values.type)])
    return array if array.type == column.type else as_text(array, settings)


def as_text(array: pa.Array, settings: Settings) -> pa.Array:
    """The values as Spark casts them to STRING; NULL stays NULL."""
    values = {Column("value"): array}
    return evaluate(
        Cast(Column("value"), "STRING"), lambda node: values.get(node) if isinstance(node, Column) else None,
        len(array), settings,
    )  # fmt: skip
