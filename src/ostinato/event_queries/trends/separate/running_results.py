"""Output of the kernel of running sums -> QueryResults."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Numbers, QueryResults
from ostinato.event_queries.trends.separate.running_arrays import LIMBS, RECORDS, RunningOutput
from ostinato.event_queries.trends.separate.slot_values import SlotLayout
from ostinato.kernels.numbers.limbs import int_of_limbs
from ostinato.kernels.numbers.python_numbers import Extended, as_objects

Ints = NDArray[np.int64]
MOST_RECORDS = 4096
FIRST_LIMBS = 1 << 16


class RunningResults:
    """The output arrays of the kernel, and the results read from them so far."""

    def __init__(self, layout: SlotLayout, exact: bool) -> None:
        self.layout = layout
        self.exact = exact
        self.width = len(layout.integers) + 1
        self.out = self._new_output(MOST_RECORDS, FIRST_LIMBS)
        self._taken: list[RunningOutput] = []
        self._numbers: list[list[Any]] = [[] for _ in range(self.width)]

    def _new_output(self, records: int, limbs: int) -> RunningOutput:
        layout = self.layout
        return RunningOutput(
            np.zeros((records, 2 + self.width), np.int64),
            np.zeros(limbs, np.int64),
            np.zeros((records, 2 * len(layout.real)), np.int64),
            np.zeros((records, len(layout.best)), np.int64),
            np.zeros((records, len(layout.seen)), np.uint8),
        )

    def take(self, progress: Ints) -> None:
        """Reads the results and makes room for more; doubles the room if not even one result fitted."""
        out, records = self.out, int(progress[RECORDS])
        if not records:
            self.out = self._new_output(MOST_RECORDS, 2 * len(out.limbs))
            return
        for w in range(self.width):
            offsets = out.heads[:records, 2 + w]
            self._numbers[w] += (
                _ints_at(out.limbs, offsets) if self.exact else [out.limbs[offsets], out.limbs[offsets + 1]]
            )
        heads, real, best, seen = out.heads[:records], out.real[:records], out.best[:records], out.seen[:records]
        self._taken.append(RunningOutput(heads.copy(), out.limbs[:0], real.copy(), best.copy(), seen.copy()))
        progress[RECORDS] = progress[LIMBS] = 0

    def all(self) -> QueryResults:
        taken = [*self._taken, self._new_output(0, 0)]
        heads = np.concatenate([output.heads for output in taken])
        layout, program = self.layout, self.layout.program
        real = np.concatenate([output.real for output in taken])
        best = np.concatenate([output.best for output in taken])
        seen = np.concatenate([output.seen for output in taken]) != 0
        windows = program.extent.kind is BoundKind.WINDOWS

        def numbers(slot: int) -> Numbers:
            if slot in layout.integers:
                return self._integers(1 + layout.integers.index(slot))
            if slot in layout.real:
                column = 2 * layout.real.index(slot)
                return Extended(real[:, column].copy().view(np.float64), real[:, column + 1].copy())
            return layout.best_values(slot, best[:, layout.best.index(slot)].copy())

        def present(slot: int) -> NDArray[np.bool_]:
            return seen[:, layout.seen.index(slot)] if slot in layout.seen else np.ones(len(heads), bool)

        return QueryResults(
            sequence=heads[:, 0].copy(),
            window=heads[:, 1].copy() if windows else np.full(len(heads), NO_WINDOW),
            count=self._integers(0),
            slots=tuple(map(numbers, range(len(program.slots)))),
            present=tuple(map(present, range(len(program.slots)))),
        )

    def _integers(self, w: int) -> Numbers:
        lists = self._numbers[w]
        if self.exact:
            return as_objects(lists)
        none = np.zeros(0, np.int64)
        mantissa, exponent = np.concatenate([none, *lists[0::2]]), np.concatenate([none, *lists[1::2]])
        return Extended(mantissa.view(np.float64), exponent)


def _ints_at(limbs: Ints, offsets: Ints) -> list[int]:
    """The exact numbers at these positions; each follows the number of its limbs."""
    length = limbs[offsets]
    if length.max() == 1:
        short: list[int] = limbs[offsets + 1].tolist()
        return short
    pairs = zip(offsets.tolist(), length.tolist(), strict=True)
    return [int(limbs[a + 1]) if n == 1 else int_of_limbs(limbs[a + 1 : a + 1 + n]) for a, n in pairs]
