"""How large a DataFrame is, as Spark's optimiser guesses. Nothing is read."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}
_SIZE = re.compile(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) ([KMGTPE]?i?B)")


_known: WeakKeyDictionary[DataFrame, int | None] = WeakKeyDictionary()
"""Sizes already asked for: many queries over one DataFrame ask once."""


def estimated_bytes(df: DataFrame) -> int | None:
    """The size of the whole DataFrame in bytes, or None when Spark has no idea."""
    if df not in _known:
        try:
            rows = df.sparkSession.sql("EXPLAIN COST SELECT * FROM {input}", input=df).collect()
            _known[df] = parse_size(rows[0][0])
        except PySparkException:
            _known[df] = None
    return _known[df]


def parse_size(explained: str) -> int | None:
    """The first size in the text of EXPLAIN COST; sizes from an exbibyte on mean that nothing is known.

    >>> parse_size("Relation ... Statistics(sizeInBytes=1.5 MiB, rowCount=3)")
    1572864
    """
    found = _SIZE.search(explained)
    if found is None or found[2] not in _UNITS or found[2] == "EiB":
        return None
    return int(float(found[1]) * (1 << _UNITS[found[2]]))
