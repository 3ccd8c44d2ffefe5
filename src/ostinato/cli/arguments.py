"""Arguments of the command line -> the command and its options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import ostinato
from ostinato.cli.terminal import visible_lines

_EXIT_CODES = (
    "exit codes: 0 done, 1 error in the query or its data, 2 wrong usage, 3 the machine lacks something such as Java, "
    "4 unexpected error"
)
RUN_EXAMPLE = """\
  ostinato run --input trades=trades.csv -e "
    SELECT * FROM trades MATCH_RECOGNIZE (
      PARTITION BY symbol
      ORDER BY ts
      MEASURES FIRST(price) AS top, LAST(price) AS bottom, count(*) AS trades
      PATTERN (TOP FALL{2,})
      DEFINE FALL AS price < PREV(price)
    )"
"""


class _Parser(argparse.ArgumentParser):
    """Its errors quote arguments, which may contain control characters."""

    def error(self, message: str) -> NoReturn:
        super().error(visible_lines(message))


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The options; `command` is the function to call with them. Raises SystemExit like argparse."""
    parser: argparse.ArgumentParser = _Parser(
        prog="ostinato",
        description="SQL MATCH_RECOGNIZE and event-pattern queries for Apache Spark.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {ostinato.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_run(commands)
    _add_explain(commands)
    _add_rules(commands)
    _add_why_not(commands)
    _add_console(commands)
    _add_doctor(commands)
    _add_warm(commands)
    _add_archive(commands)
    _add_bench(commands)
    return parser.parse_args(argv)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.demo import run_demo

    parser = commands.add_parser(
        "demo",
        help="find three patterns in generated data and draw them on an HTML page",
        description="Finds three patterns in generated trades and card payments with Spark. Prints some of the matches "
        "and writes a page with charts, which a browser can open.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("ostinato-demo"), metavar="DIR", help="output folder (default: %(default)s)"
    )
    parser.add_argument(
        "--rows",
        type=at_least(600),
        default=200_000,
        metavar="N",
        help="number of trades to generate (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=7, help="seed of the generated data (default: %(default)s)")
    _add_debug(parser)
    parser.set_defaults(command=run_demo)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.html_report import add_html_arguments
    from ostinato.cli.queries import add_output_arguments
    from ostinato.cli.run import run_query
    from ostinato.cli.stream import add_stream_arguments

    parser = commands.add_parser(
        "run",
        help="run a query on files",
        description="Runs SQL with MATCH_RECOGNIZE on your files. Starts Spark on this machine for it.",
        epilog=f"""\
example: find falling prices in a file trades.csv that has a header line and the columns symbol, ts and price

{RUN_EXAMPLE}
{_EXIT_CODES}""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_query(parser)
    _add_input(parser)
    add_row_arguments(parser, "write the rows to a .parquet, .csv or .json file instead of printing them")
    add_output_arguments(parser)
    add_html_arguments(parser)
    add_stream_arguments(parser)
    _add_debug(parser)
    parser.set_defaults(command=run_query)


def add_row_arguments(parser: argparse.ArgumentParser, output: str) -> None:
    """Options of a command that prints rows or writes them. `output` is the help of --output."""
    parser.add_argument("--output", type=Path, metavar="PATH", help=output)
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="format of the printed rows (default: %(default)s); json prints one object in each line",
    )
    parser.add_argument(
        "--limit", type=at_least(0), metavar="N", help="print at most N rows (default: 20 for a table, else all)"
    )


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.explain import explain_query

    parser = commands.add_parser(
        "explain",
        help="explain how a query is run",
        description="Shows how Ostinato understands a query and how it would run it: the pattern, the automaton and "
        "the engine, with reasons. Doesn't run the query and doesn't start Spark.",
    )
    _add_query(parser)
    _add_input(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the automaton into an SVG file")
    _add_debug(parser)
    parser.set_defaults(command=explain_query)


def _add_rules(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.rule_commands.rules_arguments import add_rules_arguments

    parser = commands.add_parser(
        "rules",
        help="check, test, apply, backtest and run a folder of rule files",
        description="Rules as files: docs/rules-as-files.md. Only `run` starts Spark.",
    )
    add_rules_arguments(parser)


def _add_why_not(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.why_not import add_attempt_arguments, explain_attempts

    parser = commands.add_parser(
        "why-not",
        help="explain why rows don't match",
        description="Shows for the start rows of one key how far a clause came, and the conditions that refused the "
        "next row, with their values. Runs in this process and doesn't start Spark.",
    )
    _add_query(parser)
    _add_input(parser)
    add_attempt_arguments(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the attempts into an SVG file")
    _add_debug(parser)
    parser.set_defaults(command=explain_attempts)


def _add_console(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.console import add_console_arguments, run_console

    parser = commands.add_parser(
        "console",
        help="watch a running stream and its rules in a browser",
        description="Serves a local web page that shows matches as they come, open partial matches, lag, state and the "
        "rules of a stream. Reads folders and files; starts no Spark job. docs/console.md says more.",
    )
    add_console_arguments(parser)
    _add_debug(parser)
    parser.set_defaults(command=run_console)


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.doctor import run_doctor

    parser = commands.add_parser(
        "doctor",
        help="check this machine, its Spark and the workers",
        description="Checks Python, packages, Java, compiled kernels, the workers of a Spark session, and what streams "
        "need. Says how to mend what is missing. The exit code is 3 if queries can't run.",
    )
    parser.add_argument("--no-spark", action="store_true", help="start no Spark session: check this machine only")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="check the workers of this cluster (default: this machine)")
    where.add_argument("--remote", metavar="URL", help="check the workers behind this Spark Connect server")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a setting of the Spark session",
    )
    _add_debug(parser)
    parser.set_defaults(command=run_doctor)


def _add_warm(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.warm import warm

    parser = commands.add_parser(
        "warm",
        help="compile the kernels that aren't on disk yet, so that no query waits for the compiler",
        description="Compiles every kernel that isn't on disk yet. Run it once on a new machine: in an image, in an "
        "init script, or by hand. With a platform wheel there is nothing to compile.",
    )
    parser.add_argument(
        "--package",
        action="store_true",
        help="compile for every CPU of this architecture, and put the kernels into the installed package, for all its "
        "users (images, wheels)",
    )
    parser.add_argument("--clauses", action="store_true", help="only the kernels of MATCH_RECOGNIZE")
    _add_debug(parser)
    parser.set_defaults(command=warm)


def _add_archive(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.archive import write_package

    parser = commands.add_parser(
        "archive",
        help="write the installed package to a zip that Spark can send to its workers",
        description="Writes the installed package with its compiled kernels to a zip. addPyFile, addArtifacts and "
        "spark.archives send it to the workers of a cluster that doesn't have it: docs/deployment.md.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.zip", help="the zip to write")
    _add_debug(parser)
    parser.set_defaults(command=write_package)


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.bench import run_benchmarks

    parser = commands.add_parser(
        "bench",
        help="run benchmarks (needs a checkout of the project)",
        description="Runs the benchmarks of the project, like `python -m benchmarks NAME ...` in a checkout.",
    )
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="NAME ...",
        help="name of a benchmark and its options; --help lists them",
    )
    _add_debug(parser)
    parser.set_defaults(command=run_benchmarks)


def _add_query(parser: argparse.ArgumentParser) -> None:
    query = parser.add_mutually_exclusive_group(required=True)
    query.add_argument("query", nargs="?", metavar="q.sql", help="file with the query; - reads it from standard input")
    query.add_argument("-e", "--execute", metavar="SQL", help="the query itself, in place of a file")


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="name of a table in the query, and its file or folder: .parquet, .csv, .tsv or .jsonl, also with .gz; "
        "repeat the option for further tables",
    )


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="also show the Python stack trace of an error")


def _setting(words: str) -> tuple[str, str]:
    name, equals, value = words.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{words}' is not NAME=VALUE")
    return name, value


def at_least(least: int) -> Callable[[str], int]:
    def whole_number(words: str) -> int:
        try:
            number = int(words)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{words}' is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least:,}")
        return number

    return whole_number
