"""A failed test of a rule -> lines of text: the rows that differ, the error, the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostinato.cli.rule_commands.rules_folder import counted
from ostinato.cli.terminal import visible
from ostinato.cli.text_table import cell_text
from ostinato.rule_files.rule_tests import TestResult

_MOST_ROWS = 10
"""Rows of each kind that a failed test shows."""


def failure_lines(result: TestResult) -> Iterator[str]:
    """The failed test, the rows that differ, and the reason."""
    rule, test = result.rule.file, result.test
    yield f"{visible(rule.path)}:{test.line}: FAILED: {visible(rule.id)}: {visible(test.name)}"
    yield f"  {result.failure}"
    if result.error is not None:
        yield from (f"  {line}" for line in str(result.error).splitlines())
    for missing in result.diff.missing[:_MOST_ROWS]:
        yield f"  missing     {_cells(missing.expected)}"
        if missing.nearest is not None:
            yield f"    nearest   {_cells(missing.nearest, missing.expected)}"
            for name in missing.differs:
                found, expected = cell_text(missing.nearest[name]), cell_text(missing.expected[name])
                yield f"    differs   {visible(name)}: expected {expected}, found {found}"
    for row in result.diff.unexpected[:_MOST_ROWS]:
        yield f"  unexpected  {_cells(row)}"
    more = max(len(result.diff.missing) - _MOST_ROWS, 0) + max(len(result.diff.unexpected) - _MOST_ROWS, 0)
    if more:
        yield f"  … {counted(more, 'more row')}"
    if result.reason is not None:
        yield "  why:"
        yield from (f"  {line}" for line in result.reason.splitlines())


def _cells(row: Mapping[str, Any], only: Mapping[str, Any] | None = None) -> str:
    names = row if only is None else only
    return ", ".join(f"{visible(name)}: {cell_text(row[name])}" for name in names)
