"""Event queries and workloads -> the text of their explanation. No row is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError, errors_quoting
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_binding import with_keys
from ostinato.event_queries.language.event_query import (
    ReturnAggregates,
    TypeColumn,
    TypeDefinition,
    occurrences,
)
from ostinato.event_queries.language.event_render import render_event_pattern, render_event_query
from ostinato.event_queries.plan.event_plan import EventsPlan, plan_events
from ostinato.event_queries.plan.event_types import TypedEventsPlan, type_events
from ostinato.event_queries.trends.engine_groups import engine_groups, template_of
from ostinato.explanation.event_sections import (
    automaton_lines,
    condition_lines,
    engine_lines,
    matchers_of,
    output_lines,
    sequence_lines,
    shared_state_sections,
    statistics_lines,
)
from ostinato.explanation.explained_clauses import is_streaming, table_columns
from ostinato.explanation.losses_text import bounds_lines
from ostinato.explanation.shared_queries import shared_queries
from ostinato.explanation.text_sections import Section, numbered
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Field, walk
from ostinato.expressions.types import Settings, normalise
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.plan.event_groups import SharedGroups
from ostinato.workloads.workload_request import WorkloadRequest


def explain_events(
    query: Any, table: Any = None, statistics: Mapping[str, int] | None = None, losses: Section | None = None
) -> str:
    """Explains an `ost.events(...)`, or the event queries of an `ost.Workload(...)`.

    `table` gives the input's columns: a pyarrow Table or Schema, a pandas or Spark DataFrame. Without it, they are
    those that the queries mention. `statistics` and `losses` come from a run.
    """
    if isinstance(query, WorkloadRequest):
        names = tuple(query.events)
        planned = plan_queries(tuple(query.events.values()), table)
        sections = _workload_sections(planned, names, query.options.sharing, query.request.for_queries(names))
    elif isinstance(query, EventRequest):
        sections = _query_sections(plan_queries([query], table).plan, query.options.sharing)
    else:
        raise QueryError("NOT_A_QUERY", f"expected an event query or a workload, got {type(query).__name__}")
    if statistics:
        sections = [*sections, ("Counters of the last run", statistics_lines(statistics))]
    if losses is not None:
        sections = [*sections, losses]
    return numbered(sections)


def _query_sections(plan: EventsPlan, sharing: str) -> list[Section]:
    (query,) = plan.queries
    groups = engine_groups(plan, sharing=sharing)
    return [
        ("The query as understood", render_event_query(query.bound.written).split("\n")),
        (
            "The automaton: each step is a variable and the next state; a dot marks an accepting state",
            automaton_lines(query),
        ),
        ("When an event qualifies", condition_lines(plan, query)),
        ("Groups, order and windows", sequence_lines(query)),
        ("Output", output_lines(query)),
        ("How it runs", engine_lines(plan, groups, ("",))),
    ]


def _workload_sections(
    planned: PlannedEvents, names: Sequence[str], sharing: str, request: BoundRequest
) -> list[Section]:
    plan = planned.plan
    bounds = None if request.is_empty else request.bounds(names)
    shared = shared_matches_of(planned, names, sharing, request)
    width = max(map(len, names))
    patterns = [
        f"{name:<{width}}  {render_event_pattern(query.bound.written.pattern)}"
        for name, query in zip(names, plan.queries, strict=True)
    ]
    groups = engine_groups(plan, sharing=sharing)
    streams = []
    for number in range(len(plan.streams)):
        members = ", ".join(names[query] for query in plan.queries_of(number))
        streams += [
            f"{members}:",
            *(f"  {line}" for line in sequence_lines(plan.queries[plan.queries_of(number)[0]])[:3]),
        ]
    return [
        (f"The queries: {len(names)}", patterns),
        (
            "The merged template: + marks loops that queries can share, a dot marks an accepting state",
            _template(plan, names),
        ),
        ("Groups and order", streams),
        (
            "Evaluated once on each event for all queries",
            [
                f"conditions  {len(plan.conditions)}, as packed bits",
                f"values      {len(plan.values)}",
                f"pair tests  {len(plan.pair_tests)}",
            ],
        ),
        ("How they run", engine_lines(plan, groups, names, matchers_of(plan, shared, bounds, sharing))),
        *shared_state_sections(plan, names, shared),
        *([] if bounds is None else [("Bounds", bounds_lines(bounds))]),
    ]


def shared_matches_of(
    planned: PlannedEvents, names: Sequence[str], sharing: str, request: BoundRequest
) -> SharedGroups | None:
    """The queries that the shared matcher runs; None if the column types aren't known."""
    bounds = None if request.is_empty else request.bounds(names)
    if planned.typed is None:
        return None
    return shared_queries(planned.typed, names, sharing, bounds, on_stream=planned.on_stream)


