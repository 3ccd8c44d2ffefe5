"""A condition + the types of columns -> the parts of it that can't be true together. Sound: no false alarm.

Parts of a conjunction that compare one value of one row with constants split the values of its type into regions: the
constants, the values between them, and NULL. Within a region, all comparisons give the same. So it is enough to
evaluate the parts at a value of each region, by the evaluator that also runs the rule: the conversions of types, NULL
and NaN are those of the rule. Other parts are left out, which can only make a conjunction true more often. A value is
a column of the row, or one navigation such as PREV(price): it is the same wherever it stands in a condition.

Conditions over points in time (TIMESTAMP) aren't judged, because texts of local times mean other points in other zones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import OstinatoError
from ostinato.expressions.evaluate import evaluate_mask
from ostinato.expressions.syntax import Column, Expr, Literal, Navigation, Operator
from ostinato.expressions.types import Settings
from ostinato.rule_files.lints.critical_values import critical_values

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "is distinct from", "in", "between"})
_TESTS = frozenset({"is null", "is true", "is false", "is unknown"})
_LOGIC = frozenset({"and", "or", "not"})


def contradiction(
    condition: Expr, type_of_column: Callable[[str], pa.DataType | None], settings: Settings = Settings()
) -> tuple[Expr, ...]:
    """The parts that can't be true together; empty if the condition may be true, or if it can't be judged.

    >>> from ostinato.expressions.syntax import Column, Literal, Operator
    >>> x, one, two = Column("x"), Literal("number", "1"), Literal("number", "2")
    >>> between = Operator("and", (Operator(">", (x, one)), Operator("<", (x, two))))
    >>> len(contradiction(between, {"x": pa.int32()}.get)), len(contradiction(between, {"x": pa.float64()}.get))
    (2, 0)
    """
    return _Judge(type_of_column, settings).contradiction(condition)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a condition over one value, or over none, and the constants that it is compared with."""

    expr: Expr
    value: Expr | None
    constants: tuple[Expr, ...]


class _Judge:
    def __init__(self, type_of_column: Callable[[str], pa.DataType | None], settings: Settings) -> None:
        self.type_of_column = type_of_column
        self.settings = settings

    def contradiction(self, expr: Expr) -> tuple[Expr, ...]:
        if isinstance(expr, Operator) and expr.op == "and":
            return self._of_conjuncts(_conjuncts(expr))
        if isinstance(expr, Operator) and expr.op == "or" and all(self.contradiction(arg) for arg in expr.args):
            return (expr,)
        part = self._part(expr)
        return (expr,) if part is not None and self._is_never_true([part]) else ()

    def _of_conjuncts(self, conjuncts: Sequence[Expr]) -> tuple[Expr, ...]:
        for conjunct in conjuncts:
            if alone := self.contradiction(conjunct):
                return alone
        parts = [part for conjunct in conjuncts if (part := self._part(conjunct)) is not None]
        for value in dict.fromkeys(part.value for part in parts if part.value is not None):
            same = [part for part in parts if part.value == value]
            if len(same) > 1 and self._is_never_true(same):
                return tuple(part.expr for part in self._fewest(same))
        return ()

    def _fewest(self, parts: list[_Part]) -> list[_Part]:
        """The parts without those that the contradiction doesn't need."""
        for part in list(parts):
            fewer = [other for other in parts if other is not part]
            if fewer and self._is_never_true(fewer):
                parts = fewer
        return parts

    def _is_never_true(self, parts: Sequence[_Part]) -> bool:
        """Whether no value makes all parts true. False also if that can't be judged."""
        value = parts[0].value
        points: pa.Array = pa.nulls(1)
        if value is not None:
            kind = self._type(value)
            constants = [constant for part in parts for constant in part.constants]
            values = None if kind is None else critical_values(kind, constants, self.settings)
            if values is None:
                return False
            points = values
        try:
            return not np.logical_and.reduce([self._mask(part.expr, value, points) for part in parts]).any()
        except (OstinatoError, pa.ArrowException):
            return False

    def _mask(self, expr: Expr, value: Expr | None, points: pa.Array) -> NDArray[np.bool_]:
        return evaluate_mask(
            expr, lambda node: points if value is not None and node == value else None, len(points), self.settings
        )

    def _type(self, value: Expr) -> pa.DataType | None:
        column = value.operand if isinstance(value, Navigation) else value
        return self.type_of_column(column.name) if isinstance(column, Column) else None

    def _part(self, expr: Expr) -> _Part | None:
        """The expression as a part over one value; None if it has several, or does more than compare with constants."""
        values: dict[Expr, None] = {}
        constants: list[Expr] = []
        waiting = [(expr, True)]
        while waiting:
            node, is_condition = waiting.pop()
            if _is_value(node):
                values[node] = None
            elif _is_constant(node):
                constants.append(node)
            elif isinstance(node, Operator) and is_condition and node.op in _LOGIC | _TESTS:
                waiting += [(arg, True) for arg in node.args]
            elif isinstance(node, Operator) and is_condition and node.op in _COMPARISONS:
                waiting += [(arg, False) for arg in node.args]
            else:
                return None
        if len(values) > 1:
            return None
        return _Part(expr, next(iter(values), None), tuple(constants))


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Operator) and expr.op == "and":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]


def _is_value(node: Expr) -> bool:
    return isinstance(node, Column) or (isinstance(node, Navigation) and isinstance(node.operand, Column))


def _is_constant(node: Expr) -> bool:
    return isinstance(node, Literal) or (
        isinstance(node, Operator) and node.op in ("neg", "pos") and isinstance(node.args[0], Literal)
    )
