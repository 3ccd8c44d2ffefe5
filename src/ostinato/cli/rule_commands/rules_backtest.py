"""`ostinato rules backtest`: a folder of rules + an archive -> hits by rule and day, and what another version found."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ostinato.calls.interruptible import interruptible
from ostinato.cli.arrow_inputs import input_rows
from ostinato.cli.failures import ExitCode
from ostinato.cli.files import parse_inputs
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import as_values, print_problems
from ostinato.cli.terminal import say
from ostinato.cli.text_table import cell_text, text_table
from ostinato.rule_files.backtest import HitsDifference, RuleHits, archive_table, backtest, day_order, differences
from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.problems import Problem
from ostinato.rule_files.rule_folder import check_has_rules, read_folder
from ostinato.rule_sets.rule_columns import SUPPRESSED

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import pyarrow as pa

_NO_TIME = "no time"
"""The day of empty matches."""
_MOST_DAYS = 40
_MOST_MATCHES = 20
"""Rows of tables as text. JSON has all of them."""


def backtest_rules(options: argparse.Namespace) -> int:
    """Prints the hits. The exit code is 1 if a rule has an error; differences don't fail."""
    (source,) = parse_inputs([f"archive={options.input}"])
    progress = progress_on_stderr()
    with progress("reading the archive"):
        rows = input_rows(source)
    with progress("running rules"):
        hits, problems = _hits(options.folder, rows)
    compared: list[HitsDifference] = []
    if options.compare is not None:
        with progress("running the rules to compare with"):
            before, others = _hits(options.compare, rows)
        compared = differences(before, hits)
        problems += others
    if options.format == "json":
        print(json.dumps(_values(hits, compared, problems), indent=2))
    else:
        print_problems(problems)
        say("\n\n".join(_tables(hits, compared)))
    return ExitCode.QUERY if problems else ExitCode.DONE


def _hits(folder: Path, rows: pa.Table) -> tuple[list[RuleHits], list[Problem]]:
    """The hits of the rules that are on, and the errors of all."""
    read = read_folder(folder)
    check_has_rules(read)
    schema, settings = read.settings.schema, read.settings.settings
    archive = archive_table(rows, None if schema is None else schema.names, settings)
    checked = check_folder(read, archive.schema)
    hits = interruptible(lambda: backtest([rule for rule in checked.rules if rule.file.enabled], archive))
    problems = [problem for problem in checked.problems if problem.level == "error"]
    problems += [Problem(one.rule.file.path, None, one.error) for one in hits if one.error is not None]
    return hits, problems


def _tables(hits: Sequence[RuleHits], compared: Sequence[HitsDifference]) -> Iterator[str]:
    width = shutil.get_terminal_size((120, 24)).columns
    summary = []
    for one in hits:
        if one.matches is not None and one.shown is not None:
            days, hidden = len(one.by_day().keys() - {None}), one.matches.num_rows - one.shown.num_rows
            file = one.rule.file
            summary.append([file.id, file.severity, one.shown.num_rows, hidden, days, round(one.seconds, 3)])
    yield text_table(["rule", "severity", "hits", "suppressed", "days", "seconds"], summary, width=width)
    by_day = [(day, one.rule.file.id, count) for one in hits for day, count in one.by_day().items()]
    by_day.sort(key=lambda row: (day_order(row[0]), row[1]))
    yield text_table(
        ["day", "rule", "hits"],
        [[_day(day), id, count] for day, id, count in by_day[:_MOST_DAYS]],
        width=width,
        left_out=max(len(by_day) - _MOST_DAYS, 0),
    )
    if compared:
        rows = [[one.rule, one.new.num_rows, one.lost.num_rows, one.unchanged] for one in compared]
        yield text_table(["rule", "new", "lost", "unchanged"], rows, width=width)
        yield from (_matches(one.rule, words, table, width) for one in compared for words, table in _sides(one))


def _day(day: date | None) -> str:
    return _NO_TIME if day is None else str(day)


def _sides(difference: HitsDifference) -> Iterator[tuple[str, pa.Table]]:
    for words, table in (("new", difference.new), ("lost", difference.lost)):
        if table.num_rows:
            yield words, table.drop_columns([SUPPRESSED])


def _matches(rule: str, words: str, table: pa.Table, width: int) -> str:
    rows = [list(row.values()) for row in table.slice(0, _MOST_MATCHES).to_pylist()]
    left_out = max(table.num_rows - _MOST_MATCHES, 0)
    return f"{words} matches of {rule}\n{text_table(table.column_names, rows, width=width, left_out=left_out)}"


def _values(hits: Sequence[RuleHits], compared: Sequence[HitsDifference], problems: Sequence[Problem]) -> Any:
    return {
        "errors": [as_values(problem) for problem in problems],
        "rules": [
            {
                "rule": one.rule.file.id,
                "severity": one.rule.file.severity,
                "hits": one.shown.num_rows,
                "suppressed": one.matches.num_rows - one.shown.num_rows,
                "by_day": {_day(day): count for day, count in one.by_day().items()},
                "seconds": one.seconds,
            }
            for one in hits
            if one.matches is not None and one.shown is not None
        ],
        "differences": [
            {
                "rule": one.rule,
                "unchanged": one.unchanged,
                **{words: _rows(table) for words, table in (("new", one.new), ("lost", one.lost))},
            }
            for one in compared
        ],
    }


def _rows(table: pa.Table) -> list[dict[str, str | None]]:
    rows = table.drop_columns([SUPPRESSED]).to_pylist()
    return [{name: None if value is None else cell_text(value, str) for name, value in row.items()} for row in rows]
