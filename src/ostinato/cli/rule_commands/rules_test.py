"""`ostinato rules test`: a folder of rules -> the results of the tests in its files. Runs in this process, no JVM."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ostinato.calls.interruptible import interruptible
from ostinato.cli.failures import ExitCode, UsageFault
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.rule_commands.rules_folder import as_values, checked_folder, counted, print_problems
from ostinato.cli.rule_commands.rules_junit import junit_xml
from ostinato.cli.rule_commands.rules_reasons import reason_for
from ostinato.cli.rule_commands.rules_results import failure_lines
from ostinato.cli.terminal import say
from ostinato.errors import did_you_mean
from ostinato.rule_files.checks import CheckedFolder
from ostinato.rule_files.rule_tests import TestResult, TestRunner


def test_rules(options: argparse.Namespace) -> int:
    """Prints the tests that fail. The exit code is 1 if there is one, or if a rule has an error."""
    with progress_on_stderr()("checking and testing rules"):
        checked = checked_folder(options)
        chosen = _chosen(checked, options.rule)
        runner = TestRunner(checked.folder.root, checked.folder.settings, reason_for)
        rules = [rule for rule in checked.rules if rule.file.id in chosen]
        results = interruptible(lambda: [result for rule in rules for result in runner.run(rule)])
    paths = {rule.path: rule.id for rule in checked.folder.rules}
    errors = [one for one in checked.problems if one.level == "error" and paths.get(one.path) in {None, *chosen}]
    if options.format == "json":
        print(json.dumps({"errors": [as_values(one) for one in errors], "tests": [*map(_values, results)]}, indent=2))
    elif options.format == "junit":
        print(junit_xml(errors, results))
    else:
        print_problems(errors)
        for result in results:
            if not result.passed:
                say("\n".join(failure_lines(result)) + "\n")
        say(_summary(checked, results, chosen))
    return ExitCode.QUERY if errors or not all(result.passed for result in results) else ExitCode.DONE


test_rules.__test__ = False  # type: ignore[attr-defined]  # for pytest


def _chosen(checked: CheckedFolder, wanted: list[str]) -> set[str]:
    known = {rule.id for rule in checked.folder.rules}
    for name in wanted:
        if name not in known:
            raise UsageFault(
                "UNKNOWN_RULE", f"no rule of the folder has the id '{name}'", hint=did_you_mean(name, known)
            )
    return set(wanted) or known


def _summary(checked: CheckedFolder, results: list[TestResult], chosen: set[str]) -> str:
    failed = sum(not result.passed for result in results)
    untested = sum(not rule.tests for rule in checked.folder.rules if rule.id in chosen)
    words = f"{counted(len(chosen), 'rule')}, {counted(len(results), 'test')}: {len(results) - failed:,} passed"
    words += f", {failed:,} failed" if failed else ""
    return words + (f"; {counted(untested, 'rule')} without tests" if untested else "")


def _values(result: TestResult) -> dict[str, Any]:
    return {
        "rule": result.rule.file.id,
        "test": result.test.name,
        "path": result.rule.file.path,
        "line": result.test.line,
        "passed": result.passed,
        "failure": None if result.passed else "\n".join(failure_lines(result)),
    }
