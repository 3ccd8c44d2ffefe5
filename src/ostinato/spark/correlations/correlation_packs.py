"""The tables of packs that buckets of a correlation read and return: their columns, and the kinds of packs."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rows.column_names import ERROR, PREFIX
from ostinato.spark.streams.stream_packing import BUCKET

KIND, PACK, LATEST, WAKES_AT = f"{PREFIX}kind", f"{PREFIX}pack", f"{PREFIX}latest", f"{PREFIX}wakes_at"
STATE, LIVE_ROWS, ARCHIVE_ROWS, HISTORY, PAIRS, WANTED, DEFINITION = range(7)
"""Kinds of packs."""
NO_BUCKET = -1
"""The bucket number of the definition."""
ARCHIVE_COUNT = "archive_rows"
"""Number of rows that a bucket read from an archive table."""
COUNTS = (
    "rows",
    "late_rows",
    ARCHIVE_COUNT,
    "live_matches",
    "archive_matches",
    "results",
    "buffered_rows",
    "cached_entries",
)
"""Counts of a bucket in a batch, in the row with its state."""

SENT = pa.schema(
    [(BUCKET, pa.int32()), (KIND, pa.int8()), (PACK, pa.binary()), (LATEST, pa.int64()), (WAKES_AT, pa.int64())]
)
"""The input of buckets. Two columns belong to a state: LATEST, the latest time of the bucket's rows, and WAKES_AT, the
watermark at which the state changes even if no row comes."""
STEPPED = pa.schema([*SENT, *((name, pa.int64()) for name in COUNTS), (ERROR, pa.string())])
"""The output of buckets."""
