"""Expressions from text over columns by name, for the tests of the evaluator."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Field, rebuild
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import type_of


def expression(text: str) -> Expr:
    """The text with its references as columns."""
    return bind(parse_expression(text))


def bind(expr: Expr) -> Expr:
    if isinstance(expr, ColumnRef):
        result: Expr = Column(expr.parts[0].text, expr.span)
        for part in expr.parts[1:]:
            result = Field(result, part, expr.span)
        return result
    return rebuild(expr, bind)


def values(text: str, length: int = 1, settings: Settings = Settings(), **columns: Any) -> list[Any]:
    """The values of the expression over the columns; checks that type_of and evaluate agree."""
    arrays = {Column(name): column for name, column in columns.items()}
    if arrays:
        length = max(len(column) for column in columns.values())
    expr = expression(text)
    array = evaluate(expr, arrays.get, length, settings)
    types = {node: pa.from_numpy_dtype(a.dtype) if hasattr(a, "dtype") else a.type for node, a in arrays.items()}
    assert array.type == type_of(expr, types.get, settings)
    assert len(array) == length
    return list(array.to_pylist())
