"""Letters as events, one per second, and summaries over them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

import ostinato as ost

BEGIN = datetime(2024, 1, 1)


def letters(text: str, first: int = 0, **columns: Any) -> pa.Table:
    """One row per letter and second."""
    times = [BEGIN + timedelta(seconds=first + i) for i in range(len(text))]
    kinds = pa.array(list(text), pa.string())
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "kind": kinds, **columns})


def asked(expression: Any = "A B* C", **options: Any) -> ost.StreamSummary:
    defaults = {"type": "kind", "order_by": "ts", "within": "1 minute", "size": 50}
    return ost.summary(expression, **{**defaults, **options})
