"""EventQuery + the input's column names -> BoundEventQuery: names resolved, conditions sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ostinato.errors import QueryError, did_you_mean
from ostinato.event_queries.language.event_checks import check_event_query
from ostinato.event_queries.language.event_conditions import ConditionBinder, SortedConditions
from ostinato.event_queries.language.event_names import EventNames
from ostinato.event_queries.language.event_outputs import bind_outputs
from ostinato.event_queries.language.event_query import (
    Absent,
    AnyOf,
    BoundEventQuery,
    EventQuery,
    OneEvent,
    ReturnAggregates,
    ReturnItem,
    Selection,
    TypeColumn,
    TypeDefinition,
    Without,
)
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Name, Operator, rebuild, string_literal

TypeArgument = str | Mapping[str, str] | None
"""The column with the events' types, or a condition for each type."""


def bind_event_query(
    query: EventQuery,
    columns: Sequence[str],
    *,
    case_sensitive: bool = False,
    double_quoted_identifiers: bool = False,
    type: TypeArgument = None,
    time: str | None = None,
) -> BoundEventQuery:
    """Resolves every name; raises QueryError with a caret for names that can't be resolved.

    `type` and `time` are used if the text has no TYPE or TIME. Names of variables and types are case-sensitive; columns
    follow `case_sensitive`. `double_quoted_identifiers` is for the conditions in `type`.
    """
    check_event_query(query)
    query = _completed(query, type, time, double_quoted_identifiers)
    names = EventNames(query, tuple(columns), case_sensitive)
    if query.time is None:
        raise QueryError(
            "TIME_COLUMN_MISSING",
            "the query doesn't say which column orders the events",
            hint='write TIME ts before PATTERN, or give time="ts"',
        )
    tests = _type_tests(query, names)
    conditions = ConditionBinder(names).bind_all(query.where)
    same = tuple(dict.fromkeys(names.column(column, same.span) for same in query.same for column in same.columns))
    group_by = tuple(dict.fromkeys(names.listed(column, "GROUP") for column in query.group_by))
    between = _strict_events(query, names)
    return BoundEventQuery(
        query=_with_absence(query, between),
        written=query,
        columns=tuple(columns),
        variables=names.variables,
        absent_variables=(*names.absent, *(event.variable for event in between)),
        qualifies=_qualifies(names, tests, conditions) | {event.variable: tests[event.type] for event in between},
        time=names.listed(query.time, "TIME"),
        same=same,
        group_by=group_by,
        adjacent=tuple(conditions.adjacent),
        run=tuple(conditions.run),
        outputs=bind_outputs(query, names, group_by),
    )


def _completed(query: EventQuery, types: TypeArgument, time: str | None, quotes: bool) -> EventQuery:
    if query.time is None and time is not None:
        query = replace(query, time=Name(time, quoted=True))
    if query.types is None and types is not None:
        if isinstance(types, str):
            return replace(query, types=TypeColumn(Name(types, quoted=True)))
        parsed = {name: parse_expression(text, double_quoted_identifiers=quotes) for name, text in types.items()}
        conditions = ((name, _without_spans(condition)) for name, condition in parsed.items())
        return replace(query, types=tuple(TypeDefinition(name, condition) for name, condition in conditions))
    return query


def with_keys(query: EventQuery, keys: Sequence[str]) -> EventQuery:
    """The query with GROUP BY over these columns, if it has none. They come first in RETURN, unless it names them."""
    if query.group_by or not keys:
        return query
    names = tuple(Name(key, quoted=True) for key in keys)
    returns = query.returns
    if isinstance(returns, ReturnAggregates):
        listed = {item.expression.parts for item in returns.items if isinstance(item.expression, ColumnRef)}
        texts = {parts[0].text.lower() for parts in listed if len(parts) == 1}
        added = tuple(ReturnItem(name.text, ColumnRef((name,))) for name in names if name.text.lower() not in texts)
        returns = ReturnAggregates((*added, *returns.items))
    return replace(query, group_by=names, returns=returns)


def _strict_events(query: EventQuery, names: EventNames) -> tuple[OneEvent, ...]:
    """An event for each type of STRICT ON. Its variable can't be named, so no condition of WHERE applies to it."""
    if query.strict_on is None:
        return ()
    result = []
    for kind in query.strict_on.types:
        variable = f"strict on {kind}"
        while variable in names.type_of:
            variable += "'"
        result.append(OneEvent(kind, variable, query.strict_on.span))
    return tuple(result)


def _with_absence(query: EventQuery, between: tuple[OneEvent, ...]) -> EventQuery:
    """STRICT ON as WITHOUT around the whole pattern, which all engines know."""
    if not between:
        return query
    absent = Absent(between[0] if len(between) == 1 else AnyOf(between))
    return replace(query, pattern=Without(query.pattern, absent), selection=Selection.ANY, strict_on=None)


def _without_spans(expr: Expr) -> Expr:
    """The expression without positions, because it isn't part of the query's text."""
    return replace(rebuild(expr, _without_spans), span=None)


def _type_tests(query: EventQuery, names: EventNames) -> dict[str, Expr]:
    """For each type of the pattern and of STRICT ON, the condition over one event's columns."""
    types = query.types
    spans = {} if query.strict_on is None else dict.fromkeys(query.strict_on.types, query.strict_on.span)
    spans |= {name: event.span for name, event in names.types.items()}
    if types is None:
        raise QueryError(
            "TYPE_COLUMN_MISSING",
            "the query doesn't say how to tell an event's type",
            hint='write TYPE kind before PATTERN (or TYPE Slow AS speed < 10, ...), or give type="kind"',
        )
    if isinstance(types, TypeColumn):
        kind = Column(names.column(types.column, types.span))
        return {name: Operator("=", (kind, string_literal(name))) for name in spans}
    tests = {definition.type: ConditionBinder(names).type_test(definition) for definition in types}
    for name, span in spans.items():
        if name not in tests:
            hint = did_you_mean(name, tests) or f"the types are {', '.join(tests)}"
            names.fail("UNKNOWN_TYPE", f"TYPE doesn't define '{name}'", span, hint)
    return tests


def _qualifies(names: EventNames, tests: dict[str, Expr], conditions: SortedConditions) -> dict[str, Expr]:
    result: dict[str, Expr] = {}
    for variable in (*names.variables, *names.absent):
        test = tests[names.type_of[variable]]
        local = conditions.local.get(variable, [])
        result[variable] = Operator("and", (test, *local)) if local else test
    return result
