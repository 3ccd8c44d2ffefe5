"""Reads results from the shared kernel's arrays and joins them for each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import Events, Numbers, Program, QueryResults, SlotKind, joined_numbers
from ostinato.event_queries.trends.ordered_keys import values_of_keys
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.layout import SlotIndexes
from ostinato.event_queries.trends.shared.sections import section
from ostinato.kernels.numbers.number_table import to_extended, to_ints
from ostinato.kernels.numbers.python_numbers import Extended, with_not_finite

if TYPE_CHECKING:
    from ostinato.event_queries.trends.shared.shared_engine import KernelArrays

_NO_DOUBLES = Extended(np.zeros(0), np.zeros(0, np.int64))


@dataclass(slots=True)
class _Pieces:
    """Results of one query so far, in pieces."""

    sequence: list[NDArray[np.int64]] = field(default_factory=list)
    window: list[NDArray[np.int64]] = field(default_factory=list)
    numbers: list[list[Numbers]] = field(default_factory=list)
    reals: list[list[Extended]] = field(default_factory=list)
    keys: list[NDArray[np.int64]] = field(default_factory=list)
    has: list[NDArray[np.int64]] = field(default_factory=list)


class ResultCollector:
    """Collects results from the kernel's arrays and joins them for each query."""

    def __init__(self, programs: Sequence[Program], slot_indexes: Sequence[tuple[SlotIndexes, ...]]) -> None:
        self.programs, self.slot_indexes = programs, slot_indexes
        self.pieces = [_Pieces() for _ in programs]

    def take(self, arrays: KernelArrays) -> None:
        count = int(arrays.progress[s.RESULTS])
        queries = arrays.layout.queries
        column = {number: section(arrays.results, number, count) for number in range(s.RESULT_QUERY, s.RESULT_KEY)}
        limbs, length = arrays.table.limbs[column[s.RESULT_ROW], 0], arrays.table.length[column[s.RESULT_ROW]]
        # In blocks, the count alone tells whether there is a trend.
        nonempty = np.flatnonzero((limbs != 0) | (length > 1))
        column = {number: values[nonempty] for number, values in column.items()}
        capacity = int(arrays.results[s.RESULT_EXTREME_ROOM])
        key, has = section(arrays.results, s.RESULT_KEY, capacity), section(arrays.results, s.RESULT_HAS, capacity)
        for query in np.unique(column[s.RESULT_QUERY]):
            these = np.flatnonzero(column[s.RESULT_QUERY] == query)
            piece = self.pieces[query]
            piece.sequence.append(column[s.RESULT_SEQUENCE][these])
            piece.window.append(column[s.RESULT_WINDOW][these])
            numbers = to_ints if arrays.table.exact else to_extended
            rows = column[s.RESULT_ROW][these]
            piece.numbers.append([numbers(arrays.table, rows + offset) for offset in range(1 + queries.slots[query])])
            rows = column[s.RESULT_REAL][these]
            piece.reals.append([to_extended(arrays.real, rows + offset) for offset in range(queries.reals[query])])
            extremes = column[s.RESULT_EXTREME][these][:, None] + 1 + np.arange(queries.extremes[query])
            piece.keys.append(key[extremes])
            piece.has.append(has[extremes])
        arrays.progress[[s.RESULTS, s.RESULT_ROWS, s.RESULT_REALS, s.RESULT_EXTREMES]] = 0

    def results(self, exact: bool, events: Events) -> tuple[QueryResults, ...]:
        return tuple(
            _together(piece, slot_indexes, exact, events)
            for piece, slot_indexes in zip(self.pieces, self.slot_indexes, strict=True)
        )


def _together(piece: _Pieces, slot_indexes: tuple[SlotIndexes, ...], exact: bool, events: Events) -> QueryResults:
    nothing = np.zeros(0, np.int64)
    sequence = np.concatenate([nothing, *piece.sequence])
    slots: list[Numbers] = []
    present: list[NDArray[np.bool_]] = []
    keys = np.concatenate(piece.keys) if piece.keys else np.zeros((0, 0), np.int64)
    has = np.concatenate(piece.has) if piece.has else np.zeros((0, 0), np.int64)
    empty = not piece.sequence
    none: Numbers = np.zeros(0, object) if exact else _NO_DOUBLES
    for indexes in slot_indexes:
        slot = indexes.slot
        if indexes.number is not None:
            slots.append(joined_numbers([none, *(numbers[1 + indexes.number] for numbers in piece.numbers)]))
        elif indexes.real is not None:
            total = joined_numbers([_NO_DOUBLES, *(numbers[indexes.real] for numbers in piece.reals)])
            assert isinstance(total, Extended) and indexes.not_finite is not None
            special = (has[:, indexes.not_finite + flag] == 1 for flag in range(3))
            slots.append(total if empty else with_not_finite(total, *special))
        else:
            assert indexes.extreme is not None
            column = nothing if empty else keys[:, indexes.extreme]
            floats = events.values[slot.value].dtype == np.float64
            slots.append(values_of_keys(~column if slot.kind is SlotKind.MAX else column, floats))
        if indexes.extreme is None or empty:
            present.append(np.ones(len(sequence), bool))
        else:
            present.append(has[:, indexes.extreme] == 1)
    return QueryResults(
        sequence=sequence,
        window=np.concatenate([nothing, *piece.window]),
        count=joined_numbers([none, *(numbers[0] for numbers in piece.numbers)]),
        slots=tuple(slots),
        present=tuple(present),
    )
