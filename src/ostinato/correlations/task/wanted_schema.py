"""The columns of wanted ranges, which workers send to the reader of an archive. No kernels here."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ostinato.rows.column_names import PREFIX

FROM, TO, ROWS_BEFORE = "from_us", "to_us", "rows_before"
"""For each key: the range of times (the end is excluded), and the number of rows before the range."""


def wanted_key(i: int) -> str:
    """The column of the archive's key with this number. The prefix avoids clashes with columns of its rows."""
    return f"{PREFIX}wanted{i}"


def wanted_schema(key_types: Iterable[pa.DataType]) -> pa.Schema:
    """The archive's keys, numbered, then times and a count."""
    keys = [pa.field(wanted_key(i), kind) for i, kind in enumerate(key_types)]
    return pa.schema([*keys, *(pa.field(name, pa.int64()) for name in (FROM, TO, ROWS_BEFORE))])
