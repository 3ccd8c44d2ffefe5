"""An expression that Spark evaluates -> the same expression, whose common failures raise an error with key and time.

Spark's own errors name neither. A CASE around an operation that may fail tests its operands first. So they are
evaluated twice, and Spark may evaluate an expression that occurs twice before a condition that guards it. Therefore
only operations get a CASE whose operands can be tested without a failure: columns, numbers, and arithmetic over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import types as s

from ostinato.clause.task.located_errors import shown_text
from ostinato.errors import OF_ROWS_HINT, MatchError, QueryError, carried
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import (
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    Operator,
    children,
    rebuild,
    string_literal,
    walk,
)
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import type_of

_MOST_OPERATIONS = 8
"""An expression with more arithmetic stays as it is: each level of operands doubles the text."""
_MOST_SHOWN = 80
"""Characters of a value that a message shows."""
_TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_DIVISIONS = {"/", "%", "div"}
_PLACE = "\0"
"""Stands in an error's text where the row's values are put in."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of an operation: its code, and its message without the place."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FailureLocator:
    """Locates the failures of expressions over rows that have these columns."""

    text: str | None
    """The text of the clause, which messages quote."""
    shown: Mapping[str, s.DataType]
    """The columns that name a row: its keys and its times."""
    leaf_type: Callable[[Expr], pa.DataType | None]
    settings: Settings

    def located(self, expr: Expr, measure: str | None = None) -> Expr:
        """The expression with located failures. `measure`: the name of the measure that it computes."""
        arithmetic = sum(isinstance(node, Cast) or _is_arithmetic(node) for node in walk(expr))
        return self._located(expr, measure) if self.settings.ansi and arithmetic <= _MOST_OPERATIONS else expr

    def _located(self, expr: Expr, measure: str | None) -> Expr:
        inside = rebuild(expr, lambda node: self._located(node, measure))
        failure = self._failure(expr)
        if failure is None or not all(map(self._can_be_tried, children(expr))):
            return inside
        place = f", in the measure '{measure}'" if measure is not None else f" in {self._written(expr)}"
        message = self._message(failure.code, f"{failure.message}{place}")
        return Case(None, ((self._fails(expr), Call("raise_error", (message,))),), inside)

    def _written(self, expr: Expr) -> str:
        if self.text is not None and expr.span is not None:
            return shown_text(self.text[expr.span.start : expr.span.end])
        return shown_text(render_expression(expr).replace("`", ""))

    def _message(self, code: str, message: str) -> Expr:
        where = f", in the row with {_PLACE}" if self.shown else ""
        text = carried(MatchError(code, message.replace(_PLACE, "") + where, hint=OF_ROWS_HINT))
        before, _, after = text.partition(_PLACE)
        parts: list[Expr] = [string_literal(before)]
        for at, (name, kind) in enumerate(self.shown.items()):
            parts += [string_literal(f"{', ' if at else ''}{name} = "), _shown_value(Column(name), kind)]
        return Call("concat", (*parts, string_literal(after)))

    # --- the operations that may fail ---

    def _failure(self, expr: Expr) -> Failure | None:
        """The error that the operation may raise for some rows."""
        match expr:
            case Operator(op, (left, right)) if op in _DIVISIONS and not isinstance(right, Literal):
                return Failure("DIVIDE_BY_ZERO", "division by zero") if self._are_numbers(left, right) else None
            case Operator(op, (left, right)) if op in _TRY and self._is_integer(left) and self._is_integer(right):
                return Failure("ARITHMETIC_OVERFLOW", "the result is too large")
            case Cast(attempt=False):
                code = self._cast_code(expr)
                return None if code is None else Failure(code, f"the value can't be cast to {expr.type_text.upper()}")
        return None

    def _cast_code(self, cast: Cast) -> str | None:
        source, target = self._type(cast.value), self._type(cast)
        if source is None or target is None:
            return None
        if pa.types.is_string(source):
            is_plain = pa.types.is_primitive(target) and not pa.types.is_decimal(target)
            return "CAST_INVALID_INPUT" if is_plain else None
        if pa.types.is_integer(target) and (pa.types.is_floating(source) or _is_wider(source, target)):
            return "CAST_OVERFLOW"
        return None

    def _fails(self, expr: Expr) -> Expr:
        """The condition under which the operation fails: it has no result, though it has all operands."""
        operands = [self._tried(node) for node in children(expr)]
        fails = _is_zero(operands[1]) if _is_division(expr) else _is_null(self._tried(expr))
        return Operator("and", (fails, *(Operator("not", (_is_null(node),)) for node in operands)))

    def _can_be_tried(self, expr: Expr) -> bool:
        """Whether `_tried` never fails."""
        match expr:
            case Column():
                return True
            case Literal(kind=kind):
                return kind == "number"
            case Operator(op, args):
                return op in {*_TRY, "/", "%"} and self._are_numbers(*args) and all(map(self._can_be_tried, args))
            case Cast(value):
                return self._failure(expr) is not None and self._can_be_tried(value)
        return False

    def _tried(self, expr: Expr) -> Expr:
        """The expression, but NULL where one of its operations fails."""
        failure = self._failure(expr)
        inside = rebuild(expr, self._tried)
        match inside:
            case Cast() if failure is not None:
                return replace(inside, attempt=True)
            case Operator(op, args) if failure is not None and op in _TRY:
                return Call(_TRY[op], args)
            case Operator(_, (_, divisor)) if failure is not None:
                return Case(None, ((_is_zero(divisor), Literal("null", "NULL")),), inside)
        return inside

    # --- types ---

    def _are_numbers(self, *operands: Expr) -> bool:
        """Whether the operands are integers or floats. An operation on decimals may overflow too."""
        return all(self._is_integer(node) or self._is_float(node) for node in operands)

    def _is_integer(self, expr: Expr) -> bool:
        return (kind := self._type(expr)) is not None and bool(pa.types.is_integer(kind))

    def _is_float(self, expr: Expr) -> bool:
        return (kind := self._type(expr)) is not None and bool(pa.types.is_floating(kind))

    def _type(self, expr: Expr) -> pa.DataType | None:
        """The type of a sub-expression; None where only Spark knows it."""
        try:
            return type_of(expr, self.leaf_type, self.settings)
        except QueryError:
            return None


