"""Expressions -> text as a user would write them, with as few parentheses as possible.

The text of a parsed expression parses to the same expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.window_pattern import BEFORE_MATCH
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Call,
    Case,
    Column,
    ColumnRef,
    Expr,
    Field,
    Lambda,
    Literal,
    MatchIdentity,
    MatchNumber,
    ModifiedCall,
    Name,
    Navigation,
    Operator,
    RowClassifier,
    RowSet,
    Star,
    Subscript,
    rebuild,
    string_literal,
)
from ostinato.rows.column_names import KEY

Unions = Mapping[str, frozenset[str]]

_IS_FORMS = ("is null", "is true", "is false", "is unknown", "is distinct from")
_NEGATABLE = (*_IS_FORMS, "in", "between", "like", "ilike", "rlike")
_SEVERAL_PATTERNS = ("like any", "like all", "ilike any", "ilike all")
_LEVELS: tuple[tuple[str, ...], ...] = (  # loosest first
    ("or",),
    ("and",),
    ("not",),
    ("=", "<>", "<", "<=", ">", ">=", "<=>", *_NEGATABLE, *_SEVERAL_PATTERNS),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>", ">>>"),
    ("+", "-", "||"),
    ("*", "/", "%", "div"),
    ("neg", "pos", "~"),
)
_LEVEL = {op: level for level, ops in enumerate(_LEVELS, start=1) for op in ops}
_NOT, _COMPARISON, _UNARY, _ATOM = _LEVEL["not"], _LEVEL["="], _LEVEL["neg"], len(_LEVELS) + 1
_PREFIX = {"neg": "-", "pos": "+", "~": "~"}
_LOUD = frozenset("first last prev next classifier match_number exists".split())


def plain_name(name: str) -> str:
    """A column's name, quoted only if necessary."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else quote(name)


def readable(expr: Expr, unions: Unions | None = None, leaf: Callable[[Expr], str | None] = lambda expr: None) -> str:
    """The text of an expression. `unions` names the union variables; `leaf` can override the text of any node.

    >>> from ostinato.expressions.parsing import parse_expression
    >>> readable(parse_expression("(a + b) * c > 1 AND NOT (x IS NULL OR y NOT IN (1, 2))"))
    '(a + b) * c > 1 AND NOT (x IS NULL OR y NOT IN (1, 2))'
    """
    return _text(_as_written(expr, unions or {}), leaf)


def key_name(bound: BoundClause, name: str) -> str:
    """A column of the input; one with the values of a key as the expression that the key is."""
    written = (key.expression for key in bound.clause.keys if key.expression is not None and key.column.text == name)
    expression = next(written, None) if name.startswith(KEY) else None
    return plain_name(name) if expression is None else readable(expression)


def readable_text(text: str) -> str:
    """The text of an expression that was rendered for Spark, as a user would write it.

    >>> readable_text("((`x` > 1) AND (NOT (`y z` IS NULL)))")
    'x > 1 AND `y z` IS NOT NULL'
    """

    def plain(node: Expr) -> str | None:
        return ".".join(plain_name(part.text) for part in node.parts) if isinstance(node, ColumnRef) else None

    return readable(parse_expression(text), leaf=plain)


def _text(expr: Expr, leaf: Callable[[Expr], str | None]) -> str:
    def inner(child: Expr) -> str:
        return _text(child, leaf)

    def own(node: Expr) -> str | None:
        override = leaf(node)
        if override is not None:
            return override
        match node:
            case Operator():
                return _operator(node, inner)
            case Column(name=name):
                return plain_name(name)
            case Lambda(parameters, body) if len(parameters) == 1:
                return f"{parameters[0].text} -> {inner(body)}"
            case Subscript(base, index) if _level(base) < _ATOM:
                return f"({inner(base)})[{inner(index)}]"
            case Field(base, name) if _level(base) < _ATOM:
                return f"({inner(base)}).{plain_name(name.text)}"
            case Call(name, args, distinct, semantics) if name in _LOUD:
                inside = ("DISTINCT " if distinct else "") + ", ".join(inner(arg) for arg in args)
                return f"{semantics.upper() + ' ' if semantics else ''}{name.upper()}({inside})"
            case _:
                return None

    return render_expression(expr, own)


def _level(expr: Expr) -> int:
    if isinstance(expr, Lambda):
        return 0
    if not isinstance(expr, Operator):
        return _ATOM
    return _COMPARISON if _is_negated_form(expr) else _LEVEL[expr.op]


def _is_negated_form(expr: Operator) -> bool:
    inside = expr.args[0]
    return expr.op == "not" and isinstance(inside, Operator) and inside.op in _NEGATABLE


