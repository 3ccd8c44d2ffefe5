"""Event queries and workloads -> how they are understood and run, as text. No row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import pyarrow as pa

from ostinato.calls.bounds import Bounds
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError, speaking_of
from ostinato.event_queries.language.event_binding import TypeArgument, bind_event_query
from ostinato.event_queries.language.event_query import (
    EventQuery,
    ReturnAggregates,
    TypeColumn,
    TypeDefinition,
    occurrences,
)
from ostinato.event_queries.language.event_render import render_event_pattern, render_event_query
from ostinato.event_queries.plan.engine_groups import engine_groups, template_of
from ostinato.event_queries.plan.event_plan import EventsPlan, plan_events
from ostinato.event_queries.plan.event_types import TypedEventsPlan, type_events
from ostinato.explanation.asked import is_streaming
from ostinato.explanation.event_parts import (
    automaton_part,
    conditions_part,
    engine_part,
    matchers_of,
    matches_parts,
    outputs_part,
    statistics_part,
    stream_part,
)
from ostinato.explanation.losses_text import GaveUp, bounds_part
from ostinato.explanation.shared_queries import shared_queries
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Field, walk
from ostinato.expressions.types import Settings, normalise, parse_type
from ostinato.workloads.plan.clause_groups import Sharing
from ostinato.workloads.plan.event_groups import SharedMatches

INDENT = "   "


class HasSharing(Protocol):
    """The options of a query or a workload."""

    @property
    def sharing(self) -> Sharing: ...


class HasBounds(Protocol):
    """The bounds of a workload."""

    @property
    def is_empty(self) -> bool: ...
    def bounds(self, names: Sequence[str]) -> Bounds: ...
    def for_queries(self, names: Sequence[str]) -> HasBounds: ...


@runtime_checkable
class AsksEvents(Protocol):
    """An `ost.events(...)`."""

    query: EventQuery
    type: TypeArgument
    time: str | None
    options: HasSharing


class HasClause(Protocol):
    """A query with MATCH_RECOGNIZE."""

    @property
    def clause(self) -> MatchRecognize: ...


@runtime_checkable
class AsksWorkload(Protocol):
    """An `ost.Workload(...)`."""

    events: Mapping[str, AsksEvents]
    clauses: Mapping[str, HasClause]
    options: HasSharing
    request: HasBounds


@runtime_checkable
class Ran(GaveUp, Protocol):
    """The result of `ost.Workload(...).run(...)`."""

    workload: AsksWorkload
    statistics: Mapping[str, int]
    input: object | None
    """A table, a schema or a DataFrame: it has columns."""


Part = tuple[str, list[str]]


def explain_events(
    question: Any, table: Any = None, statistics: Mapping[str, int] | None = None, losses: Part | None = None
) -> str:
    """How an `ost.events(...)` or the event queries of an `ost.Workload(...)` are understood and run.

    `table` gives the input's columns: a pyarrow Table or Schema, a pandas or Spark DataFrame; without it they are those
    that the queries mention. `statistics` and `losses` are those of a run: what was shared, and what that saved; what
    was given up.
    """
    if isinstance(question, AsksWorkload):
        names = tuple(question.events)
        planned = plan_asked(tuple(question.events.values()), table)
        parts = _workload_parts(planned, names, question.options.sharing, question.request.for_queries(names))
    elif isinstance(question, AsksEvents):
        parts = _query_parts(plan_asked([question], table).plan, question.options.sharing)
    else:
        raise QueryError("NOT_A_QUERY", f"expected an event query or a workload, got {type(question).__name__}")
    if statistics:
        parts = [*parts, ("What the last run did", statistics_part(statistics))]
    if losses is not None:
        parts = [*parts, losses]
    return "\n\n".join(_numbered(i, title, lines) for i, (title, lines) in enumerate(parts, start=1))


def _numbered(number: int, title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{number}. {title}", *(f"{INDENT}{line}".rstrip() for line in lines)])


def _query_parts(plan: EventsPlan, sharing: str) -> list[Part]:
    (query,) = plan.queries
    groups = engine_groups(plan, sharing=sharing)
    return [
        ("The query as understood", render_event_query(query.bound.query).split("\n")),
        (
            "The automaton: variables by which events lead from state to state; a dot marks an end",
            automaton_part(query),
        ),
        ("When an event qualifies", conditions_part(plan, query)),
        ("Groups, order and windows", stream_part(query)),
        ("What comes back", outputs_part(query)),
        ("How it runs", engine_part(plan, groups, ("",))),
    ]


def _workload_parts(planned: Planned, names: Sequence[str], sharing: str, request: HasBounds) -> list[Part]:
    plan = planned.plan
    bounds = None if request.is_empty else request.bounds(names)
    shared = shared_of(planned, names, sharing, request)
    width = max(map(len, names))
    patterns = [
        f"{name:<{width}}  {render_event_pattern(query.bound.query.pattern)}"
        for name, query in zip(names, plan.queries, strict=True)
    ]
    groups = engine_groups(plan, sharing=sharing)
    streams = []
    for number in range(len(plan.streams)):
        called = ", ".join(names[query] for query in plan.queries_of(number))
        streams += [f"{called}:", *(f"  {line}" for line in stream_part(plan.queries[plan.queries_of(number)[0]])[:3])]
    return [
        (f"The queries: {len(names)}", patterns),
        ("The merged template: + marks what queries can share, a dot an end", _template(plan, names)),
        ("Groups and order", streams),
        (
            "What is asked of each event, once for all queries",
            [
                f"conditions  {len(plan.conditions)}, as packed bits",
                f"values      {len(plan.values)}",
                f"of pairs    {len(plan.pair_tests)}",
            ],
        ),
        ("How they run", engine_part(plan, groups, names, matchers_of(plan, shared, bounds, sharing))),
        *matches_parts(plan, names, shared),
        *([] if bounds is None else [("What may be given up", bounds_part(bounds))]),
    ]


def shared_of(planned: Planned, names: Sequence[str], sharing: str, request: HasBounds) -> SharedMatches | None:
    """The queries of the shared matcher; None where the types of columns aren't known."""
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
class Planned:
    """The plan of event queries; with types where those of all columns are known."""

    plan: EventsPlan
    typed: TypedEventsPlan | None = None
    on_stream: bool = False


