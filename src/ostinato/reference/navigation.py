"""Expression of DEFINE or MEASURES and a position in a match -> its value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ostinato.errors import MatchError, QueryError
from ostinato.expressions.syntax import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Field,
    Literal,
    ModifiedCall,
    Name,
    Operator,
    Star,
    Subscript,
    children,
)
from ostinato.reference.aggregates import AGGREGATES, aggregate
from ostinato.reference.oracle_literals import literal_value
from ostinato.reference.oracle_ordering import Row, compare, in_order
from ostinato.reference.preferment import Path
from ostinato.reference.scalar import call, cast, operate


@dataclass(frozen=True, slots=True)
class Scope:
    """The meaning of names: the columns, and for each variable or union variable its primary variables."""

    columns: tuple[str, ...]
    variables: Mapping[str, frozenset[str]]
    ansi: bool
    input_name: str | None = None
    time: Name | None = None
    """The first column of ORDER BY."""
    timezone: str = "UTC"

    def column(self, name: Name) -> str:
        """The real name of the column; case counts only between columns that differ in nothing else."""
        if name.text in self.columns:
            return name.text
        for column in self.columns:
            if column.lower() == name.text.lower():
                return column
        raise QueryError("UNKNOWN_COLUMN", f"there is no column '{name.text}'")

    def qualifier(self, parts: Sequence[Name]) -> str | None:
        """The variable in front of a reference: `A` of `A.price`, None of `price`."""
        return parts[0].folded if len(parts) > 1 and parts[0].folded in self.variables else None

    def without_qualifier(self, parts: Sequence[Name]) -> Sequence[Name]:
        """The column and its fields. A variable comes first, then a column with fields, then the input's name."""
        if self.qualifier(parts) is not None:
            return parts[1:]
        first = parts[0].text.lower()
        is_input = len(parts) > 1 and self.input_name is not None and first == self.input_name.lower()
        return parts[1:] if is_input and first not in (column.lower() for column in self.columns) else parts


@dataclass(frozen=True, slots=True)
class MatchPosition:
    """The row of a match at which an expression is evaluated.

    The match starts at row `start` of the partition and has one label a row. RUNNING uses the first `running_rows` of
    them. While a condition is tested, the last label is that of the row under test.
    """

    scope: Scope
    partition: Sequence[Row]
    start: int
    labels: Path
    running_rows: int
    match_number: int | None

    def positions(self, variable: str | None, final: bool) -> list[int]:
        """The positions in the partition of the rows of a variable, or of the match."""
        labels = self.labels if final else self.labels[: self.running_rows]
        wanted = None if variable is None else self.scope.variables[variable]
        return [self.start + i for i, label in enumerate(labels) if wanted is None or label.variable in wanted]

    def classifier(self, position: int) -> str | None:
        """The variable of the row. None outside the match and, in a condition, after the row under test."""
        offset = position - self.start
        return self.labels[offset].variable if 0 <= offset < len(self.labels) else None


def evaluate(expr: Expr, position: MatchPosition) -> object:
    """The value of an expression of DEFINE or MEASURES."""
    match expr:
        case ColumnRef() | Call(name="classifier"):
            return value_at(expr, _navigated(expr, position), position)  # a bare reference means RUNNING LAST
        case Call(name="lag" | "lead", args=args):
            return evaluate(Call({"lag": "prev", "lead": "next"}[expr.name], args), position)
        case Call(name="match_sequence_number"):
            return position.running_rows or None
        case Call(name="match_rowtime"):
            assert position.scope.time is not None
            rows = position.positions(None, final=True)
            return position.partition[rows[-1]][position.scope.column(position.scope.time)] if rows else None
        case Call(name="first" | "last" | "prev" | "next"):
            return value_at(_operand(expr), _navigated(expr, position), position)
        case Call(name=name) if name in AGGREGATES:
            return _aggregated(ModifiedCall(expr), position)
        case ModifiedCall():
            return _aggregated(expr, position)
        case _:
            return _around(expr, position, row=None)


