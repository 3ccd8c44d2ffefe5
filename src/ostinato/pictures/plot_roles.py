"""The columns of matches and rows -> their roles in a plot: asked for by name, or recognised by name and type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.pictures.plot_axis import Axis, AxisKind, axis_of, is_number
from ostinato.rows.column_lookup import ColumnLookup, columns_hint

EVENTS = "events"
"""The column of RETURN MATCHES with the events of a match."""
_LABEL_NAMES = ("classifier", "label", "labels", "variable")
_NUMBER_NAMES = ("match_number", "match_no", "match", "number")
_START_NAMES = (
    "match_start",
    "correlation_start",
    "start",
    "started",
    "began",
    "begin",
    "first",
    "start_time",
    "start_ts",
)
_END_NAMES = ("match_end", "correlation_end", "end", "ended", "last", "end_time", "end_ts")
Types = Mapping[str, pa.DataType]


@dataclass(frozen=True, slots=True)
class AskedColumns:
    """The columns that the caller named."""

    x: str | None = None
    y: str | None = None
    keys: tuple[str, ...] | None = None
    labels: str | None = None
    number: str | None = None
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class PlotRoles:
    """The columns of the matches (and, for x, y and keys, of the rows) by their meaning."""

    axis: Axis
    x: str
    y: str | None
    keys: tuple[str, ...]
    labels: str | None = None
    number: str | None = None
    events: str | None = None
    start: str = ""
    end: str = ""
    variables: tuple[str, ...] = ()
    """The variables in the order of the pattern, if it is known."""


def plot_roles(types: Types, asked: AskedColumns, **roles: Any) -> PlotRoles:
    """The roles with their names as the table spells them. Raises UNKNOWN_COLUMN and PLOT_COLUMN."""
    lookup = ColumnLookup(list(types), case_sensitive=False)
    if asked.x is None:
        hint = f"x= names a column of times or numbers: {', '.join(_placed(types)) or 'there is none'}"
        raise QueryError("PLOT_COLUMN", "it isn't clear which column orders the rows", hint=hint)
    x = lookup.column(asked.x)
    axis = axis_of(types[x])
    if axis is None:
        hint = f"columns of times and numbers: {', '.join(_placed(types)) or 'none'}"
        raise QueryError("PLOT_COLUMN", f"x='{x}' is {types[x]}, which has no place on a line", hint=hint)
    y = None if asked.y is None else lookup.column(asked.y)
    if y is not None and not is_number(types[y]):
        hint = f"columns of numbers: {', '.join(name for name in types if is_number(types[name])) or 'none'}"
        raise QueryError("PLOT_COLUMN", f"y='{y}' is {types[y]}, not a number", hint=hint)
    return PlotRoles(axis, x, y, tuple(lookup.column(key) for key in asked.keys or ()), **roles)


def roles_in_matches(own: Types, of_rows: Types | None, asked: AskedColumns) -> PlotRoles:
    """The roles of the columns in a table of matches; `of_rows` are the columns of the rows, if there are rows."""
    types = own if of_rows is None else of_rows
    lookup = ColumnLookup(list(own), case_sensitive=False)
    if _is_events(own.get(EVENTS)):
        fields = {item.name: item.type for item in own[EVENTS].value_type}
        keys = asked.keys if asked.keys is not None else _leading_keys(own, fields, ())
        columns = replace(asked, x=asked.x or _only_time(fields), keys=keys)
        roles = plot_roles({**fields, **own} if of_rows is None else types, columns, events=EVENTS)
        _require(fields, (roles.x, roles.y), "the list of events")
        _require(own, roles.keys, "the table of matches")
        return roles
    labels = lookup.column(asked.labels) if asked.labels else _named(own, _LABEL_NAMES, pa.types.is_string)
    x = asked.x or _only_time(types)
    if labels is not None and x is not None and x in lookup:
        number = lookup.column(asked.number) if asked.number else _named(own, _NUMBER_NAMES, pa.types.is_integer)
        if number is None:
            hint = "add MATCH_NUMBER() AS match_number to MEASURES, or pass the query itself to ost.plot"
            raise QueryError("PLOT_COLUMN", "it isn't clear which rows form a match", hint=hint)
        keys = asked.keys if asked.keys is not None else _leading_keys(own, types, (x, labels, number))
        columns = replace(asked, x=x, keys=keys)
        y = asked.y or (None if of_rows is None else first_number(types, columns, ()))
        roles = plot_roles(own, replace(columns, y=y), labels=labels, number=number)
        _require(types, (roles.x, roles.y, *roles.keys), "the table of rows")
        return roles
    if asked.labels or asked.number:
        hint = "labels= and number= are for tables with a row for each row of a match, and its x"
        raise QueryError("PLOT_COLUMN", f"the matches have no column '{x}' of their rows", hint=hint)
    start, end = _span(own, None if x is None else axis_of(types.get(x, pa.null())), asked, lookup)
    if of_rows is None:
        texts = {name: kind for name, kind in own.items() if pa.types.is_string(kind)}
        keys = asked.keys if asked.keys is not None else _leading_keys(own, texts, ())
        return plot_roles(own, replace(asked, x=start, y=None, keys=keys), start=start, end=end)
    keys = asked.keys if asked.keys is not None else _leading_keys(own, types, (start, end))
    columns = replace(asked, x=x, keys=keys)
    columns = replace(columns, y=asked.y or first_number(types, columns, ()))
    roles = plot_roles(types, columns, start=start, end=end)
    _require(own, roles.keys, "the table of matches")
    return roles


def _require(types: Types, names: Iterable[str | None], of: str) -> None:
    for name in names:
        if name is not None and name not in types:
            raise QueryError("UNKNOWN_COLUMN", f"{of} has no column '{name}'", hint=columns_hint(name, list(types)))


def _is_events(kind: pa.DataType | None) -> bool:
    """Whether a column has the lists of events that RETURN MATCHES gives."""
    if kind is None or not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    return any(item.name == "variable" for item in kind.value_type)


def _span(own: Types, axis: Axis | None, asked: AskedColumns, lookup: ColumnLookup) -> tuple[str, str]:
    """The columns with the first and the last x of each match."""

    def is_placed(kind: pa.DataType) -> bool:
        other = axis_of(kind)
        return other is not None and (axis is None or other.kind is axis.kind)

    start = lookup.column(asked.start) if asked.start else _named(own, _START_NAMES, is_placed)
    end = lookup.column(asked.end) if asked.end else _named(own, _END_NAMES, is_placed)
    times = [name for name in own if is_placed(own[name]) and axis_of(own[name]) != Axis(AxisKind.NUMBER)]
    if (start is None or end is None) and times:
        start, end = start or times[0], end or times[-1]
    for name in (start, end):
        if name is not None and not is_placed(own[name]):
            raise QueryError("PLOT_COLUMN", f"'{name}' is {own[name]}, which isn't a value of x")
    if start is not None and end is not None and axis_of(own[start]) != axis_of(own[end]):
        raise QueryError(
            "PLOT_COLUMN", f"'{start}' is {own[start]}, and '{end}' is {own[end]}: they have no common axis"
        )
    if start is None or end is None:
        hint = "start= and end= name columns of the matches, such as FIRST(ts) AS start, LAST(ts) AS end"
        raise QueryError("PLOT_COLUMN", "it isn't clear where a match starts and ends", hint=hint)
    return start, end


def _named(types: Types, names: Sequence[str], fits: Callable[[pa.DataType], bool]) -> str | None:
    by_name = {name.lower(): name for name in types}
    return next((by_name[name] for name in names if name in by_name and fits(types[by_name[name]])), None)


def _leading_keys(own: Types, of_rows: Types, others: Sequence[str]) -> tuple[str, ...]:
    """The first columns of the matches that the rows have too: PARTITION BY and GROUP BY columns come first."""
    keys: list[str] = []
    for name, kind in own.items():
        if name not in of_rows or name in others or pa.types.is_floating(kind) or pa.types.is_timestamp(kind):
            break
        keys.append(name)
    return tuple(keys)


def _placed(types: Types) -> list[str]:
    return [name for name in types if axis_of(types[name]) is not None]


def _only_time(types: Types) -> str | None:
    times = [name for name in _placed(types) if axis_of(types[name]) != Axis(AxisKind.NUMBER)]
    return times[0] if len(times) == 1 else None


def first_number(types: Types, asked: AskedColumns, preferred: Iterable[str]) -> str | None:
    """The first of the preferred columns that is a number, else the first number of the table."""
    taken = {name.lower() for name in (asked.x, *(asked.keys or ())) if name}
    by_name = {name.lower(): name for name in types if is_number(types[name]) and name.lower() not in taken}
    return next((by_name[name.lower()] for name in (*preferred, *by_name) if name.lower() in by_name), None)
