"""`ostinato rules check`: a folder of rules -> its errors and warnings."""

from __future__ import annotations

import argparse
import json

from ostinato.cli.failures import ExitCode
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import as_values, checked_folder, counted, print_problems
from ostinato.cli.terminal import say
from ostinato.rule_files.checks import CheckedFolder


def check_rules(options: argparse.Namespace) -> int:
    """Prints all problems. The exit code is 1 if there is an error, with --strict also for a warning."""
    with progress_on_stderr()("checking rules"):
        checked = checked_folder(options)
    errors = sum(problem.level == "error" for problem in checked.problems)
    warnings = len(checked.problems) - errors
    if options.format == "json":
        print(json.dumps([as_values(problem) for problem in checked.problems], indent=2))
    else:
        print_problems(checked.problems)
        say(f"{_rules(checked)}: {counted(errors, 'error')}, {counted(warnings, 'warning')}")
        if checked.folder.settings.schema is None:
            say("names and types of columns weren't checked: declare schema: in rules.yaml, or use --schema or --input")
    return ExitCode.QUERY if errors or (options.strict and warnings) else ExitCode.DONE


def _rules(checked: CheckedFolder) -> str:
    return counted(len(checked.folder.rules) + len(checked.folder.broken), "rule")
