"""Tables in any form that calls in this process accept -> a pyarrow Table with the types that Spark has."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.interchange

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.rows.batches import one_array

_ON_SPARK = (
    "a Spark DataFrame goes to ost.sql(text, t=df), df.transform(ost.match_recognize(...)) or df.transform(query)"
)


def is_spark_dataframe(data: Any) -> bool:
    """Whether Spark made it. The check is by name, because pyspark may not be installed."""
    return type(data).__module__.split(".")[0] == "pyspark"


def is_table(data: Any) -> bool:
    """Whether it is a table of some kind, or a Spark DataFrame."""
    return is_spark_dataframe(data) or hasattr(data, "__arrow_c_stream__") or _is_pandas(data)


def spark_dataframe(data: Any, *, hint: str) -> None:
    """Raises NOT_A_TABLE for anything but a Spark DataFrame; the hint names the call for other tables."""
    # The class has the property. Its value would be a question to the JVM.
    if not (is_spark_dataframe(data) and hasattr(type(data), "isStreaming")):
        raise QueryError("NOT_A_TABLE", f"expected a Spark DataFrame, got {type(data).__name__}", hint=hint)


def arrow_table(data: Any, settings: t.Settings) -> pa.Table:
    """Raises NOT_A_TABLE, TABLE_NOT_READABLE, UNSUPPORTED_TYPE. Two columns may have one name: binding refuses a query
    that uses it."""
    try:
        table = _read(data)
    except (pa.ArrowException, RuntimeError, OverflowError) as error:  # RuntimeError: the interchange protocol's own
        why = "; ".join(map(str, error.args)) or type(error).__name__
        raise QueryError("TABLE_NOT_READABLE", f"Arrow can't read this {type(data).__name__}: {why}") from error
    columns = [_plain(name, column, settings) for name, column in zip(table.column_names, table.columns, strict=True)]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _read(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if is_spark_dataframe(data):  # it has __arrow_c_stream__, which would collect it to this process
        raise QueryError("NOT_A_TABLE", "this is a Spark DataFrame, and the call runs in this process", hint=_ON_SPARK)
    if _is_pandas(data):
        return _of_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):  # Polars, DuckDB; before __dataframe__, which Polars is giving up
        return pa.table(data)
    if hasattr(data, "__dataframe__"):
        return pyarrow.interchange.from_dataframe(data)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | dict):
        return _from_batches(list(data))
    raise QueryError(
        "NOT_A_TABLE",
        f"expected a pyarrow Table, a pandas or Polars DataFrame or record batches, got {type(data).__name__}",
        hint="pa.table(columns) makes a table of a dict of lists" if isinstance(data, dict) else None,
    )


def _of_pandas(frame: Any) -> pa.Table:
    """Column by column: Arrow refuses a frame with two columns of one name, even if the query uses neither."""
    if frame.columns.is_unique:
        return pa.Table.from_pandas(frame, preserve_index=False)
    columns = [_of_pandas(frame.iloc[:, [at]]).column(0) for at in range(len(frame.columns))]
    return pa.Table.from_arrays(columns, names=[str(name) for name in frame.columns])


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _from_batches(batches: list[Any]) -> pa.Table:
    if not batches or not all(isinstance(batch, pa.RecordBatch) for batch in batches):
        raise QueryError("NOT_A_TABLE", "expected at least one pyarrow RecordBatch")
    first = batches[0].schema
    for number, batch in enumerate(batches):
        if not batch.schema.equals(first):
            message = (
                f"record batch {number} has other columns than the first: {_columns(batch)}, not {_columns(batches[0])}"
            )
            raise QueryError("NOT_A_TABLE", message, hint="cast the batches to one schema")
    return pa.Table.from_batches(batches)


def _columns(batch: pa.RecordBatch) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in batch.schema)


def _plain(name: str, column: pa.ChunkedArray, settings: t.Settings) -> pa.ChunkedArray:
    """The column in a type that Spark knows."""
    original = column.type
    try:
        column = _decoded(column)
        wanted = t.normalise(column.type, settings)
        return column if wanted == column.type else column.cast(wanted)
    except (pa.ArrowException, ValueError) as error:  # ValueError: a precision that no Spark decimal has
        raise QueryError(
            "UNSUPPORTED_TYPE",
            f"column '{name}' is {original}, which Spark has no type for: {str(error).splitlines()[0]}",
            hint="cast the column, or leave it out of the table",
        ) from error


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that Arrow stores in a form of its own: dictionaries, runs, extension types."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _decoded(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if pa.types.is_run_end_encoded(kind):
        return _decoded(pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type))
    return _decoded(column.cast(kind.value_type)) if pa.types.is_dictionary(kind) else column


def as_table(data: Any, settings: t.Settings) -> pa.Table:
    """The data as an Arrow table with the types that Spark has, each column in one chunk."""
    table = arrow_table(data, settings)
    return pa.Table.from_arrays([one_array(column) for column in table.columns], names=table.column_names)


def columns_of(table: pa.Table) -> dict[str, pa.Array]:
    """The columns by name, without names of several columns, which no bound query uses."""
    names = table.column_names
    once = {name for name, count in Counter(names).items() if count == 1}
    return {name: one_array(column) for name, column in zip(names, table.columns, strict=True) if name in once}
