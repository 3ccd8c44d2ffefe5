"""The nodes of an expression: the syntax as written, and the nodes that binding puts in.

The parser makes `Literal`, `ColumnRef`, `Call` and the other syntax nodes. Binding (`clause_binding.py`) replaces every
reference to rows of the match by a `Navigation` or an `Aggregate`. Below those, a `Column` is a plain column of the one
row that they read.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ostinato.calls.id_columns import IdKind
from ostinato.errors import Span


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as written, without its quotes."""

    text: str
    quoted: bool = False

    @property
    def folded(self) -> str:
        """The canonical case of a pattern variable: upper unless quoted."""
        return self.text if self.quoted else self.text.upper()


# --- syntax -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as written: `1.5`, `'it''s'`, `DATE '2020-01-01'`, `INTERVAL '5' MINUTE`, `TRUE`, `NULL`.

    `kind` is one of number, string, boolean, null, date, timestamp, timestamp_ntz, timestamp_ltz, interval, binary,
    unit (the MINUTE of `timestampdiff(MINUTE, a, b)`).
    """

    kind: str
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A dotted name: `price`, `A.price`, `address.city`, `A.address.city`. Binding decides the meaning of each part."""

    parts: tuple[Name, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `A.*`, inside COUNT only."""

    qualifier: Name | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function call. `semantics` is RUNNING or FINAL if written. `name` is lower case."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    semantics: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NamedArgument:
    """`name => value` in a call. Only Spark's functions take such arguments."""

    name: Name
    value: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OrderItem:
    """`expression [ASC | DESC] [NULLS FIRST | LAST]` in an aggregate. NULLs come first when ascending, as in Spark."""

    expr: Expr
    descending: bool = False
    nulls_first: bool | None = None

    @property
    def puts_nulls_first(self) -> bool:
        return (not self.descending) if self.nulls_first is None else self.nulls_first


@dataclass(frozen=True, slots=True)
class ModifiedCall:
    """An aggregate with words around its arguments. Binding makes an `Aggregate` of it.

    `array_agg(x ORDER BY y)`, `listagg(x, ',') WITHIN GROUP (ORDER BY y)`, `sum(x) FILTER (WHERE y)`,
    `last_value(x) IGNORE NULLS`.
    """

    call: Call
    order_by: tuple[OrderItem, ...] = ()
    within_group: bool = False
    where: Expr | None = None
    ignores_nulls: bool | None = None
    """IGNORE NULLS or RESPECT NULLS; None if neither is written."""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator or a keyword form with its operands.

    `op` is one of: + - * / % div || & | ^ ~ << >> >>> neg pos = <> < <= > >= <=> and or not, `is null`, `is true`,
    `is false`, `is unknown`, `is distinct from`, `in`, `between`, `like`, `ilike`, `rlike` (an ESCAPE is a further
    operand), `like any`, `like all`, `ilike any`, `ilike all`. Negated keyword forms are a `not` around the plain one.
    """

    op: str
    args: tuple[Expr, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Case:
    """CASE [operand] WHEN condition THEN value ... [ELSE default] END. `word`: the query's word for it, for errors."""

    operand: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr | None
    span: Span | None = field(default=None, compare=False, repr=False)
    word: str = field(default="case", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST(value AS type), TRY_CAST and `value::type`, with the type as written."""

    value: Expr
    type_text: str
    attempt: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Extract:
    """EXTRACT(unit FROM source)."""

    unit: str
    source: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Subscript:
    """`base[index]`."""

    base: Expr
    index: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """`base.name`, where the base isn't a plain reference."""

    base: Expr
    name: Name
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x -> body` or `(x, y) -> body`; the parameters hide columns of the same name."""

    parameters: tuple[Name, ...]
    body: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A use of a lambda's parameter."""

    name: Name
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """`(SELECT ...)`: one value, or with `is_list` the values of `IN (SELECT ...)`.

    The span has the parentheses, the text doesn't. `ost.sql` puts literals in its place before binding.
    """

    text: str
    is_list: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


# --- nodes that binding adds ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the row that is read, by its real name in the input."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RowClassifier:
    """The variable that the row was matched to; NULL outside the match."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """MATCH_NUMBER()."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MatchIdentity:
    """The id of the match or of its run (`rows/match_ids.py`). No text stands for it: an option adds it to measures."""

    kind: IdKind
    rule: str = ""
    """The name of the rule that the match belongs to."""
    span: Span | None = field(default=None, compare=False, repr=False)


class Anchor(enum.Enum):
    """The end of a variable's rows from which a navigation counts."""

    FIRST = "first"
    LAST = "last"


RowSet = frozenset[str] | None
"""The primary variables whose rows count; None means every row of the match."""


@dataclass(frozen=True, slots=True)
class Navigation:
    """`operand` at one row: row number `skip`, counted from the `anchor` among `rows`, then `shift` rows further.

    The shift counts rows of the partition. `PREV(LAST(A.x, 2), 1)` is Navigation(Column x, {A}, LAST, skip=2,
    shift=-1). A bare `x` is LAST, 0, 0 over all rows. `final` counts the rows of the whole match, otherwise those up to
    the current row.
    """

    operand: Expr
    rows: RowSet
    anchor: Anchor
    skip: int = 0
    shift: int = 0
    final: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`name(args)` over the rows of the match that belong to `rows`; no args means count(*).

    `order_by` is the order of the values, where the result depends on it.
    """

    name: str
    args: tuple[Expr, ...]
    rows: RowSet
    distinct: bool = False
    final: bool = False
    order_by: tuple[OrderItem, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


Expr = (
    Literal
    | ColumnRef
    | Star
    | Call
    | ModifiedCall
    | NamedArgument
    | Operator
    | Case
    | Cast
    | Extract
    | Subscript
    | Field
    | Lambda
    | Parameter
    | SubQuery
    | Column
    | RowClassifier
    | MatchNumber
    | MatchIdentity
    | Navigation
    | Aggregate
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, left to right."""
    match expr:
        case Call(args=args) | Operator(args=args):
            return args
        case Aggregate(args=args, order_by=order_by):
            return (*args, *(item.expr for item in order_by))
        case ModifiedCall(call=call, order_by=order_by, where=where):
            return (call, *(item.expr for item in order_by), *(() if where is None else (where,)))
        case Case(operand, branches, default):
            inner = [node for branch in branches for node in branch]
            return tuple(node for node in (operand, *inner, default) if node is not None)
        case Cast(value=value) | NamedArgument(value=value):
            return (value,)
        case Extract(source=source):
            return (source,)
        case Subscript(base, index):
            return (base, index)
        case Field(base=base):
            return (base,)
        case Lambda(body=body):
            return (body,)
        case Navigation(operand=operand):
            return (operand,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The node and all below it, left to right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def height_exceeds(expr: Expr, levels: int) -> bool:
    """Whether the tree has more levels than this."""
    level = [expr]
    for _ in range(levels):
        if not level:
            return False
        level = [child for node in level for child in children(node)]
    return bool(level)


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The same node with `change` applied to its direct sub-expressions."""
    match expr:
        case Call(args=args) | Operator(args=args):
            return replace(expr, args=tuple(change(arg) for arg in args))
        case Aggregate(args=args, order_by=order_by):
            return replace(expr, args=tuple(change(arg) for arg in args), order_by=_changed_order(order_by, change))
        case ModifiedCall(call=call, order_by=order_by, where=where):
            changed = change(call)
            assert isinstance(changed, Call)
            order = _changed_order(order_by, change)
            return replace(expr, call=changed, order_by=order, where=None if where is None else change(where))
        case Case(operand, branches, default):
            return replace(
                expr,
                operand=None if operand is None else change(operand),
                branches=tuple((change(when), change(then)) for when, then in branches),
                default=None if default is None else change(default),
            )
        case Cast(value=value) | NamedArgument(value=value):
            return replace(expr, value=change(value))
        case Extract(source=source):
            return replace(expr, source=change(source))
        case Subscript(base, index):
            return replace(expr, base=change(base), index=change(index))
        case Field(base=base):
            return replace(expr, base=change(base))
        case Lambda(body=body):
            return replace(expr, body=change(body))
        case Navigation(operand=operand):
            return replace(expr, operand=change(operand))
        case _:
            return expr


def _changed_order(order_by: tuple[OrderItem, ...], change: Callable[[Expr], Expr]) -> tuple[OrderItem, ...]:
    return tuple(replace(item, expr=change(item.expr)) for item in order_by)


def string_literal(text: str) -> Literal:
    """The text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return Literal("string", f"'{escaped}'")


def with_label(operand: Expr, label: Expr) -> Expr:
    """An expression over one row, with `label` in place of CLASSIFIER()."""
    if isinstance(operand, RowClassifier):
        return label
    return rebuild(operand, lambda node: with_label(node, label))
