"""One aggregate of a measure -> its values for all output rows, by Spark's rules for types and NULLs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.clause.language.vocabulary import PERCENTILES
from ostinato.clause.task import match_aggregates as agg
from ostinato.clause.task.order_statistics import percentile
from ostinato.errors import MatchError
from ostinato.expressions import types as t
from ostinato.expressions.functions.functions_text import MAX_TEXT
from ostinato.expressions.syntax import Aggregate, Literal
from ostinato.expressions.values.decimals import as_double, divided_half_up
from ostinato.expressions.values.value_order import OrderKey, sortable
from ostinato.expressions.values.vectors import Vector, to_arrow
from ostinato.rows.matches import Frames, Matches


def aggregate_array(
    slot: Aggregate,
    kind: pa.DataType,
    matches: Matches,
    frames: Frames,
    member: NDArray[np.bool_] | None,
    args: list[Vector],
    *,
    ansi: bool,
    order: Sequence[Vector] = (),
) -> pa.Array:
    """`args`, and the keys of ORDER BY in `order`, hold a value for every matched row, along `matches.label`."""
    if not args:
        return pa.array(agg.count(agg.aggregate_rows(matches, frames, member, None, final=slot.final)))
    by = args[0] if slot.name in ("listagg", *PERCENTILES) else args[-1]
    rows = agg.aggregate_rows(matches, frames, member, by.valid, final=slot.final)
    if slot.distinct and slot.name not in ("min", "max", "bool_and", "bool_or", "min_by", "max_by"):
        rows = agg.only_first_of_equals(rows, _codes(by))
    match slot.name:
        case "count":
            return pa.array(agg.count(rows))
        case "count_if":
            return pa.array(agg.count(rows._replace(counts=rows.counts & by.values)))
        case "sum":
            return to_arrow(_sum(rows, args[0], kind, ansi))
        case "avg":
            return to_arrow(_avg(rows, args[0], kind))
        case "array_agg":
            return _collected(slot, rows, args[0], order, kind)
        case "listagg":
            delimiter = next(iter(args[1].to_list()), None) or ""
            return _joined(_collected(slot, rows, args[0], order, t.array_of(t.STRING)), delimiter)
        case "percentile" | "percentile_disc" | "percentile_approx":
            return _percentile(slot, rows, args[0], kind)
        case "first_value" | "last_value":
            positions = np.arange(len(matches.label), dtype=np.int64)
            return _at_positions(args[0], agg.best_rows(rows, positions, most=slot.name == "last_value"))
        case "min" | "max" | "bool_and" | "bool_or" | "min_by" | "max_by":
            most = slot.name in ("max", "bool_or", "max_by")
            return _at_positions(args[0], agg.best_rows(rows, _ranks(by), most=most))
        case _:
            return _statistic(slot.name, rows, args[0])


def _collected(
    slot: Aggregate, rows: agg.AggregateRows, values: Vector, order: Sequence[Vector], kind: pa.DataType
) -> pa.Array:
    """The list of each frame, in the order of the rows, or that of ORDER BY."""
    offsets, entries = agg.collected(rows)
    if slot.order_by:
        keys = [
            column[entries]
            for item, key in zip(slot.order_by, order, strict=True)
            for column in sortable(OrderKey(to_arrow(key), item.descending, item.puts_nulls_first))
        ]
        frame = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        entries = entries[np.lexsort([*reversed(keys), frame])]  # stable: ties stay in the order of the rows
    elements = to_arrow(values.take(entries.astype(np.intp)).expanded(len(entries)))
    if slot.distinct and t.is_float(elements.type):
        elements = pc.add(elements, pa.scalar(0, elements.type))  # -0.0 is 0.0: Spark's DISTINCT shows it so
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements, type=kind)


def _joined(lists: pa.Array, delimiter: str) -> pa.Array:
    """The texts of each list with the delimiter between them; NULL for no text."""
    sizes = np.diff(lists.offsets.to_numpy())
    lengths = np.concatenate(([0], np.cumsum(pc.utf8_length(lists.values).to_numpy()))) if len(lists.values) else [0]
    ends = np.asarray(lengths)[lists.offsets.to_numpy()]
    longest = int((np.diff(ends) + sizes * len(delimiter)).max(initial=0))
    if longest > MAX_TEXT:
        raise MatchError(
            "TEXT_TOO_LONG", f"listagg would make a text of {longest:,} characters, more than {MAX_TEXT:,}"
        )
    return pc.if_else(pa.array(sizes > 0), pc.binary_join(lists, delimiter), pa.scalar(None, pa.string()))


def _ranks(values: Vector) -> NDArray[np.int64]:
    """Integers in the order of the values; those of NULLs are arbitrary."""
    return sortable(OrderKey(to_arrow(values)))[-1]


def _codes(values: Vector) -> NDArray[np.int64]:
    """A number from 0 on for each distinct value; consecutive, because tables are as long as the largest."""
    return np.unique(_ranks(values), return_inverse=True)[1].astype(np.int64)


def _at_positions(values: Vector, positions: NDArray[np.int64]) -> pa.Array:
    return to_arrow(values).take(pa.array(positions, mask=positions < 0))


def _sum(rows: agg.AggregateRows, values: Vector, kind: pa.DataType, ansi: bool) -> Vector:
    valid = agg.count(rows) > 0
    if t.is_float(kind):
        totals, _ = agg.total(rows, np.asarray(values.values, np.float64))
        return Vector(kind, totals, valid)
    if t.is_decimal(kind):
        return _decimal(kind, _exact_totals(rows, values), valid)
    if kind == t.NULL:
        return Vector(t.DOUBLE, np.zeros(len(valid)), np.zeros(len(valid), np.bool_))
    numbers = np.asarray(values.values, np.int64)
    totals, overflow = agg.total(rows, numbers)
    if overflow:
        if ansi or not t.is_integral(values.type):
            raise MatchError(
                "ARITHMETIC_OVERFLOW", "a sum left the range of BIGINT", hint="cast the argument to DECIMAL"
            )
        wrapped = [(value + 2**63) % 2**64 - 2**63 for value in agg.total_exactly(rows, numbers.tolist())]
        totals = np.array(wrapped, np.int64)
    return Vector(kind, totals, valid)


def _exact_totals(rows: agg.AggregateRows, values: Vector) -> list[int]:
    if values.values.dtype == np.int64:
        totals, overflow = agg.total(rows, values.values)
        if not overflow:
            return [int(value) for value in totals]
    return agg.total_exactly(rows, [None if value is None else int(value) for value in values.values])


def _decimal(kind: pa.DataType, numbers: list[int], valid: NDArray[np.bool_]) -> Vector:
    limit = 10**kind.precision
    if any(abs(number) >= limit for number, ok in zip(numbers, valid, strict=True) if ok):
        raise MatchError("ARITHMETIC_OVERFLOW", f"an aggregate left the range of {t.spark_name(kind)}")
    dtype = t.storage_dtype(kind)
    return Vector(
        kind, np.array([number if ok else 0 for number, ok in zip(numbers, valid, strict=True)], dtype), valid
    )


def _avg(rows: agg.AggregateRows, values: Vector, kind: pa.DataType) -> Vector:
    counts = agg.count(rows)
    valid = counts > 0
    if t.is_decimal(kind) or kind == t.DURATION:
        digits = kind.scale - values.type.scale if t.is_decimal(kind) else 0
        means = [
            int(divided_half_up(np.array([total * 10**digits], object), int(n))[0]) if n else 0
            for total, n in zip(_exact_totals(rows, values), counts, strict=True)
        ]
        return _decimal(kind, means, valid) if t.is_decimal(kind) else Vector(kind, np.array(means, np.int64), valid)
    numbers = np.asarray(values.values, np.float64)
    totals, _ = agg.total(rows, numbers)
    return Vector(kind, totals / np.maximum(counts, 1), valid)


def _percentile(slot: Aggregate, rows: agg.AggregateRows, values: Vector, kind: pa.DataType) -> pa.Array:
    """The value at a fraction of the ordered values; `percentile` computes it from the two that it lies between."""
    fraction = slot.args[1]
    assert isinstance(fraction, Literal)
    ranks = _ranks(values)
    discrete = slot.name != "percentile"
    found = percentile(rows, ~ranks if slot.order_by else ranks, float(fraction.text), discrete=discrete)
    if values.type == t.NULL or not len(ranks):
        return pa.nulls(len(found.lower), kind)
    if slot.name == "percentile_approx":
        return _at_positions(values, found.lower)
    numbers = as_double(values) if t.is_decimal(values.type) else np.asarray(values.values, np.float64)
    low, high = numbers.take(found.lower, mode="clip"), numbers.take(found.higher, mode="clip")
    below, above = found.position - np.floor(found.position), np.ceil(found.position) - found.position
    with np.errstate(invalid="ignore"):  # 0 * infinity isn't 0
        result = np.where((low == high) | (below == 0), low, above * low + below * high)
    if kind == t.DURATION:
        result = np.trunc(result).astype(np.int64)
    return to_arrow(Vector(kind, result, found.lower >= 0))


def _statistic(name: str, rows: agg.AggregateRows, values: Vector) -> pa.Array:
    numbers = as_double(values) if t.is_decimal(values.type) else np.asarray(values.values, np.float64)
    squares, counts = agg.spread(rows, numbers)
    divisor = counts - 1 if name.endswith("samp") else counts
    valid = divisor > 0
    result = squares / np.maximum(divisor, 1)
    return to_arrow(Vector(t.DOUBLE, np.sqrt(result) if name.startswith("stddev") else result, valid))
