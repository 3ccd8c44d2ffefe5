"""Checks of an event query that need no input: the rules for NOT, AND and variables."""

from __future__ import annotations

import itertools
from typing import NoReturn

from ostinato.errors import QueryError, Span
from ostinato.event_queries.language.event_query import (
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    EventQuery,
    InOrder,
    OneEvent,
    Repeated,
    ReturnAggregates,
    TypeColumn,
    Without,
    inner,
    occurrences,
)
from ostinato.expressions.syntax import Call, Star, walk


def check_event_query(query: EventQuery) -> None:
    """Raises QueryError for the first rule that the query breaks."""
    _QueryChecks(query.text).query(query)


def absent_parts(pattern: EventPattern) -> tuple[Absent, ...]:
    """The NOTs of the pattern, in the order of the text."""
    if isinstance(pattern, Absent):
        return (pattern,)
    return tuple(absent for part in inner(pattern) for absent in absent_parts(part))


def variables_outside_not(pattern: EventPattern) -> tuple[str, ...]:
    """The variables that a match can bind, in the order in which they first occur."""
    if isinstance(pattern, OneEvent):
        return (pattern.variable,)
    if isinstance(pattern, Absent):
        return ()
    return tuple(dict.fromkeys(name for part in inner(pattern) for name in variables_outside_not(part)))


def repeating_variables(pattern: EventPattern) -> frozenset[str]:
    """The variables to which a match can bind more than one event."""
    match pattern:
        case OneEvent() | Absent():
            return frozenset()
        case Repeated(body, times):
            again = () if times.at_most == 1 else variables_outside_not(body)
            return repeating_variables(body).union(again)
        case Without(body=body):
            return repeating_variables(body)
        case AnyOf(parts) | AllOf(parts) | InOrder(parts):
            repeating = frozenset[str]().union(*(repeating_variables(part) for part in parts))
            if not isinstance(pattern, InOrder):
                return repeating
            names = [name for part in parts for name in variables_outside_not(part)]
            return repeating | {name for name in names if names.count(name) > 1}


def can_be_empty(pattern: EventPattern) -> bool:
    """Whether the pattern also matches the empty sequence of events. A NOT matches no event."""
    match pattern:
        case OneEvent():
            return False
        case Absent():
            return True
        case InOrder(parts) | AllOf(parts):
            return all(can_be_empty(part) for part in parts)
        case AnyOf(parts):
            return any(can_be_empty(part) for part in parts)
        case Repeated(body, times):
            return times.at_least == 0 or can_be_empty(body)
        case Without(body=body):
            return can_be_empty(body)


def starts_with_not(pattern: EventPattern) -> bool:
    return _edge_is_not(pattern, 0)


def ends_with_not(pattern: EventPattern) -> bool:
    return _edge_is_not(pattern, -1)


def _edge_is_not(pattern: EventPattern, edge: int) -> bool:
    match pattern:
        case Absent():
            return True
        case InOrder(parts):
            return _edge_is_not(parts[edge], edge)
        case Repeated(body=body) | Without(body=body):
            return _edge_is_not(body, edge)
        case AnyOf(parts) | AllOf(parts):
            return any(_edge_is_not(part, edge) for part in parts)
        case OneEvent():
            return False


