"""An Arrow result and the caller's input -> the result in the input's own kind of table."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import pyarrow as pa


class ArrowStream(Protocol):
    """Any table that Arrow can read without a copy: pyarrow, pandas, Polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream of Arrow's C interface."""


TableLike = ArrowStream | Iterable[pa.RecordBatch]
"""A table that calls in this process take."""
T = TypeVar("T")


def like(given: T, result: pa.Table) -> T:
    """The result as a pandas or Polars DataFrame or a DuckDB relation if the input is one, else as a pyarrow Table.

    Integers with NULLs become Python objects in pandas: as floats, large ones would change.
    """
    pandas, polars, duckdb = (sys.modules.get(name) for name in ("pandas", "polars", "duckdb"))
    table: Any = result
    if pandas is not None and isinstance(given, pandas.DataFrame):
        table = result.to_pandas(integer_object_nulls=True)
    elif polars is not None and isinstance(given, polars.DataFrame):
        table = polars.from_arrow(result)
    elif duckdb is not None and isinstance(given, duckdb.DuckDBPyRelation):
        table = duckdb.from_arrow(result)
    return table  # type: ignore[no-any-return]
