"""What an engine gives for an event query beside what the oracle gives, and what differs between the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isnan
from typing import Any

from ostinato.event_queries.language.event_query import BoundEventQuery, ReturnMatches
from ostinato.reference.trend_oracle import trend_rows

Rows = Sequence[Mapping[str, Any]]


def differing(bound: BoundEventQuery, rows: Rows, found: Rows) -> str | None:
    """None when the output rows `found` are those of the oracle over the input `rows`, in any order.

    `found` holds plain Python values, as `pa.Table.to_pylist` gives them; numbers are compared by value. `id` tells
    input rows apart.
    """
    expected = trend_rows(bound, rows)
    if isinstance(bound.query.returns, ReturnMatches):
        expected = [
            {**row, "events": [(rows[at]["id"], variable) for at, variable in row["events"]]} for row in expected
        ]
        found = [{**row, "events": [(each["id"], each["variable"]) for each in row["events"]]} for row in found]
    wanted, given = (Counter(_plain(row) for row in each) for each in (expected, found))
    missing, beyond = list((wanted - given).elements()), list((given - wanted).elements())
    return f"missing: {missing}\nbeyond: {beyond}" if missing or beyond else None


def _plain(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The row with values that equal one another when they mean the same."""
    return tuple((name, plain_value(value)) for name, value in row.items())


def plain_value(value: Any) -> Any:
    """NaN equals NaN, -0.0 equals 0.0, 2 equals 2.0 and Decimal(2); doubles to 12 digits."""
    if isinstance(value, list | tuple):
        return tuple(plain_value(each) for each in value)
    if isinstance(value, float):
        return "NaN" if isnan(value) else float(f"{value + 0.0:.12g}")
    return value.normalize() + 0 if isinstance(value, Decimal) and value.is_finite() and abs(value) < 10**20 else value
