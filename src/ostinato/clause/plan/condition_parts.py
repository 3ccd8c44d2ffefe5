"""DEFINE condition -> three conditions: over the row alone, over the row and its neighbours, over the run.

The condition holds when all three do. The row condition is evaluated before matching, by Spark if there is one. The
neighbour condition is evaluated over shifted columns, for all rows at once. Only the run condition is left to the
kernel. In the second and third, the largest expressions over a single row are put under one navigation ("lifted"), so
that they too are evaluated before matching.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.clause.plan.frame_distances import FrameDistance
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
from ostinato.expressions.functions.function_table import FUNCTIONS
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
    children,
    rebuild,
    string_literal,
    walk,
    with_label,
)
from ostinato.expressions.types import Settings, parse_type


@dataclass(frozen=True, slots=True)
class Condition:
    """The three conditions; None stands for TRUE. `row` is over columns, the others over navigations."""

    row: Expr | None = None
    neighbours: Expr | None = None
    run: Expr | None = None


def split_condition(condition: Expr, variable: str, distance: FrameDistance | None = None) -> Condition:
    """Splits the condition of one variable; in a window, at this distance from the first row of the frame.

    The three conditions are evaluated apart, for all rows. A conjunct that may fail stays together with the conjuncts
    before it, because they may guard it: `x <> 0 AND 10 / x > PREV(x)`.
    """
    conjuncts_by_scope: tuple[list[Expr], list[Expr], list[Expr]] = ([], [], [])
    widest = _ROW
    before: list[tuple[int, Expr]] = []
    settled = spread(settle(condition, variable))
    for conjunct in conjuncts(settled if distance is None else distance.cut(settled)):
        scope = _RUN if distance is not None and distance.needs_search(conjunct) else _scope(conjunct)
        if may_fail(conjunct):
            scope = max(scope, widest)
            conjuncts_by_scope[scope].extend(
                lift(guard, scope, guarded=True) for other, guard in before if other < scope
            )
        widest = max(widest, scope)
        conjuncts_by_scope[scope].append(
            operands_only(conjunct) if scope == _ROW else lift(conjunct, scope, guarded=bool(before))
        )
        before.append((scope, conjunct))
    return Condition(*map(_conjunction, conjuncts_by_scope))


_ROW, _NEIGHBOURS, _RUN = 0, 1, 2


def _scope(conjunct: Expr) -> int:
    """The rows that the conjunct reads: its own, neighbours too, or any of the run."""
    nodes = list(references(conjunct))
    if all(is_here(node) for node in nodes):
        return _ROW
    return _NEIGHBOURS if all(is_fixed(node) for node in nodes) else _RUN


def conjuncts(expr: Expr) -> list[Expr]:
    """The operands of AND, also of an AND inside of another; the expression itself if it is none."""
    if isinstance(expr, Operator) and expr.op == "and":
        return [conjunct for arg in expr.args for conjunct in conjuncts(arg)]
    return [expr]


def _conjunction(conjuncts: list[Expr]) -> Expr | None:
    if not conjuncts:
        return None
    return conjuncts[0] if len(conjuncts) == 1 else Operator("and", tuple(conjuncts))


def settle(expr: Expr, variable: str) -> Expr:
    """Rewrites navigations to the tried row, or by a distance from it, without their variable. The CLASSIFIER() of the
    tried row becomes a constant."""
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
    return rebuild(expr, lambda child: settle(child, variable))


# --- lifting ---

_STRICT_OPERATORS = frozenset("+ - * / % div || & | ^ ~ << >> >>> neg pos = <> < <= > >= like ilike rlike".split())
_STRICT_FUNCTIONS = frozenset(
    """abs acos ascii asin atan atan2 bround cbrt ceil ceiling char_length character_length cos cosh date_add date_diff
    date_format date_sub date_trunc dateadd datediff day dayofmonth dayofweek dayofyear degrees exp floor hour
    initcap instr lcase left length ln locate log log10 log2 lower lpad ltrim minute mod month pmod position pow
    power quarter radians regexp_extract regexp_replace repeat replace reverse right round rpad rtrim second sign
    signum sin sinh sqrt startswith endswith contains substr substring tan tanh timediff timestampadd timestampdiff
    to_date to_timestamp trim trunc ucase unix_timestamp upper weekday weekofyear year""".split()
)
"""Functions that are NULL whenever an argument is NULL."""


def lift(expr: Expr, scope: int, *, guarded: bool = False) -> Expr:
    """Puts the largest sub-expressions over a single row under one navigation each.

    A lifted expression is evaluated for every row. So an expression that may fail isn't lifted where another operand
    may guard it (`guarded`), nor where it reads another row: `10 / PREV(x)` fails only at a row with a predecessor.
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
    stays = (guarded and may_fail(expr)) or (not is_here(first) and _fails_where_it_is_read(expr, scope))
    if isinstance(first, Navigation) and one_row and not stays:
        operand = operands_only(expr)
        if is_here(first) or _is_strict(expr):
            return at_row(operand, first)
        if not _kernel_knows(expr):
            # If the row is missing, the expression needn't be NULL: evaluate it without columns.
            without = Navigation(_without_columns(operand), None, Anchor.LAST)
            return Case(None, ((row_exists(first), at_row(operand, first)),), without)
    return _lift_children(expr, scope, guarded)


