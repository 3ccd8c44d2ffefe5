"""Keys that are expressions -> the columns to compute before matching, over the columns of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ostinato.clause.language import vocabulary
from ostinato.clause.query.clause import MatchRecognize, PartitionKey, SortKey
from ostinato.errors import QueryError
from ostinato.expressions.nondeterministic import CLOCK_FUNCTIONS, NONDETERMINISTIC
from ostinato.expressions.parsing import is_niladic
from ostinato.expressions.syntax import Call, Column, ColumnRef, Expr, Field, Star, SubQuery, rebuild
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rows.column_names import PREFIX

_OF_MATCHES = vocabulary.LOGICAL_NAVIGATION | vocabulary.PHYSICAL_NAVIGATION | {"classifier", "match_number"}
_OF_SEVERAL_ROWS = vocabulary.OTHER_AGGREGATES | vocabulary.GENERATORS | set(vocabulary.WINDOW_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column to add to the input. `written` is the key as the user wrote it."""

    name: str
    expression: Expr
    written: Expr


def key_columns(
    clause: MatchRecognize, columns: Sequence[str], *, case_sensitive: bool = False
) -> tuple[KeyColumn, ...]:
    """The columns to add, each once. Raises UNKNOWN_COLUMN, KEY_NOT_A_COLUMN and others for keys that can't be."""
    binder = _KeyBinder(clause, ColumnLookup(columns, case_sensitive))
    computed: dict[str, KeyColumn] = {}
    for key in clause.keys:
        if key.expression is None:
            continue
        name = key.column.text
        if name in binder.columns or (name in computed and computed[name].written != key.expression):
            message, hint = f"the input already has a column '{name}'", "give the key another name"
            raise QueryError("DUPLICATE_COLUMN", message, text=clause.text, span=key.span, hint=hint)
        computed[name] = KeyColumn(name, binder.bound(key.expression), key.expression)
    if computed:
        _check_free(columns)
    return tuple(computed.values())


def refuse_computed_keys(clause: MatchRecognize) -> None:
    """Raises KEY_NOT_A_COLUMN if a key is an expression."""
    for key in clause.keys:
        if key.expression is not None:
            raise refused_key(clause, key)


def refused_key(clause: MatchRecognize, key: PartitionKey | SortKey) -> QueryError:
    """The error for a key that is an expression, in a query that takes columns only."""
    message, hint = "a query of this kind takes plain columns as keys", "compute it into a column before matching"
    return QueryError("KEY_NOT_A_COLUMN", message, text=clause.text, span=key.span, hint=hint)


def _check_free(columns: Sequence[str]) -> None:
    for name in columns:
        if name.lower().startswith(PREFIX):
            raise QueryError("RESERVED_NAME", f"column names that start with {PREFIX} are ours: '{name}'")


class _KeyBinder:
    def __init__(self, clause: MatchRecognize, columns: ColumnLookup) -> None:
        self.clause = clause
        self.columns = columns

    def bound(self, expr: Expr) -> Expr:
        """The expression over columns of one row."""
        match expr:
            case ColumnRef():
                return self._reference(expr)
            case Call():
                self._check_call(expr)
            case SubQuery():
                self._fail("KEY_NOT_A_COLUMN", "a key can't have a sub-query", expr)
            case Star():
                self._fail("SYNTAX_ERROR", "'*' may only stand inside COUNT", expr)
        return rebuild(expr, self.bound)

    def _reference(self, expr: ColumnRef) -> Expr:
        first, *rest = expr.parts
        if not rest and is_niladic(first.text) and first.text not in self.columns:
            call = Call(first.text.lower(), span=expr.span)
            self._check_call(call)
            return call
        is_input = self.columns.fold(first.text) == self.columns.fold(self.clause.input_name or "")
        if rest and is_input and first.text not in self.columns:
            first, *rest = rest
        result: Expr = Column(self.columns.column(first.text, text=self.clause.text, span=expr.span), expr.span)
        for name in rest:
            result = Field(result, name, expr.span)
        return result

    def _check_call(self, call: Call) -> None:
        if call.name in _OF_MATCHES or call.semantics is not None:
            self._fail("KEY_NOT_A_COLUMN", f"{call.name.upper()} has no value before there is a match", call)
        if vocabulary.aggregate_name(call.name) is not None or call.name in _OF_SEVERAL_ROWS or call.distinct:
            message = f"a key is computed from one row, and {call.name} reads several or makes several"
            self._fail("KEY_NOT_A_COLUMN", message, call)
        if call.name in NONDETERMINISTIC | CLOCK_FUNCTIONS:
            message = f"{call.name} may differ each time it is asked for one row"
            self._fail("NONDETERMINISTIC_FUNCTION", message, call)

    def _fail(self, code: str, message: str, expr: Expr) -> NoReturn:
        hint = "compute it in a sub-query that feeds the clause" if code == "KEY_NOT_A_COLUMN" else None
        raise QueryError(code, message, text=self.clause.text, span=expr.span, hint=hint)
