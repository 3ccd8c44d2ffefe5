"""Funnels over letters: one event a minute, upper case for the steps."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

import ostinato as ost

START = datetime(2024, 1, 1)


def minute(number: int | None) -> datetime | None:
    return None if number is None else START + timedelta(minutes=number)


def events(**keys: str | list[tuple[int | None, str | None]]) -> pa.Table:
    """`events(ann="AB C")`: A at minute 0, B at minute 1, nothing at minute 2, C at minute 3."""
    rows = [
        (key, minute(at), kind)
        for key, word in keys.items()
        for at, kind in (enumerate(word) if isinstance(word, str) else word)
        if kind != " "
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.timestamp("us"), pa.string())
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["user", "ts", "kind"])


def funnel(steps: Any = "ABC", **options: Any) -> ost.FunnelQuery:
    given = {"keys": "user", "type": "kind", "time": "ts", "within": "10 minutes", **options}
    return ost.funnel(list(steps) if isinstance(steps, str) else steps, **given)


def attempts(query: ost.FunnelQuery, table: pa.Table) -> pa.Table:
    """All attempts: the clause that `to_sql` shows, over events with the column that it adds."""
    names = [step.name for step in query.steps]
    order = [names.index(kind) + 1 if kind in names else None for kind in table.column("kind").to_pylist()]
    text = query.to_sql("clicks")
    ordered = table.append_column("funnel_order", pa.array(order, pa.int32()))
    return ost.match(text[text.index("MATCH_RECOGNIZE") :], ordered)


def shown(table: pa.Table) -> list[tuple[Any, ...]]:
    """Key, level and the minutes of the steps, sorted by key."""
    rows = [
        (user, level, *map(_minutes, times))
        for user, level, _, *times in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
    return sorted(rows, key=repr)


def _minutes(at: datetime | None) -> int | None:
    return None if at is None else (at.replace(tzinfo=None) - START) // timedelta(minutes=1)
