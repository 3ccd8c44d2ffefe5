"""Live-first as published: matches the archive clause again in every region, and shares nothing between regions.

Our own live-first without a cache decides conditions, and which states can be completed, once for all rows. The paper's
does so in each region. Here the rows of each region are a key of their own, so the library's compiled search does all
of it for each; many regions go through one call, so that calls don't count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import ostinato as ost
from benchmarks.correlate.queries import PairQuery

NAME = "every region anew"
ROWS_AT_ONCE = 1_000_000


def answer_anew(query: PairQuery, quotes: pa.Table, region_rows: int) -> pa.Table:
    """Ordered rows of one symbol, a region by rows -> the rows of `Case.text`, in another order."""
    live = ost.match(
        f"ORDER BY ts, event_id MEASURES FIRST(ts) AS start, LAST(ts) AS end, LAST(price) AS price "
        f"INCREMENTAL MATCHES {query.live}",
        quotes,
    )
    time = quotes["ts"].to_numpy()
    as_of = np.searchsorted(time, live["end"].to_numpy())  # rows of the same time aren't in the archive
    first = np.maximum(as_of - region_rows, 0)
    return pa.concat_tables([_pairs(query, quotes, live, first, as_of, group) for group in _groups(as_of - first)])


def _groups(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Groups of live matches whose regions together have about ROWS_AT_ONCE rows."""
    group = np.cumsum(rows) // ROWS_AT_ONCE
    for number in np.unique(group):
        yield np.flatnonzero(group == number)


def _pairs(
    query: PairQuery,
    quotes: pa.Table,
    live: pa.Table,
    first: NDArray[np.int64],
    as_of: NDArray[np.int64],
    group: NDArray[np.int64],
) -> pa.Table:
    lengths = as_of[group] - first[group]
    row = np.repeat(first[group] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    regions = quotes.select(["ts", "event_id", "price"]).take(pa.array(row))
    archive = ost.match(
        f"PARTITION BY live ORDER BY ts, event_id MEASURES FIRST(ts) AS start, LAST(price) AS price "
        f"MAXIMAL MATCHES {query.archive}",
        regions.append_column("live", pa.array(np.repeat(group, lengths))),
    )
    of_live = live.take(archive["live"])
    pairs = pa.table(
        {
            "correlation_start": archive["start"],
            "correlation_end": of_live["end"],
            "live_price": of_live["price"],
            "archive_price": archive["price"],
        }
    )
    return pairs.filter(pa.array(archive["start"].to_numpy() < of_live["start"].to_numpy()))
