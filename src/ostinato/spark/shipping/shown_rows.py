"""The few rows of a DataFrame that a plot shows, fetched to this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions.render import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of one key from `low` to `high`. Times are texts, which Spark reads as values of the column's own type."""

    key: tuple[Any, ...]
    low: Any
    high: Any


def first_rows(df: DataFrame, count: int) -> pa.Table:
    """At most `count` rows, in the order in which Spark returns them."""
    return batch_only(df).limit(count).toArrow()


def rows_in_ranges(
    df: DataFrame, keys: Sequence[str], x: str, y: str, ranges: Sequence[RowRange], most: int
) -> pa.Table:
    """The columns that a plot needs, of the rows in any of the ranges: the first `most` in the order of x."""
    names = [quote(name) for name in dict.fromkeys((*keys, x, y))]
    at = df[quote(x)]
    conditions = [
        reduce(lambda both, one: both & one, _equal(df, keys, one.key), (at >= one.low) & (at <= one.high))
        for one in ranges
    ]
    chosen = reduce(lambda either, one: either | one, conditions)
    return df.where(chosen).select(*names).orderBy(quote(x)).limit(most).toArrow()


def _equal(df: DataFrame, keys: Sequence[str], key: Sequence[Any]) -> list[Column]:
    literals = [value.isoformat(sep=" ") if isinstance(value, datetime) else value for value in key]
    return [df[quote(name)].eqNullSafe(value) for name, value in zip(keys, literals, strict=True)]


def batch_only(df: DataFrame) -> DataFrame:
    """Refuses a stream: its rows have no end, so they can't be drawn."""
    if df.isStreaming:
        raise QueryError(
            "STREAM_NOT_SUPPORTED",
            "a streaming DataFrame can't be plotted: its rows have no end",
            hint="write the stream to files, and plot a batch DataFrame that reads them",
        )
    return df
