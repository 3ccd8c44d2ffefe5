"""The values of `:name` and `?` in a query's text. The parser puts a literal in place of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ostinato.calls.options import shown
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.python_literals import python_literal
from ostinato.expressions.syntax import Expr

Args = Mapping[str, Any] | Sequence[Any] | None
"""Values for `:name`, or for each `?` in turn."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Values by name, or values for each `?` in turn."""

    named: tuple[tuple[str, Expr], ...] = ()
    positional: tuple[Expr, ...] = ()

    @staticmethod
    def of(args: Any) -> Parameters:
        """The option `args`: a dict, or a list. Raises INVALID_OPTION and INVALID_PARAMETER."""
        if args is None:
            return NO_PARAMETERS
        if isinstance(args, Mapping):
            return Parameters(named=tuple((str(name), python_literal(value)) for name, value in args.items()))
        if isinstance(args, Iterable) and not isinstance(args, str | bytes):
            return Parameters(positional=tuple(python_literal(value) for value in args))
        raise QueryError("INVALID_OPTION", f"args is a dict or a list of values, not {shown(args)}")


NO_PARAMETERS = Parameters()


@dataclass(slots=True)
class ParameterReader:
    """Gives values to the parameters of one text, from left to right. `_marks`: so many `?` have been read before."""

    parameters: Parameters = NO_PARAMETERS
    _marks: int = 0
    _names: set[str] = field(default_factory=set)

    def value(self, cursor: Cursor) -> Expr:
        """Steps over `:name` or `?`, and returns the value. Raises UNKNOWN_PARAMETER if there is none."""
        start = cursor.take()
        if start.upper == "?":
            return self._positional(cursor, start.span)
        end = cursor.take()
        span, values = start.span.to(end.span), dict(self.parameters.named)
        if end.text not in values:
            hint = did_you_mean(end.text, values) or f'pass args={{"{end.text}": ...}}'
            cursor.fail(f":{end.text} has no value", code="UNKNOWN_PARAMETER", span=span, hint=hint)
        self._names.add(end.text)
        return replace(values[end.text], span=span)

    def _positional(self, cursor: Cursor, span: Span) -> Expr:
        values = self.parameters.positional
        self._marks += 1
        if self._marks > len(values):
            message = f"? number {self._marks} has no value: args has {len(values)}"
            cursor.fail(message, code="UNKNOWN_PARAMETER", span=span, hint="pass args=[...], a value for each ?")
        return replace(values[self._marks - 1], span=span)

    def check_all_used(self) -> None:
        """Raises UNKNOWN_PARAMETER for a value that no parameter of the text took."""
        unused = [name for name, _ in self.parameters.named if name not in self._names]
        if unused:
            hint = did_you_mean(unused[0], self._names)
            raise QueryError("UNKNOWN_PARAMETER", f"args has '{unused[0]}', and the query no :{unused[0]}", hint=hint)
        count = len(self.parameters.positional)
        if count > self._marks:
            raise QueryError("UNKNOWN_PARAMETER", f"args has {count} values, and the query {self._marks} ?")


def at_parameter(cursor: Cursor) -> bool:
    """Whether `:name` or `?` comes next."""
    if cursor.sees(":"):
        after = cursor.ahead()
        return after.kind is Kind.WORD and after.span.start == cursor.token.span.end
    return cursor.sees("?")
