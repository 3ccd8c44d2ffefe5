"""Arguments of the command line -> the command and its options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import ostinato

_EXIT_CODES = (
    "exit codes: 0 done, 1 error in the query or its data, 2 wrong usage, 3 no Java or pyspark, 4 unexpected error"
)


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The options; `command` is the function to call with them. Raises SystemExit like argparse."""
    parser = argparse.ArgumentParser(
        prog="ostinato",
        description="SQL MATCH_RECOGNIZE and event-pattern queries for Apache Spark.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {ostinato.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_run(commands)
    _add_explain(commands)
    _add_bench(commands)
    return parser.parse_args(argv)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.demo import run_demo

    parser = commands.add_parser(
        "demo",
        help="find three patterns in generated data and write an HTML report",
        description="Finds three patterns in generated trades and card payments with Spark. Writes an HTML report.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("ostinato-demo"), metavar="DIR", help="output folder (default: %(default)s)"
    )
    parser.add_argument(
        "--rows",
        type=_at_least(600),
        default=200_000,
        metavar="N",
        help="number of trades to generate (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=7, help="seed of the generated data (default: %(default)s)")
    _add_debug(parser)
    parser.set_defaults(command=run_demo)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.html_report import add_html_arguments
    from ostinato.cli.run import run_query
    from ostinato.cli.stream import add_stream_arguments

    parser = commands.add_parser(
        "run",
        help="run a query on files",
        description="Runs SQL with MATCH_RECOGNIZE on Parquet, CSV or JSON files, with a local Spark.",
        epilog=_EXIT_CODES,
    )
    _add_query(parser)
    _add_input(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="write the rows to a .parquet, .csv or .json file instead of printing them",
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="format of the printed rows (default: %(default)s); json prints one object a line",
    )
    parser.add_argument(
        "--limit", type=_at_least(0), metavar="N", help="print at most N rows (default: 20 for a table, else all)"
    )
    add_html_arguments(parser)
    add_stream_arguments(parser)
    _add_debug(parser)
    parser.set_defaults(command=run_query)


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.explain import explain_query

    parser = commands.add_parser(
        "explain",
        help="explain how a query is run",
        description="Shows the pattern, the automaton and the engine of a query, with reasons. Reads no rows.",
    )
    _add_query(parser)
    _add_input(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the automaton into an SVG file")
    _add_debug(parser)
    parser.set_defaults(command=explain_query)


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.bench import run_benchmarks

    parser = commands.add_parser(
        "bench",
        help="run benchmarks (needs a checkout of the project)",
        description="Runs the benchmarks of the project, like `python -m benchmarks NAME ...` in a checkout.",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="NAME ...", help="arguments of the benchmarks")
    _add_debug(parser)
    parser.set_defaults(command=run_benchmarks)


def _add_query(parser: argparse.ArgumentParser) -> None:
    query = parser.add_mutually_exclusive_group(required=True)
    query.add_argument("query", nargs="?", metavar="q.sql", help="file with the query; - reads it from stdin")
    query.add_argument("-e", "--execute", metavar="SQL", help="text of the query")


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="table of the query: a .parquet, .csv, .tsv or .json file or folder; one option for each table",
    )


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show stack traces")


def _at_least(least: int) -> Callable[[str], int]:
    def whole_number(words: str) -> int:
        try:
            number = int(words)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{words}' is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least:,}")
        return number

    return whole_number
