"""`ostinato run`: a query over files -> rows on the terminal or in a file."""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ostinato.cli.files import Format, InputFile, check_output, parse_inputs, read_input, write_output
from ostinato.cli.html_report import check_html, write_report
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_rows, query_text
from ostinato.cli.stream import run_stream
from ostinato.cli.terminal import Data, say
from ostinato.cli.text_table import cell_text, text_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_OF_A_TABLE = 20
_WIDTH_OF_A_FILE = 200
"""Characters in a line when the table doesn't go to a terminal."""


def run_query(options: argparse.Namespace) -> int:
    """Runs the query, and prints or writes its rows."""
    check_html(options)
    if options.stream:
        return run_stream(options)
    query = query_text(options)
    inputs = parse_inputs(options.input)
    output = None if options.output is None else check_output(options.output)
    progress = progress_on_stderr()
    with progress("starting Spark"):
        from ostinato.spark.session.quiet import without_error_log
        from ostinato.spark.session.session import local_session

        # pyarrow joins the output files, and would read the default timestamps of Spark as nanoseconds.
        settings: dict[str, Any] = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
        spark = local_session("ostinato run", **settings)
    with without_error_log():  # an error is printed in one line
        return _run(spark, query, inputs, output, options)


def _run(
    spark: SparkSession, query: str, inputs: Sequence[InputFile], output: Format | None, options: argparse.Namespace
) -> int:
    progress = progress_on_stderr()
    with progress("reading"):
        for table in inputs:  # views, because a table may have the name of one of the call's own arguments
            read_input(spark, table).createOrReplaceTempView(table.name)
    with progress("planning"):
        frame = query_rows(spark, query, inputs, options)
    if options.html is not None:
        frame = frame.persist()  # computed once, for the page and for the rows
        with progress("drawing"):
            write_report(spark, query, frame, [table.name for table in inputs], options)
        print(f"wrote {options.html}", file=sys.stderr)
    show_rows(frame, output, options)
    return 0


def show_rows(frame: DataFrame, output: Format | None, options: argparse.Namespace) -> None:
    """Writes the rows to `--output`, or prints them in `--format`, both up to `--limit`."""
    progress = progress_on_stderr()
    if output is not None:
        with progress("running"):
            if options.limit is not None:
                frame = frame.limit(options.limit)
            write_output(frame, options.output, output)
        say(f"wrote {options.output}", sys.stderr)
    elif options.format == "table":
        limit = _ROWS_OF_A_TABLE if options.limit is None else options.limit
        with progress("running"):
            text = table_of(frame, limit)
        print(text)
    else:
        with progress("running"):  # until the first row arrives; then the rows show the progress
            rows = frame.toLocalIterator()
            first = list(islice(rows, 1))
        print_rows(frame.columns, islice(chain(first, rows), options.limit), options.format)


def table_of(frame: DataFrame, limit: int) -> str:
    """The first rows as text, and the number of the others."""
    width = shutil.get_terminal_size((_WIDTH_OF_A_FILE, 24)).columns if sys.stdout.isatty() else _WIDTH_OF_A_FILE
    persisted = frame.persist()  # computed once, for counting and for printing
    try:
        count = persisted.count()
        rows = persisted.limit(limit).collect()
    finally:
        persisted.unpersist()
    return text_table(frame.columns, [tuple(row) for row in rows], width=width, left_out=count - len(rows))


def print_rows(names: list[str], rows: Iterator[Any], form: str) -> None:
    """Prints all rows as CSV with a header, or as one JSON object a line."""
    if form == "csv":
        writer = csv.writer(Data(), lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_csv_value(value) for value in row] for row in rows)
        return
    for row in rows:
        line = json.dumps(dict(zip(names, map(_plain, row), strict=True)), default=str, ensure_ascii=False)
        print(line, file=Data())


def _csv_value(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return repr(value) if isinstance(value, float) else cell_text(value, str)  # all digits: a program reads them


def _plain(value: Any) -> Any:
    """Structs as objects; NaN and infinities as text, because JSON has no numbers for them."""
    if hasattr(value, "asDict"):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value.hex() if isinstance(value, bytes | bytearray) else value
