"""`ostinato rules from-sigma`: a folder of Sigma rules -> rule files, and the rules that aren't translated."""

from __future__ import annotations

import argparse

from ostinato.cli.failures import ExitCode
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import counted
from ostinato.cli.terminal import say, visible
from ostinato.sigma_rules import read_sigma, write_rule_files


def rules_from_sigma(options: argparse.Namespace) -> int:
    """Writes the files, and prints problems. The exit code is 1 if a rule isn't translated."""
    with progress_on_stderr()("translating Sigma rules"):
        rules = read_sigma(options.sigma, time=options.time or "timestamp")
        options.folder.mkdir(parents=True, exist_ok=True)
        files = write_rule_files(rules, options.folder, overwrite=options.overwrite)
    refused = [rule for rule in rules if rule.problems]
    for rule in refused:
        for problem in rule.problems:
            say(visible(f"{rule.source}: {rule.id}: {problem}"))
    say(f"{counted(len(files), 'rule')} written to {options.folder}; {len(refused)} not translated")
    for rule in rules:
        for name, sql in rule.computed_columns.items() if rule.query else ():
            say(visible(f"{rule.id} needs the column {name}: {sql}"))
    return ExitCode.QUERY if refused else ExitCode.DONE
