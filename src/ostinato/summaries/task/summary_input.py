"""The columns of a summary, resolved and typed, and keys as users write them. No kernels here.

columns = SummaryColumns(type="kind", time="ts", keys=("account",), value="price")     # as the user wrote them
source = summary_input(columns, table.column_names, type_of_column)   # checked, with types; can be pickled
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_types import MAX_EXACT_PRECISION
from ostinato.expressions import types as t
from ostinato.rows.column_lookup import ColumnLookup


@dataclass(frozen=True, slots=True)
class SummaryColumns:
    """The columns of a summary, as the user wrote them."""

    type: str
    time: str
    ties: tuple[str, ...] = ()
    """Columns that order events of one time, before type and value."""
    value: str | None = None
    keys: tuple[str, ...] = ()
    counts_units: bool = False
    """Whether the window is a number of units, for times that are whole numbers. Otherwise it is a duration."""


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """The columns of an input, with their Arrow types at the worker."""

    columns: SummaryColumns
    types: tuple[pa.DataType, ...]
    """The types of `needed`."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The distinct columns to ship."""
        named = self.columns
        value = () if named.value is None else (named.value,)
        return tuple(dict.fromkeys((*named.keys, named.time, *named.ties, named.type, *value)))

    def type_of(self, name: str) -> pa.DataType:
        return self.types[self.needed.index(name)]

    @property
    def time_type(self) -> pa.DataType:
        return self.type_of(self.columns.time)

    @property
    def value_type(self) -> pa.DataType | None:
        return None if self.columns.value is None else self.type_of(self.columns.value)

    @property
    def float_values(self) -> bool:
        return self.value_type is not None and t.is_float(self.value_type)

    @property
    def scale(self) -> int:
        """The number of decimal digits. Decimals are summed as unscaled integers."""
        return self.value_type.scale if self.value_type is not None and t.is_decimal(self.value_type) else 0


@dataclass(frozen=True, slots=True)
class Moments:
    """Evaluation times: these times, the times of rows in which the column is true, or else the end."""

    times_us: tuple[int, ...] | None = None
    column: str | None = None


# --- columns -> input -------------------------------------------------------------------------------------------------


def summary_input(
    columns: SummaryColumns,
    names: Sequence[str],
    type_of: Callable[[str], pa.DataType],
    settings: t.Settings = t.Settings(),
) -> SummaryInput:
    """Resolves and checks the columns of an input with these names. `type_of` gives the Arrow type of a column.

    Raises UNKNOWN_COLUMN, AMBIGUOUS_COLUMN, TYPE_MISMATCH, INVALID_TIME, INVALID_WITHIN and UNSUPPORTED_TYPE.
    """
    resolved = ColumnLookup(names, settings.case_sensitive).column
    named = SummaryColumns(
        type=resolved(columns.type),
        time=resolved(columns.time),
        ties=tuple(map(resolved, columns.ties)),
        value=None if columns.value is None else resolved(columns.value),
        keys=tuple(map(resolved, columns.keys)),
        counts_units=columns.counts_units,
    )
    needed = SummaryInput(named, ()).needed
    source = SummaryInput(named, tuple(t.normalise(type_of(name), settings) for name in needed))
    _check_type(source)
    _check_time(source)
    _check_value(source)
    return source


def _check_type(source: SummaryInput) -> None:
    name = source.columns.type
    kind = source.type_of(name)
    if kind != t.STRING:
        message = f"types of events are texts, but '{name}' is {t.spark_name(kind)}"
        raise QueryError("TYPE_MISMATCH", message, hint="cast the column to text before")


def _check_time(source: SummaryInput) -> None:
    name, kind = source.columns.time, source.time_type
    if not (t.is_datetime(kind) or t.is_integral(kind)):
        message = f"the first column of time= is a TIMESTAMP, a DATE or a whole number, but '{name}' is"
        raise QueryError("INVALID_TIME", f"{message} {t.spark_name(kind)}")
    if t.is_datetime(kind) == source.columns.counts_units:
        is_number = source.columns.counts_units
        message = f"within is {'a number' if is_number else 'a length of time'}, but '{name}' is {t.spark_name(kind)}"
        hint = 'write within="10 minutes"' if is_number else "write within=600, in the units of the column"
        raise QueryError("INVALID_WITHIN", message, hint=hint)


def _check_value(source: SummaryInput) -> None:
    kind = source.value_type
    if kind is None or (t.is_numeric(kind) and not (t.is_decimal(kind) and kind.precision > MAX_EXACT_PRECISION)):
        return
    wanted, hint = "numbers", None
    if t.is_decimal(kind):
        wanted = f"decimals of at most {MAX_EXACT_PRECISION} digits"
        hint = f"CAST it AS DECIMAL({MAX_EXACT_PRECISION}, {min(kind.scale, MAX_EXACT_PRECISION)})"
    message = f"a summary adds up {wanted}, but '{source.columns.value}' is {t.spark_name(kind)}"
    raise QueryError("UNSUPPORTED_TYPE", message, hint=hint)


# --- one key ----------------------------------------------------------------------------------------------------------


def key_arrays_of(source: SummaryInput, key: Any) -> list[pa.Array]:
    """A key as a user writes it (a value, a tuple of them, or a mapping by column) as arrays of length 1.

    Raises SUMMARY_KEY if it is missing or doesn't fit the key columns.
    """
    names = source.columns.keys
    values = key_values(names, key)
    try:
        return [pa.array([value], source.type_of(name)) for name, value in zip(names, values, strict=True)]
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        message = f"the key {key!r} doesn't fit the types of {', '.join(names)}: {error}"
        raise QueryError("SUMMARY_KEY", message) from None


def key_values(names: Sequence[str], key: Any) -> list[Any]:
    """The values of a key as a user writes it, in the order of the key columns."""
    columns = ", ".join(names) or "no key columns"
    if key is None and names:
        hint = "ask_all answers for all keys; key={...: None} is the key NULL"
        raise QueryError("SUMMARY_KEY", f"there is a summary for each {columns}", hint=hint)
    if isinstance(key, Mapping):
        by_name = {str(name).lower(): value for name, value in key.items()}
        if by_name.keys() != {name.lower() for name in names}:
            raise QueryError("SUMMARY_KEY", f"a key has a value for each of {columns}, this one is {dict(key)!r}")
        return [by_name[name.lower()] for name in names]
    values = list(key) if isinstance(key, tuple | list) else [key] if names else []
    if len(values) != len(names) or (not names and key is not None):
        raise QueryError("SUMMARY_KEY", f"the summary is kept by {columns}, which {key!r} doesn't fit")
    return values
