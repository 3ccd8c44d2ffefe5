"""Name of an aggregate and its arguments on every row -> its value, by Spark's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import cmp_to_key
from typing import Any

from ostinato.reference.oracle_ordering import compare, compare_nullable
from ostinato.reference.scalar import call, operate

AGGREGATES = frozenset(
    {"count", "sum", "avg", "mean", "min", "max", "min_by", "max_by", "array_agg", "collect_list"}
    | {"first_value", "last_value", "any_value", "collect_set", "listagg", "string_agg"}
    | {"median", "percentile", "percentile_cont", "percentile_disc", "percentile_approx", "approx_percentile"}
    | {"count_if", "bool_and", "every", "bool_or", "some", "any"}
    | {"stddev", "std", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"}
)


def aggregate(
    name: str, rows: Sequence[tuple[object, ...]], distinct: bool, ansi: bool, ignores_nulls: bool | None = None
) -> object:
    """The aggregate over the arguments of the rows, in row order. For count(*) the rows have no arguments.

    >>> aggregate("sum", [(1,), (None,), (3,)], distinct=False, ansi=True)
    4
    """
    if name in ("min_by", "max_by"):
        return _by_extreme(rows, sign=1 if name == "min_by" else -1)
    if name in ("first_value", "any_value", "last_value"):
        return _edge(name, rows, ignores_nulls)
    if name in ("listagg", "string_agg"):
        return _joined(rows, distinct)
    # All others ignore NULLs; count(x, y) counts the rows in which neither is NULL.
    rows = [row for row in rows if not any(value is None for value in row)]
    if distinct:
        rows = _distinct(rows)
    if name == "count":
        return len(rows)
    values: list[Any] = [row[0] for row in rows]
    fraction: Any = rows[0][1] if rows and len(rows[0]) > 1 else 0.5
    match name:
        case "array_agg" | "collect_list":
            return values
        case "collect_set":
            return [value for (value,) in _distinct([(value,) for value in values])]
        case "median" | "percentile" | "percentile_cont":
            return _between(_sorted(name, values), float(fraction))
        case "percentile_disc" | "percentile_approx" | "approx_percentile":
            found = _reached(_sorted(name, values), float(fraction)) if rows else None
            return float(found) if name == "percentile_disc" and isinstance(found, int | Decimal) else found
        case "count_if":
            return sum(1 for value in values if value)
        case "bool_and" | "every":
            return all(values) if values else None
        case "bool_or" | "some" | "any":
            return any(values) if values else None
        case "min":
            return _extreme(values, sign=1)
        case "max":
            return _extreme(values, sign=-1)
        case "sum":
            return _sum(values, ansi)
        case "avg" | "mean":
            return _average(values, ansi)
        case "stddev" | "std" | "stddev_samp" | "variance" | "var_samp":
            return _spread(values, freedom=len(values) - 1, root=name.startswith("std"))
        case "stddev_pop" | "var_pop":
            return _spread(values, freedom=len(values), root=name.startswith("std"))
        case _:
            raise NotImplementedError(f"aggregate {name}")


def _sorted(name: str, values: list[Any]) -> list[Any]:
    """The values in ascending order; WITHIN GROUP has sorted those of percentile_cont and percentile_disc."""
    return values if name in ("percentile_cont", "percentile_disc") else sorted(values, key=cmp_to_key(compare))


def _between(values: list[Any], fraction: float) -> Any:
    """The value at this fraction of the way from the first to the last, also between two values."""
    if not values:
        return None
    position = fraction * (len(values) - 1)
    low, high = values[math.floor(position)], values[math.ceil(position)]
    if not isinstance(low, timedelta):
        low, high = float(low), float(high)
    return low if compare(low, high) == 0 else low + (high - low) * (position - math.floor(position))


def _reached(values: list[Any], fraction: float) -> Any:
    """The first value at or before which this fraction of the values stands."""
    return values[max(math.ceil(fraction * len(values)) - 1, 0)]


def _edge(name: str, rows: Sequence[tuple[object, ...]], ignores_nulls: bool | None) -> object:
    """The first or last value; the second argument may say whether NULLs are ignored."""
    ignores_nulls = ignores_nulls or any(row[1] is True for row in rows if len(row) > 1)
    values = [row[0] for row in rows if row[0] is not None or not ignores_nulls]
    return (values[-1] if name == "last_value" else values[0]) if values else None


def _joined(rows: Sequence[tuple[object, ...]], distinct: bool) -> object:
    """The texts that aren't NULL, with the delimiter between them; NULL if there is none."""
    values = [row[:1] for row in rows if row[0] is not None]
    texts = [call("concat", value, ansi=True) for value in (_distinct(values) if distinct else values)]
    delimiter = rows[0][1] if rows and len(rows[0]) > 1 else None
    return str(delimiter or "").join(map(str, texts)) if texts else None


def _distinct(rows: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    distinct_rows: list[tuple[object, ...]] = []
    for row in rows:
        if not any(compare(row, other) == 0 for other in distinct_rows):
            distinct_rows.append(row)
    return distinct_rows


def _extreme(values: Sequence[object], sign: int) -> object:
    best: object = None
    for value in values:
        if best is None or sign * compare(value, best) < 0:
            best = value
    return best


def _by_extreme(rows: Sequence[tuple[object, ...]], sign: int) -> object:
    """The first argument of the row whose second is least (sign 1) or greatest; of equal ones Spark keeps the last."""
    best: tuple[object, ...] | None = None
    for row in rows:
        if row[1] is not None and (best is None or sign * compare_nullable(row[1], best[1]) <= 0):
            best = row
    return None if best is None else best[0]


def _sum(values: Sequence[Any], ansi: bool) -> Any:
    total: Any = None
    for value in values:
        total = value if total is None else operate("+", (total, value), ansi)
    return total


def _average(values: Sequence[Any], ansi: bool) -> Any:
    if not values:
        return None
    if isinstance(values[0], Decimal):
        with localcontext() as context:
            context.prec = 60
            mean: Decimal = sum(values, Decimal(0)) / len(values)
            # Spark gives an average four more digits behind the point than its argument has.
            finest = min(int(value.as_tuple().exponent) for value in values)
            return mean.quantize(Decimal(1).scaleb(finest - 4), rounding=ROUND_HALF_UP)
    if isinstance(values[0], int):
        values = [float(value) for value in values]
    return _sum(values, ansi) / len(values)


def _spread(values: Sequence[Any], freedom: int, root: bool) -> float | None:
    """Variance or standard deviation, updated value by value as Spark does; NULL for too few values."""
    if freedom < 1:
        return None
    mean = squares = 0.0
    for count, value in enumerate(map(float, values), start=1):
        delta = value - mean
        mean += delta / count
        squares += delta * (delta - delta / count)
    return math.sqrt(squares / freedom) if root else squares / freedom
