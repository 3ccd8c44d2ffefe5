"""`ostinato run --stream`: a query on folders that receive new files -> a folder of Parquet files."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.statement_spans import read_statement
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import READER_OPTIONS, InputFile, format_of, read_input, spark_format
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_rows, query_text
from ostinato.cli.terminal import ERASE_LINE
from ostinato.event_queries.language.event_parser import is_event_text, parse_event_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ostinato.spark.streams.stream_metrics import QueryMetrics

DEFAULT_DELAY = "10 seconds"
_LOOK_EVERY_SECONDS = 1
_STALLED_SECONDS = 60


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
    if options.checkpoint is None or options.output is None:
        raise UsageFault(
            "STREAM_NEEDS_FOLDERS",
            "a stream needs a folder for its state and another for its rows",
            hint="--stream --checkpoint DIR --output DIR",
        )
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
            _follow(query)
            if metrics is not None:
                metrics.catch_up(query)
    finally:
        if metrics is not None:
            spark.streams.removeListener(metrics)
    return 0


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
        schema = read_input(spark, table).schema
        reader = spark.readStream.schema(schema).options(**READER_OPTIONS[table.format])
        df = reader.format(spark_format(table.format)).load(str(Path(table.path).absolute()))
        for name in df.columns:
            if name.lower() in columns:
                df = df.withWatermark(name, options.delay)
                break
        df.createOrReplaceTempView(table.name)
    return query_rows(spark, text, inputs, options)


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


# --- while it runs ---


def _follow(query: StreamingQuery) -> None:
    """Shows progress until the query ends or Ctrl-C stops it."""
    from ostinato.spark.streams.stream_metrics import QueryMetrics

    counted = QueryMetrics(str(query.id))
    with _live_line() as show, _interrupts() as interrupted:
        is_over = False
        while not is_over:
            is_over = bool(query.awaitTermination(_LOOK_EVERY_SECONDS))  # raises the error that ended the query
            new = [batch for batch in query.recentProgress if batch.batchId > counted.last_batch]
            for batch in new:
                counted.take(batch)
            show(progress_line(counted))
            if interrupted.is_set() and (new or not query.status["isTriggerActive"]):
                query.stop()
    print(f"{'stopped' if interrupted.is_set() else 'done'}: {progress_line(counted)}", file=sys.stderr)


def progress_line(counted: QueryMetrics) -> str:
    """The counters so far, in one line."""
    if not counted.of_query["batches_total"]:
        return "waiting for the first batch"
    rows, matches, late = (
        sum(counts[name] for counts in counted.of_clause.values())
        for name in ("rows_total", "matches_total", "late_rows_total")
    )
    stalled = counted.of_query.get("watermark_unmoved_seconds", 0)
    still = f", watermark unmoved for {stalled:,.0f} s" if stalled >= _STALLED_SECONDS else ""
    return f"{counted.of_query['batches_total']:,.0f} batches, {rows:,} rows, {matches:,} matches, {late:,} late{still}"


@contextmanager
def _live_line() -> Iterator[Callable[[str], None]]:
    """On a terminal, one line that is overwritten; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return

    def show(words: str) -> None:
        print(f"{ERASE_LINE}{words}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(ERASE_LINE, end="", file=sys.stderr, flush=True)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Ctrl-C sets the event. A second Ctrl-C ends the process. Otherwise PySpark would cancel the batch at once."""
    event = threading.Event()

    def on_signal(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, b"\nstopping after this batch; press Ctrl-C again to stop at once\n")

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
