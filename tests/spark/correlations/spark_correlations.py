"""Shared by the tests of correlations: queries over trades, and rows to compare."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

import ostinato as ost

LIVE = """MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l
    INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS price < PREV(price))"""
ARCHIVE = """MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS af, LAST(id) AS al, A.price + 0 AS top
    MAXIMAL MATCHES PATTERN (A B+ C* D)
    DEFINE B AS price < PREV(price), C AS price > PREV(price), D AS price > PREV(price) AND price > A.price)"""
RECENT = "RECENT(archive, live, INTERVAL '20' SECOND)"
QUERY = f"SELECT * FROM t {LIVE} AS live JOIN t {ARCHIVE} AS archive ON live.symbol = archive.symbol AND {RECENT}"


def in_process(text: str, live: pa.Table, archive: pa.Table | None = None) -> list[str]:
    """The rows that the query gives without Spark."""
    return comparable(ost.correlate(text, archive=archive).run(live).table)


def comparable(*answers: pa.Table | DataFrame) -> list[str]:
    """All rows as texts, sorted. Two columns may have the same name, so values are read by index."""
    result: list[str] = []
    for answer in answers:
        table = answer if isinstance(answer, pa.Table) else answer.toArrow()
        result += map(repr, zip(*(_plain(column) for column in table.columns), strict=True))
    return sorted(result)


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Times as numbers, because the objects of time zones may differ."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
