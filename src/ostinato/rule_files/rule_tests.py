"""The tests of a rule -> their results. Each runs in this process, with the keys and the time of the rule. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ostinato.errors import OstinatoError, QueryError, held_warnings
from ostinato.expressions.types import Settings
from ostinato.rule_files.event_tables import events_table
from ostinato.rule_files.ready_rule import CompiledEvents, ReadyRule, compile_over
from ostinato.rule_files.row_diff import RowDiff, row_diff
from ostinato.rule_files.rule_file import FolderSettings, RuleTest
from ostinato.rule_files.rule_run import check_times, completed, found_rows
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.rule_errors import as_error_of_rule

ReasonFor = Callable[[ReadyRule, pa.Table, Settings], str | None]
"""The rule, the events of a test in which it matched nothing, and the settings of the folder -> why it didn't, in a few
lines; None: no reason."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test of one rule. It passed if there is no failure."""

    __test__ = False  # for pytest
    rule: ReadyRule
    test: RuleTest
    failure: str | None = None
    """One line that says what is wrong."""
    diff: RowDiff = field(default_factory=RowDiff)
    error: OstinatoError | None = None
    reason: str | None = None
    """Why nothing matched."""

    @property
    def passed(self) -> bool:
        return self.failure is None


@dataclass(slots=True)
class TestRunner:
    """Runs tests of the rules of one folder. A rule is compiled once for all tests over one schema."""

    __test__ = False
    root: Path
    shared: FolderSettings
    reason_for: ReasonFor | None = None

    def run(self, rule: ReadyRule) -> list[TestResult]:
        """The results of all tests of a rule. An error in one of them doesn't stop the others."""
        compiled: dict[pa.Schema, CompiledRule | CompiledEvents] = {}
        if self.shared.schema is not None and rule.compiled is not None:
            compiled[self.shared.schema] = rule.compiled
        return [self._result(rule, test, compiled) for test in rule.file.tests]

    def _result(
        self, rule: ReadyRule, test: RuleTest, compiled: dict[pa.Schema, CompiledRule | CompiledEvents]
    ) -> TestResult:
        try:
            return self._judged(rule, test, compiled)
        except Exception as error:
            ours = as_error_of_rule(error)
            rule.file.query.in_file(ours)
            return TestResult(rule, test, "the test can't run", error=ours)

    def _judged(
        self, rule: ReadyRule, test: RuleTest, compiled: dict[pa.Schema, CompiledRule | CompiledEvents]
    ) -> TestResult:
        settings = self.shared.settings
        events = events_table(test, self.root, rule.file.path, self.shared.schema, settings)
        if events.schema not in compiled:
            compiled[events.schema] = compile_over(rule, events.schema, settings)
        runs = compiled[events.schema]
        _check_decidable(runs, test)
        for name in events.column_names:
            if name.lower() == rule.time[0].lower():
                check_times(events, name)
        with held_warnings():  # a type that no event has is no surprise in a test
            found = found_rows(runs, events)
        if test.expected is not None:
            diff = row_diff(test.expected, found, settings, test.tolerance)
            if not diff:
                return TestResult(rule, test)
            reason = None if found.num_rows else self._reason(rule, events)
            return TestResult(rule, test, _difference(test, found, diff), diff, reason=reason)
        found = completed(runs, found)
        if test.should_match and not found.num_rows:
            return TestResult(rule, test, "the rule should match, and it doesn't", reason=self._reason(rule, events))
        if not test.should_match and found.num_rows:
            failure = "the rule should not match, and it does"
            return TestResult(rule, test, failure, RowDiff(unexpected=tuple(found.to_pylist())))
        return TestResult(rule, test)

    def _reason(self, rule: ReadyRule, events: pa.Table) -> str | None:
        return None if self.reason_for is None else self.reason_for(rule, events, self.shared.settings)


def _check_decidable(runs: CompiledRule | CompiledEvents, test: RuleTest) -> None:
    if isinstance(runs, CompiledEvents) and not runs.returns_matches and test.expected is None:
        message = "an event query with aggregates gives rows for any events, so a test must expect rows"
        raise QueryError("INVALID_TEST", message, hint="should_match with expect:, or RETURN MATCHES")


def _difference(test: RuleTest, found: pa.Table, diff: RowDiff) -> str:
    expected = len(test.expected or ())
    missing = f"{_rows_are(len(diff.missing), expected, 'expected')} missing"
    unexpected = f"{_rows_are(len(diff.unexpected), found.num_rows, 'found')} not expected"
    return ", ".join(words for words, there in ((missing, diff.missing), (unexpected, diff.unexpected)) if there)


def _rows_are(count: int, total: int, kind: str) -> str:
    """Subject and verb.

    >>> _rows_are(1, 3, "expected"), _rows_are(1, 1, "found")
    ('1 of 3 expected rows is', '1 of 1 found row is')
    """
    return f"{count} of {total} {kind} row{'' if total == 1 else 's'} {'is' if count == 1 else 'are'}"