def plan_asked(questions: Sequence[AsksEvents], table: Any) -> Planned:
    names, types = _columns(questions, table)
    bounds = []
    for each in questions:
        with speaking_of(each.query.text):
            bounds.append(bind_event_query(each.query, names, type=each.type, time=each.time))
    plan = plan_events(bounds)
    if any(name not in types for name in names):
        return Planned(plan, on_stream=is_streaming(table))
    settings = Settings()
    known = {name: normalise(kind, settings) for name, kind in types.items()}
    try:
        typed = type_events(plan, known.__getitem__, settings)
    except QueryError as error:
        if error.code in ("UNSUPPORTED_FUNCTION", "UNKNOWN_FUNCTION", "UNSUPPORTED_EXPRESSION"):  # Spark may know it
            return Planned(plan, on_stream=is_streaming(table))
        raise
    return Planned(typed.plan, typed, is_streaming(table))


def _columns(questions: Sequence[AsksEvents], table: Any) -> tuple[tuple[str, ...], dict[str, pa.DataType]]:
    if table is None:
        mentioned = (name for each in questions for name in _mentioned(each))
        return tuple({name.lower(): name for name in mentioned}.values()), {}
    schema = table if isinstance(table, pa.Schema) else getattr(table, "schema", None)
    if not isinstance(schema, pa.Schema) and type(table).__module__.split(".")[0] == "pandas":
        schema = pa.Schema.from_pandas(table, preserve_index=False)
    if isinstance(schema, pa.Schema):
        return tuple(schema.names), {field.name: field.type for field in schema}
    dtypes = cast("list[tuple[str, str]]", table.dtypes)  # a Spark DataFrame
    kinds = {name: parse_type(kind, Settings()) for name, kind in dtypes}
    return tuple(kinds), {name: kind for name, kind in kinds.items() if kind is not None}


def _mentioned(question: AsksEvents) -> Iterator[str]:
    """The columns that a query mentions."""
    query = question.query
    if query.time is not None:
        yield query.time.text
    elif question.time is not None:
        yield question.time
    named = {name for event in occurrences(query.pattern) for name in (event.type, event.variable)}
    exprs: list[Expr] = [*query.where]
    if isinstance(query.types, TypeColumn):
        yield query.types.column.text
    elif isinstance(query.types, tuple):
        exprs += [one.condition for one in query.types if isinstance(one, TypeDefinition)]
    elif isinstance(question.type, str):
        yield question.type
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
