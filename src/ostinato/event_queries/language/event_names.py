"""The names an event query may use: columns of the input, variables, types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.event_queries.language.event_checks import absent_parts, repeating_variables, variables_outside_not
from ostinato.event_queries.language.event_query import EventQuery, OneEvent, occurrences
from ostinato.expressions.lexer import tokenize
from ostinato.expressions.parsing import is_niladic
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Field, Name
from ostinato.rows.column_lookup import ColumnLookup


@dataclass(frozen=True, slots=True)
class Reference:
    """The meaning of `t.address.city`: its `variables` (None without a qualifier) and its `value` over one event."""

    variables: frozenset[str] | None
    value: Expr


class EventNames:
    """Resolves names. Variables and types are compared exactly, columns by the session's case rule."""

    def __init__(self, query: EventQuery, columns: tuple[str, ...], case_sensitive: bool) -> None:
        self.query = query
        self.columns = ColumnLookup(columns, case_sensitive)
        self.variables = variables_outside_not(query.pattern)
        under = (event for absent in absent_parts(query.pattern) for event in occurrences(absent))
        self.absent = tuple(dict.fromkeys(event.variable for event in under))
        self.repeating = repeating_variables(query.pattern)
        self.type_of: dict[str, str] = {}
        self.types: dict[str, OneEvent] = {}
        for event in occurrences(query.pattern):
            self.type_of.setdefault(event.variable, event.type)
            self.types.setdefault(event.type, event)

    def fail(self, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.query.text, span=span, hint=hint)

    def column(self, name: Name, span: Span | None) -> str:
        is_variable = name.text in self.type_of
        hint = f"'{name.text}' is a variable: write {name.text}.column" if is_variable else None
        return self.columns.column(name.text, text=self.query.text, span=span, hint=hint)

    def listed(self, name: Name, clause: str) -> str:
        """The column that a clause lists. An error points to the name behind the word `clause` (GROUP, TIME)."""
        return self.column(name, _span_behind(self.query.text, clause, name))

    def has_column(self, name: Name) -> bool:
        return name.text in self.columns

    def variables_of(self, name: Name) -> frozenset[str] | None:
        """The variable of that name, or all variables of the type of that name, or None."""
        if name.text in self.type_of:
            return frozenset((name.text,))
        if name.text in self.types:
            return frozenset(variable for variable, kind in self.type_of.items() if kind == name.text)
        return None

    def variable(self, name: Name, span: Span | None) -> frozenset[str]:
        variables = self.variables_of(name)
        if variables is None:
            known_names = tuple(dict.fromkeys((*self.type_of, *self.types)))
            hint = did_you_mean(name.text, known_names) or f"the variables are {', '.join(self.type_of)}"
            self.fail("UNKNOWN_VARIABLE", f"'{name.text}' is no variable and no type of PATTERN", span, hint)
        return variables

    def is_niladic(self, expr: ColumnRef) -> bool:
        """Whether it is a function without parentheses, such as current_date."""
        first = expr.parts[0]
        return len(expr.parts) == 1 and is_niladic(first.text) and not self.has_column(first)

    def reference(self, expr: ColumnRef) -> Reference:
        """The meaning of `x`, `t.x` or `address.city`."""
        first, *rest = expr.parts
        variables = None
        if rest and self.variables_of(first) is not None:
            variables, (first, *rest) = self.variables_of(first), rest
        elif rest and not self.has_column(first):
            self._refuse_table(first, expr.span)
            self.variable(first, expr.span)  # raises UNKNOWN_VARIABLE
        return Reference(variables, self.fields(first, rest, expr.span))

    def fields(self, column: Name, path: list[Name], span: Span | None) -> Expr:
        """The column with the fields taken from it."""
        value: Expr = Column(self.column(column, span), span)
        for field in path:
            value = Field(value, field, span)
        return value

    def _refuse_table(self, name: Name, span: Span | None) -> None:
        source = self.query.source
        if source is not None and name.text.lower() == source.replace("`", "").rpartition(".")[2].lower():
            self.fail(
                "QUALIFIED_BY_TABLE",
                f"the table's name '{name.text}' can't qualify columns of an event query",
                span,
                "leave it out, or write a variable of PATTERN",
            )


def _span_behind(text: str | None, clause: str, name: Name) -> Span | None:
    """The span of the name behind the clause's first word."""
    tokens = [] if text is None else tokenize(text)
    behind = False
    for token in tokens:
        if behind and token.name == name.text:
            return token.span
        behind = behind or token.upper == clause
    return None
