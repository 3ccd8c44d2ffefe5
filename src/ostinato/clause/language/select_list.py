"""The SELECT list of a query that runs in this process: expressions with their names, and stars."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parsing import ExpressionParser
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import ColumnRef, Expr


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a SELECT list; no expression means `*`, or `name.*` when there is a name."""

    expr: Expr | None
    name: str = ""
    span: Span | None = None


def read_items(cursor: Cursor) -> tuple[Item, ...]:
    """Reads the entries from the cursor on.

    >>> [item.name for item in read_items(Cursor("m.price, low * 2 AS twice, m.* FROM"))]
    ['price', 'twice', 'm']
    """
    items = []
    while True:
        if cursor.accept("*"):
            items.append(Item(None))
        elif cursor.ahead().upper == "." and cursor.ahead(2).upper == "*":
            qualifier, span = cursor.name("the clause's name")
            cursor.expect(".", "*")
            items.append(Item(None, qualifier.text, span))
        else:
            items.append(_named_expression(cursor))
        if not cursor.accept(","):
            return tuple(items)


def _named_expression(cursor: Cursor) -> Item:
    expr = ExpressionParser(cursor).expression()
    name = expr.parts[-1].text if isinstance(expr, ColumnRef) else render_expression(expr)
    if cursor.accept("AS") or (cursor.token.kind in (Kind.WORD, Kind.BACK_QUOTED) and not cursor.sees("FROM")):
        name = cursor.name("a name")[0].text
    return Item(expr, name)
