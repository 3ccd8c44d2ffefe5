"""Names and paths of the command line -> DataFrames; a DataFrame -> one file. The suffix of a path is its format."""

from __future__ import annotations

import csv
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from glob import has_magic
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ostinato.cli.failures import UsageFault, is_of_spark, spark_message

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Format = Literal["parquet", "csv", "tsv", "json"]

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSED = (".gz", ".bz2", ".zst")
_CSV = {"header": True, "inferSchema": True, "quote": '"', "escape": '"'}
"""A quote inside a quoted field is doubled. Spark's default is a backslash, which cuts such fields at commas."""
READER_OPTIONS: dict[Format, dict[str, Any]] = {
    "parquet": {},
    "csv": _CSV,
    "tsv": {**_CSV, "sep": "\t"},
    # With its default format, Spark would take the text "1001" for a year.
    "json": {"inferTimestamp": True, "timestampFormat": "yyyy-MM-dd['T'][' ']HH:mm[:ss][.SSSSSS][XXX]"},
}
"""Options of Spark's reader, for files and for streams."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A table of the query, and the file or folder that contains it."""

    name: str
    path: str
    format: Format


def parse_inputs(words: Iterable[str]) -> list[InputFile]:
    """Inputs from arguments `NAME=PATH`. Raises UsageFault for other arguments and for missing files."""
    inputs: list[InputFile] = []
    for word in words:
        name, separator, path = word.partition("=")
        if not separator or not path or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise UsageFault(
                "INVALID_INPUT", f"--input {word} is not of the form NAME=PATH", hint="--input trades=trades.parquet"
            )
        if any(name.lower() == other.name.lower() for other in inputs):
            raise UsageFault("DUPLICATE_INPUT", f"--input {name} is given twice")
        kind = format_of(path)
        if "://" not in path and not has_magic(path) and not Path(path).exists():
            raise UsageFault("INPUT_MISSING", f"there is no file or folder {path} (for table {name})")
        inputs.append(InputFile(name, path, kind))
    return inputs


def format_of(path: str) -> Format:
    """The format by the suffix of a path.

    >>> format_of("trades.parquet"), format_of("2024/*.csv.gz"), format_of("log.jsonl")
    ('parquet', 'csv', 'json')
    """
    suffixes = [suffix.lower() for suffix in Path(path.rstrip("/")).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _ENDINGS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise UsageFault(
            "UNKNOWN_FORMAT", f"the suffix of {path} is no known format", hint="known suffixes: " + ", ".join(_ENDINGS)
        )
    return kind


def read_input(spark: SparkSession, table: InputFile) -> DataFrame:
    """The table as a DataFrame. CSV files have a header line. The types of CSV and JSON are inferred."""
    try:
        return _frame_of(spark, table)
    except Exception as error:
        if not is_of_spark(error):
            raise
        words = spark_message(str(error))
        raise UsageFault("INPUT_UNREADABLE", f"can't read {table.path} as {table.format}: {words}") from error


def _frame_of(spark: SparkSession, table: InputFile) -> DataFrame:
    path = table.path if "://" in table.path else str(Path(table.path).absolute())
    frame = spark.read.options(**READER_OPTIONS[table.format]).format(spark_format(table.format)).load(path)
    if frame.columns == ["_corrupt_record"]:
        raise UsageFault("INPUT_UNREADABLE", f"{table.path} has no JSON lines", hint="write one object in each line")
    return frame


def spark_format(kind: Format) -> str:
    return "csv" if kind == "tsv" else kind


def check_output(path: Path) -> Format:
    """The format of the output. Raises UsageFault before any work starts."""
    kind = format_of(str(path))
    if path.suffix.lower() in _COMPRESSED:
        raise UsageFault(
            "UNKNOWN_FORMAT", f"can't write a compressed file {path}", hint="Parquet files are always compressed"
        )
    if path.is_dir():
        raise UsageFault("OUTPUT_IS_FOLDER", f"{path} is a folder; --output needs a file")
    if not path.absolute().parent.is_dir():
        raise UsageFault(
            "OUTPUT_FOLDER_MISSING", f"there is no folder {path.absolute().parent} to write {path.name} into"
        )
    return kind


def write_output(frame: DataFrame, path: Path, kind: Format) -> None:
    """Writes all rows to one file, in the order of the result.

    Spark writes part files in parallel into a folder beside the file. This process then joins them piece by piece, so
    no process needs memory for the whole result.
    """
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.absolute().parent))
    try:
        parts_folder = folder / "parts"
        _write_part_files(frame, parts_folder, kind)
        part_files = sorted(file for file in parts_folder.iterdir() if file.name.startswith("part-"))
        joined = folder / "joined"
        if kind == "parquet":
            _join_parquet(part_files, joined)
        else:
            header = _header(frame.columns, "\t" if kind == "tsv" else ",") if kind != "json" else None
            _join_text(part_files, joined, header)
        joined.replace(path)  # atomic: a reader sees the old file or the new one
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_part_files(frame: DataFrame, folder: Path, kind: Format) -> None:
    target = str(folder.absolute())
    if kind == "parquet":
        frame.write.parquet(target)
    elif kind == "json":
        frame.write.json(target, ignoreNullFields=False)
    else:
        frame.write.csv(target, header=False, sep="\t" if kind == "tsv" else ",", quote='"', escape='"')


def _join_parquet(part_files: list[Path], joined: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(joined, pq.read_schema(part_files[0])) as writer:
        for part_file in part_files:
            file = pq.ParquetFile(part_file)
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group))


def _join_text(part_files: list[Path], joined: Path, header: str | None) -> None:
    with joined.open("wb") as target:
        if header is not None:
            target.write(header.encode())
        for part_file in part_files:
            with part_file.open("rb") as source:
                shutil.copyfileobj(source, target)


def _header(names: Iterable[str], separator: str) -> str:
    line = StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    return line.getvalue()
