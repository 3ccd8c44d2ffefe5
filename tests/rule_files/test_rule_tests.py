"""Tests beside rules: the rows that a rule finds, what a failed test says, and errors that stop no other test."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rule_files.folders import LOGIN_PAY, checked

from ostinato.expressions.types import Settings
from ostinato.rule_files.ready_rule import ReadyRule
from ostinato.rule_files.rule_tests import ReasonFor, TestResult, TestRunner

PAYS = """
  - {user: ann, ts: 2024-03-01 09:00:00, kind: login}
  - {user: ann, ts: 2024-03-01 09:10:00, kind: pay, amount: 30}
"""
FUNNEL = "query: {steps: [login, pay], type: kind, within: 1 hour}"
EVENTS = "query: TYPE kind PATTERN SEQ(login l, pay p) RETURN MATCHES"
COUNTS = "query: TYPE kind PATTERN SEQ(login l, pay p) RETURN COUNT(*) AS n"


def run(folder: Path, tests: str, query: str = LOGIN_PAY, *, reason_for: ReasonFor | None = None) -> list[TestResult]:
    is_yaml = query.startswith("query:")
    text = f"{query}\ntests:\n{tests}" if is_yaml else f"---\ntests:\n{tests}\n---\n{query}"
    found = checked(folder, **{"a_yaml" if is_yaml else "a_sql": text})
    assert not found.has_errors, [str(problem) for problem in found.problems]
    (rule,) = found.rules
    return TestRunner(folder, found.folder.settings, reason_for).run(rule)


def case(events: str, more: str = "", kind: str = "should_match") -> str:
    return f"- {kind}: {events.replace(chr(10), chr(10) + '    ')}\n{more}"


@pytest.mark.parametrize("query", [LOGIN_PAY, FUNNEL, EVENTS])
def test_a_match_or_none(tmp_path: Path, query: str) -> None:
    other = PAYS.replace("login", "view")
    tests = [case(PAYS), case(other, kind="should_not_match"), case(other), case(PAYS, kind="should_not_match")]
    results = run(tmp_path, "\n".join(tests), query)
    assert [result.passed for result in results] == [True, True, False, False]
    assert results[2].failure == "the rule should match, and it doesn't"
    assert results[3].failure == "the rule should not match, and it does"
    assert len(results[3].diff.unexpected) == 1


def test_a_funnel_matches_if_an_attempt_takes_all_steps(tmp_path: Path) -> None:
    stops = PAYS.replace("kind: pay", "kind: view")
    row = "{level: 1, completed: false, pay_at: null}"
    tests = [case(stops), case(stops, kind="should_not_match"), case(stops, f"  expect: [{row}]")]
    results = run(tmp_path, "\n".join(tests), FUNNEL, reason_for=lambda *_: "why")
    assert [result.passed for result in results] == [False, True, True]
    assert (results[0].failure, results[0].reason) == ("the rule should match, and it doesn't", "why")
    both = f"{PAYS}  - {{user: bob, ts: 2024-03-01 09:00:00, kind: login}}\n"
    (failed,) = run(tmp_path, case(both, kind="should_not_match"), FUNNEL)
    assert [row["user"] for row in failed.diff.unexpected] == ["ann"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (LOGIN_PAY, "{user: ann, began: 2024-03-01 09:00:00, ended: 2024-03-01 09:10:00, total: 30}"),
        (f"SELECT total AS t, 2 * total AS u FROM x MATCH_RECOGNIZE ({LOGIN_PAY})", "{user: ann, t: 30, u: 60}"),
        (LOGIN_PAY.replace("sum(PAY.amount) AS total", "'x' AS began"), "{began: x, ended: 2024-03-01 09:10:00}"),
        (FUNNEL, "{user: ann, level: 2, completed: true, pay_at: 2024-03-01 09:10:00}"),
        (EVENTS, "{user: ann, match_number: 1, match_end: 2024-03-01 09:10:00}"),
        (COUNTS, "{user: ann, n: 1}"),
    ],
)
def test_the_columns_of_rows(tmp_path: Path, query: str, expected: str) -> None:
    (result,) = run(tmp_path, case(PAYS, f"  expect: [{expected}]"), query)
    assert result.passed, (result.failure, result.diff, result.error)


def test_a_difference_is_told(tmp_path: Path) -> None:
    (result,) = run(tmp_path, case(PAYS, "  expect: [{user: ann, total: 31}, {user: bob}]"))
    assert result.failure == "2 of 2 expected rows are missing, 1 of 1 found row is not expected"
    assert result.diff.missing[0].differs == ("total",)
    (near,) = run(tmp_path, case(PAYS, "  expect: [{user: ann, total: 30.4}]\n  tolerance: 0.5"))
    assert near.passed


def test_one_of_several_rows_is_missing(tmp_path: Path) -> None:
    (result,) = run(tmp_path, case(PAYS, "  expect: [{user: ann}, {user: bob}]"))
    assert result.failure == "1 of 2 expected rows is missing"


def test_rows_of_one_time_are_ordered_by_all_columns_as_on_a_stream(tmp_path: Path) -> None:
    tied = "[{user: u, ts: 2024-01-01 00:00:00, kind: b}, {user: u, ts: 2024-01-01 00:00:00, kind: a}]"
    query = "MEASURES A.kind AS first PATTERN (A B) DEFINE B AS B.ts >= A.ts"
    (result,) = run(tmp_path, case(tied, "  expect: [{first: a}]"), query)
    assert result.passed


def test_unmatched_rows_are_no_matches(tmp_path: Path) -> None:
    query = "MEASURES 1 AS x ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE B AS kind = 'b'"
    rows = "[{user: u, ts: 2024-01-01 00:00:00}, {user: u, ts: 2024-01-01 00:00:01}]"
    (result,) = run(tmp_path, case(rows, kind="should_not_match"), query)
    assert result.passed


@pytest.mark.parametrize(
    ("query", "events", "more", "words"),
    [
        (LOGIN_PAY, "[{usr: ann}]", "", "UNKNOWN_COLUMN"),
        (LOGIN_PAY, PAYS, "  expect: [{totl: 3}]", "UNKNOWN_COLUMN"),
        (LOGIN_PAY, PAYS, "  expect: [{total: many}]", "INVALID_TEST"),
        (LOGIN_PAY, "[{user: ann}]", "", "event 1 has no value in the time column 'ts'"),
        (LOGIN_PAY, "none.csv", "", "there is no file"),
        (LOGIN_PAY.replace("kind = 'login'", "1 / (n - 1) > 5"), PAYS.replace("login", "login, n: 1"), "", "DIVIDE"),
        (COUNTS, PAYS, "", "a test must expect rows"),
    ],
)
def test_a_test_that_cant_run(tmp_path: Path, query: str, events: str, more: str, words: str) -> None:
    wrong, good = run(tmp_path, case(events, more) + "\n" + case(PAYS, "  expect: [{user: ann}]"), query)
    assert wrong.failure == "the test can't run"
    assert words in str(wrong.error)
    assert good.passed or "DIVIDE" in words


def test_the_reason_why_nothing_matched(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    def reason_for(rule: ReadyRule, events: object, settings: Settings) -> str:
        assert settings.timezone == "UTC"
        asked.append((rule.file.id, len(events)))  # type: ignore[arg-type]
        return "no row is LOGIN"

    other = PAYS.replace("login", "view")
    tests = [case(other), case(other, "  expect: [{user: ann}]"), case(PAYS, "  expect: [{user: bob}]"), case(PAYS)]
    results = run(tmp_path, "\n".join(tests), reason_for=reason_for)
    assert [result.reason for result in results] == ["no row is LOGIN", "no row is LOGIN", None, None]
    assert asked == [("a", 2), ("a", 2)]
