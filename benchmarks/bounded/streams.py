"""Seed -> the paper's synthetic streams, as tables of events in order of time: DS1, DS2, and DS1 with a drift.

Coordinates are drawn in degrees and stored in radians, as the distances of Q3 and Q4 take them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

DS1_TYPES, DS2_TYPES = "ABCDEFGHIJ", "ABCDEF"
DS1_KEYS, DS2_KEYS = 10, 25
MAX_V = 3e6
DRIFTING_TYPE = "C"
"""Whose V drifts. The letter is lost in the paper's text; C weighs on what Q3 and Q4 share."""
BEFORE, AFTER = (1e6, 3.5e6), (1.0, 2e6)


def ds1(events: int, seed: int, most_v: float = MAX_V) -> pa.Table:
    """Ten types, ten keys, V uniform up to `most_v`."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(events),
            "kind": np.array(list(DS1_TYPES))[rng.integers(0, len(DS1_TYPES), events)],
            "id": rng.integers(1, DS1_KEYS + 1, events),
            "x": np.radians(rng.uniform(-90, 90, events)),
            "y": np.radians(rng.uniform(-180, 180, events)),
            "v": rng.uniform(1, most_v, events),
        }
    )


def ds2(events: int, seed: int) -> pa.Table:
    """Six types, 25 keys, X uniform from 1 to 100."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(events),
            "kind": np.array(list(DS2_TYPES))[rng.integers(0, len(DS2_TYPES), events)],
            "id": rng.integers(1, DS2_KEYS + 1, events),
            "x": rng.uniform(1, 100, events),
        }
    )


def drifting(events: int, change: int, seed: int) -> pa.Table:
    """DS1, in which V of one type is drawn from another range from event `change` on."""
    table = ds1(events, seed)
    rng = np.random.default_rng(seed + 1)
    is_later = np.arange(events) >= change
    drawn = np.where(is_later, rng.uniform(*AFTER, events), rng.uniform(*BEFORE, events))
    drifts = table["kind"].to_numpy(zero_copy_only=False) == DRIFTING_TYPE
    v = np.where(drifts, drawn, table["v"].to_numpy())
    return table.set_column(table.schema.get_field_index("v"), "v", pa.array(v))
