"""Expressions of an event query -> expressions over `Navigation`s and `Aggregate`s with their variables."""

from __future__ import annotations

from ostinato.clause.language import vocabulary
from ostinato.errors import Span
from ostinato.event_queries.language.event_names import EventNames
from ostinato.event_queries.language.event_query import TrendFunction
from ostinato.expressions.nondeterministic import NONDETERMINISTIC
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Call,
    ColumnRef,
    Expr,
    Field,
    Name,
    Navigation,
    RowSet,
    Star,
    rebuild,
    walk,
)

EVERY_EVENT: RowSet = None
"""The rows of a column without a variable."""

AGGREGATES = tuple(function.value for function in TrendFunction)
_NAVIGATION = vocabulary.LOGICAL_NAVIGATION | vocabulary.PHYSICAL_NAVIGATION
_SHIFT = {"next": 1, "prev": -1}


class TermReader:
    def __init__(self, names: EventNames) -> None:
        self.names = names

    def read(self, expr: Expr) -> Expr:
        """`t.x` is Navigation(x, {t}, LAST), `x` the same with rows None; NEXT and PREV have `shift` 1 and -1, FIRST
        and LAST have `final`."""
        match expr:
            case ColumnRef():
                if self.names.is_niladic(expr):
                    return Call(expr.parts[0].text.lower(), span=expr.span)
                reference = self.names.reference(expr)
                return Navigation(reference.value, reference.variables, Anchor.LAST, span=expr.span)
            case Field():
                return self._field(expr)
            case Call(name=name) if name in _NAVIGATION:
                return self._navigation(expr, [], expr.span)
            case Call(name=name) if vocabulary.aggregate_name(name) in AGGREGATES:
                return self._aggregate(expr)
            case Call():
                self._plain_call(expr)
            case Star():
                self.names.fail("SYNTAX_ERROR", "'*' is only allowed inside COUNT", expr.span)
        return rebuild(expr, self.read)

    def value(self, expr: Expr, function: str, span: Span | None) -> tuple[Expr, frozenset[str]]:
        """An expression over one event, and the variables whose events it reads. Errors name the `function`."""
        read = self.read(expr)
        terms = [node for node in walk(read) if isinstance(node, Navigation)]
        for node in walk(read):
            if isinstance(node, Aggregate):
                self.names.fail("NESTED_AGGREGATE", f"an aggregate can't be an argument of {function}", node.span)
            if isinstance(node, Navigation) and (node.shift or node.final):
                self.names.fail(
                    "INVALID_NAVIGATION", f"NEXT, PREV, FIRST and LAST can't be arguments of {function}", node.span
                )
        rows = {term.rows for term in terms}
        if len(rows) > 1:
            self.names.fail("MIXED_VARIABLES", f"the argument of {function} reads more than one variable", span)
        variables = next(iter(rows), EVERY_EVENT)
        if variables is None:
            self.names.fail(
                "UNQUALIFIED_COLUMN",
                f"{function} doesn't say whose events it reads",
                span,
                f"write a variable before the column: {function}({next(iter(self.names.variables), 't')}.x)",
            )
        return one_event(read), variables

    def event(self, expr: Expr) -> frozenset[str] | None:
        """The variables that `t` or `t.*` names; None if it isn't such a term."""
        if isinstance(expr, Star) and expr.qualifier is not None:
            return self.names.variable(expr.qualifier, expr.span)
        if isinstance(expr, ColumnRef) and len(expr.parts) == 1:
            return self.names.variables_of(expr.parts[0])
        return None

    # --- NEXT, PREV, FIRST, LAST ---

    def _field(self, expr: Field) -> Expr:
        """`NEXT(t).speed`; any other field belongs to a value."""
        path: list[Name] = []
        base: Expr = expr
        while isinstance(base, Field):
            path.insert(0, base.name)
            base = base.base
        if isinstance(base, Call) and base.name in _NAVIGATION and base.args and self.event(base.args[0]) is not None:
            return self._navigation(base, path, expr.span)
        return rebuild(expr, self.read)

    def _navigation(self, call: Call, path: list[Name], span: Span | None) -> Navigation:
        word = call.name.upper()
        if len(call.args) != 1 or call.distinct or call.semantics is not None:
            self.names.fail("INVALID_NAVIGATION", f"{word} takes one variable: {word}(t).x", call.span)
        variables = self.event(call.args[0])
        if variables is None:
            operand, variables = self.value(call.args[0], word, call.span)
        elif path:
            operand = self.names.fields(path[0], path[1:], span)
        else:
            message = f"{word} of a variable is an event, not a value"
            self.names.fail("INVALID_NAVIGATION", message, call.span, _column_hint(word, call.args[0]))
        anchor = Anchor.FIRST if call.name == "first" else Anchor.LAST
        shift = _SHIFT.get(call.name, 0)
        return Navigation(operand, variables, anchor, shift=shift, final=not shift, span=span)

    # --- functions ---

    def _aggregate(self, call: Call) -> Aggregate:
        name = vocabulary.aggregate_name(call.name)
        assert name is not None
        self.check_aggregate(call)
        if name == "count" and (variables := self.event(call.args[0])) is not None:
            return Aggregate("count", (), variables, span=call.span)
        if isinstance(call.args[0], Star):
            self.names.fail(
                "INVALID_ARGUMENTS",
                "COUNT(*) counts matches; a condition is about one match",
                call.span,
                "COUNT(t) is the number of its events that are bound to t",
            )
        value, rows = self.value(call.args[0], call.name.upper(), call.span)
        return Aggregate(name, (value,), rows, span=call.span)

    def check_aggregate(self, call: Call) -> None:
        """Checks for exactly one argument without DISTINCT, RUNNING or FINAL."""
        word = call.name.upper()
        if call.distinct or call.semantics is not None:
            self.names.fail("UNSUPPORTED_FUNCTION", f"{word} takes no DISTINCT, RUNNING or FINAL here", call.span)
        if len(call.args) != 1:
            self.names.fail("INVALID_ARGUMENTS", f"{word} takes 1 argument", call.span)

    def _plain_call(self, call: Call) -> None:
        name, fail = call.name, self.names.fail
        if name in vocabulary.OTHER_AGGREGATES or vocabulary.aggregate_name(name) is not None:
            hint = f"supported: {', '.join(AGGREGATES)}"
            fail("UNSUPPORTED_FUNCTION", f"the aggregate {name} isn't supported in an event query", call.span, hint)
        if name in ("classifier", "match_number", "permute"):
            fail("UNSUPPORTED_FUNCTION", f"{name.upper()} belongs to MATCH_RECOGNIZE", call.span)
        if name in vocabulary.GENERATORS:
            fail("UNSUPPORTED_FUNCTION", f"{name} makes several rows of one; here it has to give one value", call.span)
        if name in vocabulary.WINDOW_FUNCTIONS:
            hint = "PREV(t).x and NEXT(t).x are the neighbours of an event in its match"
            fail(
                "UNSUPPORTED_FUNCTION", f"the window function {name} isn't supported in an event query", call.span, hint
            )
        if call.semantics is not None:
            fail("UNSUPPORTED_FUNCTION", f"{call.semantics.upper()} belongs to MATCH_RECOGNIZE", call.span)
        if call.distinct:
            fail("INVALID_ARGUMENTS", f"DISTINCT goes with aggregates, not with {name}", call.span)
        if name in NONDETERMINISTIC:
            fail("NONDETERMINISTIC_FUNCTION", f"{name} may give another value each time for the same row", call.span)


def one_event(read: Expr) -> Expr:
    """The expression over the columns of one event, without variables."""
    if isinstance(read, Navigation):
        return read.operand
    return rebuild(read, one_event)


def _column_hint(word: str, argument: Expr) -> str:
    name = argument.parts[0].text if isinstance(argument, ColumnRef) else "t"
    return f"write {word}({name}).column"
