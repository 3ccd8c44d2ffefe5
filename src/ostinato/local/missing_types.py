"""Bound event queries and a table -> a warning for each type that no event has. It is mostly a misspelled name."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ostinato.errors import did_you_mean, warn
from ostinato.event_queries.language.event_query import BoundEventQuery, TypeColumn, occurrences
from ostinato.expressions import types as t
from ostinato.rows.column_lookup import ColumnLookup

MAX_COMPARED = 1_000
"""With more types than this in the data, the warning names no similar one."""


def warn_of_missing_types(bounds: Iterable[BoundEventQuery], table: pa.Table, settings: t.Settings) -> None:
    """Types that are conditions aren't checked. An empty table gives no warning."""
    if table.num_rows == 0:
        return
    lookup = ColumnLookup(table.column_names, settings.case_sensitive)
    wanted: dict[str, dict[str, None]] = {}
    for bound in bounds:
        if isinstance(bound.query.types, TypeColumn):
            column = lookup.column(bound.query.types.column.text)
            wanted.setdefault(column, {}).update((event.type, None) for event in occurrences(bound.query.pattern))
    for column, types in wanted.items():
        present = _types_in(table.column(column))
        for name in types:
            if present is not None and name not in present:
                hint = did_you_mean(name, present) if len(present) <= MAX_COMPARED else None
                warn(f"no event has type '{name}' in the column '{column}'" + (f"; {hint}" if hint else ""))


def _types_in(column: pa.ChunkedArray) -> set[str] | None:
    """The different texts of the column; None if it isn't a column of texts."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return None
    return {text for text in column.unique().to_pylist() if text is not None}
