"""Name of an aggregate and types of its arguments -> type of its result, by Spark's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import pyarrow as pa

from ostinato.errors import QueryError, Span
from ostinato.expressions import types as t

_STATISTICS = frozenset(("stddev_samp", "stddev_pop", "var_samp", "var_pop"))


def aggregate_type(name: str, args: Sequence[pa.DataType], span: Span | None = None) -> pa.DataType:
    """The result type; QueryError TYPE_MISMATCH where the argument doesn't fit.

    >>> aggregate_type("sum", [pa.decimal128(10, 2)])
    Decimal128Type(decimal128(20, 2))
    """
    if name in ("count", "count_if"):
        if name == "count_if" and args[0] not in (t.BOOL, t.NULL):
            _mismatch("count_if or FILTER", args[0], "a condition", span)
        return t.INT64
    kind = args[0]
    if name in ("min_by", "max_by", "min", "max"):
        if t.is_map(args[-1]):
            _mismatch(name, args[-1], "values that can be ordered", span)
        return kind
    if name in ("first_value", "last_value"):
        return kind
    if name == "listagg":
        if kind not in (t.STRING, t.NULL):
            _mismatch(name, kind, "text", span)
        return t.STRING
    if name == "array_agg":
        return t.array_of(kind)
    if name == "percentile_approx":
        if not (t.is_numeric(kind) or t.is_datetime(kind) or kind in (t.DURATION, t.NULL)):
            _mismatch(name, kind, "numbers or times", span)
        return t.DOUBLE if kind == t.NULL else kind
    if name in ("bool_and", "bool_or"):
        if kind not in (t.BOOL, t.NULL):
            _mismatch(name, kind, "a condition", span)
        return t.BOOL
    if pa.types.is_duration(kind) and name in ("sum", "avg", "percentile", "percentile_disc"):
        return kind
    if not t.is_numeric(kind) and kind != t.NULL:
        _mismatch(name, kind, "numbers", span)
    if name in _STATISTICS or name in ("percentile", "percentile_disc"):
        return t.DOUBLE
    if t.is_decimal(kind):
        digits, scale = (10, 0) if name == "sum" else (4, 4)
        return t.bounded(kind.precision + digits, kind.scale + scale)
    if name == "sum" and t.is_integral(kind):
        return t.INT64
    return t.DOUBLE


def _mismatch(name: str, kind: pa.DataType, wanted: str, span: Span | None) -> NoReturn:
    raise QueryError("TYPE_MISMATCH", f"{name} takes {wanted}, not {t.spark_name(kind)}", span=span)
