"""The arguments of `ostinato rules check | test | apply | backtest | from-sigma | run`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_rules_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the sub-commands with their options."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_check(commands)
    _add_test(commands)
    _add_apply(commands)
    _add_backtest(commands)
    _add_from_sigma(commands)
    _add_run(commands)


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="parse, type and lint the rules of a folder",
        description="Reads all rule files of a folder, parses and types their queries, and warns of probable mistakes: "
        "state without bound, conditions that no row can meet, names that hide others. Runs no query. The exit code "
        "is 1 if a rule has an error.",
    )
    _add_folder(parser)
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    _add_format(parser)
    parser.set_defaults(command=_check)


def _add_test(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        help="run the tests beside the rules, without Spark",
        description="Runs the tests in the rule files in this process, and shows the rows that differ from the "
        "expected ones. The exit code is 1 if a test fails or a rule has an error.",
    )
    _add_folder(parser)
    parser.add_argument("--rule", action="append", default=[], metavar="ID", help="only this rule; may be repeated")
    _add_format(parser, "text", "json", "junit")
    parser.set_defaults(command=_test)


def _add_apply(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "apply",
        help="write new and changed rules to the change log that streams follow",
        description="Compares the rules of a folder with a change log, and writes a new version of each rule whose "
        "text, options or enabled changed. Streams of ost.rules follow the log. A rule with an error isn't written, "
        "the others are, and the exit code is 1.",
    )
    _add_folder(parser)
    parser.add_argument("--log", type=Path, required=True, metavar="FOLDER", help="the folder of the change log")
    parser.add_argument("--dry-run", action="store_true", help="print the plan, and write nothing")
    parser.add_argument(
        "--remove-missing", action="store_true", help="remove rules from the log that aren't in the folder any more"
    )
    parser.set_defaults(command=_apply)


def _add_backtest(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "backtest",
        help="run the rules over an archive: hits by rule and day",
        description="Runs the rules of a folder over an archive in this process. Prints the hits by rule and day, and "
        "the processor time of each rule; with --compare, also the matches that another version of the folder doesn't "
        "find, or that only it finds. The exit code is 1 if a rule has an error.",
    )
    _add_path(parser)
    parser.add_argument("--input", required=True, metavar="PATH", help="the archive: .parquet, .csv, .tsv or .jsonl")
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="the version of the folder before")
    _add_format(parser)
    parser.set_defaults(command=_backtest)


def _add_from_sigma(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "from-sigma",
        help="translate Sigma rules into rule files",
        description="Translates Sigma rules into rule files, with their correlations: docs/sigma.md. A rule that can't "
        "be translated is named with the reason, the others are written, and the exit code is 1.",
    )
    parser.add_argument("sigma", type=Path, metavar="SIGMA", help="a folder of Sigma rules, or a file")
    _add_path(parser)
    parser.add_argument(
        "--time", action="append", metavar="COLUMN", help="the column that orders events (default: timestamp)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that have another content")
    parser.set_defaults(command=_from_sigma)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from ostinato.cli.arguments import add_row_arguments
    from ostinato.cli.stream import add_stream_arguments

    parser = commands.add_parser(
        "run",
        help="run the rules on Spark, over files or over a stream of files",
        description="Runs the enabled rules of a folder on Spark, on this machine. Rules with the same keys and order "
        "share one operator, and each event query has its own. All rows have the same columns, among them the rule "
        "and its severity. A rule that fails stops no other one; the exit code is then 1.",
    )
    _add_path(parser)
    parser.add_argument(
        "--input",
        required=True,
        metavar="PATH",
        help="the events: .parquet, .csv, .tsv or .jsonl; with --stream a folder that receives such files",
    )
    add_row_arguments(
        parser,
        "write the rows to a .parquet, .csv or .json file instead of printing them; with --stream, to a folder of JSON "
        "lines",
    )
    add_stream_arguments(parser)
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FOLDER",
        help="with --stream: follow this change log of `ostinato rules apply` in place of the folder's own rules",
    )
    parser.set_defaults(command=_run)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    _add_path(parser)
    schema = parser.add_mutually_exclusive_group()
    schema.add_argument(
        "--schema", type=Path, metavar="FILE", help="the input's columns, a YAML mapping such as user: string"
    )
    schema.add_argument(
        "--input", metavar="PATH", help="a table with the input's columns: .parquet, .csv, .tsv or .jsonl"
    )


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of rule files (*.sql, *.yaml, *.yml)")
    parser.add_argument("--debug", action="store_true", help="also show the Python stack trace of an error")


def _add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    formats = formats or ("text", "json")
    parser.add_argument("--format", choices=formats, default="text", help="form of the report (default: %(default)s)")


# The commands are imported when they run: other commands start faster without them.


def _check(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_check import check_rules

    return check_rules(options)


def _test(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_test import test_rules

    return test_rules(options)


def _apply(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_apply import apply_rules

    return apply_rules(options)


def _backtest(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_backtest import backtest_rules

    return backtest_rules(options)


def _from_sigma(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_from_sigma import rules_from_sigma

    return rules_from_sigma(options)


def _run(options: argparse.Namespace) -> int:
    from ostinato.cli.rule_commands.rules_run import run_rules

    return run_rules(options)
