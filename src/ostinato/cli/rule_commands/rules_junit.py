"""Results of rule tests -> JUnit's XML, which continuous integration shows."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from ostinato.cli.rule_commands.rules_results import failure_lines
from ostinato.cli.terminal import visible, visible_lines
from ostinato.rule_files.problems import Problem
from ostinato.rule_files.rule_tests import TestResult


def junit_xml(errors: Sequence[Problem], results: Sequence[TestResult]) -> str:
    """One test case for each test, and one for each error of a rule file.

    >>> junit_xml([], [])
    '<testsuite name="ostinato rules" tests="0" failures="0" errors="0" />'
    """
    failed = sum(not result.passed for result in results)
    counts = {"tests": len(results) + len(errors), "failures": failed, "errors": len(errors)}
    suite = ElementTree.Element(
        "testsuite", {"name": "ostinato rules", **{name: str(count) for name, count in counts.items()}}
    )
    for problem in errors:
        case = _case(suite, problem.path, "check", problem.path, problem.line)
        _told(case, "error", problem.error.one_line(), str(problem))
    for result in results:
        rule, test = result.rule.file, result.test
        case = _case(suite, rule.id, test.name, rule.path, test.line)
        if result.failure is not None:
            _told(case, "failure", result.failure, "\n".join(failure_lines(result)))
    return ElementTree.tostring(suite, encoding="unicode")


def _case(suite: ElementTree.Element, group: str, name: str, path: str, line: int | None) -> ElementTree.Element:
    values = {"classname": group, "name": name, "file": path, **({} if line is None else {"line": str(line)})}
    return ElementTree.SubElement(suite, "testcase", {key: visible(value) for key, value in values.items()})


def _told(case: ElementTree.Element, kind: str, message: str, text: str) -> None:
    """XML has no control characters, so they are escaped."""
    ElementTree.SubElement(case, kind, {"message": visible_lines(message)}).text = visible_lines(text)
