"""TypedEventsPlan -> the columns of each query's result: names, types and roles."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import GroupColumn, WindowEdge
from ostinato.event_queries.plan.event_plan import VARIABLE, QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind
from ostinato.event_queries.plan.event_types import TypedEventsPlan, window_type
from ostinato.expressions import types as t
from ostinato.rows.match_ids import check_identifies
from ostinato.rows.workload_layout import OutputColumn, Role

_EDGES = {WindowEdge.START: Role.WINDOW_START, WindowEdge.END: Role.WINDOW_END}


def trend_columns(
    typed: TypedEventsPlan, types: Mapping[str, pa.DataType], match_id: str | None = None
) -> list[list[OutputColumn]]:
    """For each query its output columns; `types` are those of the input's columns. `match_id`: see `match_output`."""
    return [
        match_output(query, types, match_id) if query.returns_matches else _aggregate_columns(query, kinds)
        for query, kinds in zip(typed.plan.queries, typed.output_types, strict=True)
    ]


def _aggregate_columns(query: QueryPlan, kinds: tuple[pa.DataType, ...]) -> list[OutputColumn]:
    columns = []
    for (name, output), kind in zip(query.outputs, kinds, strict=True):
        match output:
            case GroupColumn(column):
                columns.append(OutputColumn(name, Role.GROUP, kind, column))
            case WindowEdge():
                columns.append(OutputColumn(name, _EDGES[output], kind))
            case _:
                columns.append(OutputColumn(name, Role.AGGREGATE, kind, name))
    return columns


def match_output(query: QueryPlan, types: Mapping[str, pa.DataType], match_id: str | None = None) -> list[OutputColumn]:
    """The output columns of a query that returns matches. `match_id` names a column to add, with ids."""
    bound = query.bound
    columns = [OutputColumn(name, Role.GROUP, types[name], name) for name in bound.group_by]
    columns.append(OutputColumn(Role.MATCH_NUMBER.value, Role.MATCH_NUMBER, t.INT64))
    if query.programs[0].extent.kind is BoundKind.WINDOWS:
        kind = window_type(query, types[bound.time])
        columns += [OutputColumn(role.value, role, kind) for role in (Role.WINDOW_START, Role.WINDOW_END)]
    columns += [OutputColumn(role.value, role, types[bound.time]) for role in (Role.MATCH_START, Role.MATCH_END)]
    columns.append(OutputColumn(Role.EVENTS.value, Role.EVENTS, events_type(bound.columns, types)))
    if match_id is not None:
        if match_id.lower() in (column.name.lower() for column in columns):
            hint = "give the column with ids another name"
            raise QueryError("DUPLICATE_COLUMN", f"two output columns are named '{match_id}'", hint=hint)
        for name in bound.columns:  # events of one time are told apart by all columns
            check_identifies(name, types[name])
        columns.append(OutputColumn(match_id, Role.MATCH_ID, t.STRING))
    return columns


def events_type(columns: tuple[str, ...], types: Mapping[str, pa.DataType]) -> pa.DataType:
    """The type of a match's events: the variable and all columns of the input."""
    fields = [pa.field(VARIABLE, t.STRING), *(pa.field(name, types[name]) for name in columns)]
    return pa.list_(pa.field("element", pa.struct(fields)))
