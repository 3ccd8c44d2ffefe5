"""`key=` and `rows=` of a call about one key -> the rows of that key, and the positions of its start rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.options import is_number, shown
from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions import types as t
from ostinato.rows.column_lookup import ColumnLookup

Key = Mapping[str, object] | object
"""The values of the key columns by name, or the value of the only one; None: the table has a single key."""

_HINT = 'key={"symbol": "ACME"}, or key="ACME" if there is one key column'
_MOST_LISTED = 5


def rows_of_key(
    partition_by: Sequence[str], table: pa.Table, key: Key, settings: t.Settings
) -> tuple[pa.Table, dict[str, object]]:
    """The rows with these values, in the table's order, and the values by column.

    Raises KEY_MISSING, INVALID_KEY, UNKNOWN_COLUMN and KEY_NOT_FOUND.
    """
    values = _key_values(partition_by, key, settings)
    if values is None:
        values = _only_key(partition_by, table)
    mask = pa.array(np.ones(table.num_rows, np.bool_))
    for name, value in values.items():
        mask = pc.and_(mask, _equals(name, table.column(name).combine_chunks(), value))
    rows = table.filter(mask)
    if values and not rows.num_rows:
        message = f"no row has {_words(values)}"
        raise QueryError("KEY_NOT_FOUND", message, hint=_listed_keys(partition_by, table))
    return rows, values


def _key_values(partition_by: Sequence[str], key: Key, settings: t.Settings) -> dict[str, object] | None:
    """The values in the order of PARTITION BY; None if none are given."""
    if isinstance(key, Mapping):
        lookup = ColumnLookup(partition_by, settings.case_sensitive)
        given = {}
        for name, value in key.items():
            if not isinstance(name, str) or name not in lookup:
                hint = (did_you_mean(name, partition_by) if isinstance(name, str) else None) or _key_columns(
                    partition_by
                )
                raise QueryError("INVALID_KEY", f"{shown(name)} isn't a key column of the query", hint=hint)
            given[lookup.column(name)] = value
        absent = [name for name in partition_by if name not in given]
        if absent:
            raise QueryError("KEY_MISSING", f"the key has no value for '{absent[0]}'", hint=_key_columns(partition_by))
        return {name: given[name] for name in partition_by}
    if key is None:
        return None if partition_by else {}
    if len(partition_by) != 1:
        raise QueryError("INVALID_KEY", f"the query can't have the key {shown(key)}", hint=_key_columns(partition_by))
    return {partition_by[0]: key}


def _only_key(partition_by: Sequence[str], table: pa.Table) -> dict[str, object]:
    """The values of the table's only key. An empty table has none of them."""
    keys = _first_keys(partition_by, table, 2)
    if len(keys) > 1:
        message = f"the rows have several keys, and the call explains one: {', '.join(partition_by)}"
        raise QueryError("KEY_MISSING", message, hint=_listed_keys(partition_by, table))
    return keys[0] if keys else {}


def _first_keys(partition_by: Sequence[str], table: pa.Table, most: int) -> list[dict[str, object]]:
    keys: dict[str, dict[str, object]] = {}
    columns = table.select(list(dict.fromkeys(partition_by)))
    for batch in columns.to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            keys.setdefault(repr(row), row)
            if len(keys) > most:
                break
    return list(keys.values())[:most]


def _listed_keys(partition_by: Sequence[str], table: pa.Table) -> str:
    """Some keys of the table, as arguments."""
    keys = [key if len(key) > 1 else next(iter(key.values())) for key in _first_keys(partition_by, table, _MOST_LISTED)]
    return "key= is one of " + ", ".join(shown(key) for key in keys) + ", ..." if keys else "the table is empty"


def _key_columns(partition_by: Sequence[str]) -> str:
    if not partition_by:
        return "leave key= out: the query has no PARTITION BY"
    return f"the key columns are {', '.join(partition_by)}: {_HINT}"


def _words(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _equals(name: str, column: pa.Array, value: Any) -> pa.Array:
    """The rows of this key. NULL equals NULL, and NaN equals NaN."""
    message = f"the key column '{name}' is {t.spark_name(column.type)}, which {shown(value)} isn't"
    if is_number(value) and not t.is_numeric(column.type):  # Arrow would take it for a number of days
        raise QueryError("INVALID_KEY", message, hint=_HINT)
    try:
        wanted = pa.scalar(value, column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise QueryError("INVALID_KEY", message, hint=_HINT) from error
    if not wanted.is_valid:
        return column.is_null()
    if t.is_nested(column.type):
        return pa.array([each == wanted.as_py() for each in column.to_pylist()], pa.bool_())
    if isinstance(value, float) and value != value:
        return pc.fill_null(pc.is_nan(column), False)
    return pc.fill_null(pc.equal(column, wanted), False)


def wanted_starts(rows: Any, count: int) -> list[int] | None:
    """Positions of start rows, each from 0 to below `count`. Raises INVALID_OPTION."""
    if rows is None:
        return None
    if isinstance(rows, slice):
        return list(range(*_slice_indices(rows, count)))
    several = [rows] if isinstance(rows, int) else rows
    if isinstance(several, str | bytes) or not isinstance(several, Iterable):
        raise QueryError("INVALID_OPTION", f"rows can't be {shown(rows)}", hint="rows=3, rows=range(10), rows=[0, 7]")
    result = []
    for position in several:
        if not isinstance(position, int | np.integer) or isinstance(position, bool) or not 0 <= position < count:
            hint = "rows= has positions in the order of the key, the first is 0"
            message = f"{shown(position)} isn't the position of a row: the key has {count:,} rows"
            raise QueryError("INVALID_OPTION", message, hint=hint)
        result.append(int(position))
    return result


def _slice_indices(rows: slice, count: int) -> tuple[int, int, int]:
    try:
        return rows.indices(count)
    except (TypeError, ValueError) as error:
        raise QueryError("INVALID_OPTION", f"rows can't be {shown(rows)}", hint="rows=slice(0, 10)") from error
