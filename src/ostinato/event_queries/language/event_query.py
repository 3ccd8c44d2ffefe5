"""One event query: `PATTERN SEQ(A a, B+ b) WHERE ... WITHIN ... RETURN ...`. docs/event-queries.md defines its meaning.

`EventQuery` is the parsed text; its names aren't resolved yet. Binding (`event_binding.py`) resolves them against the
columns of one input. The result is `BoundEventQuery`, with conditions sorted by the events that they read.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from ostinato.errors import Span
from ostinato.expressions.syntax import Expr, Name

# --- pattern ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OneEvent:
    """`Travel t`: one event of a type, bound to a variable. Without a variable, the type's name is the variable.

    A variable may occur several times in a pattern. A match is the sequence of its (event, variable) pairs.
    """

    type: str
    variable: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InOrder:
    """`SEQ(P1, P2, ...)`: each part after the one before it."""

    parts: tuple[EventPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`P1 OR P2`: a match of either part. A match of both parts counts once."""

    parts: tuple[EventPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """`P1 AND P2`: an unordered pair of distinct matches, one of each. Only as the whole pattern, only for COUNT(*)."""

    parts: tuple[EventPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """The number of repetitions. `at_most` None: no limit."""

    at_least: int
    at_most: int | None

    @property
    def text(self) -> str:
        """The quantifier as written, in its shortest form.

        >>> [Quantifier(*bounds).text for bounds in ((1, None), (0, 1), (3, 3), (2, None), (0, 5))]
        ['+', '?', '{3}', '{2,}', '{0,5}']
        """
        if self in _SHORT:
            return _SHORT[self]
        if self.at_least == self.at_most:
            return f"{{{self.at_least}}}"
        return f"{{{self.at_least},{'' if self.at_most is None else self.at_most}}}"


ONE_OR_MORE, ANY_NUMBER, AT_MOST_ONE = Quantifier(1, None), Quantifier(0, None), Quantifier(0, 1)
_SHORT = {ONE_OR_MORE: "+", ANY_NUMBER: "*", AT_MOST_ONE: "?"}


@dataclass(frozen=True, slots=True)
class Repeated:
    """`P+`, `P*`, `P?`, `P{2,5}`."""

    body: EventPattern
    times: Quantifier
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """`NOT P`: no match of P lies strictly between the events around it. Stands in a SEQ only."""

    body: EventPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Without:
    """`P WITHOUT C`: no event of C lies strictly between two events of P that follow one another in the match."""

    body: EventPattern
    absent: Absent
    """One event, or `OR` of single events."""
    span: Span | None = field(default=None, compare=False, repr=False)


EventPattern = OneEvent | InOrder | AnyOf | AllOf | Repeated | Absent | Without


def inner(pattern: EventPattern) -> tuple[EventPattern, ...]:
    """The direct sub-patterns."""
    match pattern:
        case OneEvent():
            return ()
        case InOrder(parts) | AnyOf(parts) | AllOf(parts):
            return parts
        case Repeated(body=body) | Absent(body=body):
            return (body,)
        case Without(body, absent):
            return (body, absent)


def occurrences(pattern: EventPattern) -> Iterator[OneEvent]:
    """Every occurrence of an event in the pattern, in the order of the text, also under NOT."""
    if isinstance(pattern, OneEvent):
        yield pattern
    for part in inner(pattern):
        yield from occurrences(part)


# --- the rest of the query --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeColumn:
    """`TYPE kind`: an event's type is the text in that column. It must equal a type's name exactly, case included."""

    column: Name
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """`TYPE Slow AS speed < 10`: an event is of every type whose condition holds."""

    type: str
    condition: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


class Selection(enum.Enum):
    """The rule for which later event may follow an event of a match."""

    ANY = "SKIP TILL ANY MATCH"
    """Any later event that fits."""
    NEXT = "SKIP TILL NEXT MATCH"
    """The first later event that fits."""
    STRICT = "STRICT"
    """Only the very next event, if it fits."""


@dataclass(frozen=True, slots=True)
class StrictOn:
    """`STRICT ON (A, B)`: no event of these types lies strictly between two events that follow one another."""

    types: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """`WITHIN 30 MINUTES` alone: last.time - first.time <= length."""

    length: timedelta


@dataclass(frozen=True, slots=True)
class EventSpan:
    """`WITHIN 1000 EVENTS` alone: the last event is at most length - 1 events of the group after the first."""

    length: int


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """`WITHIN 30 MINUTES SLIDE 5 MINUTES`: windows [start, start + length), start a multiple of `slide` since 1970.

    TUMBLE is a slide of `length`.
    """

    length: timedelta
    slide: timedelta


@dataclass(frozen=True, slots=True)
class EventWindows:
    """`WITHIN 1000 EVENTS SLIDE 100 EVENTS`: windows over the events of a group, counted from 0 in their order."""

    length: int
    slide: int


Bound = TimeSpan | EventSpan | TimeWindows | EventWindows


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """`expression AS name`: a GROUP BY column, WINDOW_START, WINDOW_END, or arithmetic over aggregates."""

    name: str
    expression: Expr


@dataclass(frozen=True, slots=True)
class ReturnAggregates:
    items: tuple[ReturnItem, ...]


@dataclass(frozen=True, slots=True)
class ReturnMatches:
    """The matches themselves, at most `limit` for each group (and window). None: only the session's limit applies."""

    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Same:
    """`SAME[driver, rider]`: all events of a match agree in these columns; NULL agrees with nothing."""

    columns: tuple[Name, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EventQuery:
    """The parsed query. `text` is its source, for carets; it isn't compared for equality."""

    pattern: EventPattern
    returns: ReturnAggregates | ReturnMatches
    types: TypeColumn | tuple[TypeDefinition, ...] | None = None
    time: Name | None = None
    same: tuple[Same, ...] = ()
    where: tuple[Expr, ...] = ()
    """The conjuncts of WHERE other than SAME, as written."""
    group_by: tuple[Name, ...] = ()
    bound: Bound | None = None
    selection: Selection = Selection.ANY
    strict_on: StrictOn | None = None
    """The types of STRICT ON; only with `Selection.STRICT`. Binding replaces it by `Without` around the pattern."""
    source: str | None = None
    """The table named by FROM."""
    text: str | None = field(default=None, compare=False, repr=False)


# --- tied to columns --------------------------------------------------------------------------------------------------


class TrendFunction(enum.Enum):
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class TrendAggregate:
    """`SUM(t.duration)`: over all events of all matches that are bound to `variables`.

    `variables` None and COUNT: `COUNT(*)`, the number of matches. `value` is an expression over `Column`s of one event;
    None: `COUNT(t)`, the number of events.
    """

    function: TrendFunction
    variables: frozenset[str] | None = None
    value: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ComputedItem:
    """`SUM(t.x) / COUNT(*)`: arithmetic over aggregates, each a `Column` with the name `aggregate_name(i)`."""

    expression: Expr
    aggregates: tuple[TrendAggregate, ...]


def aggregate_name(number: int) -> str:
    """The name of an aggregate inside a computed item."""
    return f"aggregate {number}"


@dataclass(frozen=True, slots=True)
class GroupColumn:
    column: str


class WindowEdge(enum.Enum):
    START = "window_start"
    END = "window_end"


OutputItem = GroupColumn | WindowEdge | TrendAggregate | ComputedItem


@dataclass(frozen=True, slots=True)
class AdjacentCondition:
    """A condition on every two adjacent events of a match that are bound to `before` and `after`.

    The condition is over `Navigation(Column x, rows=None, LAST, skip=1)` for the earlier event and the same with
    `skip=0` for the later one.
    """

    before: str
    after: str
    condition: Expr


@dataclass(frozen=True, slots=True)
class RunCondition:
    """A condition over several variables, or with aggregates of one. It applies to matches that bind all of
    `variables`.

    It is over `Navigation(Column x, {v}, FIRST or LAST)` and `Aggregate(name, args, {v})`. `each` is the only Kleene
    variable that it names directly (`b.x` or `b[i].x`). The condition must hold for each event bound to `each`; it
    refers to that event by `Navigation(Column x, {b}, LAST)`.
    """

    condition: Expr
    variables: frozenset[str]
    each: str | None = None


@dataclass(frozen=True, slots=True)
class BoundEventQuery:
    """A query with resolved names and sorted conditions."""

    query: EventQuery
    """The query with TYPE and TIME, and with `Without` in place of STRICT ON."""
    written: EventQuery
    """The query with TYPE and TIME, otherwise as written. Its text gives the same query when it is read again."""
    columns: tuple[str, ...]
    """All columns of the input."""
    variables: tuple[str, ...]
    """The variables outside NOT, in the order of their first occurrence."""
    absent_variables: tuple[str, ...]
    """The variables under NOT. No variable is both inside and outside NOT."""
    qualifies: dict[str, Expr]
    """For each variable, the condition over `Column`s of one event under which the event may be bound to it: the type's
    condition and those of WHERE that read this variable only."""
    time: str
    same: tuple[str, ...]
    group_by: tuple[str, ...]
    adjacent: tuple[AdjacentCondition, ...]
    run: tuple[RunCondition, ...]
    outputs: tuple[tuple[str, OutputItem], ...]
    """The output columns by name, with window edges; empty for RETURN MATCHES."""
