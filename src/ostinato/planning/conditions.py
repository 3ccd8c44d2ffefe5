"""DEFINE conditions -> three parts each: what the row alone decides, what its neighbours decide, what the run decides.

The condition holds when all parts do. The row's part is evaluated before matching (by Spark, where there is one); the
neighbours' part is evaluated over shifted columns, all rows at once; only the run's part is left to the kernel. In the
second and third, the largest expressions that speak of one row are drawn together under one navigation ("lifted"), so
that they too are evaluated beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.planning.navigation import (
    NULL,
    at_row,
    depends_on_match,
    is_fixed,
    is_here,
    null_like,
    operands_only,
    references,
    row_exists,
    same_row,
    spread,
)
from ostinato.query.expressions import (
    Aggregate,
    Anchor,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Extract,
    Field,
    Lambda,
    Literal,
    Navigation,
    Operator,
    RowClassifier,
    Subscript,
    rebuild,
    string_literal,
    walk,
    with_label,
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in parts; None stands for TRUE. `row` is over columns, the others over navigations."""

    row: Expr | None = None
    neighbours: Expr | None = None
    run: Expr | None = None


def split_condition(condition: Expr, variable: str) -> Condition:
    """The parts of the condition of one variable."""
    conjuncts = _conjuncts(spread(settle(condition, variable)))
    row: list[Expr] = []
    neighbours: list[Expr] = []
    run: list[Expr] = []
    for conjunct in conjuncts:
        found = list(references(conjunct))
        if all(is_here(reference) for reference in found):
            row.append(operands_only(conjunct))
        elif all(is_fixed(reference) for reference in found):
            neighbours.append(lift(conjunct))
        else:
            run.append(lift(conjunct))
    return Condition(_conjunction(row), _conjunction(neighbours), _conjunction(run))


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Operator) and expr.op == "and":
        return [part for arg in expr.args for part in _conjuncts(arg)]
    return [expr]


def _conjunction(parts: list[Expr]) -> Expr | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Operator("and", tuple(parts))


def settle(expr: Expr, variable: str) -> Expr:
    """Navigations that lead to the row being tried, or from it, are written so; its CLASSIFIER() is a constant."""
    if isinstance(expr, Navigation):
        here = expr.anchor is Anchor.LAST and expr.skip == 0 and (expr.rows is None or variable in expr.rows)
        if not here:
            return expr
        settled = Navigation(expr.operand, None, Anchor.LAST, 0, expr.shift, span=expr.span)
        if not any(isinstance(node, RowClassifier) for node in walk(expr.operand)):
            return settled
        if expr.shift < 0:
            return settled
        label: Expr = string_literal(variable) if expr.shift == 0 else NULL  # no later row has a label yet
        return at_row(with_label(expr.operand, label), settled)
    return rebuild(expr, lambda part: settle(part, variable))


# --- lifting ---

_STRICT_OPERATORS = frozenset(
    "+ - * / % div || & | ^ ~ << >> >>> neg pos = <> < <= > >= like ilike rlike between".split()
)
_STRICT_FUNCTIONS = frozenset(
    """abs acos ascii asin atan atan2 bround cbrt ceil ceiling char_length character_length cos cosh date_add
    date_format date_sub date_trunc datediff day dayofmonth dayofweek dayofyear degrees exp floor hour initcap instr
    lcase left length ln locate log log10 log2 lower lpad ltrim minute mod month pmod position pow power quarter radians
    regexp_extract regexp_replace repeat replace reverse right round rpad rtrim second sign signum sin sinh sqrt
    startswith endswith contains substr substring tan tanh to_date to_timestamp trim trunc ucase unix_timestamp upper
    weekday weekofyear year""".split()
)
"""Functions that give NULL whenever an argument is NULL."""


def lift(expr: Expr) -> Expr:
    """Draws the largest sub-expressions that speak of one row together under one navigation."""
    if isinstance(expr, Navigation | Aggregate | Literal | Lambda):
        return expr
    found = list(references(expr))
    if not found:
        return expr if _is_foldable(expr) else Navigation(expr, None, Anchor.LAST)
    first = found[0]
    if isinstance(first, Navigation) and all(
        isinstance(other, Navigation) and same_row(first, other) and not depends_on_match(other.operand)
        for other in found
    ):
        operand = operands_only(expr)
        if is_here(first) or _is_strict(expr):
            return at_row(operand, first)
        if not _kernel_knows(expr):
            # The row may be missing, where the expression needn't be NULL: say what it is there.
            without = Navigation(_without_columns(operand), None, Anchor.LAST)
            return Case(None, ((row_exists(first), at_row(operand, first)),), without)
    return rebuild(expr, lift)


def _is_foldable(expr: Expr) -> bool:
    """Constants made of literals and simple operators stay; anything else without rows is asked of Spark."""
    return all(isinstance(node, Literal | Operator | Cast) for node in walk(expr))


def _is_strict(expr: Expr) -> bool:
    match expr:
        case Navigation() | Literal():
            return True
        case Operator(op, args):
            return op in _STRICT_OPERATORS and all(_is_strict(arg) for arg in args)
        case Call(name, args):
            return name in _STRICT_FUNCTIONS and all(_is_strict(arg) for arg in args)
        case Cast(value=inner) | Extract(source=inner) | Field(base=inner):
            return _is_strict(inner)
        case Subscript(base, index):
            return _is_strict(base) and _is_strict(index)
        case _:
            return False


def _kernel_knows(expr: Expr) -> bool:
    """Connectives that needn't be lifted as a whole, because lifting their parts is enough."""
    return isinstance(expr, Operator | Case) or (isinstance(expr, Call) and expr.name in KERNEL_CONNECTIVES)


KERNEL_CONNECTIVES = frozenset(("coalesce", "if", "nullif", "nvl", "ifnull", "greatest", "least"))


def _without_columns(operand: Expr) -> Expr:
    if isinstance(operand, Column):
        return null_like(operand)
    return rebuild(operand, _without_columns)
