"""Options of `ostinato rules` -> the checked folder; problems -> lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from ostinato.cli.arrow_inputs import input_schema
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import parse_inputs
from ostinato.cli.terminal import say, visible
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.rule_files.checks import CheckedFolder, check_folder
from ostinato.rule_files.folder_settings import read_schema
from ostinato.rule_files.problems import Problem, Problems
from ostinato.rule_files.rule_folder import check_has_rules, file_text, read_folder
from ostinato.rule_files.yaml_values import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def checked_folder(options: argparse.Namespace) -> CheckedFolder:
    """Reads and checks the folder, which has a rule. Raises the errors of the folder and of the schema, not those of
    rules."""
    folder = read_folder(options.folder)
    check_has_rules(folder)
    return check_folder(folder, _schema(options, folder.settings.settings))


def _schema(options: argparse.Namespace, settings: Settings) -> pa.Schema | None:
    if options.input is not None:
        (table,) = parse_inputs([f"input={options.input}"])
        return input_schema(table)
    return None if options.schema is None else _schema_of_file(options.schema, settings)


def _schema_of_file(path: Path, settings: Settings) -> pa.Schema:
    """The columns from a YAML or JSON file. Its first error is that of the call."""
    if not path.is_file():
        raise UsageFault("INPUT_MISSING", f"there is no file {path} (for --schema)")
    problems, schema = Problems(str(path)), None
    file = path.resolve()  # unlike a rule, the file may be a link
    with problems.caught():
        document = read_yaml(file_text(file.parent, file.name))
        schema = read_schema(document.value, document, (), settings, problems)
    for problem in problems.found:
        error, line = problem.error, "" if problem.line is None else f":{problem.line}"
        raise QueryError(error.code, f"{path}{line}: {error.message}", hint=error.hint)
    assert schema is not None
    return schema


def print_problems(problems: Iterable[Problem], file: TextIO | None = None) -> None:
    for problem in problems:
        say(f"{replace(problem, path=visible(problem.path))}\n", file)


def counted(count: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "rule"), counted(1_200, "error")
    ('1 rule', '1,200 errors')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def as_values(problem: Problem) -> dict[str, Any]:
    """The problem for JSON."""
    return {
        "path": problem.path,
        "line": problem.line,
        "level": problem.level,
        "code": problem.error.code,
        "message": problem.error.message,
        "hint": problem.error.hint,
    }
