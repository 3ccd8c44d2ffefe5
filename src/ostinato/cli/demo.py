"""`ostinato demo`: generates data, runs three queries on Spark, and writes a page with their results."""

from __future__ import annotations

import argparse
import platform
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ostinato
from ostinato.cli.failures import UsageFault
from ostinato.cli.first_look import first_look
from ostinato.cli.progress import Progress, progress_on_stderr
from ostinato.cli.terminal import accent, bold, quiet, say, visible
from ostinato.cli.text_table import text_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ostinato.report.page import StoryAnswer
    from ostinato.report.sample_events import Payments
    from ostinato.report.stories import Story

_ROWS_SHOWN = 5
_PAYMENTS_PER_TRADE = 0.3
_WIDEST = 120
_ROWS_TO_COMPILE_WITH = 500
_WORTH_SAYING_SECONDS = 3


def run_demo(options: argparse.Namespace) -> int:
    """Runs the whole demo. It takes about half a minute, most of it for the start of Spark.

    The first query and one of its matches are printed before Spark starts, so that there is something to see at once.
    """
    from ostinato.report.page import Setting, report_page
    from ostinato.report.sample_events import make_payments, make_trades
    from ostinato.report.stories import STORIES

    began = time.monotonic()
    progress = progress_on_stderr()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a pipe shows each line at once, like a terminal
    _prepare_folder(options.out)
    print(bold("Ostinato demo") + ": three patterns, found with MATCH_RECOGNIZE on Apache Spark\n")
    with progress("generating trades and payments"):
        payments = make_payments(int(options.rows * _PAYMENTS_PER_TRADE), options.seed)
        tables = {"trades": make_trades(options.rows, options.seed), "payments": payments.table}
        _write_files(options.out, tables, STORIES)
    sizes = " and ".join(f"{table.num_rows:,} {name}" for name, table in tables.items())
    print(f"  data     {sizes}, seed {options.seed}, in {visible(str(options.out))}/\n")
    _introduce(STORIES[0])
    look = first_look(STORIES[0], tables[STORIES[0].table], _terminal_width())
    if look is not None:
        print(f"{look}\n")
    spark = _start_spark(options.out, STORIES, tables, progress)
    print(f"\n{bold(STORIES[0].title)}, all matches")
    answers = [_answer(STORIES[0], options.out, spark, payments, progress)]
    for story in STORIES[1:]:
        _introduce(story)
        answers.append(_answer(story, options.out, spark, payments, progress))
    with progress("drawing"):
        versions = f"Ostinato {ostinato.__version__}, Spark {spark.version}, Python {platform.python_version()}"
        page = options.out / "report.html"
        page.write_text(report_page(answers, tables, Setting(versions, next_steps(options.out))), encoding="utf-8")
    _say_goodbye(page, options.out, time.monotonic() - began)
    return 0


def own_command() -> str:
    """The command to call `ostinato` again: its name, or its path if the environment isn't on PATH."""
    script = Path(sys.executable).with_name("ostinato")
    if shutil.which("ostinato") is not None or not script.exists():
        return "ostinato"
    here = Path.cwd()
    return shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))


def next_steps(folder: Path) -> list[str]:
    """Commands that use the files of the demo."""
    query, trades = shlex.quote(str(folder / "v_shapes.sql")), shlex.quote(f"trades={folder / 'trades.parquet'}")
    command = own_command()
    return [
        f"{command} run {query} --input {trades}",
        f"{command} explain {shlex.quote(str(folder / 'head_and_shoulders.sql'))} --svg automaton.svg",
    ]


def _prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageFault("OUTPUT_FOLDER_MISSING", f"can't create the folder {folder}: {error.strerror}") from None


def _write_files(folder: Path, tables: dict[str, pa.Table], stories: tuple[Story, ...]) -> None:
    import pyarrow.parquet as pq

    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    for story in stories:
        (folder / story.file).write_text(story.sql + "\n", encoding="utf-8")


