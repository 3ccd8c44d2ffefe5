"""Tables of matches and rows, and the roles of their columns -> matches and lines as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.pictures.plot_axis import positions, values
from ostinato.pictures.plotted_matches import Key, Line, PlottedMatch


@dataclass(frozen=True, slots=True)
class PickedMatches:
    """Matches of a table, at most as many as asked for and evenly spread over it, and the number of all."""

    matches: list[PlottedMatch]
    total: int | None
    """None if it is unknown, because the table has only the first rows."""


def labelled_matches(
    table: pa.Table, most: int, *, keys: Sequence[str], number: str, labels: str, x: str, y: str | None
) -> PickedMatches:
    """Matches with one row of the table for each of their rows. `number` numbers the matches of a key."""
    table = table.filter(table.column(number).is_valid())  # a row without a number is in no match
    owner = _numbered([table.column(name) for name in (*keys, number)], table.num_rows)
    total = int(owner.max(initial=-1)) + 1
    chosen = np.isin(owner, _spread(total, most))
    table, owner = table.filter(pa.array(chosen)), owner[chosen]
    heights = table.column(y) if y else None
    return PickedMatches(_grouped(owner, _keys(table, keys), table.column(labels), table.column(x), heights), total)


def event_matches(
    table: pa.Table, most: int, *, keys: Sequence[str], events: str, x: str, y: str | None
) -> PickedMatches:
    """Matches with one row each, and a list of their events: the rows of RETURN MATCHES."""
    shown = table.take(pa.array(_spread(table.num_rows, most)))
    lists = shown.column(events).combine_chunks()
    owner = np.asarray(pc.list_parent_indices(lists), np.int64)
    flat = pc.list_flatten(lists)
    keys_of_matches = _keys(shown, keys)
    key_of_event = [keys_of_matches[match] for match in owner.tolist()]
    variables, moments = pc.struct_field(flat, "variable"), pc.struct_field(flat, x)
    heights = pc.struct_field(flat, y) if y else None
    return PickedMatches(_grouped(owner, key_of_event, variables, moments, heights), table.num_rows)


def match_spans(table: pa.Table, most: int, *, keys: Sequence[str], start: str, end: str) -> PickedMatches:
    """Matches with one row each, from `start` to `end`, without labels."""
    shown = table.take(pa.array(_spread(table.num_rows, most)))
    (first, has_first), (last, has_last) = positions(shown.column(start)), positions(shown.column(end))
    unknown = np.full(2, np.nan)
    key_of_row = _keys(shown, keys)
    ends = np.stack([first, last], axis=1)
    known = np.flatnonzero(has_first & has_last).tolist()
    return PickedMatches([PlottedMatch(key_of_row[row], ends[row], unknown) for row in known], table.num_rows)


def line_of(table: pa.Table, *, keys: Sequence[str], key: Key, x: str, y: str) -> Line:
    """The rows of one key in the order of x, without those that have no x."""
    chosen = np.ones(table.num_rows, np.bool_)
    for name, value in zip(keys, key, strict=True):
        chosen &= _equals(table.column(name), value)
    rows = table.select(list(dict.fromkeys((x, y)))).filter(pa.array(chosen))
    at, has_x = positions(rows.column(x))
    heights = values(rows.column(y))[has_x]
    order = np.argsort(at[has_x], kind="stable")
    return Line(at[has_x][order], heights[order])


def distinct_keys(table: pa.Table, keys: Sequence[str], most: int) -> list[Key]:
    """The first distinct keys of a table, in its order, and at most one more than `most`."""
    if not keys:
        return [()] if table.num_rows else []
    _, first = np.unique(_numbered([table.column(name) for name in keys], table.num_rows), return_index=True)
    return _keys(table.take(pa.array(first[: most + 1])), keys)


def _spread(total: int, most: int) -> NDArray[np.int64]:
    """Numbers from 0 to total - 1 with the same distance: all, or `most` of them."""
    return np.arange(total) if total <= most else np.linspace(0, total - 1, most).astype(np.int64)


def _grouped(
    owner: NDArray[np.int64],
    key_of_row: Sequence[Key],
    labels: pa.ChunkedArray,
    x: pa.ChunkedArray,
    y: pa.ChunkedArray | None,
) -> list[PlottedMatch]:
    """The matches in the order of their first rows. Rows without an x are left out."""
    at, has_x = positions(x)
    heights = np.full(len(at), np.nan) if y is None else values(y)
    names = ["" if label is None else str(label) for label in labels.to_pylist()]
    rows_of: dict[int, list[int]] = {}
    for row in np.flatnonzero(has_x).tolist():
        rows_of.setdefault(int(owner[row]), []).append(row)
    return [
        PlottedMatch(key_of_row[rows[0]], at[rows], heights[rows], tuple(names[row] for row in rows))
        for rows in rows_of.values()
    ]


def _numbered(columns: Sequence[pa.ChunkedArray], count: int) -> NDArray[np.int64]:
    """A number for each row: the same for rows that agree in all columns, counted from 0 in order of appearance."""
    numbers = np.zeros(count, np.int64)
    for column in columns:
        codes = pc.dictionary_encode(_comparable(column), null_encoding="encode").combine_chunks()
        numbers = numbers * max(1, len(codes.dictionary)) + np.asarray(codes.indices, np.int64)
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)  # small again: no overflow
        numbers = np.argsort(np.argsort(first))[numbers]
    return numbers


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that Arrow can compare: lists and structs as text."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array([None if value is None else str(value) for value in column.to_pylist()])])


def _keys(table: pa.Table, keys: Sequence[str]) -> list[Key]:
    """The key of each row. Every NaN is the same object, so that equal keys are equal in Python."""
    if not keys:
        return [()] * table.num_rows
    columns = [_comparable(table.column(name)).to_pylist() for name in keys]
    return [tuple(value if value == value else math.nan for value in row) for row in zip(*columns, strict=True)]


def _equals(column: pa.ChunkedArray, value: object) -> NDArray[np.bool_]:
    column = _comparable(column)
    if value is None:
        return np.asarray(column.is_null(), np.bool_)
    if value != value:
        return np.asarray(pc.fill_null(pc.is_nan(column), False), np.bool_)
    return np.asarray(pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False), np.bool_)
