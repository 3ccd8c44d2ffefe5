"""Values -> their order by Spark's rules; rows -> sorted partitions. NaN equals itself and is greatest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cmp_to_key
from math import isnan
from typing import Any

Row = Mapping[str, object]
Key = tuple[str, bool, bool]
"""Column, descending, NULLs first."""

ORDERABLE = (bool, int, float, Decimal, str, bytes, date, datetime, timedelta)


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive, for two values that aren't NULL.

    >>> compare(float("nan"), float("inf")), compare(float("nan"), float("nan")), compare(1, Decimal("1.0"))
    (1, 0, 0)
    """
    left, right = same_kind(left, right)
    if isinstance(left, float):
        if isnan(left) or isnan(right):
            return int(isnan(left)) - int(isnan(right))
    if isinstance(left, list | tuple):
        for one, other in zip(left, right, strict=False):
            order = compare_nullable(one, other)
            if order:
                return order
        return len(left) - len(right)
    if isinstance(left, dict):
        return 0 if left == right else _unordered(left, right)
    return int(left > right) - int(left < right)


def compare_nullable(left: object, right: object, nulls_first: bool = True) -> int:
    """Like `compare`, with NULL. NULL equals itself and comes before or after all values."""
    if left is None or right is None:
        order = int(right is None) - int(left is None)
        return order if nulls_first else -order
    return compare(left, right)


def same_kind(left: Any, right: Any) -> tuple[Any, Any]:
    """Both values as Spark would cast them to compare them."""
    if _is_number(left) and _is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            return float(left), float(right)
        return left, right
    if isinstance(left, str) and isinstance(right, date):
        left = _moment_like(right, left)
    elif isinstance(right, str) and isinstance(left, date):
        right = _moment_like(left, right)
    if isinstance(left, date) and isinstance(right, date):
        if isinstance(left, datetime) or isinstance(right, datetime):
            return as_moment(left), as_moment(right)
        return left, right
    if type(left) is not type(right):
        raise NotImplementedError(f"comparison of {type(left).__name__} with {type(right).__name__}")
    return left, right


def as_moment(value: date) -> datetime:
    """A date or a timestamp as a timestamp without a zone (UTC)."""
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _moment_like(example: date, text: str) -> date:
    moment = datetime.fromisoformat(text.strip())
    return moment if isinstance(example, datetime) else moment.date()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _unordered(left: object, right: object) -> int:
    raise NotImplementedError(f"order of {left!r} and {right!r}")


def sort_rows(rows: Sequence[Row], keys: Sequence[Key], tie_columns: Sequence[str]) -> list[Row]:
    """Sorts by the keys, then by the orderable tie columns (ascending, NULLs first), then by arrival.

    Without a key the rows stay in the order of arrival.
    """
    if not keys:
        return list(rows)
    ties = [(name, False, True) for name in tie_columns if all(_orderable(row[name]) for row in rows)]
    return sorted(rows, key=cmp_to_key(_by([*keys, *ties])))


def in_order(rows: Sequence[int], value: Callable[[int], object], descending: bool, nulls_first: bool) -> list[int]:
    """The numbers of rows sorted by a value of each. Equal ones stay in their order."""
    by_value = _by([("value", descending, nulls_first)])

    def compare_rows(one: int, other: int) -> int:
        return by_value({"value": value(one)}, {"value": value(other)})

    return sorted(rows, key=cmp_to_key(compare_rows))


def partitions(rows: Sequence[Row], columns: Sequence[str]) -> list[list[Row]]:
    """Groups rows with equal values in the columns, in the order of these values. NULL counts as a value."""
    ascending = _by([(name, False, True) for name in columns])
    groups: list[list[Row]] = []
    for row in rows:
        for members in groups:
            if ascending(members[0], row) == 0:
                members.append(row)
                break
        else:
            groups.append([row])
    heads = sorted((members[0] for members in groups), key=cmp_to_key(ascending))
    return [members for head in heads for members in groups if members[0] is head]


def _by(keys: Sequence[Key]) -> Callable[[Row, Row], int]:
    def compare_rows(one: Row, other: Row) -> int:
        for name, descending, nulls_first in keys:
            left, right = one[name], other[name]
            if left is None or right is None:
                order = compare_nullable(left, right, nulls_first)
            else:
                order = -compare(left, right) if descending else compare(left, right)
            if order:
                return order
        return 0

    return compare_rows


def _orderable(value: object) -> bool:
    return value is None or isinstance(value, ORDERABLE)
