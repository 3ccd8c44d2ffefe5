"""Text behind PATTERN of an event query -> EventPattern: `SEQ(Request r, Travel+ t, NOT Pickup p)`."""

from __future__ import annotations

from ostinato.clause.language.pattern_parser import quantifier_bounds
from ostinato.errors import Span
from ostinato.event_queries.language.event_query import (
    ANY_NUMBER,
    AT_MOST_ONE,
    ONE_OR_MORE,
    Absent,
    AllOf,
    AnyOf,
    EventPattern,
    InOrder,
    OneEvent,
    Quantifier,
    Repeated,
    Without,
)
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind

MAX_NESTING = 50
"""The deepest nesting of patterns. Deeper text is a QueryError instead of Python's RecursionError."""

NOT_A_TYPE = frozenset("AND OR NOT".split())
"""Words that need quotes as the name of a type."""

NOT_A_VARIABLE = NOT_A_TYPE | frozenset("STRICT SKIP WHERE GROUP WITHIN WITHOUT RETURN".split())
"""Words that need quotes as the name of a variable, because they may follow a type."""

MAX_REPETITIONS = 1_000
"""The largest number in a quantifier. The automaton has a state for each repetition."""

_TIMES = {"+": ONE_OR_MORE, "*": ANY_NUMBER, "?": AT_MOST_ONE}


def parse_event_pattern(text: str) -> EventPattern:
    """A whole pattern.

    >>> parse_event_pattern("SEQ(A a, B+)")
    InOrder(parts=(OneEvent(type='A', variable='a'), \
Repeated(body=OneEvent(type='B', variable='B'), times=Quantifier(at_least=1, at_most=None))))
    """
    cursor = Cursor(text)
    pattern = EventPatternParser(cursor).pattern()
    cursor.expect_end("the pattern")
    return pattern


class EventPatternParser:
    """Recursive descent over a cursor shared with the query's parser. OR binds less tightly than AND."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.depth = 0

    def pattern(self) -> EventPattern:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.cursor.fail(f"patterns nest at most {MAX_NESTING} levels deep", code="TOO_DEEP")
        start = self.cursor.token.span
        options = [self._all_of()]
        while self.cursor.accept("OR"):
            options.append(self._all_of())
        self.depth -= 1
        return options[0] if len(options) == 1 else AnyOf(tuple(options), self._since(start))

    def _all_of(self) -> EventPattern:
        start = self.cursor.token.span
        parts = [self._element()]
        while self.cursor.accept("AND"):
            parts.append(self._element())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts), self._since(start))

    def _element(self) -> EventPattern:
        """`Travel+ t WITHOUT Pickup p`, or an element without WITHOUT."""
        cursor, start = self.cursor, self.cursor.token.span
        element = self._plain_element()
        while cursor.sees("WITHOUT"):
            word = cursor.take().span
            element = Without(element, Absent(self._plain_element(), self._since(word)), self._since(start))
        return element

    def _plain_element(self) -> EventPattern:
        cursor, token = self.cursor, self.cursor.token
        if cursor.accept("NOT"):
            if cursor.sees("NOT"):
                cursor.fail("NOT of a NOT has no meaning", code="NEGATION_MISPLACED")
            return Absent(self._element(), self._since(token.span))
        if cursor.sees("NEG", "("):
            return self._neg()
        if cursor.accept("SEQ", "("):
            return self._repeated(InOrder(self._parts(), self._since(token.span)), token.span)
        if cursor.accept("("):
            inner = self.pattern()
            cursor.expect(")")
            return self._repeated(inner, token.span)
        return self._event()

    def _neg(self) -> EventPattern:
        """`NEG(C) c` and `NEG(SEQ(C, D))`."""
        cursor = self.cursor
        start = cursor.expect("NEG", "(").span
        inner = self.pattern()
        cursor.expect(")")
        if isinstance(inner, OneEvent) and inner.variable == inner.type and self._at_variable():
            inner = OneEvent(inner.type, self._variable(), self._since(start))
        return Absent(inner, self._since(start))

    def _parts(self) -> tuple[EventPattern, ...]:
        """The inside of `SEQ( ... )`, with its closing parenthesis."""
        cursor = self.cursor
        if cursor.sees(")"):
            cursor.fail("SEQ needs at least one part")
        parts = [self.pattern()]
        while cursor.accept(","):
            parts.append(self.pattern())
        cursor.expect(")", hint="the parts of SEQ are separated by commas")
        return tuple(parts)

    def _event(self) -> EventPattern:
        """`Travel`, `Travel t`, `Travel+ t`."""
        cursor, token = self.cursor, self.cursor.token
        named = token.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
        if not named or token.upper in NOT_A_TYPE:
            cursor.fail(f"expected an event type, SEQ(...), NOT or '(', found {cursor.describe()}")
        name, span = cursor.name("an event type")
        times = self._times()
        variable = self._variable() if self._at_variable() else name.text
        event = OneEvent(name.text, variable, self._since(span))
        if times is None and self._at_quantifier():
            cursor.fail(
                f"the quantifier follows the type, not the variable '{variable}'",
                hint=f"write {name.text}{cursor.token.text}{'...}' if cursor.sees('{') else ''} {variable}",
            )
        return event if times is None else Repeated(event, times, self._since(span))

    def _repeated(self, body: EventPattern, start: Span) -> EventPattern:
        times = self._times()
        if self._at_variable():
            self.cursor.fail(
                f"expected the end of the pattern or a separator, found {self.cursor.describe()}",
                hint="a variable follows a type: (Travel t)+ or Travel+ t",
            )
        return body if times is None else Repeated(body, times, self._since(start))

    def _times(self) -> Quantifier | None:
        cursor, start = self.cursor, self.cursor.token.span
        if not self._at_quantifier():
            return None
        times = Quantifier(*quantifier_bounds(cursor)) if cursor.sees("{") else _TIMES[cursor.take().text]
        if max(times.at_least, times.at_most or 0) > MAX_REPETITIONS:
            cursor.fail(
                f"a quantifier of an event query goes up to {MAX_REPETITIONS:,}",
                code="INVALID_QUANTIFIER",
                span=self._since(start),
                hint="+ and * have no limit",
            )
        if self._at_quantifier():
            cursor.fail(
                f"expected one quantifier, found a second one: {cursor.describe()}",
                hint="all matches count, so there is no greedy or reluctant; nest with parentheses: (A+)?",
            )
        return times

    def _at_quantifier(self) -> bool:
        return self.cursor.token.upper in (*_TIMES, "{")

    def _at_variable(self) -> bool:
        token = self.cursor.token
        if token.kind is Kind.WORD:
            return token.upper not in NOT_A_VARIABLE
        return token.kind in (Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)

    def _variable(self) -> str:
        """The variable's name; `b[]` is `b`."""
        name, _ = self.cursor.name("a variable")
        if self.cursor.sees("["):
            self.cursor.expect("[", "]", hint="only [] may follow a variable of PATTERN: b[]")
        return name.text

    def _since(self, start: Span) -> Span:
        """The span from `start` to the last token read."""
        return start.to(self.cursor.tokens[self.cursor.at - 1].span)
