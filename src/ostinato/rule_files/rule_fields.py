"""The fields of a rule file as plain values -> RuleFile. Each field is checked; all errors are collected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeVar, get_args

from ostinato.calls.options import a_text, column_names, is_number, known_names, one_of, shown
from ostinato.calls.shown_objects import shortened
from ostinato.errors import did_you_mean
from ostinato.rule_files.problems import Problems
from ostinato.rule_files.rule_file import RuleFile, RuleTest, RuleText, Severity
from ostinato.rule_files.yaml_values import Document, file_fault
from ostinato.rule_sets.rule_changes import MOST_ID_CHARACTERS, RuleChange, RuleOptions

T = TypeVar("T")
_TEXT_FIELDS = ("id", "title", "description", "owner")
_SUPPRESS = "suppress: 1 hour by user"
_NO_QUERY = "the rule has no query"
_OPTION_FIELDS = ("start", "at_end", "max_partial_matches", "max_state_bytes", "max_errors")
"""The change log also has `suppress`, which is a field of its own here, and the reason of a suspension."""
FIELDS = (
    *("id", "title", "description", "severity", "tags", "owner", "keys", "time"),
    *("query", "enabled", "suppress", "options", "tests"),
)
TEST_FIELDS = ("name", "should_match", "should_not_match", "expect", "tolerance")


def read_rule_file(path: str, document: Document, query: RuleText | None, problems: Problems) -> RuleFile | None:
    """The rule, or None if a field is wrong; then `problems` says why.

    `query` is the text below the front matter; None for a YAML file, where the query is a field.
    """
    values = {} if document.value is None else document.value
    with problems.caught(document.line() or 1):
        if not isinstance(values, dict):
            raise file_fault(f"a rule is a mapping of fields, not {shown(values)}", document.line(), hint="id: my-rule")
        return _rule(path, values, document, query, problems)
    return None


def _rule(
    path: str, values: Mapping[str, Any], document: Document, below: RuleText | None, problems: Problems
) -> RuleFile | None:
    check_fields(values, FIELDS, document, problems)

    def field(name: str, read: Callable[[str, Any], T], default: T) -> T:
        if values.get(name) is None:
            return default
        with problems.caught(document.line(name)):
            if name in _TEXT_FIELDS:
                _check_text(name, document)
            return read(name, values[name])
        return default

    query = RuleText("", 1)
    with problems.caught(document.line("query") or 1):
        query = _query(values.get("query"), document, below)
    rule = RuleFile(
        path,
        field("id", _read_id, PurePosixPath(path).stem),
        query,
        field("title", a_text, None),
        field("description", a_text, None),
        field("severity", _severity, None),
        field("tags", lambda name, value: _texts(name, value, document), ()),
        field("owner", a_text, None),
        field("keys", column_names, None),
        field("time", column_names, None),
        field("enabled", _flag, True),
        field("suppress", _suppress, None),
        document.line("suppress"),
        field("options", _options, RuleOptions()),
        _tests(values.get("tests"), document, problems),
    )
    return None if problems.has_errors else rule


def check_fields(values: Mapping[str, Any], allowed: Iterable[str], document: Document, problems: Problems) -> None:
    """Fields that aren't known are errors: a misspelt field must not be ignored."""
    fields = tuple(allowed)
    for name in values:
        if name not in fields:
            hint = did_you_mean(name, fields) or f"the fields are {', '.join(fields)}"
            line = document.line(name)
            problems.add(file_fault(f"there is no field {shown(name)}", line, hint=hint), line)


def _check_text(name: str, document: Document, *position: int) -> None:
    """Refuses a number or a boolean in place of a text. The hint quotes it as it stands in the file."""
    written = document.written.get((name, *position))
    if written is not None:
        place, hint = (f"each of {name}", f'- "{written}"') if position else (name, f'{name}: "{written}"')
        raise file_fault(f"{place} is a text, not {shortened(written, 60)}", document.line(name, *position), hint=hint)


def _read_id(name: str, value: Any) -> str:
    """The id of a rule, as the change log takes it."""
    return RuleChange(a_text(name, value, hint=f"at most {MOST_ID_CHARACTERS} characters"), 1, "-").id


def _severity(name: str, value: Any) -> Severity:
    severity: Severity = one_of(name, value, get_args(Severity))
    return severity


def _suppress(name: str, value: Any) -> str:
    return a_text(name, value, hint=_SUPPRESS)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise file_fault(f"{name} is true or false, not {shown(value)}", None, hint=f"{name}: true, or {name}: false")
    return value


def _texts(name: str, value: Any, document: Document) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        raise file_fault(f"{name} is a list of texts, not {shown(value)}", None, hint=f"{name}: [fraud, login]")
    for position in range(len(values)):
        _check_text(name, document, position)
    return tuple(a_text(f"each of {name}", one, hint="put it into quotes") for one in values)


