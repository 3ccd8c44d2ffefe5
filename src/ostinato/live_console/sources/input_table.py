"""`--input` -> an Arrow table with the newest rows of a file or a folder, to test rules on."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.live_console.sources.folder_watch import FolderWatch, SeenFile, inside
from ostinato.rows.arrow_tables import as_table

MOST_ROWS = 200_000
_UTC_TIME = pa.timestamp("us", "UTC")
ENDINGS = (".parquet", ".csv", ".json", ".jsonl")


@dataclass(slots=True)
class InputTable:
    """Reads the newest files until there are enough rows. A file that hasn't changed isn't read twice."""

    path: Path
    most_rows: int = MOST_ROWS
    _known: tuple[SeenFile, ...] = ()
    _table: pa.Table | None = None
    _tables: dict[SeenFile, pa.Table] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> pa.Table:
        """Raises SOURCE_NOT_READABLE."""
        with self._lock:
            try:
                files = self._files()
                if not files:
                    raise QueryError("SOURCE_MISSING", f"there is no table in {self.path.name} yet", hint="--input")
                if self._table is None or files != self._known:
                    self._table, self._known = self._newest(files), files
                return self._table
            except (OSError, pa.ArrowException, ValueError) as error:
                reason = str(error).split("\n", 1)[0]
                raise QueryError("SOURCE_NOT_READABLE", f"the input {self.path.name} can't be read: {reason}") from None

    def _files(self) -> tuple[SeenFile, ...]:
        if self.path.is_dir():
            return FolderWatch(self.path, ENDINGS, depth=4).look().new
        about = self.path.stat()
        return (SeenFile("", about.st_size, about.st_mtime_ns),)

    def _newest(self, files: tuple[SeenFile, ...]) -> pa.Table:
        tables: dict[SeenFile, pa.Table] = {}
        count = 0
        for file in reversed(files):
            try:
                table = self._tables.get(file)
                tables[file] = (
                    _read(inside(self.path, file.name) if file.name else self.path) if table is None else table
                )
            except (OSError, ValueError):
                if len(files) == 1:
                    raise
                continue  # half written: the next test reads it
            count += tables[file].num_rows
            if count >= self.most_rows:
                break
        self._tables = tables
        if not tables:
            raise QueryError("SOURCE_NOT_READABLE", f"no file of the input {self.path.name} can be read")
        table = pa.concat_tables(reversed(tables.values()), promote_options="permissive")
        return as_table(table.slice(max(0, table.num_rows - self.most_rows)), Settings())


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            return file.read()
    if path.suffix == ".csv":
        return pa_csv.read_csv(path)
    table = pa_json.read_json(path)
    for at, name in enumerate(table.column_names):
        table = table.set_column(at, name, json_times(table.column(at)))
    return table


def json_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of JSON as times, if all its texts are ISO times; otherwise unchanged. JSON has no times, and Arrow
    finds only those without fractions. Times without a zone count as UTC.

    >>> json_times(pa.chunked_array([["2024-03-01T09:00:00.500Z", None]])).to_pylist()[0].isoformat()
    '2024-03-01T09:00:00.500000+00:00'
    >>> json_times(pa.chunked_array([["2024-03-01T09:00:00.500Z", "soon"]])).type
    DataType(string)
    """
    if not (pa.types.is_string(column.type) or pa.types.is_timestamp(column.type)):
        return column
    if column.null_count == len(column):
        return column
    for kind in (_UTC_TIME, pa.timestamp("us")):  # the first one needs a zone, the second one refuses it
        try:
            return column.cast(kind).cast(_UTC_TIME)
        except pa.ArrowInvalid:
            continue
    return column
