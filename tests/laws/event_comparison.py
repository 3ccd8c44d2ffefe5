"""Compares an engine's rows for an event query with the oracle's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from ostinato.event_queries.language.event_query import BoundEventQuery, ReturnMatches
from ostinato.reference.trend_oracle import trend_rows

Rows = Sequence[Mapping[str, Any]]


def differing(bound: BoundEventQuery, rows: Rows, output: Rows) -> str | None:
    """Describes how `output` differs from the oracle's rows over the input `rows`, in any order; None if equal.

    `output` holds plain Python values, as `pa.Table.to_pylist` returns them. Numbers are compared by value. Input rows
    have distinct `id`s.
    """
    expected = trend_rows(bound, rows)
    if isinstance(bound.query.returns, ReturnMatches):
        expected = [
            {**row, "events": [(rows[at]["id"], variable) for at, variable in row["events"]]} for row in expected
        ]
        output = [{**row, "events": [(each["id"], each["variable"]) for each in row["events"]]} for row in output]
    expected_rows, output_rows = (Counter(_plain(row) for row in each) for each in (expected, output))
    missing = list((expected_rows - output_rows).elements())
    extra = list((output_rows - expected_rows).elements())
    return f"missing: {missing}\nextra: {extra}" if missing or extra else None


def _plain(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The row with comparable values, see `plain_value`."""
    return tuple((name, plain_value(value)) for name, value in row.items())


def plain_value(value: Any) -> Any:
    """NaN equals NaN, -0.0 equals 0.0, 2 equals 2.0 and Decimal(2); doubles to 12 digits, decimals to 6 behind the
    point. The oracle's fractions are as exact as decimals, or more."""
    if isinstance(value, Fraction):
        millionths = math.floor(abs(value) * 10**6 + Fraction(1, 2))
        value = Decimal(millionths if value > 0 else -millionths).scaleb(-6)
    if isinstance(value, list | tuple):
        return tuple(plain_value(each) for each in value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value + 0.0:.12g}")
    if isinstance(value, Decimal) and value.is_finite() and abs(value) < 10**20:
        return value.quantize(Decimal("1e-6"), ROUND_HALF_UP).normalize() + 0
    return value
