"""DEFINE conditions -> three parts each: over the row alone, over the row and its neighbours, over the run.

The condition holds when all parts do. The row's part is evaluated before matching (by Spark, where there is one); the
neighbours' part is evaluated over shifted columns, all rows at once; only the run's part is left to the kernel. In the
second and third, the largest expressions that speak of one row are drawn together under one navigation ("lifted"), so
that they too are evaluated beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.plan.navigations import (
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
from ostinato.expressions.syntax import (
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
    """The parts of the condition of one variable.

    Parts are evaluated apart, for all rows. What may fail is kept in one part with the conjuncts that stand before it,
    since they may be there to guard it: `x <> 0 AND 10 / x > PREV(x)`.
    """
    row: list[Expr] = []
    neighbours: list[Expr] = []
    run: list[Expr] = []
    parts = (row, neighbours, run)
    so_far = 0
    before: list[tuple[int, Expr]] = []
    for conjunct in _conjuncts(spread(settle(condition, variable))):
        reads = list(references(conjunct))
        part = 0 if all(is_here(node) for node in reads) else 1 if all(is_fixed(node) for node in reads) else 2
        if may_fail(conjunct):
            part = max(part, so_far)
            parts[part].extend(lift(guard, guarded=True) for other, guard in before if other < part)
        so_far = max(so_far, part)
        parts[part].append(operands_only(conjunct) if part == 0 else lift(conjunct, guarded=bool(before)))
        before.append((part, conjunct))
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

_STRICT_OPERATORS = frozenset("+ - * / % div || & | ^ ~ << >> >>> neg pos = <> < <= > >= like ilike rlike".split())
_STRICT_FUNCTIONS = frozenset(
    """abs acos ascii asin atan atan2 bround cbrt ceil ceiling char_length character_length cos cosh date_add
    date_format date_sub date_trunc datediff day dayofmonth dayofweek dayofyear degrees exp floor hour initcap instr
    lcase left length ln locate log log10 log2 lower lpad ltrim minute mod month pmod position pow power quarter radians
    regexp_extract regexp_replace repeat replace reverse right round rpad rtrim second sign signum sin sinh sqrt
    startswith endswith contains substr substring tan tanh to_date to_timestamp trim trunc ucase unix_timestamp upper
    weekday weekofyear year""".split()
)
"""Functions that give NULL whenever an argument is NULL."""


def lift(expr: Expr, *, guarded: bool = False) -> Expr:
    """Draws the largest sub-expressions that speak of one row together under one navigation.

    What is drawn together is evaluated for every row. So where another operand may guard an expression that can fail
    (`guarded`), that expression stays where it is.
    """
    if isinstance(expr, Navigation | Aggregate | Literal | Lambda):
        return expr
    reads = list(references(expr))
    if not reads:
        return expr if _is_foldable(expr) else Navigation(expr, None, Anchor.LAST)
    first = reads[0]
    one_row = isinstance(first, Navigation) and all(
        isinstance(other, Navigation) and same_row(first, other) and not depends_on_match(other.operand)
        for other in reads
    )
    if isinstance(first, Navigation) and one_row and not (guarded and may_fail(expr)):
        operand = operands_only(expr)
        if is_here(first) or _is_strict(expr):
            return at_row(operand, first)
        if not _kernel_knows(expr):
            # The row may be missing, where the expression needn't be NULL: say what it is there.
            without = Navigation(_without_columns(operand), None, Anchor.LAST)
            return Case(None, ((row_exists(first), at_row(operand, first)),), without)
    return _lift_parts(expr, guarded)


def _lift_parts(expr: Expr, guarded: bool) -> Expr:
    """Each part by itself; all but the first of a connective are guarded by those before."""
    connective = (
        isinstance(expr, Case)
        or (isinstance(expr, Operator) and expr.op in ("and", "or"))
        or (isinstance(expr, Call) and expr.name in KERNEL_CONNECTIVES)
    )
    parts_seen = 0

    def lifted(part: Expr) -> Expr:
        nonlocal parts_seen
        parts_seen += 1
        return lift(part, guarded=guarded or (connective and parts_seen > 1))

    return rebuild(expr, lifted)


_FAILING_OPERATORS = frozenset(("/", "%", "div"))
_FAILING_FUNCTIONS = frozenset(
    """assert_true bigint boolean date decimal double element_at elt float int make_date make_timestamp mod pmod
    raise_error smallint timestamp tinyint to_binary to_date to_number to_timestamp""".split()
)


def may_fail(expr: Expr) -> bool:
    """Whether the expression may raise an error for some row: division, casts, places in arrays.

    Arithmetic that overflows is left out: nobody guards against it, and lifting it is worth much.
    """
    return any(
        (isinstance(node, Operator) and node.op in _FAILING_OPERATORS)
        or (isinstance(node, Cast) and not node.attempt)
        or isinstance(node, Subscript)
        or (isinstance(node, Call) and node.name in _FAILING_FUNCTIONS)
        for node in walk(expr)
    )


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
