"""AND OR NOT, IS ..., CASE IF COALESCE NULLIF: three-valued and lazy. A branch runs only on the rows that choose it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.errors import MatchError
from ostinato.expressions import types as t
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.comparisons import COMPARISONS, compare_values, type_list
from ostinato.expressions.nodes import Frame, FunctionRule, Site, Typed, constant, eager
from ostinato.expressions.values.vectors import Bools, Vector, nulls_of, of_arrow

Rows = npt.NDArray[np.intp]


def condition(node: Typed, site: Site) -> Typed:
    """The node as a boolean; an error if it isn't one."""
    if node.type not in (t.BOOL, t.NULL, t.STRING) or (node.type == t.STRING and not site.settings.ansi):
        raise site.mismatch(f"{site.name.upper()} needs a condition, not {t.spark_name(node.type)}")
    return implicit(node, t.BOOL, site.settings)


def true_rows(vector: Vector) -> Bools:
    """Where the condition is TRUE; NULL counts as FALSE."""
    return np.asarray(vector.values if vector.valid is None else vector.values & vector.valid)


# --- AND, OR, NOT -----------------------------------------------------------------------------------------------------


def _join(left: Vector, right: Vector, deciding: bool) -> Vector:
    """AND of two vectors if `deciding` is False, OR if it is True: the value that decides the result alone."""
    values = left.values | right.values if deciding else left.values & right.values
    if left.valid is None and right.valid is None:
        return Vector(t.BOOL, values)
    one, two = left.expanded(len(values)), right.expanded(len(values))
    decided = _decided(one, deciding) | _decided(two, deciding)
    not_null = (True if one.valid is None else one.valid) & (True if two.valid is None else two.valid)
    return Vector(t.BOOL, np.where(decided, deciding, not deciding), np.asarray(decided | not_null))


def _decided(vector: Vector, deciding: bool) -> Bools:
    hit = vector.values if deciding else ~vector.values
    return np.asarray(hit if vector.valid is None else hit & vector.valid)


def _junction(deciding: bool) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        terms = [condition(arg, Site(site.name, site.settings, arg.span or site.span)) for arg in args]

        def run(frame: Frame) -> Vector:
            result = terms[0].run(frame)
            for term in terms[1:]:
                if result.valid is None and bool((result.values == deciding).all()):
                    return result
                result = _join(result, _where_open(term, frame, result, deciding), deciding)
            return result

        return Typed(t.BOOL, run, span=site.span)

    return FunctionRule(2, None, plan)


def _where_open(term: Typed, frame: Frame, left: Vector, deciding: bool) -> Vector:
    """The right side. If it fails over all rows, it runs over the rows that the left side leaves open, as in Spark."""
    try:
        return term.run(frame)
    except MatchError:
        open_rows = np.flatnonzero(~_decided(left.expanded(frame.length), deciding))
        if len(open_rows) == frame.length:
            raise
        values = np.full(frame.length, deciding)
        valid = np.ones(frame.length, bool)
        if len(open_rows):
            computed = term.run(frame.select(open_rows)).expanded(len(open_rows))
            values[open_rows] = computed.values
            valid[open_rows] = True if computed.valid is None else computed.valid
        return Vector(t.BOOL, values, valid)


def _not(site: Site, args: Sequence[Typed]) -> Typed:
    node = condition(args[0], site)
    return eager(site, t.BOOL, lambda site, kind, vector: Vector(kind, ~vector.values, vector.valid), (node,))


# --- IS ---------------------------------------------------------------------------------------------------------------


