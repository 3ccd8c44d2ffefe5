"""Text of an event query -> EventQuery. docs/event-queries.md has the grammar. Names aren't resolved here."""

from __future__ import annotations

import re

from ostinato.errors import Span
from ostinato.event_queries.language.event_checks import check_event_query
from ostinato.event_queries.language.event_pattern import EventPatternParser
from ostinato.event_queries.language.event_query import (
    EventQuery,
    ReturnAggregates,
    ReturnItem,
    ReturnMatches,
    Same,
    Selection,
    StrictOn,
    TypeColumn,
    TypeDefinition,
    WindowEdge,
    occurrences,
)
from ostinato.event_queries.language.event_within import event_bound
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind, first_token, tokenize
from ostinato.expressions.parsing import ExpressionParser, span_over
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Name, Operator, Subscript, walk

_FIRST_WORDS = ("FROM", "TYPE", "TIME")
_ORDER = "FROM, TYPE, TIME, PATTERN, STRICT or SKIP TILL, WHERE, GROUP BY, WITHIN, RETURN"
_NAMED = (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
_WINDOW_EDGES = tuple(edge.value for edge in WindowEdge)


def is_event_text(text: str) -> bool:
    """Whether a text is an event query, not a MATCH_RECOGNIZE clause or another SQL text.

    >>> is_event_text("PATTERN SEQ(A, B+) RETURN COUNT(*)"), is_event_text("PATTERN (A B+) DEFINE B AS x > 1")
    (True, False)
    """
    if first_token(text).upper not in ("PATTERN", *_FIRST_WORDS):
        return False
    words = [token.upper for token in tokenize(text)]
    if "MATCH_RECOGNIZE" in words:
        return False
    if words[0] == "PATTERN":
        return words[1:2] != ["("] or ("RETURN" in words and "DEFINE" not in words)
    return True


def parse_event_query(text: str, *, double_quoted_identifiers: bool = False) -> EventQuery:
    """The query, checked as far as it can be without an input.

    >>> query = parse_event_query(
    ...     "PATTERN SEQ(Request r, Travel+ t) WITHIN 30 MINUTES RETURN COUNT(*), SUM(t.duration)"
    ... )
    >>> [item.name for item in query.returns.items]
    ['count(*)', 'sum(t.duration)']
    """
    cursor = Cursor(text, double_quoted_identifiers=double_quoted_identifiers)
    query = _QueryParser(cursor).query()
    cursor.expect_end("the query", hint=f"the order is: {_ORDER}")
    check_event_query(query)
    return query


class EventExpressionParser(ExpressionParser):
    """Expressions of event queries. `[]` and `[i]` are allowed behind a variable and have no meaning."""

    def __init__(self, cursor: Cursor, variables: frozenset[str]) -> None:
        super().__init__(cursor)
        self.variables = variables

    def conjunct(self) -> Expr:
        """An expression without AND and OR at its top."""
        return self._negation()

    def conjuncts(self) -> Expr:
        """An expression without OR at its top."""
        return self._logical("AND")

    def _reference(self) -> Expr:
        cursor, token = self.cursor, self.cursor.token
        if token.kind is Kind.BACK_QUOTED or token.name not in self.variables or cursor.ahead().upper != "[":
            return super()._reference()
        name, span = cursor.name("a variable")
        cursor.expect("[")
        if cursor.token.kind is Kind.WORD and cursor.ahead().upper == "]":
            cursor.take()
        if not cursor.sees("]") or cursor.ahead().upper == "[":
            cursor.fail(
                f"only [] or [i] may follow the variable '{name.text}'",
                hint=f"neighbours are PREV({name.text}).x and NEXT({name.text}).x, ends FIRST({name.text}.x) and "
                f"LAST({name.text}.x); a column is written `{name.text}`",
            )
        names, span = [name], span.to(cursor.take().span)
        while cursor.sees(".") and cursor.ahead().kind in _NAMED:
            cursor.take()
            field, end = cursor.name("a column")
            names.append(field)
            span = span.to(end)
        return ColumnRef(tuple(names), span)


class _QueryParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.expressions = EventExpressionParser(cursor, frozenset())

    def query(self) -> EventQuery:
        cursor = self.cursor
        source, types, time = self._head()
        cursor.expect("PATTERN", hint=f"the order is: {_ORDER}")
        pattern = EventPatternParser(cursor).pattern()
        names = {name for event in occurrences(pattern) for name in (event.type, event.variable)}
        self.expressions = EventExpressionParser(cursor, frozenset(names))
        selection, strict_on = self._selection()
        same, where = self._where() if cursor.accept("WHERE") else ((), ())
        group_by = self._columns("GROUP BY") if cursor.accept("GROUP", "BY") else ()
        bound = event_bound(cursor) if cursor.accept("WITHIN") else None
        cursor.expect("RETURN", hint=f"the order is: {_ORDER}")
        return EventQuery(
            pattern=pattern,
            returns=self._returns(),
            types=types,
            time=time,
            same=same,
            where=where,
            group_by=group_by,
            bound=bound,
            selection=selection,
            strict_on=strict_on,
            source=source,
            text=cursor.text,
        )

    # --- before PATTERN ---

    def _head(self) -> tuple[str | None, TypeColumn | tuple[TypeDefinition, ...] | None, Name | None]:
        cursor = self.cursor
        source: str | None = None
        types: TypeColumn | tuple[TypeDefinition, ...] | None = None
        time: Name | None = None
        seen: set[str] = set()
        while (word := cursor.token.upper) in ("FROM", "TYPE", "TIME"):
            if word in seen:
                cursor.fail(f"{word} is given twice")
            seen.add(word)
            cursor.take()
            if word == "FROM":
                source = self._table()
            elif word == "TYPE":
                types = self._types()
            else:
                time, _ = cursor.name("a column")
        return source, types, time

    def _table(self) -> str:
        names = [self.cursor.name("a table", double_quotes=False)[0]]
        while self.cursor.accept("."):
            names.append(self.cursor.name("a table", double_quotes=False)[0])
        return ".".join("`" + name.text.replace("`", "``") + "`" if name.quoted else name.text for name in names)

    def _types(self) -> TypeColumn | tuple[TypeDefinition, ...]:
        cursor = self.cursor
        name, span = cursor.name("a column, or a type with AS and its condition")
        if not cursor.sees("AS"):
            return TypeColumn(name, span)
        definitions = [self._definition(name, span)]
        while cursor.accept(","):
            definitions.append(self._definition(*cursor.name("a type")))
        return tuple(definitions)

    def _definition(self, name: Name, span: Span) -> TypeDefinition:
        self.cursor.expect("AS")
        condition = self.expressions.expression()
        return TypeDefinition(name.text, condition, span)

    # --- WHERE ---

    def _selection(self) -> tuple[Selection, StrictOn | None]:
        cursor = self.cursor
        if cursor.accept("STRICT"):
            return Selection.STRICT, self._strict_on() if cursor.accept("ON") else None
        if cursor.accept("SKIP", "TILL", "NEXT", "MATCH"):
            return Selection.NEXT, None
        if not cursor.accept("SKIP", "TILL", "ANY", "MATCH") and cursor.sees("SKIP"):
            cursor.fail("expected SKIP TILL NEXT MATCH or SKIP TILL ANY MATCH", hint="or STRICT")
        return Selection.ANY, None

    def _strict_on(self) -> StrictOn:
        """`(A, B)` behind STRICT ON."""
        cursor = self.cursor
        start = cursor.expect("(", hint="STRICT ON (A, B) lists event types").span
        types = [cursor.name("an event type")[0].text]
        while cursor.accept(","):
            types.append(cursor.name("an event type")[0].text)
        return StrictOn(tuple(dict.fromkeys(types)), start.to(cursor.expect(")").span))

    def _where(self) -> tuple[tuple[Same, ...], tuple[Expr, ...]]:
        cursor = self.cursor
        same: list[Same] = []
        where: list[Expr] = []
        while True:
            if cursor.sees("[") or cursor.sees("SAME", "["):
                same.append(self._same())
            else:
                where.append(self.expressions.conjunct())
            if not cursor.accept("AND"):
                break
        if cursor.sees("OR"):
            if same:
                cursor.fail("SAME[...] can't be combined with OR", code="SAME_NOT_ALONE")
            where = [self._disjunction(where)]
        for expr in where:
            self._refuse_inner_same(expr)
        return tuple(same), tuple(conjunct for expr in where for conjunct in flat(expr))

    def _disjunction(self, first: list[Expr]) -> Expr:
        options = [first[0] if len(first) == 1 else Operator("and", tuple(first), span_over(first[0], first[-1]))]
        while self.cursor.accept("OR"):
            options.append(self.expressions.conjuncts())
        return Operator("or", tuple(options), span_over(options[0], options[-1]))

    def _same(self) -> Same:
        cursor, start = self.cursor, self.cursor.token
        cursor.accept("SAME")
        cursor.expect("[")
        columns = self._columns("SAME")
        end = cursor.expect("]")
        return Same(columns, start.span.to(end.span))

    def _refuse_inner_same(self, expr: Expr) -> None:
        for node in walk(expr):
            if isinstance(node, Subscript) and isinstance(base := node.base, ColumnRef) and _is_same(base):
                self.cursor.fail(
                    "SAME[...] is a condition of its own, joined by AND, not part of an expression",
                    code="SAME_NOT_ALONE",
                    span=node.span,
                )

    def _columns(self, where: str) -> tuple[Name, ...]:
        names = [self._column(where)]
        while self.cursor.accept(","):
            names.append(self._column(where))
        return tuple(names)

    def _column(self, where: str) -> Name:
        cursor, start = self.cursor, self.cursor.token.span
        if cursor.token.kind not in _NAMED:
            cursor.fail(f"{where} takes plain columns", code="KEY_NOT_A_COLUMN")
        name, _ = cursor.name("a column")
        if cursor.token.upper in (".", "(", "+", "-", "*", "/", "%", "||"):
            cursor.fail(
                f"{where} takes plain columns of the input, no expressions",
                code="KEY_NOT_A_COLUMN",
                span=start.to(cursor.token.span),
                hint="every event has the columns: write them without a variable",
            )
        return name

    # --- RETURN ---

    def _returns(self) -> ReturnAggregates | ReturnMatches:
        cursor = self.cursor
        if cursor.sees("MATCHES") and (cursor.ahead().kind is Kind.END or cursor.ahead().upper == "LIMIT"):
            cursor.take()
            return ReturnMatches(self._limit() if cursor.accept("LIMIT") else None)
        items = [self._item()]
        while cursor.accept(","):
            items.append(self._item())
        return ReturnAggregates(tuple(items))

    def _limit(self) -> int:
        token = self.cursor.token
        if not re.fullmatch(r"[0-9]{1,18}", token.text) or int(token.text) == 0:
            self.cursor.fail("LIMIT takes a whole number from 1 on", code="INVALID_LIMIT")
        return int(self.cursor.take().text)

    def _item(self) -> ReturnItem:
        cursor, start = self.cursor, self.cursor.token.span
        expr = self.expressions.expression()
        span = expr.span or start
        if cursor.accept("AS"):
            return ReturnItem(cursor.name("a column name")[0].text, expr)
        return ReturnItem(default_name(expr, cursor.text[span.start : span.end]), expr)


def default_name(expr: Expr, written: str) -> str:
    """The name of an output column without AS: as written, with the function in lower case.

    >>> default_name(Call("sum"), "SUM( t.duration )")
    'sum(t.duration)'
    """
    if isinstance(expr, ColumnRef):
        name = expr.parts[-1].text
        return name.lower() if len(expr.parts) == 1 and name.lower() in _WINDOW_EDGES else name
    text = " ".join(written.split())
    if isinstance(expr, Call):
        inside = text[text.index("(") + 1 : -1].strip() if "(" in text else ""
        return f"{expr.name}({inside})"
    return text


def flat(expr: Expr) -> tuple[Expr, ...]:
    """The conjuncts of a condition."""
    if isinstance(expr, Operator) and expr.op == "and":
        return tuple(conjunct for arg in expr.args for conjunct in flat(arg))
    return (expr,)


def _is_same(ref: ColumnRef) -> bool:
    return len(ref.parts) == 1 and ref.parts[0].folded == "SAME"