def _lift_children(expr: Expr, scope: int, guarded: bool) -> Expr:
    """Lifts each child by itself. In a connective, the children before a child guard it."""
    connective = (
        isinstance(expr, Case)
        or (isinstance(expr, Operator) and expr.op in ("and", "or"))
        or (isinstance(expr, Call) and expr.name in KERNEL_CONNECTIVES)
    )
    position = 0

    def lifted(child: Expr) -> Expr:
        nonlocal position
        position += 1
        return lift(child, scope, guarded=guarded or (connective and position > 1))

    return rebuild(expr, lifted)


_FAILING_OPERATORS = frozenset(("/", "%", "div"))
_FAILING_FUNCTIONS = frozenset(
    """assert_true bigint boolean date decimal double element_at elt float int make_date make_timestamp mod pmod
    raise_error smallint timestamp tinyint to_binary to_date to_number to_timestamp""".split()
)


def may_fail(expr: Expr) -> bool:
    """Whether the expression may raise an error for some row: division, casts, indexes of arrays.

    Overflow doesn't count: queries don't guard against it, and lifting arithmetic saves much time.
    """
    return any(map(_node_may_fail, walk(expr)))


def _node_may_fail(node: Expr) -> bool:
    return (
        (isinstance(node, Operator) and node.op in _FAILING_OPERATORS)
        or (isinstance(node, Cast) and not node.attempt)
        or isinstance(node, Subscript)
        or (isinstance(node, Call) and node.name in _FAILING_FUNCTIONS)
    )


def _fails_where_it_is_read(expr: Expr, scope: int) -> bool:
    """Whether an expression over another row may fail, and the worker can evaluate it at the rows that read it.

    Spark evaluates all others for every row. A kernel knows divisions only, and everything else would make a condition
    over the run slow.
    """
    return _fails_in_itself(expr) and _worker_evaluates(expr, scope)


def _fails_in_itself(expr: Expr) -> bool:
    """As `may_fail`, without operands of navigations and without divisions by a number, as in `PREV(x) / 2`."""
    if isinstance(expr, Navigation):
        return False
    if _node_may_fail(expr) and not (isinstance(expr, Operator) and _is_number(expr.args[1])):
        return True
    return any(map(_fails_in_itself, children(expr)))


def _is_number(divisor: Expr) -> bool:
    return (
        isinstance(divisor, Literal)
        and divisor.kind == "number"
        and any(digit in divisor.text for digit in "123456789")
    )


def _worker_evaluates(expr: Expr, scope: int) -> bool:
    """Whether the worker knows all nodes that contain one which may fail. The others are lifted by themselves."""
    if not _fails_in_itself(expr):
        return True
    if isinstance(expr, Call):
        known = _evaluator_knows(expr) if scope == _NEIGHBOURS else expr.name in _KERNEL_FUNCTIONS
    elif isinstance(expr, Cast):
        known = scope == _NEIGHBOURS and parse_type(expr.type_text, Settings()) is not None
    else:
        known = isinstance(expr, Operator | Case) or (scope == _NEIGHBOURS and not isinstance(expr, Lambda))
    return known and all(_worker_evaluates(child, scope) for child in children(expr))


def _evaluator_knows(call: Call) -> bool:
    rule = FUNCTIONS.get(call.name)
    return rule is not None and len(call.args) <= (len(call.args) if rule.at_most is None else rule.at_most)


def _is_foldable(expr: Expr) -> bool:
    """Whether a constant is made of literals and simple operators. Spark evaluates all others."""
    return all(isinstance(node, Literal | Operator | Cast) for node in walk(expr))


def _is_strict(expr: Expr) -> bool:
    match expr:
        case Navigation() | Literal():
            return True
        case Operator("like any" | "like all" | "ilike any" | "ilike all", (value, *patterns)):
            return _is_strict(value) and all(isinstance(pattern, Literal) for pattern in patterns)
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
    """Connectives that the kernel knows, so that lifting their children is enough."""
    return isinstance(expr, Operator | Case) or (isinstance(expr, Call) and expr.name in KERNEL_CONNECTIVES)


KERNEL_CONNECTIVES = frozenset(("coalesce", "if", "nullif", "nvl", "ifnull", "greatest", "least"))
_KERNEL_FUNCTIONS = KERNEL_CONNECTIVES | {"abs", "mod"}


def _without_columns(operand: Expr) -> Expr:
    if isinstance(operand, Column):
        return null_like(operand)
    return rebuild(operand, _without_columns)
