"""The size of a DataFrame, as Spark's optimiser estimates it. Nothing is read."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}
_SIZE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) ([KMGTPE]?i?B)")


_sizes: WeakKeyDictionary[DataFrame, int | None] = WeakKeyDictionary()
"""Estimates so far: many queries over one DataFrame ask Spark once."""


def estimated_bytes(df: DataFrame) -> int | None:
    """The size of the DataFrame in bytes; None if Spark has no estimate."""
    if df not in _sizes:
        try:
            rows = df.sparkSession.sql("EXPLAIN COST SELECT * FROM {input}", input=df).collect()
            _sizes[df] = parse_size(rows[0][0])
        except PySparkException:
            _sizes[df] = None
    return _sizes[df]


def parse_size(explained: str) -> int | None:
    """The first size in the text of EXPLAIN COST; sizes from an exbibyte on mean that Spark has no estimate.

    >>> parse_size("Relation ... Statistics(sizeInBytes=1.5 MiB, rowCount=3)")
    1572864
    """
    size = _SIZE.search(explained)
    if size is None or size[2] not in _UNITS or size[2] == "EiB":
        return None
    return int(float(size[1]) * (1 << _UNITS[size[2]]))