def _start_spark(
    folder: Path, stories: tuple[Story, ...], tables: dict[str, pa.Table], progress: Progress
) -> SparkSession:
    began = time.monotonic()
    with ThreadPoolExecutor(1) as beside:
        # The first run on a machine compiles the matcher. It happens here while the JVM starts, not in every worker.
        compiling = beside.submit(_compile_matcher, stories, tables)
        with progress("starting Spark"):
            from ostinato.spark.session.session import local_session

            settings: dict[str, Any] = {"spark.sql.session.timeZone": "UTC"}
            spark = local_session("ostinato demo", **settings)
        with progress("warming Spark up"):  # the first job loads most of its code, and shouldn't count as query time
            trades = spark.read.parquet(str((folder / "trades.parquet").absolute()))
            trades.groupBy("symbol").count().orderBy("symbol").mapInArrow(_same, "symbol string, count long").toArrow()
        print(f"  spark    {spark.version}, local, started and warm in {time.monotonic() - began:.1f} s")
        with progress("compiling the matcher, once on this machine"):
            seconds = compiling.result()
    if seconds > _WORTH_SAYING_SECONDS:
        print(f"  matcher  compiled in {seconds:.1f} s, cached for later runs")
    return spark


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _compile_matcher(stories: tuple[Story, ...], tables: dict[str, pa.Table]) -> float:
    """Runs the queries on a few rows in this process, so that the cache on disk has the compiled matcher."""
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table

    began = time.monotonic()
    for story in stories:
        match_table(parse_clause(story.clause), tables[story.table].slice(0, _ROWS_TO_COMPILE_WITH))
    return time.monotonic() - began


def _introduce(story: Story) -> None:
    print(bold(story.title))
    print("\n".join(textwrap.wrap(story.lead, min(_terminal_width(), 100))) + "\n")
    print("\n".join(f"    {accent(line)}" for line in story.sql.splitlines()) + "\n")


def _answer(story: Story, folder: Path, spark: SparkSession, payments: Payments, progress: Progress) -> StoryAnswer:
    """Runs one query on Spark, and prints some rows of its result."""
    from ostinato.report.excerpts import sample
    from ostinato.report.page import StoryAnswer
    from ostinato.spark.statements.statement import sql

    with progress(f"looking for {story.title.lower()}"):
        began = time.monotonic()
        tables: dict[str, Any] = {story.table: spark.read.parquet(str((folder / f"{story.table}.parquet").absolute()))}
        matches = sql(story.sql, spark=spark, **tables).toArrow()
        seconds = time.monotonic() - began
    remark = _remark(matches, payments) if story.table == "payments" else ""
    rows = [tuple(row.values()) for row in sample(matches, story.key, _ROWS_SHOWN).to_pylist()]
    print(text_table(matches.column_names, rows, width=_terminal_width(), left_out=matches.num_rows - len(rows)))
    print(f"\n{bold(f'{matches.num_rows:,} matches')} in {seconds:.1f} s. {remark}".rstrip() + "\n\n")
    return StoryAnswer(story, matches, seconds, remark)


def _remark(matches: pa.Table, payments: Payments) -> str:
    """Whether the query found the frauds that the generator hid."""
    found = set(zip(matches.column("card").to_pylist(), matches.column("ended").to_pylist(), strict=True))
    hidden = len(payments.planted)
    detected = len(payments.planted & found)
    others = len(found) - detected
    words = f"{hidden} frauds were hidden in the data. " + (
        "The query found all of them" if detected == hidden else f"The query found {detected} of them"
    )
    return words + (f", and {others} other matches." if others else ", and nothing else.")


def _terminal_width() -> int:
    return min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


def _say_goodbye(page: Path, folder: Path, seconds: float) -> None:
    print(bold("Report with charts of the matches:"))
    print(f"    {accent(page.absolute().as_uri())}\n")
    print(bold("What to try next:"))
    for step in next_steps(folder):
        say(f"    {step}")
    print(quiet(f"\ndone in {seconds:.0f} s"))