def _is_null(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return Vector(t.BOOL, vector.nulls())


def _is_not_null(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return Vector(t.BOOL, ~vector.nulls())


def _is_nan(site: Site, args: Sequence[Typed]) -> Typed:
    if not (t.is_numeric(args[0].type) or args[0].type in (t.STRING, t.NULL)):
        raise site.mismatch(f"isnan doesn't take {t.spark_name(args[0].type)}")
    node = args[0] if t.is_float(args[0].type) else implicit(args[0], t.DOUBLE, site.settings)

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        nan = np.isnan(vector.values)
        return Vector(t.BOOL, nan if vector.valid is None else nan & vector.valid)

    return eager(site, t.BOOL, kernel, (node,))


def _is_truth(truth: bool) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        return Vector(t.BOOL, _decided(vector, truth))

    return FunctionRule(1, 1, lambda site, args: eager(site, t.BOOL, kernel, (condition(args[0], site),)))


def _is_unknown(site: Site, args: Sequence[Typed]) -> Typed:
    return eager(site, t.BOOL, _is_null, (condition(args[0], site),))


# --- CASE and its relatives -------------------------------------------------------------------------------------------


def assemble(kind: pa.DataType, length: int, pieces: Sequence[tuple[Rows, Vector]]) -> Vector:
    """One vector from pieces, each for some of the rows. Rows in no piece are NULL."""
    dtype = t.storage_dtype(kind)
    if dtype is None:
        return _assemble_arrow(kind, length, pieces)
    values: npt.NDArray[Any] = np.zeros(length, dtype)
    valid = np.zeros(length, bool)
    for rows, vector in pieces:
        values[rows] = vector.values
        valid[rows] = True if vector.valid is None else vector.valid
    return Vector(kind, values, None if valid.all() else valid)


def _assemble_arrow(kind: pa.DataType, length: int, pieces: Sequence[tuple[Rows, Vector]]) -> Vector:
    order = np.zeros(length, np.int64)  # index 0 is the NULL for rows in no piece
    arrays, start = [pa.nulls(1, kind)], 1
    for rows, vector in pieces:
        arrays.append(vector.values)
        order[rows] = start if len(vector) == 1 else np.arange(start, start + len(rows))
        start += len(vector)
    return of_arrow(kind, pa.concat_arrays(arrays).take(pa.array(order)))


def choose(frame: Frame, kind: pa.DataType, branches: Sequence[tuple[Typed, Typed]], default: Typed | None) -> Vector:
    """CASE: each condition runs on the rows that no earlier condition took, each value on the rows that chose it."""
    pieces: list[tuple[Rows, Vector]] = []
    open_rows = np.arange(frame.length)
    for when, then in branches:
        if not len(open_rows):
            break
        open_frame = frame if len(open_rows) == frame.length else frame.select(open_rows)
        is_true = np.broadcast_to(true_rows(when.run(open_frame)), len(open_rows))
        if is_true.all() and not pieces:
            return then.run(open_frame)
        if is_true.any():
            rows = open_rows[is_true]
            pieces.append((rows, then.run(frame.select(rows))))
            open_rows = open_rows[~is_true]
    if default is not None and len(open_rows):
        if not pieces:
            return default.run(frame)
        pieces.append((open_rows, default.run(frame.select(open_rows))))
    return assemble(kind, frame.length, pieces)


def plan_case(site: Site, branches: Sequence[tuple[Typed, Typed]], default: Typed | None) -> Typed:
    """CASE WHEN ...; the conditions have to be booleans."""
    outcomes = [then for _, then in branches] + ([] if default is None else [default])
    kind = common(site, outcomes)
    for when, _ in branches:
        if when.type != t.BOOL:
            raise site.mismatch(f"{site.name.upper()} needs a condition, not {t.spark_name(when.type)}")
    cast = [(when, implicit(then, kind, site.settings)) for when, then in branches]
    last = None if default is None else implicit(default, kind, site.settings)
    return Typed(kind, lambda frame: choose(frame, kind, cast, last), span=site.span)


def common(site: Site, args: Sequence[Typed], *, strings: bool = True) -> pa.DataType:
    """The common type of all arguments; an error if there is none."""
    kind = t.common_of_all([arg.type for arg in args], site.settings, strings=strings)
    if kind is None:
        raise site.mismatch(f"the values of {site.name.upper()} have no common type: {type_list(args)}")
    return kind


def _if(site: Site, args: Sequence[Typed]) -> Typed:
    when = implicit(args[0], t.BOOL, site.settings) if args[0].type == t.NULL else args[0]
    return plan_case(site, [(when, args[1])], args[2])


def _coalesce(site: Site, args: Sequence[Typed]) -> Typed:
    kind = common(site, args)
    options = [implicit(arg, kind, site.settings) for arg in args]

    def run(frame: Frame) -> Vector:
        first = options[0].run(frame)
        if first.valid is None or len(options) == 1:
            return first
        pieces, open_rows, vector = [], np.arange(frame.length), first.expanded(frame.length)
        for position, option in enumerate(options):
            if position:
                vector = option.run(frame.select(open_rows)).expanded(len(open_rows))
            not_null = ~vector.nulls()
            pieces.append((open_rows[not_null], vector.take(np.flatnonzero(not_null))))
            open_rows = open_rows[~not_null]
            if not len(open_rows):
                break
        return assemble(kind, frame.length, [piece for piece in pieces if len(piece[0])])

    return Typed(kind, run, span=site.span)


def _nullif(site: Site, args: Sequence[Typed]) -> Typed:
    same = COMPARISONS["="].plan(site, args)
    nothing = constant(nulls_of(args[0].type))
    kind = args[0].type
    return Typed(kind, lambda frame: choose(frame, kind, [(same, nothing)], args[0]), span=site.span)


def _nvl2(site: Site, args: Sequence[Typed]) -> Typed:
    not_null = eager(site, t.BOOL, _is_not_null, (args[0],))
    return plan_case(site, [(not_null, args[1])], args[2])


def _nanvl(site: Site, args: Sequence[Typed]) -> Typed:
    kind = t.FLOAT if all(arg.type == t.FLOAT for arg in args) else t.DOUBLE
    first, second = (implicit(arg, kind, site.settings) for arg in args)
    nan = _is_nan(site, (first,))
    return Typed(kind, lambda frame: choose(frame, kind, [(nan, second)], first), span=site.span)


def _extreme(op: str) -> FunctionRule:
    """GREATEST and LEAST, which skip NULLs."""

    def kernel(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        length = max((len(vector) for vector in vectors if len(vector) != 1), default=1)
        if any(len(vector) == 0 for vector in vectors):
            length = 0
        best = vectors[0].expanded(length)
        for vector in vectors[1:]:
            other = vector.expanded(length)
            better = (compare_values(op, other, best) | best.nulls()) & ~other.nulls()
            keep, change = np.flatnonzero(~better), np.flatnonzero(better)
            best = assemble(kind, length, [(keep, _at(best, keep)), (change, _at(other, change))])
        return best

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        kind = common(site, args, strings=False)
        if t.is_map(kind):
            raise site.mismatch("maps don't compare")
        if kind == t.NULL:
            return args[0]
        return eager(site, kind, kernel, [implicit(arg, kind, site.settings) for arg in args])

    return FunctionRule(2, None, plan)


def _at(vector: Vector, rows: Rows) -> Vector:
    if len(vector) == 1 and len(rows) == 0 and not isinstance(vector.values, np.ndarray):
        return of_arrow(vector.type, vector.values.slice(0, 0))
    return vector.take(rows)


LOGIC: dict[str, FunctionRule] = {
    "and": _junction(deciding=False),
    "or": _junction(deciding=True),
    "not": FunctionRule(1, 1, _not),
    "is null": FunctionRule(1, 1, lambda site, args: eager(site, t.BOOL, _is_null, args)),
    "is true": _is_truth(True),
    "is false": _is_truth(False),
    "is unknown": FunctionRule(1, 1, _is_unknown),
}
CONDITIONALS: dict[str, FunctionRule] = {
    "if": FunctionRule(3, 3, _if),
    "coalesce": FunctionRule(1, None, _coalesce),
    "nvl": FunctionRule(2, 2, _coalesce),
    "ifnull": FunctionRule(2, 2, _coalesce),
    "nvl2": FunctionRule(3, 3, _nvl2),
    "nanvl": FunctionRule(2, 2, _nanvl),
    "nullif": FunctionRule(2, 2, _nullif),
    "greatest": _extreme(">"),
    "least": _extreme("<"),
    "isnull": LOGIC["is null"],
    "isnotnull": FunctionRule(1, 1, lambda site, args: eager(site, t.BOOL, _is_not_null, args)),
    "isnan": FunctionRule(1, 1, _is_nan),
    "equal_null": COMPARISONS["<=>"],
}
