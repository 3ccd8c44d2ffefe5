"""Matches and their table -> the clearest matches, each with the rows around it, ready to draw."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.pictures.price_chart import Excerpt
from ostinato.report.stories import Story

Match = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Series:
    """The rows of one key in time order: the data of one chart."""

    key: str
    times: list[datetime]
    values: list[float]
    notes: list[str] | None
    moments: np.ndarray
    """The times as a numpy array, for binary search."""

    def row_at(self, moment: datetime) -> int:
        return int(np.searchsorted(self.moments, np.datetime64(moment, "us")))


def series_by_key(table: pa.Table, key: str, keys: Collection[str] | None = None) -> dict[str, Series]:
    """Splits a table that is sorted by key and time. `keys` limits the result to these keys."""
    names = table.column(key).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]])) if len(names) else np.array([], int)
    ends = [*starts[1:].tolist(), len(names)]
    value = "price" if "price" in table.column_names else "amount"
    series = {}
    for start, end in zip(starts.tolist(), ends, strict=True):
        name = str(names[start])
        if keys is None or name in keys:
            rows = table.slice(start, end - start)
            notes = rows.column("merchant").to_pylist() if "merchant" in table.column_names else None
            times = rows.column("ts")
            moments = times.to_numpy().astype("datetime64[us]")
            series[name] = Series(name, times.to_pylist(), rows.column(value).to_pylist(), notes, moments)
    return series


def clearest(story: Story, matches: Sequence[Match], series: Mapping[str, Series], count: int) -> list[Match]:
    """The matches that show the shape best, from as many keys as possible."""

    def clarity(match: Match) -> float:
        labels = match["labels"].split(" ")
        one = series[match[story.key]]
        first = one.row_at(match["began"])
        return story.clarity(labels, one.values[first : first + len(labels)])

    count_of_key: dict[str, int] = {}
    ranked = []
    for match in sorted(matches, key=clarity, reverse=True):
        name = match[story.key]
        count_of_key[name] = count_of_key.get(name, 0) + 1
        ranked.append((count_of_key[name], match))
    ranked.sort(key=lambda pair: pair[0])  # stable: the best match of every key, then the second of every key
    return [match for _, match in ranked[:count]]


def sample(table: pa.Table, key: str, count: int) -> pa.Table:
    """At most `count` rows, from as many keys as possible."""
    return table.take(pa.array(sample_rows(table.column(key).to_pylist(), count), pa.int64()))


def sample_rows(keys: Sequence[str], count: int) -> list[int]:
    """Numbers of at most `count` rows from as many keys as possible, in their order.

    >>> sample_rows(["a", "a", "a", "b", "c"], 4), sample_rows(["a", "b", "c", "d", "d"], 2)
    ([0, 1, 3, 4], [0, 2])
    """
    rows_of: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        rows_of.setdefault(key, []).append(row)
    if len(rows_of) > count:
        firsts = [rows[0] for rows in rows_of.values()]
        return [firsts[i * len(firsts) // count] for i in range(count)]
    ranked = sorted((rank, row) for rows in rows_of.values() for rank, row in enumerate(rows))
    return sorted(row for _, row in ranked[:count])


def excerpt_of(match: Match, series: Series, *, zoom: bool = True) -> Excerpt:
    """The match with about a third of its length on either side; `zoom` stops at the first value outside its range."""
    labels = match["labels"].split(" ")
    first = series.row_at(match["began"])
    last = first + len(labels) - 1
    around = max(4, len(labels) // 3)
    start = max(0, first - around)
    end = min(len(series.values) - 1, last + around)
    if zoom:
        inside = series.values[first : last + 1]
        margin = 0.3 * (max(inside) - min(inside))
        low, high = min(inside) - margin, max(inside) + margin
        start = next((row + 1 for row in range(first, start - 1, -1) if not low <= series.values[row] <= high), start)
        end = next((row - 1 for row in range(last, end + 1) if not low <= series.values[row] <= high), end)
    cut = slice(start, end + 1)
    notes = series.notes[cut] if series.notes is not None else None
    return Excerpt(series.key, series.times[cut], series.values[cut], labels, first - start, notes)
