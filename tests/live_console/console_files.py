"""Sources of a console, written by hand: rows of rules, metrics, changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
OUTPUT = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("version", pa.int64()),
        pa.field("match_id", pa.string()),
        pa.field("user", pa.string()),
        pa.field("began", pa.timestamp("us", "UTC")),
        pa.field("ended", pa.timestamp("us", "UTC")),
        pa.field("decided", pa.timestamp("us", "UTC")),
        pa.field("measures", pa.string()),
        pa.field("message", pa.string()),
    ]
)
TWICE = """MEASURES sum(PAY.amount) AS total PATTERN (LOGIN PAY{2}) WITHIN INTERVAL '1' HOUR
    DEFINE LOGIN AS kind = 'login', PAY AS kind = 'pay'"""


def output_row(rule: str = "twice", kind: str = "match", number: int = 0, **more: Any) -> dict[str, Any]:
    """A row of `ost.rules`. `number` is its time in minutes."""
    began = START + timedelta(minutes=number)
    row = {
        "kind": kind,
        "rule": rule,
        "version": 1,
        "match_id": f"{number:032x}",
        "user": f"user-{number % 7}",
        "began": began,
        "ended": began + timedelta(seconds=30),
        "decided": began + timedelta(seconds=60),
        "measures": json.dumps({"total": number}) if kind == "match" else None,
        "message": None if kind == "match" else f"{kind} of {rule}",
    }
    return {**row, **more}


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A Parquet file of a sink, whole at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=OUTPUT), hidden)
    os.replace(hidden, path)
    return path


def metrics_text(**numbers: float) -> str:
    """A metrics file with one query."""
    return "".join(f'ostinato_{name}{{query="alerts",clause="c1"}} {value}\n' for name, value in numbers.items())


def event_rows() -> pa.Table:
    """Events of three users. Ann pays twice after a login, and Bob only once."""
    events = [("ann", 0, "login"), ("ann", 1, "pay"), ("ann", 2, "pay"), ("bob", 0, "login"), ("bob", 4, "pay")]
    return pa.table(
        {
            "user": [user for user, _, _ in events],
            "ts": pa.array([START + timedelta(minutes=minute) for _, minute, _ in events], pa.timestamp("us", "UTC")),
            "kind": [kind for _, _, kind in events],
            "amount": [10.0 * minute for _, minute, _ in events],
        }
    )


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
