"""Masks of row conditions -> bits of BIGINT columns, which are shipped to workers.

`rows/batches.py` reads them back as masks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.rows.batches import Mask
from ostinato.rows.column_names import PREFIX

BITS_PER_COLUMN = 60
"""Fewer than the 63 that a BIGINT has beside its sign, so that no shift can reach it."""

ConditionPlace = tuple[str, int]
"""The column and the bit that hold a condition."""


def bits_columns(conditions: int) -> tuple[str, ...]:
    """The names of the columns that hold so many conditions."""
    return tuple(f"{PREFIX}bits{i}" for i in range(-(-conditions // BITS_PER_COLUMN)))


def condition_places(conditions: int) -> list[ConditionPlace]:
    """For each of so many conditions the column and the bit that hold it."""
    names = bits_columns(conditions)
    return [(names[i // BITS_PER_COLUMN], i % BITS_PER_COLUMN) for i in range(conditions)]


def packed_masks(masks: Sequence[Mask], rows: int) -> dict[str, pa.Array]:
    """The columns that hold the masks.

    >>> packed_masks([np.array([True, False]), np.array([True, True])], rows=2)["__ost_bits0"].to_pylist()
    [3, 2]
    """
    return packed_bits(masks, condition_places(len(masks)), rows)


def packed_bits(masks: Sequence[Mask], places: Sequence[ConditionPlace], rows: int) -> dict[str, pa.Array]:
    """The columns that hold the masks, each at its place."""
    columns = {name: np.zeros(rows, np.int64) for name, _ in places}
    for mask, (name, bit) in zip(masks, places, strict=True):
        columns[name] |= mask.astype(np.int64) << bit
    return {name: pa.array(bits) for name, bits in columns.items()}
