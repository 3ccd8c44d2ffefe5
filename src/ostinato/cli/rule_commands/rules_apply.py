"""`ostinato rules apply`: a folder of rules + a change log -> new versions in the log, and the plan as text."""

from __future__ import annotations

import argparse

from ostinato.cli.failures import ExitCode, UsageFault
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import checked_folder, counted, print_problems
from ostinato.cli.terminal import say, visible
from ostinato.rule_files.applying import plan_changes, write_changes
from ostinato.rule_files.problems import Problem
from ostinato.rule_sets.change_files import read_log

_ELSEWHERE = "apply to a folder of this machine, and upload its new files under the same names"


def apply_rules(options: argparse.Namespace) -> int:
    """Prints the errors and the plan, and writes the changes. The exit code is 1 if a rule has an error."""
    if "://" in str(options.log) or ":/" in str(options.log):
        raise UsageFault("LOG_NOT_WRITABLE", f"{options.log} isn't a folder of this machine", hint=_ELSEWHERE)
    if options.log.exists() and not options.log.is_dir():
        raise UsageFault("OUTPUT_IS_FILE", f"{options.log} is a file, and a change log is a folder")
    with progress_on_stderr()("comparing rules with the log"):
        checked = checked_folder(options)
        log = read_log(options.log)
        plan = plan_changes(checked, log, remove_missing=options.remove_missing)
    errors = [problem for problem in checked.problems if problem.level == "error"] + list(plan.problems)
    print_problems(errors)
    print_problems(Problem(str(options.log / name), None, fault, "warning") for name, fault in log.faults.items())
    for line in plan.lines:
        say(visible(str(line)))
    changes = sum(line.change is not None for line in plan.lines)
    if options.dry_run:
        say(f"{counted(changes, 'change')} to write; nothing is written, because this is a dry run")
        return ExitCode.QUERY if errors else ExitCode.DONE
    failed = write_changes(plan, options.log)
    for error in failed.values():
        say(str(error))
    say(f"{counted(changes - len(failed), 'change')} written to {options.log}")
    return ExitCode.QUERY if errors or failed else ExitCode.DONE
