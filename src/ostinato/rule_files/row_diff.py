"""Expected rows + found rows -> the expected rows that are missing, the rows that aren't expected, and what differs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.rows.column_lookup import columns_hint
from ostinato.rule_files.typed_values import typed_column

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MissingRow:
    """An expected row that wasn't found, and of the unexpected rows the one that differs in the fewest columns."""

    expected: Row
    nearest: Row | None = None
    differs: tuple[str, ...] = ()
    """The columns in which the nearest row differs."""


@dataclass(frozen=True, slots=True)
class RowDiff:
    """Empty if the found rows are the expected ones, in any order."""

    missing: tuple[MissingRow, ...] = ()
    unexpected: tuple[Row, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)


def row_diff(
    expected: Sequence[Row], found: pa.Table, settings: Settings = Settings(), tolerance: float | None = None
) -> RowDiff:
    """Compares the columns that an expected row names. Each found row stands for one expected row.

    Floats are equal within the tolerance, if there is one. NaN equals NaN. Raises UNKNOWN_COLUMN and INVALID_TEST.

    >>> diff = row_diff([{"user": "ann", "total": 30}], pa.table({"user": ["ann"], "total": [25.0]}))
    >>> diff.missing[0].differs, diff.missing[0].nearest
    (('total',), {'user': 'ann', 'total': 25.0})
    """
    wanted = [_typed(row, found.schema, settings) for row in expected]
    rows: list[Row] = found.to_pylist()
    partner = _paired([[_differs(row, other, tolerance) == () for other in rows] for row in wanted])
    taken = set(partner.values())
    rest = [row for number, row in enumerate(rows) if number not in taken]
    missing = tuple(_missing(row, rest, tolerance) for number, row in enumerate(wanted) if number not in partner)
    return RowDiff(missing, tuple(rest))


def _typed(row: Row, schema: pa.Schema, settings: Settings) -> Row:
    """The row with values of the types of the found columns."""
    names = {name.lower(): name for name in schema.names}
    values = {}
    for written, value in row.items():
        if written.lower() not in names:
            message = f"the rule's rows have no column '{written}', which the test expects"
            raise QueryError("UNKNOWN_COLUMN", message, hint=columns_hint(written, schema.names))
        name = names[written.lower()]
        values[name] = typed_column(name, [value], schema.field(name).type, settings).to_pylist()[0]
    return values


def _differs(expected: Row, found: Row, tolerance: float | None) -> tuple[str, ...]:
    return tuple(name for name, value in expected.items() if not _equal(value, found[name], tolerance))


def _equal(one: Any, other: Any, tolerance: float | None) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        near = tolerance is not None and math.isclose(one, other, rel_tol=0.0, abs_tol=tolerance)
        return one == other or near or (one != one and other != other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[name], tolerance) for name, value in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):  # an entry of a map
        return _equal(list(one), list(other), tolerance)
    return bool(one == other)


def _paired(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """As many expected rows as possible, each with a found row of its own: a row with few columns must not take the
    only row that fits another one. Augmenting paths, one for each expected row."""
    taken_by: dict[int, int] = {}
    partner: dict[int, int] = {}
    """The reverse of `taken_by`."""
    for first in range(len(fits)):
        origin: dict[int, int] = {}
        waiting = deque([first])
        free = None
        while waiting and free is None:
            row = waiting.popleft()
            for other, fit in enumerate(fits[row]):
                if fit and other not in origin:
                    origin[other] = row
                    if other not in taken_by:
                        free = other
                        break
                    waiting.append(taken_by[other])
        while free is not None:
            row = origin[free]
            before = partner.get(row)
            taken_by[free], partner[row] = row, free
            free = None if row == first else before
    return partner


def _missing(expected: Row, rest: Sequence[Row], tolerance: float | None) -> MissingRow:
    if not rest:
        return MissingRow(expected)
    nearest = min(rest, key=lambda row: len(_differs(expected, row, tolerance)))
    return MissingRow(expected, nearest, _differs(expected, nearest, tolerance))
