"""Files of a folder -> rules; each file that isn't one has its own errors, with lines, and hides no other."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rule_files.folders import LOGIN_PAY, SETTINGS, checked, told, write

from ostinato.errors import EnvironmentFault, QueryError
from ostinato.rule_files.rule_folder import read_folder
from ostinato.rule_sets.rule_changes import RuleOptions


def test_a_rule_with_front_matter(tmp_path: Path) -> None:
    front = """\
---
id: card/pay
title: Pays after a login
description: |
  Two
  lines
severity: high
tags: [fraud, login]
owner: team-a
keys: user
time: [ts]
enabled: false
suppress: 1 hour by user
options: {start: kept, max_errors: 5}
tests:
  - name: one
    should_match: [{user: ann}]
    expect: [{total: 1}]
    tolerance: 0.5
  - should_not_match: events.csv
---

"""
    write(tmp_path, a_sql=front + LOGIN_PAY + ";\n")
    (rule,) = read_folder(tmp_path).rules
    assert (rule.id, rule.title, rule.description) == ("card/pay", "Pays after a login", "Two\nlines\n")
    assert (rule.severity, rule.tags, rule.owner) == ("high", ("fraud", "login"), "team-a")
    assert (rule.keys, rule.time, rule.enabled, rule.suppress) == (("user",), ("ts",), False, "1 hour by user")
    assert rule.options == RuleOptions(start="kept", max_errors=5)
    assert (rule.query.text, rule.query.first_line) == (LOGIN_PAY.strip(), 23)
    assert [(test.name, test.should_match, test.line) for test in rule.tests] == [
        ("one", True, 16),
        ("test 2", False, 20),
    ]
    assert (rule.tests[0].expected, rule.tests[0].tolerance) == (({"total": 1},), 0.5)


def test_the_forms_of_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git", hidden_sql="x")
    write(tmp_path / "sub", c_yml="query: |\n  TYPE kind PATTERN SEQ(login, pay) RETURN MATCHES\n")
    write(tmp_path, plain_sql=LOGIN_PAY, b_yaml="query: {steps: [login, pay], type: kind, within: 1 hour}")
    write(tmp_path, notes_txt="x", crlf_sql=LOGIN_PAY.replace("\n", "\r\n"))
    found = checked(tmp_path)
    assert told(found) == []
    kinds = [(rule.file.path, rule.file.id, rule.kind) for rule in found.rules]
    assert kinds == [
        ("b.yaml", "b", "funnel"),
        ("crlf.sql", "crlf", "clause"),
        ("plain.sql", "plain", "clause"),
        ("sub/c.yml", "c", "event query"),
    ]


@pytest.mark.parametrize(
    ("front", "line", "words"),
    [
        ("sevrity: low", 2, "did you mean 'severity'"),
        ("title: x\nseverity: urgent", 3, "severity can't be 'urgent'"),
        ("title: true", 2, 'title is a text, not true\nhint: title: "true"'),
        ("owner: 7", 2, "owner is a text, not 7"),
        ("id: 7", 2, 'id: "7"'),
        ("id: 1e3", 2, 'id is a text, not 1e3\nhint: id: "1e3"'),
        ("owner:\n  0.50", 2, 'hint: owner: "0.50"'),
        ("suppress: 3600", 2, "suppress is a text, not 3600\nhint: suppress: 1 hour by user"),
        ("id: ''", 2, "id is a text"),
        ("tags: [fraud, no, 1]", 2, 'each of tags is a text, not 1\nhint: - "1"'),
        ("tags: {a: 1}", 2, "tags is a list of texts"),
        ("enabled: no", 2, "enabled is true or false, not 'no'"),
        ("keys: [user, user]", 2, "twice"),
        ("keys: 5", 2, "keys names columns"),
        ("options: {start: soon}", 2, "start can't be 'soon'"),
        ("options: {begin: new}", 2, "there is no option 'begin'"),
        ("options: kept", 2, "options is a mapping"),
        ("options: {suppress: 1 hour by user}", 2, "hint: suppress: 1 hour by user"),
        ("options: {start: kept, reason: x}", 2, "there is no option 'reason'"),
        ("query: x", 2, "below the front matter"),
        ("tests: {a: 1}", 2, "tests is a list"),
        ("tests: [1]", 2, "a test is a mapping"),
        ("tests:\n- {name: x}", 3, "should_match or in should_not_match"),
        ("tests:\n- {events: []}", 3, "the events stand in should_match"),
        ("tests:\n- {should_match: [], should_not_match: []}", 3, "either"),
        ("tests:\n- {should_match: 3}", 3, "holds events, not 3"),
        ("tests:\n- {should_not_match: [], expect: [{a: 1}]}", 3, "no row can be expected"),
        ("tests:\n- {should_match: [], expect: []}", 3, "expect is a list of rows"),
        ("tests:\n- {should_match: [], expect: {a: 1}}", 3, "expect is a list of rows"),
        ("tests:\n- {should_match: [], tolerance: -1}", 3, "tolerance is a number"),
        ("tests:\n- {name: a, should_match: []}\n- {name: a, should_match: []}", 4, "two tests are named 'a'"),
        ("suppress: 1 hour", 2, "suppress names all keys"),
        ("suppress: 1 hour by kind", 2, "by the keys of the rule, not by 'kind'"),
        ("suppress: soon by user", 2, "begins with a length of time"),
        ("- a", 2, "a rule is a mapping of fields"),
    ],
)
def test_a_wrong_field(tmp_path: Path, front: str, line: int, words: str) -> None:
    found = checked(tmp_path, a_sql=f"---\n{front}\n---\n{LOGIN_PAY}", good_sql=LOGIN_PAY)
    (problem,) = found.problems
    assert (problem.path, problem.line, problem.level) == ("a.sql", line, "error")
    assert words in str(problem)
    assert [rule.file.id for rule in found.rules] == ["good"]


def test_errors_of_one_file_hide_no_other(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        a_sql="---\nowner: 7\nseverity: x\nwrong: 1\n---\nPATTERN (",
        b_sql="---\nid: b",
        c_sql="---\n---\n\n",
        d_yaml="a: b: c",
        e_yaml="title: no query",
        f_sql="\n\nPATTERN (A B) DEFINE A AS",
        g_sql=LOGIN_PAY,
    )
    assert told(found) == [
        ("a.sql", 2, "INVALID_RULE_FILE"),
        ("a.sql", 3, "INVALID_OPTION"),
        ("a.sql", 4, "INVALID_RULE_FILE"),
        ("b.sql", 1, "INVALID_RULE_FILE"),
        ("c.sql", 1, "INVALID_RULE_FILE"),
        ("d.yaml", 1, "INVALID_RULE_FILE"),
        ("e.yaml", 1, "INVALID_RULE_FILE"),
        ("f.sql", 3, "SYNTAX_ERROR"),
    ]
    assert [rule.file.id for rule in found.rules] == ["g"]


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("a_yaml", "title: x", "query: |"),
        ("a_yaml", "", "query: |"),
        ("a_yaml", "query:", "query: |"),
        ("a_sql", "", "write a clause or an event query"),
        ("a_sql", " ;\n", "write a clause or an event query"),
        ("a_sql", "---\ntitle: x\n---\n", "below the line ---"),
    ],
)
def test_a_rule_without_a_query(tmp_path: Path, name: str, text: str, hint: str) -> None:
    (problem,) = checked(tmp_path, **{name: text}).problems
    assert problem.error.message == "the rule has no query" and hint in str(problem.error.hint)


def test_an_event_query_names_the_column_with_its_types(tmp_path: Path) -> None:
    text = "PATTERN SEQ(login l, pay p) RETURN MATCHES"
    found = checked(tmp_path, a_sql=text, b_sql=f"TYPE kind {text}")
    assert told(found) == [("a.sql", 1, "TYPE_COLUMN_MISSING")]
    assert found.problems[0].error.hint == "write it into the query, before PATTERN: TYPE kind"


def test_carets_count_the_lines_of_the_file(tmp_path: Path) -> None:
    query = "PATTERN (LOGIN PAY)\nDEFINE LOGIN AS kynd = 'login'\n"
    block = "title: x\nquery: |\n" + "".join(f"    {line}\n" for line in ("MEASURES 1 AS x", *query.splitlines()))
    found = checked(tmp_path, a_sql=f"---\ntitle: x\n---\nMEASURES 1 AS x\n{query}", b_yaml=block)
    assert told(found) == [("a.sql", 6, "UNKNOWN_COLUMN"), ("b.yaml", 5, "UNKNOWN_COLUMN")]
    first, second = map(str, found.problems)
    assert "  6 | DEFINE LOGIN AS kynd = 'login'\n    |                 ^^^^" in first
    assert "  5 | DEFINE LOGIN AS kynd = 'login'\n    |                 ^^^^" in second


def test_two_rules_with_one_id(tmp_path: Path) -> None:
    found = checked(tmp_path, a_sql=LOGIN_PAY, b_sql=f"---\nid: a\n---\n{LOGIN_PAY}", c_sql=LOGIN_PAY)
    assert told(found) == [("a.sql", None, "DUPLICATE_RULE"), ("b.sql", None, "DUPLICATE_RULE")]
    assert "b.sql" in found.problems[0].error.message and "a.sql" in found.problems[1].error.message
    assert [rule.file.id for rule in found.rules] == ["c"]


def test_files_that_cant_be_read(tmp_path: Path) -> None:
    root = tmp_path / "rules"
    root.mkdir()
    (root / "bytes.sql").write_bytes(b"PATTERN\n\xff")
    (root / "long.sql").write_text("-" * (1 << 20 | 1))
    (tmp_path / "outside.sql").write_text(LOGIN_PAY)
    (root / "link.sql").symlink_to(tmp_path / "outside.sql")
    (root / "folder.sql").mkdir()
    (root / "more").symlink_to(tmp_path)
    (root / "_more").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.sql")
    found = checked(root, good_sql=LOGIN_PAY)
    assert [(problem.path, problem.line, problem.error.message[:12]) for problem in found.problems] == [
        ("bytes.sql", 2, "the file isn"),
        ("link.sql", None, "the file lie"),
        ("long.sql", None, "the file has"),
        ("more", None, "links to fol"),
        ("pipe.sql", None, "this isn't a"),
    ]
    assert len(found.folder.broken) == 5


def test_a_folder_that_cant_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(root: Path, onerror: Callable[[OSError], None]) -> Iterator[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "Permission denied", str(root / "sub")))
        yield str(root), [], ["a.sql", "rules.yaml"]

    monkeypatch.setattr(os, "walk", walk)  # tests may run as root, who may read everything
    found = checked(tmp_path, a_sql=LOGIN_PAY)
    assert told(found) == [("sub", None, "INVALID_RULE_FILE")]
    assert found.folder.broken == ("sub",) and len(found.rules) == 1


@pytest.mark.parametrize(
    ("settings", "line", "words"),
    [
        ("key: user", 1, "did you mean 'keys'"),
        ("- 1", 1, "the settings are a mapping"),
        ("time: ts\nschema: {user: strin}", 2, "unknown type 'strin'"),
        ("schema:\n  user: string\n  USER: string", 3, "two columns"),
        ("schema: [user]", 1, "a mapping from columns to types"),
        ("timezone: Mars/Olympus", 1, "timezone can't be"),
        ("keys: [1]", 1, "keys names columns"),
    ],
)
def test_wrong_settings(tmp_path: Path, settings: str, line: int, words: str) -> None:
    write(tmp_path, rules_yaml=settings)
    (problem,) = read_folder(tmp_path).problems
    assert (problem.path, problem.line) == ("rules.yaml", line)
    assert words in str(problem)


def test_settings(tmp_path: Path) -> None:
    write(tmp_path, rules_yaml=SETTINGS + "timezone: Europe/Berlin\n")
    settings = read_folder(tmp_path).settings
    assert (settings.keys, settings.time, settings.settings.timezone) == (("user",), ("ts",), "Europe/Berlin")
    assert settings.schema is not None
    assert [str(kind) for kind in settings.schema.types[1:]] == [
        "timestamp[us, tz=Europe/Berlin]",
        "string",
        "double",
        "int8",
    ]


def test_settings_stand_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", rules_yaml=SETTINGS)
    found = checked(tmp_path, rules_yml=SETTINGS)
    assert [problem.path for problem in found.problems] == ["rules.yml", "sub/rules.yaml"]
    assert "at its top" in found.problems[0].error.message


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="RULES_FOLDER_MISSING"):
        read_folder(tmp_path / "none")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = builtins.__import__

    def without_yaml(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return ordinary(name, *arguments, **more)

    write(tmp_path, a_yaml="query: x")
    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(EnvironmentFault, match=r"EXTRA_MISSING[^$]*ostinato\[rules\]"):
        read_folder(tmp_path)