def _options(name: str, value: Any) -> RuleOptions:
    if isinstance(value, str):
        raise file_fault(f"{name} is a mapping, not {shown(value)}", None, hint="options: {start: kept}")
    if isinstance(value, dict):
        if "suppress" in value:
            raise file_fault("suppress is a field of its own", None, hint=_SUPPRESS)
        known_names(value, _OPTION_FIELDS)
    return RuleOptions.read(value)


def _query(value: Any, document: Document, below: RuleText | None) -> RuleText:
    line = document.line("query") or 1
    if below is not None:
        if value is not None:
            raise file_fault("the query stands below the front matter, so there is no field 'query'", line)
        query = below
    elif value is None:
        raise file_fault(_NO_QUERY, line, hint="query: |, and below it the text of a clause; or the steps of a funnel")
    elif isinstance(value, dict):  # a funnel
        query = RuleText(json.dumps(value, ensure_ascii=False), line, has_lines=False)
    else:
        text = a_text("query", value, hint="the text of a clause, or the steps of a funnel", code="INVALID_RULE_FILE")
        query = text_in_file(text, line + 1, has_lines=("query",) in document.block_texts)
    if not query.text:
        below_front = "write it below the line --- that ends the front matter"
        raise file_fault(_NO_QUERY, line, hint=below_front if document.lines else "write a clause or an event query")
    RuleChange("-", 1, query.text)  # the change log's limits
    return query


def text_in_file(text: str, first_line: int, *, has_lines: bool = True) -> RuleText:
    """The text without blanks and a semicolon around it."""
    stripped = text.rstrip().removesuffix(";").rstrip()
    begin = len(stripped) - len(stripped.lstrip())
    blank_lines = stripped.count("\n", 0, begin)
    return RuleText(stripped[begin:], first_line + blank_lines if has_lines else first_line - 1, has_lines)


def _tests(values: Any, document: Document, problems: Problems) -> tuple[RuleTest, ...]:
    if values is None:
        return ()
    if not isinstance(values, list):
        line = document.line("tests")
        problems.add(file_fault("tests is a list", line, hint="tests: [{name: ..., should_match: [...]}]"), line)
        return ()
    tests: list[RuleTest] = []
    for number, value in enumerate(values):
        with problems.caught(document.line("tests", number)):
            test = _test(number, value, document.line("tests", number))
            if any(test.name == other.name for other in tests):
                raise file_fault(f"two tests are named {shown(test.name)}", test.line)
            tests.append(test)
    return tuple(tests)


def _test(number: int, value: Any, line: int | None) -> RuleTest:
    if not isinstance(value, dict):
        raise file_fault(f"a test is a mapping, not {shown(value)}", line, hint="- {name: ..., should_match: [...]}")
    for name in value:
        if name not in TEST_FIELDS:
            near = did_you_mean(name, TEST_FIELDS) or f"the fields are {', '.join(TEST_FIELDS)}"
            hint = "the events stand in should_match or should_not_match" if name == "events" else near
            raise file_fault(f"a test has no field {shown(name)}", line, hint=hint)
    given = [name for name in ("should_match", "should_not_match") if value.get(name) is not None]
    if len(given) != 1:
        message = "a test has its events either in should_match or in should_not_match"
        raise file_fault(message, line, hint="a list of objects, the text of a CSV file, or a path")
    events = value[given[0]]
    if not isinstance(events, str | list):
        message = f"{given[0]} holds events, not {shown(events)}"
        raise file_fault(message, line, hint="a list of objects, the text of a CSV file, or a path")
    should_match = given[0] == "should_match"
    if not should_match and value.get("expect"):
        raise file_fault("no row can be expected of should_not_match", line, hint="should_match, or leave expect out")
    name = value.get("name")
    return RuleTest(
        f"test {number + 1}" if name is None else a_text("the name of a test", name),
        events,
        should_match,
        _expected(value.get("expect"), line),
        _tolerance(value.get("tolerance")),
        line,
    )


def _expected(value: Any, line: int | None) -> tuple[dict[str, Any], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(row, dict) and row for row in value) or not value:
        message = "expect is a list of rows, each with at least one column"
        raise file_fault(message, line, hint="expect: [{user: ann, total: 30.0}]; for no row: should_not_match")
    return tuple(value)


def _tolerance(value: Any) -> float | None:
    if value is None:
        return None
    if not is_number(value) or not 0 <= value < float("inf"):
        raise file_fault(f"tolerance is a number from 0 on, not {shown(value)}", None, hint="tolerance: 0.001")
    return float(value)
