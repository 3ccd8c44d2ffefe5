"""EventQuery -> text that reads back as the same query."""

from __future__ import annotations

from datetime import timedelta

from ostinato.event_queries.language.event_parser import default_name
from ostinato.event_queries.language.event_pattern import NOT_A_VARIABLE
from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    Bound,
    EventPattern,
    EventQuery,
    EventSpan,
    EventWindows,
    InOrder,
    OneEvent,
    Repeated,
    ReturnItem,
    ReturnMatches,
    Same,
    Selection,
    TimeSpan,
    TimeWindows,
    TypeColumn,
    TypeDefinition,
    Without,
)
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Call, ColumnRef, Name

_UNITS = (
    ("DAY", timedelta(days=1)),
    ("HOUR", timedelta(hours=1)),
    ("MINUTE", timedelta(minutes=1)),
    ("SECOND", timedelta(seconds=1)),
    ("MILLISECOND", timedelta(milliseconds=1)),
    ("MICROSECOND", timedelta(microseconds=1)),
)


def render_event_query(query: EventQuery) -> str:
    """The query, a clause on each line.

    >>> from ostinato.event_queries.language.event_parser import parse_event_query
    >>> print(render_event_query(parse_event_query("pattern seq(A, B+ b) where [id] and b.x<1 return count(*)")))
    PATTERN SEQ(A, B+ b)
    WHERE SAME[id] AND (b.x < 1)
    RETURN count(*)
    """
    lines = [*_head(query), f"PATTERN {render_event_pattern(query.pattern)}"]
    if query.selection is not Selection.ANY:
        types = "" if query.strict_on is None else f" ON ({', '.join(map(render_word, query.strict_on.types))})"
        lines.append(query.selection.value + types)
    conditions = [*(_same(same) for same in query.same), *(render_expression(expr) for expr in query.where)]
    if conditions:
        lines.append("WHERE " + " AND ".join(conditions))
    if query.group_by:
        lines.append("GROUP BY " + ", ".join(_name(name) for name in query.group_by))
    if query.bound is not None:
        lines.append("WITHIN " + render_bound(query.bound))
    if isinstance(query.returns, ReturnMatches):
        limit = "" if query.returns.limit is None else f" LIMIT {query.returns.limit}"
        lines.append(f"RETURN MATCHES{limit}")
    else:
        lines.append("RETURN " + ", ".join(_item(item) for item in query.returns.items))
    return "\n".join(lines)


def _head(query: EventQuery) -> list[str]:
    lines = []
    if query.source is not None:
        lines.append(f"FROM {query.source}")
    if isinstance(query.types, TypeColumn):
        lines.append(f"TYPE {_name(query.types.column)}")
    elif query.types is not None:
        lines.append("TYPE " + ", ".join(_definition(definition) for definition in query.types))
    if query.time is not None:
        lines.append(f"TIME {_name(query.time)}")
    return lines


def _definition(definition: TypeDefinition) -> str:
    return f"{render_word(definition.type)} AS {render_expression(definition.condition)}"


def _same(same: Same) -> str:
    return f"SAME[{', '.join(_name(column) for column in same.columns)}]"


def _item(item: ReturnItem) -> str:
    expr, text = item.expression, render_expression(item.expression)
    is_default = isinstance(expr, ColumnRef | Call) and item.name == default_name(expr, text)
    return text if is_default else f"{text} AS {quote(item.name)}"


# --- pattern ----------------------------------------------------------------------------------------------------------


def render_event_pattern(pattern: EventPattern) -> str:
    """The pattern as it is written.

    >>> from ostinato.event_queries.language.event_pattern import parse_event_pattern
    >>> render_event_pattern(parse_event_pattern("SEQ(A a, (SEQ(B, NEG(C) c, D))+ , (E or F))"))
    'SEQ(A a, SEQ(B, NOT C c, D)+, E OR F)'
    """
    match pattern:
        case OneEvent():
            return _event(pattern, "")
        case InOrder(parts):
            return f"SEQ({', '.join(render_event_pattern(part) for part in parts)})"
        case AnyOf(parts):
            return " OR ".join(_grouped(part, AnyOf) for part in parts)
        case AllOf(parts):
            return " AND ".join(_grouped(part, AnyOf, AllOf) for part in parts)
        case Repeated(body, times):
            if isinstance(body, OneEvent):
                return _event(body, times.text)
            return _grouped(body, AnyOf, AllOf, Repeated, Absent, Without) + times.text
        case Without(body, absent):
            outside = _grouped(body, AnyOf, AllOf, Absent)
            return f"{outside} WITHOUT {_grouped(absent.body, AnyOf, AllOf, Absent, Without)}"
        case Absent(body):
            return "NOT " + _grouped(body, AnyOf, AllOf, Absent)


def _event(event: OneEvent, times: str) -> str:
    variable = "" if event.variable == event.type else f" {render_word(event.variable)}"
    return f"{render_word(event.type)}{times}{variable}"


def _grouped(pattern: EventPattern, *kinds: type) -> str:
    text = render_event_pattern(pattern)
    return f"({text})" if isinstance(pattern, kinds) else text


def render_word(name: str) -> str:
    """The name of a type or variable, in quotes if needed."""
    plain = name.replace("_", "a").isalnum() and not name[0].isdigit() and name.upper() not in NOT_A_VARIABLE
    return name if plain else quote(name)


def _name(name: Name) -> str:
    return quote(name.text) if name.quoted else name.text


# --- WITHIN -----------------------------------------------------------------------------------------------------------


def render_bound(bound: Bound) -> str:
    """The text behind WITHIN."""
    match bound:
        case TimeSpan(length=time):
            return _time(time)
        case EventSpan(length=events):
            return _events(events)
        case TimeWindows(length=time, slide=time_slide):
            return f"{_time(time)} {'TUMBLE' if time == time_slide else f'SLIDE {_time(time_slide)}'}"
        case EventWindows(length=events, slide=slide):
            return f"{_events(events)} {'TUMBLE' if events == slide else f'SLIDE {_events(slide)}'}"


def _events(number: int) -> str:
    return f"{number} EVENT{'S'[: number != 1]}"


def _time(length: timedelta) -> str:
    """A length in the largest unit that divides it."""
    unit, one = next((unit, one) for unit, one in _UNITS if length % one == timedelta(0))
    number = length // one
    return f"{number} {unit}{'S'[: number != 1]}"
