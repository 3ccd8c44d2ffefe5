"""The strategy and the counts of a correlation's run -> one row for programs, with the same columns everywhere."""

from __future__ import annotations

from dataclasses import asdict, fields

import pyarrow as pa

from ostinato.correlations.task.correlation_state import RunTotals

_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("strategy", pa.string()),
        ("cache", pa.bool_()),
        ("reason", pa.string()),
        *((one.name, pa.float64() if one.name.endswith("seconds") else pa.int64()) for one in fields(RunTotals)),
    ]
)


def run_table(query: str, strategy: str, cache: bool, reason: str | None, totals: RunTotals | None) -> pa.Table:
    """One row. On Spark each task decides for its own keys and keeps no counts: they are NULL."""
    decided = {"query": query, "strategy": strategy, "cache": cache, "reason": reason}
    return pa.Table.from_pylist([{**decided, **({} if totals is None else asdict(totals))}], schema=_SCHEMA)
