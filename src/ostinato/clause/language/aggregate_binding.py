"""An aggregate as written -> the bound aggregate, or the navigation that means the same.

FILTER becomes a CASE in the argument: aggregates ignore NULLs. `first_value`, `last_value` and `any_value` are FIRST
and LAST, unless they skip rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn, Protocol

from ostinato.clause.language import vocabulary
from ostinato.errors import Span
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Call,
    Case,
    Expr,
    Literal,
    ModifiedCall,
    Name,
    NamedArgument,
    Navigation,
    OrderItem,
    RowSet,
    Star,
)

TRUE = Literal("boolean", "TRUE")


@dataclass(slots=True)
class Argument:
    """The argument of one navigation or aggregate: the variable whose rows it reads, as far as it has been read."""

    function: str
    rows: RowSet = None
    qualified: bool | None = None
    refers: bool = False


class Names(Protocol):
    """The names of the clause, as far as binding needs them."""

    def fail(self, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn: ...

    def variable(self, name: Name, span: Span | None) -> RowSet: ...


class AggregateBinder:
    """Binds one aggregate. `operand` binds an expression over one row, and notes the variable of that row."""

    def __init__(self, names: Names, operand: Callable[[Expr, Argument], Expr], written: ModifiedCall) -> None:
        self.names = names
        self.operand = operand
        self.written = written
        self.call = written.call
        self.argument = Argument(self.call.name.upper())

    def bind(self, *, final: bool) -> Expr:
        name, call = vocabulary.aggregate_name(self.call.name), self.call
        assert name is not None
        if any(isinstance(arg, NamedArgument) for arg in call.args):
            self._fail(f"{call.name} takes no named arguments", "leave the names out")
        if name in vocabulary.PERCENTILES:
            return self._percentile(name, final)
        self._check_words(name)
        self._check_number(name)
        if name == "count" and (not call.args or isinstance(call.args[0], Star)):
            return self._count_rows(final)
        if name in vocabulary.EDGE_VALUES:
            return self._edge_value(name, final)
        if name == "listagg":
            return self._listagg(final)
        args = tuple(self.operand(arg, self.argument) for arg in call.args)
        distinct = call.distinct or call.name == "collect_set"
        return self._aggregate(name, (*args[:-1], self._filtered(args[-1])), final, distinct, self._order(args[0]))

    def _aggregate(
        self, name: str, args: tuple[Expr, ...], final: bool, distinct: bool, order_by: tuple[OrderItem, ...] = ()
    ) -> Aggregate:
        return Aggregate(name, args, self.argument.rows, distinct, final, order_by, self.call.span)

    # --- checks ---

    def _fail(self, message: str, hint: str | None = None) -> NoReturn:
        self.names.fail("INVALID_ARGUMENTS", message, self.call.span, hint)

    def _check_words(self, name: str) -> None:
        """The words have to mean something for this aggregate."""
        word = self.call.name
        if self.written.order_by and name not in vocabulary.ORDERED_AGGREGATES:
            self._fail(f"the result of {word} doesn't depend on an order", "leave ORDER BY out")
        if self.written.ignores_nulls is not None and name not in vocabulary.EDGE_VALUES:
            self._fail(f"IGNORE NULLS and RESPECT NULLS go with first_value and last_value, not with {word}")

    def _check_number(self, name: str) -> None:
        least, most = vocabulary.AGGREGATE_ARGUMENTS[name]
        if not least <= len(self.call.args) <= most and (name != "count" or self.call.args):
            number = f"{least}" if least == most else f"{least} or {most}"
            self._fail(f"{self.call.name} takes {number} argument{'s'[: most - 1]}")

    # --- FILTER and ORDER BY ---

    def _filtered(self, value: Expr) -> Expr:
        """The value where the condition of FILTER is TRUE, else NULL."""
        if self.written.where is None:
            return value
        condition = self.operand(self.written.where, self.argument)
        return Case(None, ((condition, value),), None, self.written.where.span, word="filter")

    def _order(self, value: Expr) -> tuple[OrderItem, ...]:
        items = tuple(replace(item, expr=self.operand(item.expr, self.argument)) for item in self.written.order_by)
        if self.call.distinct and any(item.expr != value for item in items):
            self._fail(f"with DISTINCT, {self.call.name} can be ordered by its argument only")
        return items

    # --- forms of their own ---

    def _count_rows(self, final: bool) -> Expr:
        """count(*), count(A.*): rows. With FILTER it is count_if."""
        star = self.call.args[0] if self.call.args else Star()
        assert isinstance(star, Star)
        if self.call.distinct:
            self._fail("count(DISTINCT ...) takes an expression")
        rows = None if star.qualifier is None else self.names.variable(star.qualifier, star.span)
        if self.written.where is None:
            return Aggregate("count", (), rows, final=final, span=self.call.span)
        self.argument = Argument("COUNT", rows, rows is not None, refers=True)
        condition = self.operand(self.written.where, self.argument)
        return self._aggregate("count_if", (condition,), final, distinct=False)

    def _edge_value(self, name: str, final: bool) -> Expr:
        """FIRST or LAST; an aggregate if some rows of the variable don't count."""
        call, ignores_nulls = self.call, self.written.ignores_nulls
        if call.distinct:
            self._fail(f"{call.name} takes no DISTINCT")
        if len(call.args) == 2:
            flag = call.args[1]
            if not (isinstance(flag, Literal) and flag.kind == "boolean") or ignores_nulls is not None:
                hint = "it says whether NULLs are ignored; FIRST(x, 1) reads the row after the first"
                self._fail(f"the second argument of {call.name} is TRUE or FALSE", hint)
            ignores_nulls = flag.text.upper() == "TRUE"
        value = self.operand(call.args[0], self.argument)
        if ignores_nulls:
            return self._aggregate(name, (self._filtered(value),), final, distinct=False)
        if self.written.where is not None:
            return self._aggregate(name, (value, self._filtered(TRUE)), final, distinct=False)
        if not self.argument.refers:
            self._fail(f"{call.name} needs a column or CLASSIFIER() in its argument")
        anchor = Anchor.FIRST if vocabulary.EDGE_VALUES[name] == "first" else Anchor.LAST
        return Navigation(value, self.argument.rows, anchor, final=final, span=call.span)

    def _listagg(self, final: bool) -> Expr:
        """The argument is cast to text as concat does."""
        call = self.call
        delimiter: Expr = call.args[1] if len(call.args) == 2 else Literal("string", "''")
        if not (isinstance(delimiter, Literal) and delimiter.kind in ("string", "null")):
            self._fail(f"the delimiter of {call.name} is a text, written as a literal", f"{call.name}(x, ', ')")
        value = self.operand(call.args[0], self.argument)
        order_by = self._order(value)
        text = Call("concat", (self._filtered(value),), span=value.span)
        return self._aggregate("listagg", (text, delimiter), final, call.distinct, order_by)

    # --- percentiles ---

    def _percentile(self, name: str, final: bool) -> Expr:
        """percentile(x, p) and its other forms: median(x), percentile_cont(p) WITHIN GROUP (ORDER BY x)."""
        word, args, order_by = self.call.name, self.call.args, self.written.order_by
        if word in ("percentile_cont", "percentile_disc"):
            if len(args) != 1 or len(order_by) != 1:
                self._fail(f"{word} has one number and one key", f"write {word}(0.5) WITHIN GROUP (ORDER BY x)")
            value, fraction = order_by[0].expr, self._fraction(args[0])
        else:
            self._check_words(name)
            most = {"median": 1, "percentile": 2, "percentile_approx": 3, "approx_percentile": 3}[word]
            if not min(most, 2) <= len(args) <= most:
                self._fail(f"{word} takes {'a value' if most == 1 else 'a value and a number from 0 to 1'}")
            value, fraction = args[0], self._fraction(args[1]) if len(args) > 1 else Decimal("0.5")
            if len(args) == 3 and not (isinstance(args[2], Literal) and args[2].text.isdigit() and int(args[2].text)):
                self._fail(f"the accuracy of {word} is a whole number above 0, written as a literal")
        bound = self.operand(value, self.argument)
        percentage = Literal("number", repr(float(fraction)))
        order = (OrderItem(bound, descending=True),) if order_by and order_by[0].descending else ()
        return self._aggregate(name, (self._filtered(bound), percentage), final, self.call.distinct, order)

    def _fraction(self, written: Expr) -> Decimal:
        """A number from 0 to 1, written as a literal."""
        fraction = Decimal(-1)
        if isinstance(written, Literal) and written.kind == "number":
            fraction = Decimal(written.text.rstrip("lLsSyYfFdDbB"))
        if not 0 <= fraction <= 1:
            several = isinstance(written, Call) and written.name == "array"
            hint = f"write one {self.call.name} for each" if several else None
            self._fail(f"the percentage of {self.call.name} is a number from 0 to 1, written as a literal", hint)
        return fraction
