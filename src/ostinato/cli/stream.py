"""`ostinato run --stream`: a query on folders that receive new files -> a folder of Parquet files."""

from __future__ import annotations

import argparse
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.statement_spans import read_statement
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import READER_OPTIONS, InputFile, format_of, read_input, spark_format
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_rows, query_text
from ostinato.cli.stream_progress import follow
from ostinato.event_queries.language.event_parser import is_event_text, parse_event_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_DELAY = "10 seconds"


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `run` for streams."""
    group = parser.add_argument_group("streams")
    group.add_argument("--stream", action="store_true", help="keep running, and read new files in the input folders")
    group.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="folder where the stream keeps its state; a stream needs it"
    )
    group.add_argument(
        "--delay",
        default=DEFAULT_DELAY,
        metavar="INTERVAL",
        help="how late a row may arrive (watermark delay, default: %(default)s)",
    )
    group.add_argument("--once", action="store_true", help="stop after reading the files that exist at the start")
    group.add_argument("--metrics", type=Path, metavar="FILE", help="write counters to a file that Prometheus can read")


def run_stream(options: argparse.Namespace) -> int:
    """Runs until all files are read (`--once`), or until Ctrl-C. Ctrl-C stops after the current batch."""
    text = query_text(options)
    check_stream_folders(options)
    inputs = [stream_input(word) for word in options.input]
    progress = progress_on_stderr()
    with progress("starting Spark"):
        from ostinato.spark.session.quiet import without_error_log
        from ostinato.spark.session.session import local_session
        from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
        from ostinato.spark.streams.stream_metrics import stream_metrics

        settings: dict[str, Any] = {STATE_STORE: ROCKSDB}
        spark = local_session("ostinato run --stream", **settings)
    metrics = None if options.metrics is None else stream_metrics(spark, options.metrics)
    try:
        with without_error_log():
            with progress("reading columns and planning"):
                answer = _answer(spark, text, inputs, options)
            writer = answer.writeStream.option("checkpointLocation", str(options.checkpoint.absolute()))
            if options.once:
                writer = writer.trigger(availableNow=True)
            with progress("starting the stream"):
                query = writer.format("parquet").option("path", str(options.output.absolute())).start()
            if failures := follow({"": query}):
                raise failures[""]
            if metrics is not None:
                metrics.catch_up(query)
    finally:
        if metrics is not None:
            spark.streams.removeListener(metrics)
    return 0


def check_stream_folders(options: argparse.Namespace) -> None:
    """Raises STREAM_NEEDS_FOLDERS."""
    if options.checkpoint is None or options.output is None:
        raise UsageFault(
            "STREAM_NEEDS_FOLDERS",
            "a stream needs a folder for its state and another for its rows",
            hint="--stream --checkpoint DIR --output DIR",
        )


def stream_input(word: str) -> InputFile:
    """An input from `NAME=FOLDER`. The format is the suffix of the folder, or else that of its first file."""
    name, separator, path = word.partition("=")
    if not separator or not name.isidentifier() or has_magic(path) or not Path(path).is_dir():
        raise UsageFault(
            "INVALID_INPUT", f"--input {word} is not of the form NAME=FOLDER", hint="--stream reads folders of files"
        )
    if Path(path).suffix:
        return InputFile(name, path, format_of(path))
    files = sorted(file.name for file in Path(path).iterdir() if file.is_file() and file.name[0] not in "._")
    if not files:
        raise UsageFault(
            "INPUT_MISSING",
            f"there is no file in {path} yet (for table {name})",
            hint="the stream reads the columns from the first file",
        )
    return InputFile(name, path, format_of(files[0]))


def _answer(spark: SparkSession, text: str, inputs: list[InputFile], options: argparse.Namespace) -> DataFrame:
    columns = event_time_columns(text)
    for table in inputs:
        df = read_stream(spark, table)
        for name in df.columns:
            if name.lower() in columns:
                df = df.withWatermark(name, options.delay)
                break
        df.createOrReplaceTempView(table.name)
    return query_rows(spark, text, inputs, options)


def read_stream(spark: SparkSession, table: InputFile) -> DataFrame:
    """The files of a folder as a stream, with the columns that its present files have."""
    schema = read_input(spark, table).schema
    reader = spark.readStream.schema(schema).options(**READER_OPTIONS[table.format])
    return reader.format(spark_format(table.format)).load(str(Path(table.path).absolute()))


def event_time_columns(text: str) -> set[str]:
    """The first ORDER BY column of each clause, or TIME of an event query, in lower case: the event time of a stream.

    >>> event_time_columns("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY Ts, id MEASURES id AS i PATTERN (A))")
    {'ts'}
    """
    if is_event_text(text):
        time = parse_event_query(text).time
        return set() if time is None else {time.text.lower()}
    bodies = (text[clause.body.start : clause.body.end] for clause in read_statement(text).clauses)
    orders = (parse_clause(body).order_by for body in bodies)
    return {order[0].column.text.lower() for order in orders if order}
