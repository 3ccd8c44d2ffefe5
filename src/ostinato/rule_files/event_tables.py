"""The events of a rule's test -> a table: a list of objects, the text of a CSV file, or a CSV or Parquet file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ostinato.calls.options import shown
from ostinato.errors import OstinatoError, QueryError
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.batches import one_array
from ostinato.rows.column_lookup import columns_hint
from ostinato.rule_files.rule_file import RuleTest
from ostinato.rule_files.rule_folder import inside
from ostinato.rule_files.typed_values import inferred_type, typed_column

_MOST_BYTES = 1 << 28
"""Of a file with events: tests run in process."""


def events_table(test: RuleTest, root: Path, rule_path: str, schema: pa.Schema | None, settings: Settings) -> pa.Table:
    """The events as a table of the schema; columns that events lack are NULL. Without a schema, types are inferred.

    Raises INVALID_TEST, UNKNOWN_COLUMN, and the errors of files.
    """
    events = test.events
    if isinstance(events, list):
        table = _of_objects(events, schema, settings)
    elif "\n" in events:
        table = _of_csv(events.encode(), schema, settings)
    else:
        table = _of_file(_path(root, rule_path, events), events, schema, settings)
    return table if schema is None else _in_schema(table, schema, settings)


def _of_objects(events: Sequence[Any], schema: pa.Schema | None, settings: Settings) -> pa.Table:
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict) or not event:
            message = f"event {number} is a mapping from columns to values, not {shown(event)}"
            raise QueryError("INVALID_TEST", message, hint="{user: ann, ts: 2024-03-01 09:00:00}")
    names = dict.fromkeys(name for event in events for name in event)
    columns = {name: [event.get(name) for event in events] for name in names}
    return _typed(columns, schema, settings)


def _typed(columns: dict[str, list[Any]], schema: pa.Schema | None, settings: Settings) -> pa.Table:
    _check_known(list(columns), schema)
    kinds = {} if schema is None else {field.name: field.type for field in schema}
    arrays = {
        name: typed_column(name, values, kinds[name] if kinds else inferred_type(name, values), settings)
        for name, values in columns.items()
    }
    return pa.table(arrays) if arrays or schema is None else schema.empty_table()


def _of_csv(data: bytes, schema: pa.Schema | None, settings: Settings) -> pa.Table:
    """All fields are read as texts first, and then cast as Spark does."""
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    try:
        header = pyarrow.csv.open_csv(io.BytesIO(data), parse_options=parse).schema.names
        convert = pyarrow.csv.ConvertOptions(
            column_types=None if schema is None else dict.fromkeys(header, pa.string()),
            null_values=[""],  # an empty field is NULL, a quoted one an empty text
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        table = pyarrow.csv.read_csv(io.BytesIO(data), parse_options=parse, convert_options=convert)
    except pa.ArrowException as error:
        raise QueryError("INVALID_TEST", f"the events aren't CSV: {str(error).splitlines()[0]}") from None
    if len(set(table.column_names)) < table.num_columns:
        raise QueryError("INVALID_TEST", "two columns of the CSV events have one name")
    if schema is None:
        return as_table(table, settings)
    columns = {name.strip(): table[name].to_pylist() for name in table.column_names}
    _check_known(list(columns), schema)
    kinds = {field.name: field.type for field in schema}
    booleans = {"true": True, "false": False}
    for name, values in columns.items():
        if pa.types.is_boolean(kinds[name]):
            columns[name] = [booleans.get(str(value).lower(), value) if value is not None else None for value in values]
    return _typed(columns, schema, settings)


def _path(root: Path, rule_path: str, written: str) -> Path:
    """The file that a test names, relative to the rule's file. It lies in the folder of the rules."""
    words = written.strip()
    file = inside(root, root / Path(rule_path).parent / words)
    if not file.is_file():
        hint = "a path relative to the rule's file, or the events themselves: a list, or CSV text of several lines"
        raise QueryError("INVALID_TEST", f"there is no file {shown(words)}", hint=hint)
    if file.stat().st_size > _MOST_BYTES:
        raise QueryError("INVALID_TEST", f"the file {shown(words)} has more than {_MOST_BYTES:,} bytes")
    return file


def _of_file(file: Path, written: str, schema: pa.Schema | None, settings: Settings) -> pa.Table:
    ending = file.suffix.lower()
    if ending == ".csv":
        return _of_csv(file.read_bytes(), schema, settings)
    if ending != ".parquet":
        raise QueryError("INVALID_TEST", f"events are in .csv or .parquet files, not in {shown(written)}")
    try:
        table = as_table(pyarrow.parquet.read_table(file), settings)
    except (pa.ArrowException, OSError) as error:
        message = f"can't read {shown(written)} as Parquet: {str(error).splitlines()[0]}"
        raise QueryError("INVALID_TEST", message) from None
    _check_known(table.column_names, schema)
    return table


def _check_known(names: Sequence[str], schema: pa.Schema | None) -> None:
    for name in names:
        if schema is not None and name not in schema.names:
            message = f"the schema of the rules has no column '{name}', which the events have"
            raise QueryError("UNKNOWN_COLUMN", message, hint=columns_hint(name, schema.names))


def _in_schema(table: pa.Table, schema: pa.Schema, settings: Settings) -> pa.Table:
    """The columns of the schema in its order."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        try:
            columns.append(column if column.type == field.type else _converted(column, field.type, settings))
        except (pa.ArrowException, OstinatoError, TypeError) as error:
            names = t.spark_name(column.type), t.spark_name(field.type)
            message = f"column '{field.name}' of the events is {names[0]}, and the schema has {names[1]}: {error}"
            raise QueryError("INVALID_TEST", " ".join(message.split())) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _converted(column: pa.ChunkedArray, kind: pa.DataType, settings: Settings) -> pa.Array:
    """Numbers without loss, and times as Spark casts them. Other types aren't converted."""
    if t.is_numeric(column.type) and t.is_numeric(kind):
        return one_array(column).cast(kind)
    if not (t.is_datetime(column.type) and t.is_datetime(kind)):
        raise TypeError("it isn't converted")
    x, array = Column("x"), one_array(column)
    return evaluate(Cast(x, t.spark_name(kind)), lambda node: array if node == x else None, len(array), settings)
