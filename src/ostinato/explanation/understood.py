"""A clause and its columns -> plan, and types as far as they can be known without Spark."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.clause.plan.typed_plan import TypedPlan, type_plan
from ostinato.errors import QueryError, speaking_of
from ostinato.explanation.asked import Asked, Columns
from ostinato.explanation.readable import readable
from ostinato.expressions.syntax import Column, Expr, walk
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.typing import type_of

_ONLY_SPARK_KNOWS = ("UNSUPPORTED_FUNCTION", "UNSUPPORTED_EXPRESSION", "UNKNOWN_FUNCTION")


@dataclass(frozen=True, slots=True)
class Understood:
    """A clause taken apart. `typed` is None where types aren't known, and `untyped` says why."""

    plan: MatchPlan
    columns: Columns
    typed: TypedPlan | None
    untyped: str = ""


class _UnknownTypeError(Exception):
    """A type that only Spark knows."""


def understand(question: Asked) -> Understood:
    """Binds, plans and, where the types of the columns are known, types the clause. Raises what the clause deserves."""
    columns, settings = question.columns, Settings()
    plan = make_plan(bind(question.clause, columns.names))
    if not columns.types and columns.names:
        return Understood(plan, columns, None, "the types of the columns aren't known: pass a table or a schema")
    types = {name: normalise(kind, settings) for name, kind in columns.types.items()}

    def input_type(expr: Expr) -> pa.DataType:
        missing = [node.name for node in walk(expr) if isinstance(node, Column) and node.name not in types]
        if missing:
            raise _UnknownTypeError(f"only Spark knows the type of {missing[0]}")
        try:
            return type_of(expr, lambda node: types.get(node.name) if isinstance(node, Column) else None, settings)
        except QueryError as error:
            if error.code in _ONLY_SPARK_KNOWS:
                raise _UnknownTypeError(f"only Spark knows the type of {readable(expr)}") from None
            raise

    def column_type(name: str) -> pa.DataType:
        return input_type(Column(name))

    try:
        with speaking_of(question.clause.text):
            return Understood(plan, columns, type_plan(plan, input_type, column_type, settings))
    except _UnknownTypeError as error:
        return Understood(plan, columns, None, str(error))
