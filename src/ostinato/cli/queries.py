"""Options -> the text of the query, from a file, stdin or the command line; and its rows on Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ostinato.api.clauses import match_recognize
from ostinato.api.events import EventsQuery, events
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import InputFile
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.expressions.lexer import first_token
from ostinato.streams.stream_settings import Emit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_CLAUSE_WORDS = ("PARTITION", "ORDER", "MEASURES", "PATTERN", "MATCH_RECOGNIZE")
"""The first words of a clause without the statement around it."""


def query_text(options: argparse.Namespace) -> str:
    """The text, without a semicolon at its end."""
    if options.execute is not None:
        text = str(options.execute)
    elif options.query == "-":
        text = sys.stdin.read()
    else:
        text = _file_text(Path(options.query))
    text = text.strip().removesuffix(";").rstrip()
    if not text:
        raise UsageFault("EMPTY_QUERY", "the query is empty")
    return text


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a query that add columns or rows to its result."""
    parser.add_argument("--match-id", metavar="COLUMN", help="add a column with an id of each match")
    parser.add_argument("--run-id", metavar="COLUMN", help="add a column with an id that a match has while it grows")
    parser.add_argument(
        "--emit", choices=get_args(Emit), help="streams: early also shows rows that later input may still change"
    )


def query_rows(spark: SparkSession, text: str, inputs: Sequence[InputFile], arguments: argparse.Namespace) -> DataFrame:
    """The rows of SQL text. An event query or a clause alone runs over the only input, or the table in its FROM."""
    from ostinato.spark.statements.statement import sql

    names = [table.name for table in inputs]
    given = {name: getattr(arguments, name) for name in ("match_id", "run_id", "emit")}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if is_event_text(text):
        query = events(text, **options)
        return spark.table(event_table(query, names)).transform(query)
    if first_token(text).upper in _CLAUSE_WORDS:
        return spark.table(_only_table(names)).transform(match_recognize(text, **options))
    return sql(text, spark=spark, **options)


def event_table(query: EventsQuery, tables: Sequence[str]) -> str:
    """The table that an event query reads: the one in its FROM, or the only input."""
    return _only_table(tables) if query.query.source is None else query.query.source


def _only_table(tables: Sequence[str]) -> str:
    if len(tables) != 1:
        raise UsageFault("INVALID_INPUT", "the query doesn't say which table it reads", hint="FROM name PATTERN ...")
    return tables[0]


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "use -e for a query on the command line" if " " in str(path) else None
        raise UsageFault("QUERY_MISSING", f"there is no file {path}", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageFault("QUERY_UNREADABLE", f"can't read {path}: {reason}") from None
