"""A program's slots and the events' values -> arrays for kernels: whole numbers, doubles, best values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import Program, SlotKind
from ostinato.event_queries.trends.ordered_keys import ordered_keys, values_of_keys
from ostinato.event_queries.trends.separate.sums import SlotLabels, Sums, Values
from ostinato.kernels.numbers.number_table import new_table

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
EXTREMES = (SlotKind.MIN, SlotKind.MAX)


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """The numbers of the slots of each kind. `is_real` says for each slot whether its values are doubles."""

    program: Program
    is_real: tuple[bool, ...]
    integers: tuple[int, ...]
    """Sums of integers and counts."""
    real: tuple[int, ...]
    """Sums of doubles."""
    best: tuple[int, ...]
    seen: tuple[int, ...]
    """Slots that may have no value."""

    @classmethod
    def of(cls, program: Program, is_real: Sequence[bool]) -> SlotLayout:
        kinds = list(enumerate(slot.kind for slot in program.slots))
        return cls(
            program,
            tuple(is_real),
            tuple(i for i, kind in kinds if kind is SlotKind.COUNT or (kind is SlotKind.SUM and not is_real[i])),
            tuple(i for i, kind in kinds if kind is SlotKind.SUM and is_real[i]),
            tuple(i for i, kind in kinds if kind in EXTREMES),
            tuple(i for i, kind in kinds if kind is not SlotKind.COUNT),
        )

    def arrays(self) -> SlotLabels:
        labels = len(self.program.automaton.labels)

        def on(slots: Sequence[int]) -> Bools:
            rows = [[label in self.program.slots[i].labels for label in range(labels)] for i in slots]
            return np.array(rows, bool).reshape(len(slots), labels)

        best_seen = np.array([self.seen.index(i) for i in self.best], np.int64)
        return SlotLabels(on(self.integers), on(self.real), on(self.best), on(self.seen), best_seen)

    def new_sums(self, sum_count: int, exact: bool, columns: int) -> Sums:
        """Empty sums."""
        return Sums(
            new_table(sum_count * (len(self.integers) + 1), exact, columns),
            new_table(sum_count * len(self.real), False),
            np.zeros((sum_count, len(self.best)), np.int64),
            np.zeros((sum_count, len(self.seen)), np.uint8),
        )

    def values(self, columns: Sequence[NDArray[Any] | None], valid: Sequence[Bools]) -> Values:
        """For each slot, the values of the events (None if the slot needs none) and where they aren't NULL."""
        rows = len(valid[0]) if valid else 0
        slots = self.program.slots

        def addends(i: int) -> NDArray[Any]:
            column = columns[i]
            if slots[i].kind is SlotKind.COUNT or column is None:
                return valid[i].astype(np.int64)
            return np.where(valid[i], column, 0)

        def best(i: int) -> Ints:
            column = columns[i]
            assert column is not None
            return ~ordered_keys(column) if slots[i].kind is SlotKind.MAX else ordered_keys(column)

        return Values(
            _columns([addends(i) for i in self.integers], rows, np.int64),
            _columns([addends(i) for i in self.real], rows, np.float64),
            _columns([best(i) for i in self.best], rows, np.int64),
            _columns([valid[i] for i in self.seen], rows, bool),
        )

    def best_values(self, slot: int, bits: Ints) -> NDArray[Any]:
        """The original values of a MIN or MAX slot."""
        bits = ~bits if self.program.slots[slot].kind is SlotKind.MAX else bits
        return values_of_keys(bits, self.is_real[slot])


def value_bits(values: Values) -> int:
    """The smallest n with all whole values in [-2**n, 2**n)."""
    if not values.integers.size:
        return 1
    return max(1, int(values.integers.min()).bit_length(), int(values.integers.max()).bit_length())


def _columns(columns: Sequence[NDArray[Any]], rows: int, kind: type) -> NDArray[Any]:
    return np.ascontiguousarray(np.stack(columns, 1), kind) if columns else np.zeros((rows, 0), kind)