def _template(plan: EventsPlan, names: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for stream in range(len(plan.streams)):
        numbers = plan.queries_of(stream)
        if lines:
            lines.append("")
        lines += template_of(plan, numbers).dump(names).split("\n")
    return lines


# --- columns ---


@dataclass(frozen=True, slots=True)
class PlannedEvents:
    """The plan of event queries, typed if the types of all columns are known."""

    plan: EventsPlan
    typed: TypedEventsPlan | None = None
    on_stream: bool = False


def plan_queries(queries: Sequence[EventRequest], table: Any) -> PlannedEvents:
    names, types = _columns(queries, table)
    bounds = []
    for each in queries:
        with errors_quoting(each.query.text):
            bounds.append(each.bound(names))
    plan = plan_events(bounds)
    if any(name not in types for name in names):
        return PlannedEvents(plan, on_stream=is_streaming(table))
    settings = Settings()
    normalised = {name: normalise(kind, settings) for name, kind in types.items()}
    try:
        typed = type_events(plan, normalised.__getitem__, settings)
    except QueryError as error:
        if error.code in ("UNSUPPORTED_FUNCTION", "UNKNOWN_FUNCTION", "UNSUPPORTED_EXPRESSION"):  # Spark may know it
            return PlannedEvents(plan, on_stream=is_streaming(table))
        raise
    return PlannedEvents(typed.plan, typed, is_streaming(table))


def _columns(queries: Sequence[EventRequest], table: Any) -> tuple[tuple[str, ...], Mapping[str, pa.DataType]]:
    if table is None:
        mentioned = (name for each in queries for name in _mentioned(each))
        return tuple({name.lower(): name for name in mentioned}.values()), {}
    columns = table_columns(table)
    return columns.names, columns.types


def _mentioned(request: EventRequest) -> Iterator[str]:
    """The columns that a query mentions."""
    query = with_keys(request.query, request.keys)
    if query.time is not None:
        yield query.time.text
    elif request.time is not None:
        yield request.time
    named = {name for event in occurrences(query.pattern) for name in (event.type, event.variable)}
    exprs: list[Expr] = [*query.where]
    if isinstance(query.types, TypeColumn):
        yield query.types.column.text
    elif isinstance(query.types, tuple):
        exprs += [one.condition for one in query.types if isinstance(one, TypeDefinition)]
    elif isinstance(request.type, str):
        yield request.type
    yield from (name.text for name in (*query.group_by, *(name for same in query.same for name in same.columns)))
    if isinstance(query.returns, ReturnAggregates):
        exprs += [item.expression for item in query.returns.items]
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, ColumnRef):
                yield from _column_of(node, named)
            elif isinstance(node, Field) and isinstance(node.base, Call) and node.base.name in ("next", "prev"):
                yield node.name.text


def _column_of(node: ColumnRef, named: set[str]) -> Iterator[str]:
    first = node.parts[0].text
    if first not in named:
        if first.lower() not in ("window_start", "window_end"):
            yield first
    elif len(node.parts) > 1:
        yield node.parts[1].text
