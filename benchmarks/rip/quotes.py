"""Real quotes, where they are: the bids of `taq/quotes.parquet` in the folder that OSTINATO_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.rip.run_based import Prices

FOLDER_VARIABLE = "OSTINATO_DATA"
QUOTES = Path("taq", "quotes.parquet")


def repeated_bids(at_least: int) -> Prices | None:
    """The bids in their order, over and over until there are enough to time; None where there is no such file."""
    import pyarrow.parquet as pq

    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not (Path(folder) / QUOTES).is_file():
        return None
    bids = pq.read_table(Path(folder) / QUOTES, columns=["event_id", "bid"]).sort_by("event_id")["bid"].to_numpy()
    return np.tile(bids, -(-at_least // len(bids)))