def _is_arithmetic(expr: Expr) -> bool:
    return _is_division(expr) or (isinstance(expr, Operator) and expr.op in _TRY)


def _is_division(expr: Expr) -> bool:
    return isinstance(expr, Operator) and expr.op in _DIVISIONS


def _is_zero(expr: Expr) -> Expr:
    return Operator("=", (expr, Literal("number", "0")))


def _shown_value(column: Column, kind: s.DataType) -> Expr:
    text: Expr = Call("hex", (column,)) if isinstance(kind, s.BinaryType) else Cast(column, "STRING")
    # An error is one line, in which brackets have a meaning: see `errors.carried`. Spark's errors quote single lines.
    line_ends = (Call("chr", (Literal("number", "10"),)), Call("chr", (Literal("number", "13"),)))
    replaced = Call("concat", (*line_ends, string_literal("[]")))
    text = Call("translate", (text, replaced, string_literal("  ()")))
    text = Call("left", (text, Literal("number", str(_MOST_SHOWN))))
    if isinstance(kind, s.StringType):
        text = Call("concat", (string_literal("'"), text, string_literal("'")))
    return Call("coalesce", (text, string_literal("NULL")))


def _is_wider(source: pa.DataType, target: pa.DataType) -> bool:
    return bool(pa.types.is_integer(source) and source.bit_width > target.bit_width)


def _is_null(expr: Expr) -> Expr:
    return Operator("is null", (expr,))
