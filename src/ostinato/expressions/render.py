"""Expressions -> text that Spark reads."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.expressions.syntax import (
    Aggregate,
    Anchor,
    Call,
    Case,
    Cast,
    Column,
    ColumnRef,
    Expr,
    Extract,
    Field,
    Lambda,
    Literal,
    MatchIdentity,
    MatchNumber,
    ModifiedCall,
    Name,
    NamedArgument,
    Navigation,
    Operator,
    OrderItem,
    Parameter,
    RowClassifier,
    Star,
    SubQuery,
    Subscript,
)

_PREFIX = {"neg": "- ", "pos": "+ ", "~": "~ ", "not": "NOT "}
_POSTFIX = {"is null", "is true", "is false", "is unknown"}


def quote(name: str) -> str:
    """A column's name that Spark reads back exactly."""
    return "`" + name.replace("`", "``") + "`"


def render_expression(expr: Expr, leaf: Callable[[Expr], str | None] = lambda expr: None) -> str:
    """The expression as Spark SQL, with every operator in parentheses. `leaf` may supply the text of a node."""
    text = leaf(expr)
    if text is not None:
        return text

    def inner(node: Expr) -> str:
        return render_expression(node, leaf)

    match expr:
        case Literal(text=raw):
            return raw
        case ColumnRef(parts):
            return ".".join(render_name(part) for part in parts)
        case Column(name=name):
            return quote(name)
        case Parameter(name=name):
            return render_name(name)
        case SubQuery(text=raw, is_list=is_list):
            return raw if is_list else f"({raw})"
        case Star(qualifier):
            return "*" if qualifier is None else f"{render_name(qualifier)}.*"
        case Call(name, args, distinct, semantics):
            inside = ("DISTINCT " if distinct else "") + ", ".join(inner(arg) for arg in args)
            return f"{semantics.upper() + ' ' if semantics else ''}{name}({inside})"
        case NamedArgument(name, value):
            return f"{render_name(name)} => {inner(value)}"
        case ModifiedCall():
            return modified_call(expr, inner)
        case Operator(op, args):
            return _operator(op, [inner(arg) for arg in args])
        case Case():
            return _case(expr, inner)
        case Cast(value, type_text, attempt):
            return f"{'TRY_CAST' if attempt else 'CAST'}({inner(value)} AS {type_text})"
        case Extract(unit, source):
            return f"EXTRACT({unit} FROM {inner(source)})"
        case Subscript(base, index):
            return f"{inner(base)}[{inner(index)}]"
        case Field(base, name):
            return f"{inner(base)}.{render_name(name)}"
        case Lambda(parameters, body):
            names = ", ".join(render_name(name) for name in parameters)
            return f"{names if len(parameters) == 1 else f'({names})'} -> {inner(body)}"
        case MatchNumber():
            return "MATCH_NUMBER()"
        case MatchIdentity(kind):
            return f"{kind.upper()}_ID()"
        case RowClassifier():
            return "CLASSIFIER()"
        case Navigation():
            return _navigation(expr, leaf)
        case Aggregate():
            return _aggregate(expr, leaf)


def modified_call(expr: ModifiedCall, inner: Callable[[Expr], str]) -> str:
    """The call and the words around its arguments; `inner` gives the text of the expressions."""
    call, order = inner(expr.call), _order_by(expr.order_by, inner)
    if order:
        call = f"{call} WITHIN GROUP ({order})" if expr.within_group else f"{call[:-1]} {order})"
    if expr.where is not None:
        call += f" FILTER (WHERE {inner(expr.where)})"
    return call if expr.ignores_nulls is None else f"{call} {'IGNORE' if expr.ignores_nulls else 'RESPECT'} NULLS"


def _order_by(order_by: tuple[OrderItem, ...], inner: Callable[[Expr], str]) -> str:
    nulls = {True: " NULLS FIRST", False: " NULLS LAST", None: ""}
    items = (f"{inner(item.expr)}{' DESC' if item.descending else ''}{nulls[item.nulls_first]}" for item in order_by)
    return f"ORDER BY {', '.join(items)}" if order_by else ""


def _operator(op: str, args: list[str]) -> str:
    if op in _PREFIX:
        return f"({_PREFIX[op]}{args[0]})"
    if op in _POSTFIX:
        return f"({args[0]} {op.upper()})"
    if op == "in":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    if op in ("like any", "like all", "ilike any", "ilike all"):
        return f"({args[0]} {op.upper()} ({', '.join(args[1:])}))"
    if op == "between":
        return f"({args[0]} BETWEEN {args[1]} AND {args[2]})"
    if op in ("like", "ilike", "rlike") and len(args) == 3:
        return f"({args[0]} {op.upper()} {args[1]} ESCAPE {args[2]})"
    return "(" + f" {op.upper()} ".join(args) + ")"


def _case(expr: Case, inner: Callable[[Expr], str]) -> str:
    words = ["CASE"]
    if expr.operand is not None:
        words.append(inner(expr.operand))
    for condition, value in expr.branches:
        words += ["WHEN", inner(condition), "THEN", inner(value)]
    if expr.default is not None:
        words += ["ELSE", inner(expr.default)]
    return " ".join([*words, "END"])


def _navigation(expr: Navigation, leaf: Callable[[Expr], str | None]) -> str:
    """A bound navigation, as in `PREV(LAST(A.price, 2), 1)`; Spark doesn't read it."""
    rows = variable_set(expr.rows)

    def qualified(node: Expr) -> str | None:
        if isinstance(node, Column):
            return f"{rows}.{node.name}" if rows else node.name
        if isinstance(node, RowClassifier):
            return f"CLASSIFIER({rows})"
        return leaf(node)

    inside = render_expression(expr.operand, qualified)
    bare = expr.anchor is Anchor.LAST and expr.skip == 0 and not expr.final
    if not bare:
        offset = f", {expr.skip}" if expr.skip else ""
        inside = f"{'FINAL ' if expr.final else ''}{expr.anchor.value.upper()}({inside}{offset})"
    if expr.shift:
        offset = f", {abs(expr.shift)}" if abs(expr.shift) != 1 else ""
        return f"{'PREV' if expr.shift < 0 else 'NEXT'}({inside}{offset})"
    return inside


def _aggregate(expr: Aggregate, leaf: Callable[[Expr], str | None]) -> str:
    rows = variable_set(expr.rows)

    def qualified(node: Expr) -> str | None:
        return f"{rows}.{node.name}" if rows and isinstance(node, Column) else leaf(node)

    inside = ", ".join(render_expression(arg, qualified) for arg in expr.args) or (f"{rows}.*" if rows else "*")
    order = _order_by(expr.order_by, lambda key: render_expression(key, qualified))
    inside = f"{'DISTINCT ' if expr.distinct else ''}{inside}{' ' + order if order else ''}"
    return f"{'FINAL ' if expr.final else ''}{expr.name}({inside})"


def variable_set(rows: frozenset[str] | None) -> str:
    if rows is None:
        return ""
    return next(iter(rows)) if len(rows) == 1 else "{" + ",".join(sorted(rows)) + "}"


def render_name(name: Name) -> str:
    """The name as it was written."""
    return quote(name.text) if name.quoted else name.text