def _aggregated(expr: ModifiedCall, position: MatchPosition) -> object:
    """An aggregate over the rows that pass its FILTER, in its order."""
    call, keys = expr.call, [item.expr for item in expr.order_by]
    exprs = [*call.args, *keys, *([] if expr.where is None else [expr.where])]
    rows = position.positions(_variable_of(exprs, position.scope), final=_is_final(call))
    if expr.where is not None:
        rows = [row for row in rows if value_at(expr.where, row, position) is True]
    for item in reversed(expr.order_by):  # each sort is stable, so the first key counts most
        values = {row: value_at(item.expr, row, position) for row in rows}
        rows = in_order(rows, values.__getitem__, item.descending, item.puts_nulls_first)
    operands: list[Expr] = [arg for arg in call.args if not isinstance(arg, Star)]
    if call.name in ("percentile_cont", "percentile_disc"):
        operands = [*keys, *operands]
    arguments = [tuple(value_at(operand, row, position) for operand in operands) for row in rows]
    return aggregate(call.name, arguments, call.distinct, position.scope.ansi, expr.ignores_nulls)


def _is_final(expr: Call) -> bool:
    return (expr.semantics or "").lower() == "final"


def _operand(expr: Call) -> Expr:
    inner = expr.args[0]
    return inner.args[0] if isinstance(inner, Call) and inner.name in ("first", "last") else inner


def _navigated(expr: Expr, position: MatchPosition) -> int | None:
    """The position in the partition that a navigation leads to, or None."""
    if isinstance(expr, Call) and expr.name in ("prev", "next"):
        base = _navigated(expr.args[0], position)
        step = _offset(expr, position, default=1)
        target = None if base is None else base + (step if expr.name == "next" else -step)
        return target if target is not None and 0 <= target < len(position.partition) else None
    if isinstance(expr, Call) and expr.name in ("first", "last"):
        rows = position.positions(_variable_of(expr.args[:1], position.scope), final=_is_final(expr))
        skip = _offset(expr, position, default=0)
        if skip >= len(rows):
            return None
        return rows[skip] if expr.name == "first" else rows[-1 - skip]
    rows = position.positions(_variable_of((expr,), position.scope), final=False)
    return rows[-1] if rows else None


def _offset(expr: Call, position: MatchPosition, default: int) -> int:
    if len(expr.args) < 2:
        return default
    offset = evaluate(expr.args[1], position)
    if not isinstance(offset, int) or offset < 0:
        raise QueryError("INVALID_NAVIGATION", f"{expr.name.upper()} takes a whole number of rows, not {offset!r}")
    return offset


def _variable_of(exprs: Sequence[Expr], scope: Scope) -> str | None:
    """The one variable whose rows the expressions refer to; None means every row of the match."""
    qualifiers: set[str | None] = set()
    waiting = list(exprs)
    while waiting:
        expr = waiting.pop()
        match expr:
            case ColumnRef(parts):
                qualifiers.add(scope.qualifier(parts))
            case Star(qualifier):
                qualifiers.add(None if qualifier is None else qualifier.folded)
            case Call(name="classifier", args=args):
                qualifiers.add(_classified(args))
            case _:
                waiting.extend(children(expr))
    if len(qualifiers) > 1:
        raise QueryError("MIXED_VARIABLES", "one navigation or aggregate can use the rows of one variable only")
    return qualifiers.pop() if qualifiers else None


def _classified(args: Sequence[Expr]) -> str | None:
    """The variable of CLASSIFIER(variable)."""
    if not args:
        return None
    if isinstance(args[0], ColumnRef) and len(args[0].parts) == 1:
        return args[0].parts[0].folded
    raise QueryError("INVALID_NAVIGATION", "CLASSIFIER takes a pattern variable")


