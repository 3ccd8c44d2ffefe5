"""Masks of rows (one per distinct row condition) -> a small number for each row, and the states that it allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.nfa_tables import pack_bits
from ostinato.rows.batches import Mask

ALWAYS = -1
"""The condition of a variable that has none."""

_DENSE_BITS = 16


class RowSymbols(NamedTuple):
    """`of_row[r]` is the symbol of row r; `allowed[s]` the states (bits) whose row condition holds under symbol s."""

    of_row: NDArray[np.int32]
    allowed: NDArray[np.uint64]


def symbols_of(masks: Sequence[Mask], condition_of_state: Sequence[int], rows: int) -> RowSymbols:
    """`condition_of_state[t]` is the index of the mask that state t needs, or ALWAYS."""
    of_row, holds = _number(masks, rows)
    flags = np.ones((len(holds), len(condition_of_state)), np.bool_)
    for state, condition in enumerate(condition_of_state):
        if condition != ALWAYS:
            flags[:, state] = holds[:, condition]
    return RowSymbols(of_row, pack_bits(flags))


def _number(masks: Sequence[Mask], rows: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Numbers the combinations that occur; `holds[symbol, mask]` says whether the mask holds in it."""
    symbol = np.zeros(rows, np.int32)
    holds = np.zeros((1, 0), np.bool_)
    for start in range(0, len(masks), 8):
        eight = masks[start : start + 8]  # numpy is fastest on bytes
        bits = np.zeros(rows, np.uint8)
        for i, mask in enumerate(eight):
            bits |= mask.view(np.uint8) << np.uint8(i)
        mixed = bits if len(holds) == 1 else (symbol << len(eight)) | bits
        symbol, pairs = _renumber(mixed, len(holds) << len(eight))
        new = (pairs[:, None] >> np.arange(len(eight))) & 1
        holds = np.concatenate([holds[pairs >> len(eight)], new.astype(np.bool_)], axis=1)
    return symbol, holds


def _renumber(mixed: NDArray[Any], bound: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Consecutive numbers for the values that occur, and those values."""
    if bound <= 1 << _DENSE_BITS:
        present = np.zeros(bound, np.bool_)
        present[mixed] = True
        values = np.flatnonzero(present).astype(np.int32)
        dense = np.zeros(bound, np.int32)
        dense[values] = np.arange(len(values), dtype=np.int32)
        return np.take(dense, mixed), values
    values, symbol = np.unique(mixed, return_inverse=True)
    return symbol.astype(np.int32), values.astype(np.int32)
