"""Expr -> Typed, with implicit casts inserted. A type error says why an expression has no type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions import types as t
from ostinato.expressions.foreign_names import arguments_hint, function_hint
from ostinato.expressions.functions.casts import can_cast, cast_node
from ostinato.expressions.functions.comparisons import COMPARISONS
from ostinato.expressions.functions.function_table import FUNCTIONS, OPERATORS, SPARK_ONLY
from ostinato.expressions.functions.functions_nested import plan_field, plan_subscript
from ostinato.expressions.functions.functions_time import plan_extract
from ostinato.expressions.functions.logic import plan_case
from ostinato.expressions.nodes import Frame, FunctionRule, Site, Typed, constant
from ostinato.expressions.nondeterministic import CLOCK_FUNCTIONS, NONDETERMINISTIC
from ostinato.expressions.parsing import MAX_LEVELS
from ostinato.expressions.syntax import (
    Call,
    Case,
    Cast,
    Column,
    ColumnRef,
    Expr,
    Extract,
    Field,
    Literal,
    NamedArgument,
    Operator,
    Subscript,
    height_exceeds,
)
from ostinato.expressions.types import Settings
from ostinato.expressions.values.literals import literal_value
from ostinato.expressions.values.vectors import Vector, from_arrow, nulls_of

LeafType = Callable[[Expr], pa.DataType | None]


def type_of(expr: Expr, leaf_type: LeafType, settings: Settings = Settings()) -> pa.DataType:
    """The type of the expression's values.

    `leaf_type` gives the type of nodes whose values the caller supplies (columns, navigations, aggregates), and None
    for all others. Raises QueryError: UNKNOWN_FUNCTION, UNSUPPORTED_FUNCTION, NONDETERMINISTIC_FUNCTION,
    TYPE_MISMATCH, INVALID_LITERAL.

    >>> from ostinato.expressions.syntax import Column
    >>> type_of(
    ...     Operator("/", (Column("price"), Literal("number", "2"))), lambda node: {Column("price"): t.INT32}.get(node)
    ... )
    DataType(double)
    """
    return resolve(expr, leaf_type, settings).type


def resolve(expr: Expr, leaf_type: LeafType, settings: Settings) -> Typed:
    """The typed form of the expression, ready to run."""
    if height_exceeds(expr, MAX_LEVELS):
        raise QueryError("TOO_DEEP", f"an expression has at most {MAX_LEVELS} levels", span=expr.span)
    return _Resolver(leaf_type, settings).node(expr)


class _Resolver:
    """One walk over one expression."""

    def __init__(self, leaf_type: LeafType, settings: Settings) -> None:
        self.leaf_type = leaf_type
        self.settings = settings

    def node(self, expr: Expr) -> Typed:
        kind = self.leaf_type(expr)
        if kind is not None:
            return _leaf(expr, t.normalise(kind, self.settings))
        match expr:
            case Literal():
                return self.literal(expr)
            case Operator():
                return self.operator(expr)
            case Call():
                return self.call(expr)
            case Case():
                return self.case(expr)
            case Cast():
                return self.cast(expr)
            case Extract(unit, source):
                return plan_extract(self.site("extract", expr), unit, self.node(source))
            case Subscript(base, index):
                return plan_subscript(self.site("[]", expr), self.node(base), self.node(index))
            case Field(base, field_name):
                return plan_field(self.site(".", expr), self.node(base), field_name.text)
            case Column() | ColumnRef():
                name = expr.name if isinstance(expr, Column) else ".".join(part.text for part in expr.parts)
                raise QueryError("UNKNOWN_COLUMN", f"there is no column '{name}'", span=expr.span)
            case _:
                word = type(expr).__name__
                raise QueryError("UNSUPPORTED_EXPRESSION", f"{word} can't stand here", span=expr.span)

    def site(self, name: str, expr: Expr) -> Site:
        return Site(name, self.settings, expr.span)

    def literal(self, expr: Literal) -> Typed:
        scalar = literal_value(expr, self.settings)
        node = constant(from_arrow(scalar, t.normalise(scalar.type, self.settings)), expr.span)
        return replace(node, days_only=expr.kind == "interval" and _only_days(expr.text))

    def operator(self, expr: Operator) -> Typed:
        first = expr.args[0]
        if expr.op == "neg" and isinstance(first, Literal) and first.kind == "number" and first.text[:1] != "-":
            return self.literal(replace(first, text="-" + first.text))  # Spark reads -2147483648 as one literal
        return _planned(OPERATORS[expr.op], self.site(expr.op, expr), [self.node(arg) for arg in expr.args])

    def call(self, expr: Call) -> Typed:
        function = FUNCTIONS.get(expr.name)
        if function is None:
            raise _no_function(expr)
        if expr.distinct:
            raise QueryError("UNSUPPORTED_FUNCTION", f"{expr.name} takes no DISTINCT", span=expr.span)
        if named := next((arg for arg in expr.args if isinstance(arg, NamedArgument)), None):
            message = f"{expr.name} takes no named arguments"
            raise QueryError("UNSUPPORTED_FUNCTION", message, span=named.span, hint="leave the names out")
        args = [self.node(arg) for arg in expr.args]
        try:
            return _planned(function, self.site(expr.name, expr), args)
        except QueryError as error:
            error.hint = error.hint or arguments_hint(expr.name)
            raise

    def case(self, expr: Case) -> Typed:
        site = self.site(expr.word, expr)
        branches = [(self.node(when), self.node(then)) for when, then in expr.branches]
        if expr.operand is not None:
            operand = self.node(expr.operand)
            branches = [(COMPARISONS["="].plan(site, (operand, when)), then) for when, then in branches]
        return plan_case(site, branches, None if expr.default is None else self.node(expr.default))

    def cast(self, expr: Cast) -> Typed:
        value, target = self.node(expr.value), t.parse_type(expr.type_text, self.settings)
        if target is None:
            raise QueryError(
                "UNSUPPORTED_TYPE", f"the evaluator can't cast to {expr.type_text}", span=expr.span,
                hint="basic types, DECIMAL(p,s) and ARRAY<...> of them",
            )  # fmt: skip
        settings = replace(self.settings, ansi=self.settings.ansi or expr.attempt)
        if not can_cast(value.type, target, settings):
            raise QueryError(
                "TYPE_MISMATCH", f"can't cast {t.spark_name(value.type)} to {t.spark_name(target)}", span=expr.span
            )
        site = Site("try_cast" if expr.attempt else "cast", settings, expr.span, expr.attempt)
        return replace(cast_node(value, target, site), constant=None)


def _leaf(expr: Expr, kind: pa.DataType) -> Typed:
    def run(frame: Frame) -> Vector:
        vector = frame.column(expr)
        return vector if vector.type == kind else _as_declared(vector, kind)

    return Typed(kind, run, span=expr.span)


def _as_declared(vector: Vector, kind: pa.DataType) -> Vector:
    """A numpy column as the type that the caller declared: int64 as TIMESTAMP, for example."""
    if vector.type == t.NULL:
        return nulls_of(kind, len(vector))
    if t.storage_dtype(kind) is None or t.storage_dtype(kind) != t.storage_dtype(vector.type):
        raise QueryError("TYPE_MISMATCH", f"a column declared {t.spark_name(kind)} came as {t.spark_name(vector.type)}")
    return Vector(kind, vector.values, vector.valid)


def _planned(function: FunctionRule, site: Site, args: Sequence[Typed]) -> Typed:
    if len(args) < function.at_least or (function.at_most is not None and len(args) > function.at_most):
        most = function.at_most
        wanted = f"{function.at_least}" if most == function.at_least else f"{function.at_least} to {most or 'any'}"
        raise QueryError(
            "WRONG_NUMBER_OF_ARGUMENTS", f"{site.name} takes {wanted} arguments, not {len(args)}", span=site.span
        )
    return function.plan(site, args)


def _only_days(text: str) -> bool:
    """Whether an interval literal has days and weeks only."""
    words = [word for word in "".join(c if c.isalpha() else " " for c in text.lower()).split() if word != "interval"]
    return bool(words) and all(word in ("day", "days", "week", "weeks") for word in words)


def _no_function(expr: Call) -> QueryError:
    if expr.name in NONDETERMINISTIC | CLOCK_FUNCTIONS:
        return QueryError(
            "NONDETERMINISTIC_FUNCTION", f"{expr.name} gives another value each time, so runs would differ",
            hint="compute it into a column before matching", span=expr.span,
        )  # fmt: skip
    if expr.name in SPARK_ONLY:
        return QueryError(
            "UNSUPPORTED_FUNCTION", f"{expr.name} is a Spark function outside the evaluator's subset",
            hint=function_hint(expr.name)
            or "compute it into a column of the input first; over a single row Spark evaluates it", span=expr.span,
        )  # fmt: skip
    return QueryError(
        "UNKNOWN_FUNCTION", f"there is no function '{expr.name}'",
        hint=function_hint(expr.name) or did_you_mean(expr.name, [*FUNCTIONS, *SPARK_ONLY]), span=expr.span,
    )  # fmt: skip
