"""One key of PARTITION BY or ORDER BY: a column, or an expression over the columns of one row."""

from __future__ import annotations

import hashlib

from ostinato.clause.language.listed_items import PARTS, key_follows
from ostinato.clause.query.clause import PartitionKey
from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parsing import ExpressionParser
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import ColumnRef, Expr, Name, walk
from ostinato.rows.column_names import KEY

_NAMES = (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED)
_BEHIND_A_KEY = PARTS | {",", ")", "ASC", "DESC", "NULLS", "AS"}


def read_key(
    expressions: ExpressionParser, input_name: str | None, where: str, *, is_named: bool = False
) -> PartitionKey:
    """The key at the cursor. `is_named`: `AS name` may follow an expression."""
    cursor, start = expressions.cursor, expressions.cursor.at
    key = _column(cursor, input_name)
    if key is not None and not (is_named and cursor.sees("AS")):
        return key
    cursor.at = start
    expr = expressions.expression()
    span = cursor.tokens[start].span.to(cursor.tokens[cursor.at - 1].span)
    _check_not_constant(cursor, expr, where, span)
    if is_named and cursor.accept("AS"):
        name, end = cursor.name("the key's name")
        return PartitionKey(Name(name.text, quoted=True), expr, span.to(end))
    if isinstance(expr, ColumnRef) and len(expr.parts) == 1:  # a column in parentheses
        return PartitionKey(expr.parts[0], None, span)
    return PartitionKey(Name(computed_name(expr), quoted=True), expr, span)


def computed_name(expr: Expr) -> str:
    """The name of the column that a key without a name is computed into: the same for the same expression."""
    return KEY + hashlib.sha256(render_expression(expr).encode()).hexdigest()[:16]


def _column(cursor: Cursor, input_name: str | None) -> PartitionKey | None:
    """The plain column that the key is, with or without the input's name. None if it is something else."""
    start = cursor.token.span
    names: list[Name] = []
    while cursor.token.kind in _NAMES:
        name, span = cursor.name("a column")
        names.append(name)
        if not cursor.sees("."):
            break
        cursor.take()
    ends = cursor.token.kind is Kind.END or cursor.token.upper in _BEHIND_A_KEY or key_follows(cursor)
    is_qualified = len(names) == 2 and input_name is not None and names[0].text.lower() == input_name.lower()
    if not ends or not (len(names) == 1 or is_qualified):
        return None
    return PartitionKey(names[-1], None, start.to(span))


def _check_not_constant(cursor: Cursor, expr: Expr, where: str, span: Span) -> None:
    if not any(isinstance(node, ColumnRef) for node in walk(expr)):
        message = f"{where} takes columns and expressions over them, and this is the same for every row"
        cursor.fail(message, code="KEY_NOT_A_COLUMN", span=span)