class _QueryChecks:
    def __init__(self, text: str | None) -> None:
        self.text = text

    def query(self, query: EventQuery) -> None:
        self._types(query)
        self._variables(query.pattern)
        self._conjunction(query)
        self._negation(query.pattern, in_sequence=False)
        if ends_with_not(query.pattern) and query.bound is None:
            self._fail(
                "NEGATION_NEEDS_WITHIN",
                "a NOT at the end needs WITHIN",
                absent_parts(query.pattern)[-1].span,
                "say how long the event must stay away: WITHIN 30 MINUTES",
            )

    def _fail(self, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.text, span=span, hint=hint)

    # --- names ---

    def _types(self, query: EventQuery) -> None:
        if query.types is None or isinstance(query.types, TypeColumn):
            return
        seen: set[str] = set()
        for definition in query.types:
            if definition.type in seen:
                self._fail("DUPLICATE_TYPE", f"the type '{definition.type}' is defined twice", definition.span)
            seen.add(definition.type)

    def _variables(self, pattern: EventPattern) -> None:
        first: dict[str, OneEvent] = {}
        for event in occurrences(pattern):
            earlier = first.setdefault(event.variable, event)
            if earlier.type != event.type:
                self._fail(
                    "VARIABLE_TYPE_CONFLICT",
                    f"the variable '{event.variable}' is a {earlier.type} and a {event.type}",
                    event.span,
                    "a variable has the same type everywhere; give one of them another name",
                )
        outside = set(variables_outside_not(pattern))
        for absent in absent_parts(pattern):
            for event in occurrences(absent):
                if event.variable in outside:
                    self._fail(
                        "VARIABLE_UNDER_NOT",
                        f"the variable '{event.variable}' stands behind NOT or WITHOUT and also elsewhere",
                        event.span,
                        f"give the forbidden one a name of its own: {event.type} forbidden",
                    )

    # --- AND ---

    def _conjunction(self, query: EventQuery) -> None:
        for part in _all_patterns(query.pattern):
            if isinstance(part, AllOf) and part is not query.pattern:
                self._declined("AND is only allowed at the top of a pattern", part.span)
        if not isinstance(query.pattern, AllOf):
            return
        if len(query.pattern.parts) != 2:
            self._declined("AND joins two patterns, no more", query.pattern.span)
        for absent in absent_parts(query.pattern):
            self._declined("a pattern with AND can't have a NOT or a WITHOUT", absent.span)
        if query.strict_on is not None:
            self._declined("a pattern with AND can't have STRICT ON", query.strict_on.span)
        if not isinstance(query.returns, ReturnAggregates):
            self._declined("the pairs of a pattern with AND can be counted, not returned", query.pattern.span)
        for item in query.returns.items:
            for call in walk(item.expression):
                if isinstance(call, Call) and (call.name, call.args, call.distinct) != ("count", (Star(),), False):
                    self._declined("a pattern with AND allows no aggregate but COUNT(*)", call.span)

    def _declined(self, message: str, span: Span | None) -> NoReturn:
        hint = "PATTERN P1 AND P2 ... RETURN COUNT(*) counts the pairs of matches"
        self._fail("CONJUNCTION_NOT_SUPPORTED", message, span, hint)

    # --- NOT ---

    def _negation(self, pattern: EventPattern, *, in_sequence: bool) -> None:
        match pattern:
            case OneEvent():
                return
            case Absent(body):
                if not in_sequence:
                    self._misplaced("NOT is only allowed as a part of SEQ", pattern.span)
                for part in _all_patterns(body):
                    if isinstance(part, Absent):
                        self._misplaced("a pattern under NOT can't contain another NOT", part.span)
            case InOrder(parts):
                self._neighbours(parts)
                for part in parts:
                    self._negation(part, in_sequence=True)
            case AnyOf(parts) | AllOf(parts):
                for part in parts:
                    self._negation(part, in_sequence=False)
            case Repeated(body=body):
                self._negation(body, in_sequence=False)
            case Without(body, absent):
                self._without(body, absent)
                self._negation(body, in_sequence=False)

    def _without(self, body: EventPattern, absent: Absent) -> None:
        options = absent.body.parts if isinstance(absent.body, AnyOf) else (absent.body,)
        if not all(isinstance(option, OneEvent) for option in options):
            self._misplaced("WITHOUT takes one event type, or types joined by OR", absent.span)
        if isinstance(body, OneEvent | Absent):
            self._misplaced("WITHOUT follows a pattern of several events: nothing lies inside of one", absent.span)

    def _misplaced(self, message: str, span: Span | None) -> NoReturn:
        self._fail("NEGATION_MISPLACED", message, span, "e.g. SEQ(A, NOT C, B) or SEQ(A, B+ WITHOUT C)")

    def _neighbours(self, parts: tuple[EventPattern, ...]) -> None:
        if all(isinstance(part, Absent) for part in parts):
            self._misplaced("a SEQ needs an event that isn't under NOT", parts[0].span)
        for before, after in itertools.pairwise(parts):
            for one, other, beside in ((before, after, ends_with_not(before)), (after, before, starts_with_not(after))):
                if beside and not isinstance(other, Absent) and can_be_empty(other):
                    self._fail(
                        "NEGATION_NEXT_TO_OPTIONAL",
                        "the part next to a NOT must match at least one event",
                        other.span or one.span,
                        "write the two cases out: SEQ(A, NOT C, B) OR A",
                    )


def _all_patterns(pattern: EventPattern) -> tuple[EventPattern, ...]:
    """The pattern and all patterns inside it."""
    return (pattern, *itertools.chain.from_iterable(map(_all_patterns, inner(pattern))))