def value_at(expr: Expr, row: int | None, position: MatchPosition) -> object:
    """The operand of a navigation or an aggregate at its row; NULL if there is no such row."""
    if row is None:
        return None
    match expr:
        case ColumnRef(parts):
            names = position.scope.without_qualifier(parts)
            value: object = position.partition[row][position.scope.column(names[0])]
            for field_name in names[1:]:
                value = _struct_field(value, field_name)
            return value
        case Call(name="classifier"):
            return position.classifier(row)
        case Call(name="first" | "last" | "prev" | "next"):
            raise QueryError("INVALID_NAVIGATION", "only FIRST and LAST may stand inside PREV and NEXT, directly")
        case ModifiedCall() | Call() if isinstance(expr, ModifiedCall) or expr.name in AGGREGATES:
            raise QueryError("NESTED_AGGREGATE", "an aggregate can't stand inside a navigation or an aggregate")
        case _:
            return _around(expr, position, row)


def _struct_field(value: object, name: Name) -> object:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise NotImplementedError(f"field {name.text} of {value!r}")
    for key, field in value.items():
        if str(key).lower() == name.text.lower():
            return field
    raise QueryError("UNKNOWN_FIELD", f"there is no field '{name.text}'")


def _around(expr: Expr, position: MatchPosition, row: int | None) -> object:
    """An expression that contains references. Its operands are evaluated at `row`, or each at its own row if None."""

    def inner(child: Expr) -> object:
        return evaluate(child, position) if row is None else value_at(child, row, position)

    ansi = position.scope.ansi
    match expr:
        case Literal():
            return literal_value(expr)
        case Call(name="match_number"):
            return position.match_number
        case Operator(op="and", args=args):
            return _decided(args, inner, by=False)
        case Operator(op="or", args=args):
            return _decided(args, inner, by=True)
        case Operator(op="in", args=(wanted, *options)):
            return _decided([Operator("=", (wanted, option)) for option in options], inner, by=True)
        case Operator(op="like any" | "like all" | "ilike any" | "ilike all" as op, args=(value, *patterns)):
            like, quantifier = op.split()
            each = [Operator(like, (value, pattern)) for pattern in patterns]
            return _decided(each, inner, by=quantifier == "any")
        case Operator(op="between", args=(value, low, high)):
            return _decided([Operator(">=", (value, low)), Operator("<=", (value, high))], inner, by=False)
        case Operator(op=op, args=args):
            return operate(op, [inner(arg) for arg in args], ansi)
        case Case(operand, branches, default):
            for when, then in branches:
                if inner(when if operand is None else Operator("=", (operand, when))) is True:
                    return inner(then)
            return None if default is None else inner(default)
        case Call(name="if" | "iff", args=(condition, then, otherwise)):
            return inner(then) if inner(condition) is True else inner(otherwise)
        case Call(name="coalesce" | "ifnull" | "nvl", args=args):
            return next((value for value in map(inner, args) if value is not None), None)
        case Call(name=name, args=args, distinct=False, semantics=None):
            return call(name, [inner(arg) for arg in args], ansi)
        case Cast(value, type_text, attempt):
            return cast(inner(value), type_text, attempt, ansi)
        case Field(base, name):
            return _struct_field(inner(base), name)
        case Subscript(base, index):
            return _item(inner(base), inner(index), ansi)
        case _:
            raise NotImplementedError(f"expression {expr}")


def _decided(operands: Sequence[Expr], inner: Callable[[Expr], object], by: bool) -> bool | None:
    """AND (one FALSE decides) or OR (one TRUE decides), left to right. NULL if a NULL leaves it open."""
    unknown = False
    for child in operands:
        value = inner(child)
        if value is by:
            return by
        unknown = unknown or value is None
    return None if unknown else not by


def _item(base: object, index: object, ansi: bool) -> object:
    """`array[index]` counted from 0, `map[key]`."""
    if base is None or index is None:
        return None
    if isinstance(base, Mapping):
        return next((item for key, item in base.items() if compare(key, index) == 0), None)
    if isinstance(base, list) and isinstance(index, int):
        if 0 <= index < len(base):
            return base[index]
        if ansi:
            raise MatchError("INVALID_ARRAY_INDEX", f"there is no element {index} in an array of {len(base)}")
        return None
    raise NotImplementedError(f"subscript of {base!r}")
