"""The arguments of a call: lists, and the keyword forms such as TRIM(BOTH 'x' FROM y).

A keyword form becomes the call of a function with plain arguments, which means the same in Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Literal, ModifiedCall, NamedArgument, OrderItem, Star

MAX_DEPTH = 50
"""Largest depth of nested expressions. Deeper text would overflow Python's stack."""

MAX_LIST = 10_000
"""Largest number of values in a list, such as that of IN."""

_TRIM_SIDES = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
_KEYWORD_FORMS = frozenset(("substring", "substr", "position", "trim", "overlay"))

TIME_UNITS = tuple("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND".split())
_ALWAYS_WITH_UNIT = frozenset(("timestampadd", "timestampdiff", "timediff"))
_UNIT_FUNCTIONS = _ALWAYS_WITH_UNIT | {"dateadd", "date_add", "datediff", "date_diff"}


class Arguments(NamedTuple):
    """The name of the function that is called, its arguments, and the ORDER BY behind them."""

    name: str
    args: list[Expr]
    order_by: tuple[OrderItem, ...] = ()


class ArgumentParser(ABC):
    """Reads the arguments of calls. The subclass reads the expressions in them.

    `reads_aggregates`: aggregates may have FILTER, WITHIN GROUP, ORDER BY and IGNORE NULLS, as in a clause.
    """

    def __init__(self, cursor: Cursor, *, reads_aggregates: bool = False) -> None:
        self.cursor = cursor
        self.depth = 0
        self.reads_aggregates = reads_aggregates

    @abstractmethod
    def expression(self) -> Expr:
        """An expression of any kind."""

    @abstractmethod
    def operand(self) -> Expr:
        """An operand of a comparison: arithmetic, but neither comparisons nor AND, OR, NOT."""

    @abstractmethod
    def primary(self) -> Expr:
        """An expression without operators around it."""

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.cursor.fail(f"expressions nest at most {MAX_DEPTH} levels deep", code="TOO_DEEP")
        yield
        self.depth -= 1

    # --- keyword forms ---

    def _arguments(self, name: str) -> Arguments:
        """The arguments up to the closing parenthesis, which it steps over."""
        special = self._of_rows(name)
        if special is not None:
            return Arguments(name, special)
        if name not in _KEYWORD_FORMS or self.cursor.sees(")"):
            return self._call_list(name)
        with self._deeper():
            form = self._trimmed() if name == "trim" else Arguments(name, self._keyword_form(name))
        while self.cursor.accept(","):
            form.args.append(self.expression())
        self.cursor.expect(")")
        return form

    def _of_rows(self, name: str) -> list[Expr] | None:
        """COUNT(*), COUNT(A.*) and CLASSIFIER(A); None for other arguments."""
        cursor = self.cursor
        if cursor.sees("*", ")"):
            star = Star(None, cursor.take().span)
            cursor.expect(")")
            return [star]
        if cursor.ahead().upper == "." and cursor.ahead(2).upper == "*":
            qualifier, span = cursor.name("a variable")
            cursor.expect(".")
            end = cursor.expect("*")
            cursor.expect(")")
            return [Star(qualifier, span.to(end.span))]
        named = cursor.token.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
        if name == "classifier" and named and cursor.ahead().upper == ")":
            variable, span = cursor.name("a variable")
            cursor.expect(")")
            return [ColumnRef((variable,), span)]
        return None

    def _trimmed(self) -> Arguments:
        """TRIM([BOTH | LEADING | TRAILING] [characters] FROM text), or the plain TRIM([characters,] text)."""
        cursor, side = self.cursor, _TRIM_SIDES.get(self.cursor.token.upper)
        named = (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED, Kind.STRING)
        if side is None or not (cursor.ahead().kind in named or cursor.ahead().upper == "("):
            first = self.expression()
            return Arguments("trim", [first, self.expression()] if cursor.accept("FROM") else [first])
        cursor.take()
        characters = [] if cursor.sees("FROM") else [self.expression()]
        cursor.expect("FROM")
        return Arguments(side, [*characters, self.expression()])

    def _keyword_form(self, name: str) -> list[Expr]:
        """SUBSTRING(x FROM n FOR m), POSITION(x IN y), OVERLAY(x PLACING y FROM n FOR m); else the first argument."""
        cursor = self.cursor
        args = [self.operand() if name == "position" else self.expression()]
        if (name == "position" and cursor.accept("IN")) or (name in ("substring", "substr") and cursor.accept("FROM")):
            args.append(self.expression())
        elif name == "overlay" and cursor.accept("PLACING"):
            args.append(self.expression())
            cursor.expect("FROM")
            args.append(self.expression())
        else:
            return args
        if name != "position" and cursor.accept("FOR"):
            args.append(self.expression())
        return args

    # --- the words of aggregates ---

    def _modified(self, call: Call, order_by: tuple[OrderItem, ...]) -> Expr:
        """The call with the words behind it: WITHIN GROUP, FILTER, IGNORE NULLS."""
        cursor = self.cursor
        for word in ("OVER",) if self.reads_aggregates else ("OVER", "FILTER", "WITHIN"):
            if cursor.sees(word) and cursor.ahead().upper in ("(", "GROUP"):
                hint = (
                    "leave OVER out: an aggregate reads the rows of the match so far" if self.reads_aggregates else None
                )
                cursor.fail(f"{word} can't be used in a pattern query", code="UNSUPPORTED_IN_CLAUSE", hint=hint)
        within_group = cursor.accept("WITHIN", "GROUP")
        if within_group:
            if order_by:
                cursor.fail(f"{call.name} has two orders", span=cursor.tokens[cursor.at - 2].span)
            cursor.expect("(")
            order_by = self._order_by()
            cursor.expect(")")
        where = None
        if cursor.sees("FILTER", "("):
            cursor.expect("FILTER")
            cursor.expect("(")
            cursor.expect("WHERE")
            where = self.expression()
            cursor.expect(")")
        ignores_nulls = (
            True if cursor.accept("IGNORE", "NULLS") else False if cursor.accept("RESPECT", "NULLS") else None
        )
        if not order_by and where is None and ignores_nulls is None:
            return call
        span = None if call.span is None else call.span.to(cursor.tokens[cursor.at - 1].span)
        return ModifiedCall(call, order_by, within_group, where, ignores_nulls, span)

    def _call_list(self, name: str) -> Arguments:
        """Plain arguments, and the ORDER BY of an aggregate behind them; steps over the closing parenthesis."""
        cursor = self.cursor
        items: list[Expr] = []
        if cursor.accept(")"):
            return Arguments(name, items)
        while True:
            items.append(self._argument())
            if self.reads_aggregates and cursor.sees("ORDER", "BY"):
                order_by = self._order_by()
                cursor.expect(")")
                return Arguments(name, items, order_by)
            if self._ends_list(len(items)):
                return Arguments(name, self._with_unit(name, items))

    def _argument(self) -> Expr:
        cursor = self.cursor
        if not (cursor.token.is_name and cursor.ahead().upper == "=>"):
            return self._listed_literal() or self.expression()
        name, span = cursor.name("the argument's name")
        cursor.expect("=>")
        value = self.expression()
        return NamedArgument(name, value, span.to(value.span))

    def _with_unit(self, name: str, items: list[Expr]) -> list[Expr]:
        """The arguments of timestampdiff(MINUTE, a, b) and the like, with the unit as a literal."""
        if name not in _UNIT_FUNCTIONS or (len(items) != 3 and name not in _ALWAYS_WITH_UNIT):
            return items
        unit = items[0]
        if not (isinstance(unit, ColumnRef) and len(unit.parts) == 1 and unit.parts[0].text.upper() in TIME_UNITS):
            hint = f"the units are {', '.join(TIME_UNITS)}"
            self.cursor.fail(f"{name} begins with a unit, without quotes", span=unit.span, hint=hint)
        return [Literal("unit", unit.parts[0].text.upper(), unit.span), *items[1:]]

    def _order_by(self) -> tuple[OrderItem, ...]:
        self.cursor.expect("ORDER", "BY")
        items = [self._order_item()]
        while self.cursor.accept(","):
            items.append(self._order_item())
        return tuple(items)

    def _order_item(self) -> OrderItem:
        cursor, expr = self.cursor, self.expression()
        descending = cursor.accept("DESC") or (cursor.accept("ASC") and False)
        nulls_first = True if cursor.accept("NULLS", "FIRST") else False if cursor.accept("NULLS", "LAST") else None
        if nulls_first is (not descending):  # the default, so that both spellings are the same expression
            nulls_first = None
        return OrderItem(expr, descending, nulls_first)

    # --- lists ---

    def _list(self) -> list[Expr]:
        """Expressions separated by commas; steps over the closing parenthesis."""
        cursor = self.cursor
        items: list[Expr] = []
        if cursor.accept(")"):
            return items
        while True:
            items.append(self._listed_literal() or self.expression())
            if self._ends_list(len(items)):
                return items

    def _ends_list(self, count: int) -> bool:
        """Steps over the closing parenthesis or a comma behind value number `count`; whether the list ends there."""
        if self.cursor.accept(")"):
            return True
        self.cursor.expect(",", hint="the list is closed by ')'")
        if count >= MAX_LIST:
            hint = "put the values into a table and join it before matching"
            self.cursor.fail(f"a list has at most {MAX_LIST:,} values", code="TOO_MANY_VALUES", hint=hint)
        return False

    def _listed_literal(self) -> Expr | None:
        """A number or string that stands alone in a list: a fast path for long lists."""
        token = self.cursor.token
        if token.kind not in (Kind.NUMBER, Kind.STRING) or self.cursor.ahead().upper not in (",", ")"):
            return None
        return self.primary()
