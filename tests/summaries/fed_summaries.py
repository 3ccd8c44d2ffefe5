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
    """`event_types` and `eviction` may also be dicts of their options."""
    defaults = {"type": "kind", "time": "ts", "within": "1 minute", "size": 50}
    return ost.summary(expression, **grouped({**defaults, **options}))


def grouped(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with dicts as the objects that `ost.summary` takes."""
    kinds = {"event_types": ost.EventTypes, "eviction": ost.Eviction}
    return {name: kinds[name](**value) if isinstance(value, dict) else value for name, value in options.items()}
