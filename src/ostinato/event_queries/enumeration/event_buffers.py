"""The arrays that the search of `event_search.py` writes to; they grow on demand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.event_queries.enumeration import event_state as s

FIRST_MATCHES, FIRST_ROWS, FIRST_DEPTH = 1024, 4096, 64
LARGEST_OUTPUT = 1 << 29
"""The most events that the matches of one task may have: 3 GiB of rows and labels."""


class EventSearchBuffers:
    """The arrays that the kernel writes to."""

    def __init__(self, states: int, steps: int, labels: int, registers: tuple[int, int]) -> None:
        self.registers = registers
        self.progress = np.zeros(s.PROGRESS, np.int64)
        self.block = s.Block(
            at=np.zeros(FIRST_MATCHES, np.int64),
            rows=np.empty(FIRST_ROWS, np.int32),
            labels=np.empty(FIRST_ROWS, np.uint8),
            keys=np.empty((2, FIRST_MATCHES), np.int32),
            numbers=np.empty((2, FIRST_MATCHES), np.int32),
            digits=np.empty(257, np.int64),
        )
        self.output = s.MatchOutput(
            np.zeros(FIRST_MATCHES, np.int64), np.empty(FIRST_ROWS, np.int32), np.empty(FIRST_ROWS, np.uint8)
        )
        self.arrays = s.SearchArrays(
            **self._by_depth(FIRST_DEPTH),
            cursor=np.zeros(steps, np.int64),
            label_end=np.zeros(labels, np.int64),
            best_ends=np.zeros((2, states), np.int64),
            stack=np.zeros(64, np.float64),
            stack_whole=np.zeros(64, np.int64),
            stack_null=np.zeros(64, np.bool_),
            node=np.zeros(1, np.int32),
        )

    def _by_depth(self, depth: int) -> dict[str, NDArray[Any]]:
        registers, accumulators = self.registers
        return {
            "row": np.zeros(depth, np.int64),
            "label": np.zeros(depth, np.int32),
            "state": np.zeros(depth, np.int32),
            "step": np.zeros(depth, np.int64),
            "at": np.zeros(depth, np.int64),
            "until": np.zeros(depth, np.int64),
            "follows": np.zeros(depth, np.int64),
            "registers": np.full((depth, registers), -1, np.int64),
            "int_totals": np.zeros((depth, accumulators), np.int64),
            "real_totals": np.zeros((depth, accumulators), np.float64),
        }

    def grow(self, status: int, searched: float) -> None:
        """Enlarges the arrays that the kernel's status asks for, given the fraction of rows searched.

        For output, it expects as many matches in the remaining rows as in the rows so far. Too large a guess costs
        address space only: the system assigns memory when it is first written.
        """
        matches, rows = int(self.progress[s.NEEDED_MATCHES]), int(self.progress[s.NEEDED_ROWS])
        if status == s.MORE_DEPTH:
            larger = self._by_depth(4 * len(self.arrays.row))
            for name, array in larger.items():
                before = getattr(self.arrays, name)
                array[: len(before)] = before
            self.arrays = self.arrays._replace(**larger)
            return
        if rows > LARGEST_OUTPUT:
            raise MatchError(
                "RESULT_TOO_LARGE",
                f"the matches found in one task hold more than {LARGEST_OUTPUT:,} events",
                hint="bound the matches with WITHIN, or ask for fewer with RETURN MATCHES LIMIT n",
            )
        if status == s.MORE_OUTPUT:
            expected = min(1 / max(searched, 1e-9), LARGEST_OUTPUT / rows)
            matches, rows = int(matches * expected), int(rows * expected)
            self.output = s.MatchOutput(
                _longer(self.output.at, matches), _longer(self.output.rows, rows), _longer(self.output.labels, rows)
            )
            return
        self.block = self.block._replace(
            at=_longer(self.block.at, matches),
            rows=_longer(self.block.rows, rows),
            labels=_longer(self.block.labels, rows),
        )
        if self.block.keys.shape[1] < len(self.block.at):
            self.block = self.block._replace(
                keys=np.empty((2, len(self.block.at)), np.int32), numbers=np.empty((2, len(self.block.at)), np.int32)
            )

    def result(self) -> s.MatchOutput:
        """The output without unused room."""
        matches, rows = int(self.progress[s.MATCHES]), int(self.progress[s.ROWS])
        output = self.output
        return s.MatchOutput(_cut(output.at, matches + 1), _cut(output.rows, rows), _cut(output.labels, rows))


def _longer(array: NDArray[Any], needed: int) -> NDArray[Any]:
    if needed <= len(array):
        return array
    longer = np.empty(max(needed, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


def _cut(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A view, or a copy if the view would hold on to much more memory than it needs."""
    return array[:length] if 8 * length >= len(array) else array[:length].copy()
