"""`ostinato run --html`: a query that ran on Spark -> a page with pictures, rows, query and explanation."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ostinato
from ostinato.api.events import EventsQuery, events
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.query.clause import MatchRecognize
from ostinato.cli.failures import ExitCode, UsageFault, described
from ostinato.cli.queries import event_table
from ostinato.event_queries.language.event_parser import is_event_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_SHOWN = 50


def add_html_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `run` for a page."""
    group = parser.add_argument_group("report")
    group.add_argument("--html", type=Path, metavar="FILE", help="also write a page with charts, rows and explanation")
    group.add_argument("--x", metavar="COLUMN", help="column of the x axis (default: the first ORDER BY column)")
    group.add_argument("--y", metavar="COLUMN", help="column of the line (default: the first number in DEFINE)")


def check_html(options: argparse.Namespace) -> None:
    """Raises UsageFault before any work starts."""
    path = options.html
    if path is None:
        if options.x is not None or options.y is not None:
            raise UsageFault("INVALID_OPTION", "--x and --y are for the charts of a report", hint="--html report.html")
        return
    if options.stream:
        raise UsageFault("INVALID_OPTION", "--html is for a query that ends, not for --stream")
    if path.is_dir():
        raise UsageFault("OUTPUT_IS_FOLDER", f"{path} is a folder; --html needs a file")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageFault(
            "UNKNOWN_FORMAT", f"--html writes a page, and {path.name} has another suffix", hint="report.html"
        )
    if not path.absolute().parent.is_dir():
        raise UsageFault("OUTPUT_FOLDER_MISSING", f"there is no folder {path.absolute().parent} for {path.name}")


def write_report(
    spark: SparkSession, query: str, frame: DataFrame, tables: Sequence[str], options: argparse.Namespace
) -> None:
    """Writes the page. `tables` are the views of the inputs.

    A picture that can't be drawn is replaced by the reason, unless --x or --y asked for it.
    """
    from ostinato.api.explain import explain
    from ostinato.report.run_page import RunReport, run_page

    pictures, notes = [], []
    for part, source in _parts(query, tables):
        try:
            pictures.append(_picture(spark, part, source, options))
        except Exception as error:
            code, message = described(error)
            if code == ExitCode.UNEXPECTED or options.x is not None or options.y is not None:
                raise
            notes.append(f"The matches in {source} can't be drawn: {message}")
    inputs = {name: spark.table(name) for name in tables}
    if is_event_text(query):
        explanation = str(explain(query, inputs[event_table(events(query), tables)]))
    else:
        explanation = str(explain(query, inputs or None)) if pictures or notes else ""
    report = RunReport(
        query=query,
        result=frame.limit(_ROWS_SHOWN).toArrow(),
        count=frame.count(),
        pictures=pictures,
        notes=notes,
        explanation=explanation,
        versions=f"Ostinato {ostinato.__version__}, Spark {spark.version}, Python {platform.python_version()}",
    )
    options.html.write_text(run_page(report), encoding="utf-8")


def _parts(query: str, tables: Sequence[str]) -> Iterator[tuple[MatchRecognize | EventsQuery, str]]:
    """The event query, or the outermost clauses, each with the text of its input."""
    if is_event_text(query):
        yield events(query), event_table(events(query), tables)
        return
    for clause in read_statement(query).clauses:
        body, source = (query[span.start : span.end] for span in (clause.body, clause.input))
        yield parse_clause(body), source


def _picture(spark: SparkSession, part: MatchRecognize | EventsQuery, source: str, options: argparse.Namespace) -> str:
    from ostinato.api.plot import plot
    from ostinato.spark.statements.statement import sql

    rows = sql(f"SELECT * FROM {source}", spark=spark)
    return plot(part, rows, x=options.x, y=options.y).svg
