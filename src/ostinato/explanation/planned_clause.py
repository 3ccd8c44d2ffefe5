"""A clause and its columns -> its plan, with types if Ostinato knows them without Spark."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.key_columns import key_columns
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.clause.plan.typed_plan import TypedPlan, type_plan
from ostinato.clause.plan.window_plan import plan_window
from ostinato.errors import QueryError, errors_quoting
from ostinato.explanation.explained_clauses import ExplainedClause, InputColumns
from ostinato.explanation.readable import readable
from ostinato.expressions.syntax import Column, Expr, walk
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.typing import type_of
from ostinato.rows.column_leaves import by_column_name

_ONLY_SPARK_KNOWS = ("UNSUPPORTED_FUNCTION", "UNSUPPORTED_EXPRESSION", "UNKNOWN_FUNCTION")


@dataclass(frozen=True, slots=True)
class PlannedClause:
    """The plan of a clause. `typed` is None if the types aren't known; `untyped_reason` is a sentence that says why."""

    plan: MatchPlan
    columns: InputColumns
    typed: TypedPlan | None
    untyped_reason: str = ""


class _UnknownTypeError(Exception):
    """A type that only Spark knows."""


def plan_clause(explained: ExplainedClause) -> PlannedClause:
    """Binds and plans the clause, and types it if the column types are known. Raises the errors of a run."""
    columns, settings = explained.columns, Settings()
    keys = {key.name: key.expression for key in key_columns(explained.clause, columns.names)}
    names = (*columns.names, *keys)
    window = explained.window
    plan = make_plan(bind(explained.clause, names)) if window is None else plan_window(window, names)
    if not columns.types and columns.names:
        return PlannedClause(plan, columns, None, "The column types aren't known: pass a table or a schema.")
    types = {name: normalise(kind, settings) for name, kind in columns.types.items()}

    def input_type(expr: Expr) -> pa.DataType:
        missing = [node.name for node in walk(expr) if isinstance(node, Column) and node.name not in types]
        if missing:
            raise _UnknownTypeError(f"Only Spark knows the type of {missing[0]}.")
        try:
            return type_of(expr, by_column_name(types), settings)
        except QueryError as error:
            if error.code in _ONLY_SPARK_KNOWS:
                raise _UnknownTypeError(f"Only Spark knows the type of {readable(expr)}.") from None
            raise

    def column_type(name: str) -> pa.DataType:
        return input_type(keys.get(name, Column(name)))

    try:
        with errors_quoting(explained.clause.text):
            return PlannedClause(plan, columns, type_plan(plan, input_type, column_type, settings))
    except _UnknownTypeError as error:
        return PlannedClause(plan, columns, None, str(error))