def _operator(expr: Operator, inner: Callable[[Expr], str]) -> str:
    level = _level(expr)

    def tight(child: Expr, least: int) -> str:
        return inner(child) if _level(child) >= least else f"({inner(child)})"

    if _is_negated_form(expr):
        inside = expr.args[0]
        assert isinstance(inside, Operator)
        return _keyword_form(inside.op, [tight(arg, level + 1) for arg in inside.args], "NOT ")
    if expr.op in ("and", "or"):
        return f" {expr.op.upper()} ".join(tight(arg, level + 1) for arg in expr.args)
    if expr.op == "not":
        return f"NOT {tight(expr.args[0], _NOT)}"
    if expr.op in _SEVERAL_PATTERNS:
        value, *patterns = expr.args
        return f"{tight(value, level + 1)} {expr.op.upper()} ({', '.join(map(inner, patterns))})"
    if expr.op in _NEGATABLE:
        return _keyword_form(expr.op, [tight(arg, level + 1) for arg in expr.args], "")
    if level == _UNARY:
        return _PREFIX[expr.op] + tight(expr.args[0], _ATOM)
    left = tight(expr.args[0], level + 1 if level == _COMPARISON else level)
    return f"{left} {expr.op.upper()} {tight(expr.args[1], level + 1)}"


def _keyword_form(op: str, args: list[str], negation: str) -> str:
    if op.startswith("is "):
        words = f"{args[0]} IS {negation}{op[3:].upper()}"
        return f"{words} {args[1]}" if len(args) > 1 else words
    if op == "in":
        return f"{args[0]} {negation}IN ({', '.join(args[1:])})"
    if op == "between":
        return f"{args[0]} {negation}BETWEEN {args[1]} AND {args[2]}"
    escape = f" ESCAPE {args[2]}" if len(args) == 3 else ""
    return f"{args[0]} {negation}{op.upper()} {args[1]}{escape}"


# --- bound expressions as one would write them ---


def _as_written(expr: Expr, unions: Unions) -> Expr:
    match expr:
        case Operator("not", (Operator("is null", (Navigation(operand=Literal("boolean", "TRUE")) as row,)),)):
            return Call("exists", (_navigation(row, unions),))
        case Case(None, ((Literal("boolean", "FALSE"), _),), None):
            return Literal("null", "NULL")
        case Call("nullif", (label, other)) if other == string_literal(BEFORE_MATCH):
            return _as_written(label, unions)  # of a window that seeks
        case Navigation():
            return _navigation(expr, unions)
        case Aggregate(name, args, rows, distinct, final, order_by):
            written = tuple(_qualified(arg, rows, unions) for arg in args) or (Star(_variable(rows, unions)),)
            call = Call(name, written, distinct, "final" if final else None)
            keys = tuple(replace(item, expr=_qualified(item.expr, rows, unions)) for item in order_by)
            return ModifiedCall(call, keys) if keys else call
        case MatchNumber():
            return Call("match_number")
        case MatchIdentity(kind):
            return Call(f"{kind}_id")
        case RowClassifier():
            return Call("classifier")
        case _:
            return rebuild(expr, lambda child: _as_written(child, unions))


def _navigation(expr: Navigation, unions: Unions) -> Expr:
    inside = _qualified(expr.operand, expr.rows, unions)
    if inside == Literal("null", "NULL"):
        return inside
    if isinstance(inside, Literal):  # the expression tests only whether the row exists
        inside = Star(_variable(expr.rows, unions))
    says_last = expr.rows is not None and not expr.shift and not isinstance(expr.operand, RowClassifier)
    if expr.anchor is Anchor.FIRST or expr.skip or expr.final or says_last:
        offset = (Literal("number", str(expr.skip)),) if expr.skip else ()
        inside = Call(expr.anchor.value, (inside, *offset), semantics="final" if expr.final else None)
    if expr.shift:
        offset = (Literal("number", str(abs(expr.shift))),) if abs(expr.shift) > 1 else ()
        return Call("prev" if expr.shift < 0 else "next", (inside, *offset))
    return inside


def _qualified(operand: Expr, rows: RowSet, unions: Unions) -> Expr:
    """An operand with its columns qualified by the variable of its row."""
    variable = _variable(rows, unions)
    match operand:
        case Case(None, ((Literal("boolean", "FALSE"), _),), None):
            return Literal("null", "NULL")
        case Column(name=name):
            column = Name(name, plain_name(name) != name)
            return ColumnRef((column,) if variable is None else (variable, column))
        case RowClassifier():
            return Call("classifier", () if variable is None else (ColumnRef((variable,)),))
        case _:
            return rebuild(operand, lambda child: _qualified(child, rows, unions))


def _variable(rows: RowSet, unions: Unions) -> Name | None:
    if rows is None:
        return None
    name = next((union for union, members in unions.items() if members == rows), None)
    if name is None:
        name = "|".join(sorted(rows))
    return Name(name, quoted=name != name.upper() or not name.replace("_", "a").isalnum())
