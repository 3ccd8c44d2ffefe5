"""Input files -> their columns, or their rows, as Arrow reads them. Doesn't start Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from glob import glob, has_magic
from typing import TYPE_CHECKING, Any, TypeVar

from ostinato.cli.failures import UsageFault
from ostinato.cli.files import InputFile
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.rows.arrow_tables import columns_of
from ostinato.rows.column_leaves import by_column_name

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
_ROWS_READ = 100
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


def input_schema(table: InputFile) -> pa.Schema:
    """Column names and types of a file, a folder or a path with wildcards, read without Spark."""
    return _read(table, lambda data: _with_times(data.head(_ROWS_READ)) if table.format == "json" else data.schema)


def input_rows(table: InputFile) -> pa.Table:
    """All rows of a file, a folder or a path with wildcards, with the types of `input_schema`."""
    rows = _read(table, lambda data: data.to_table())
    if table.format != "json":
        return rows
    for i, field in enumerate(_with_times(rows)):
        if field.type != rows.schema.types[i]:
            times = evaluate(Cast(Column(field.name), "TIMESTAMP"), by_column_name(columns_of(rows)), rows.num_rows)
            rows = rows.set_column(i, field.name, times)
    return rows


def _read(table: InputFile, read: Callable[[Any], T]) -> T:
    """The result of reading the table's files. Raises INPUT_MISSING and INPUT_UNREADABLE."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset

    source = sorted(glob(table.path)) if has_magic(table.path) else table.path
    if not source:
        raise UsageFault("INPUT_MISSING", f"there is no file {table.path} (for table {table.name})")
    if table.format == "tsv":
        form = pyarrow.dataset.CsvFileFormat(parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))
    else:
        form = table.format
    try:
        return read(pyarrow.dataset.dataset(source, format=form))
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageFault(
            "INPUT_UNREADABLE", f"can't read {table.path} as {table.format}: {str(error).splitlines()[0]}"
        ) from None


def _with_times(rows: pa.Table) -> pa.Schema:
    """The schema of rows from JSON. Texts that are times count as timestamps, as in Spark's reader."""
    import pyarrow as pa

    schema = rows.schema
    for i, name in enumerate(schema.names):
        texts = rows.column(name).drop_null().to_pylist() if pa.types.is_string(schema.types[i]) else []
        if texts and all(_TIME.fullmatch(text) for text in texts):
            schema = schema.set(i, pa.field(name, pa.timestamp("us")))
    return schema
