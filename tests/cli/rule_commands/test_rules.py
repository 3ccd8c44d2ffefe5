"""`ostinato rules check | test | apply`: reports, exit codes, and text that never reaches the terminal unescaped."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.rule_files.folders import LOGIN_PAY, SETTINGS, write

from ostinato.cli import main

GOOD = f"""---
tests:
  - name: a payment
    should_match:
      - {{user: ann, ts: 2024-03-01 09:00:00, kind: login}}
      - {{user: ann, ts: 2024-03-01 09:10:00, kind: pay, amount: 30}}
    expect: [{{user: ann, total: 30}}]
---
{LOGIN_PAY}"""


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main(["rules", *map(str, argv)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    return write(folder, rules_yaml=SETTINGS, good_sql=GOOD)


@pytest.mark.parametrize("command", ["", "check", "test", "apply", "backtest", "run"])
def test_help(capsys, command) -> None:
    code, out, err = run(capsys, *command.split(), "--help")
    assert (code, err) == (0, "")
    assert "usage: ostinato rules" in out


def test_check(capsys, rules) -> None:
    assert run(capsys, "check", rules) == (0, "1 rule: 0 errors, 0 warnings\n", "")
    write(rules, wide_sql="MEASURES 1 AS x\nPATTERN (A B*) DEFINE B AS n > 1")
    code, out, _ = run(capsys, "check", rules)
    assert code == 0 and out.startswith("wide.sql:1: warning: UNBOUNDED_STATE: ")
    assert run(capsys, "check", rules, "--strict")[0] == 1
    write(rules, bad_sql="PATTERN (A B) DEFINE A AS")
    code, out, _ = run(capsys, "check", rules)
    assert code == 1 and "bad.sql:1: error: SYNTAX_ERROR" in out and "    |   " in out
    assert out.endswith("3 rules: 1 error, 1 warning\n")


def test_check_as_json(capsys, rules) -> None:
    write(rules, bad_sql="PATTERN (A B) DEFINE A AS")
    code, out, _ = run(capsys, "check", rules, "--format", "json")
    (problem,) = json.loads(out)
    assert code == 1
    assert (problem["path"], problem["line"], problem["code"]) == ("bad.sql", 1, "SYNTAX_ERROR")


def test_check_with_another_schema(capsys, rules, tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("user,ts,kynd,amount\nann,2024-03-01 09:00:00,pay,3\n")
    code, out, _ = run(capsys, "check", rules, "--input", table)
    assert code == 1 and "did you mean 'kynd'" in out
    schema = tmp_path / "schema.yaml"
    schema.write_text('{"user": "string", "ts": "timestamp", "kind": "string", "amount": "int"}')
    assert run(capsys, "check", rules, "--schema", schema)[0] == 0
    link = tmp_path / "elsewhere" / "link.yaml"
    link.parent.mkdir()
    link.symlink_to(schema)
    assert run(capsys, "check", rules, "--schema", link)[0] == 0
    for text, words in (
        ("ts: date\nuser: strin", "2: column 'user' has an unknown type 'strin'"),
        ("a: [", "this isn't YAML"),
    ):
        schema.write_text(text)
        code, _, err = run(capsys, "check", rules, "--schema", schema)
        assert code == 1 and f"INVALID_RULE_FILE: {schema}:" in err and words in err


def test_check_says_if_it_has_no_schema(capsys, rules) -> None:
    write(rules, rules_yaml="keys: user\ntime: ts\n")
    code, out, _ = run(capsys, "check", rules)
    assert code == 0 and "weren't checked" in out


OF_EMPTY_FOLDERS = [
    ["check", "empty"],
    ["test", "empty"],
    ["apply", "empty", "--log", "log"],
    ["backtest", "empty", "--input", "table.csv"],
    ["backtest", ".", "--input", "table.csv", "--compare", "empty"],
]


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["check", "none"], 1, "RULES_FOLDER_MISSING"),
        (["check", "a.sql"], 1, "hint: give its folder: ."),
        *((command, 1, "NO_RULES: there is no rule file in the folder empty") for command in OF_EMPTY_FOLDERS),
        (["check", ".", "--schema", "none.yaml"], 2, "INPUT_MISSING"),
        (["check", ".", "--input", "none.csv"], 2, "INPUT_MISSING"),
        (["test", ".", "--rule", "none"], 2, "UNKNOWN_RULE"),
        (["apply", ".", "--log", "file"], 2, "OUTPUT_IS_FILE"),
        (["apply", "."], 2, "--log"),
        (["apply", ".", "--log", "s3://bucket/log"], 2, "LOG_NOT_WRITABLE"),
        (["backtest", "."], 2, "--input"),
        (["backtest", ".", "--input", "file.parquet"], 2, "INPUT_UNREADABLE"),
    ],
)
def test_wrong_arguments(capsys, tmp_path, monkeypatch, argv, code, word) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("file", "file.jsonl", "file.parquet", "a.sql", "empty/_a.sql", "empty/notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "table.csv").write_text("user,ts\n")
    found, out, err = run(capsys, *argv)
    assert (found, out) == (code, "")
    assert word in err


def test_tests_pass(capsys, rules) -> None:
    write(rules, other_sql=LOGIN_PAY)
    assert run(capsys, "test", rules) == (0, "2 rules, 1 test: 1 passed; 1 rule without tests\n", "")


def test_a_failed_test_shows_the_difference(capsys, rules) -> None:
    write(rules, good_sql=GOOD.replace("total: 30", "total: 31"), bad_sql="PATTERN (", other_sql=LOGIN_PAY)
    code, out, _ = run(capsys, "test", rules)
    assert code == 1
    assert "bad.sql:1: error: SYNTAX_ERROR" in out
    expected = """\
good.sql:3: FAILED: good: a payment
  1 of 1 expected row is missing, 1 of 1 found row is not expected
  missing     user: ann, total: 31
    nearest   user: ann, total: 30
    differs   total: expected 31, found 30
  unexpected  user: ann, began: 2024-03-01 09:00:00+00:00, ended: 2024-03-01 09:10:00+00:00, total: 30
"""
    assert expected in out
    assert run(capsys, "test", rules, "--rule", "other") == (0, "1 rule, 0 tests: 0 passed; 1 rule without tests\n", "")
    write(rules, bad_sql="---")
    code, out, _ = run(capsys, "test", rules, "--rule", "other")
    assert code == 1 and "bad.sql:1: error" in out  # the file may be that of any rule


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "PAY: kind = 'pay' is FALSE: kind = 'buy'"),
        ("query: {steps: [login, buy], type: kind, within: 1 hour}", "user = 'ann': of 2 start rows"),
    ],
)
def test_a_failed_test_says_why(capsys, rules, query, words) -> None:
    front = GOOD.split("---")[1].replace("kind: pay", "kind: buy")
    (rules / "good.sql").unlink()
    if query:
        front = front.replace("kind: login", "kind: view").replace("    expect: [{user: ann, total: 30}]\n", "")
        write(rules, a_yaml=query + "\n" + front)
    else:
        write(rules, a_sql=f"---\n{front}---\n{LOGIN_PAY}")
    code, out, _ = run(capsys, "test", rules)
    assert code == 1 and "  why:\n" in out and words in out


def test_the_reason_has_the_time_zone_of_the_folder(capsys, tmp_path) -> None:
    test = "tests: [{should_match: [{user: ann, ts: 2024-03-01 12:00:00}]}]"
    query = "MEASURES 1 AS x PATTERN (A) DEFINE A AS hour(ts) <> 12"
    write(tmp_path, rules_yaml=SETTINGS + "timezone: Europe/Berlin\n", a_sql=f"---\n{test}\n---\n{query}")
    code, out, _ = run(capsys, "test", tmp_path)
    assert code == 1 and "1 start row, 0 start a match" in out and "ts = 2024-03-01 12:00:00+01:00" in out


def test_a_reason_that_finds_a_match_says_so(capsys, tmp_path) -> None:
    at = "user: ann, ts: 2024-03-01 12:00:00"
    events = f"[{{{at}, amount: 2, kind: a}}, {{{at}, amount: 1, kind: b}}]"
    settings = SETTINGS.replace("  kind: string\n  amount: double\n", "  amount: double\n  kind: string\n")
    query = "MEASURES first(kind) AS x PATTERN (A B) DEFINE A AS kind = 'a', B AS kind = 'b'"
    write(tmp_path, rules_yaml=settings, a_sql=f"---\ntests: [{{should_match: {events}}}]\n---\n{query}")
    code, out, _ = run(capsys, "test", tmp_path)
    assert code == 1 and "the test finds no match, but ost.why_not finds one" in out


def test_results_as_json(capsys, rules) -> None:
    write(rules, good_sql=GOOD.replace("total: 30", "total: 31"))
    code, out, _ = run(capsys, "test", rules, "--format", "json")
    (test,) = json.loads(out)["tests"]
    assert (code, test["rule"], test["passed"]) == (1, "good", False)
    assert "differs   total" in test["failure"]


def test_results_as_junit(capsys, rules) -> None:
    write(
        rules, good_sql=GOOD.replace("total: 30", "total: 31").replace("a payment", '"<\\u0007>"'), bad_sql="PATTERN ("
    )
    code, out, _ = run(capsys, "test", rules, "--format", "junit")
    suite = ElementTree.fromstring(out)
    assert code == 1
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "1"]
    error, failure = suite
    assert (error.get("classname"), error.get("line")) == ("bad.sql", "1") and error[0].tag == "error"
    assert (failure.get("classname"), failure.get("name")) == ("good", "<\\x07>")
    assert "differs   total" in (failure[0].text or "")


def test_apply(capsys, rules, tmp_path) -> None:
    log = tmp_path / "log"
    code, out, _ = run(capsys, "apply", rules, "--log", log, "--dry-run")
    assert (code, out.splitlines()[0], log.exists()) == (0, "+ good: new (v1)", False)
    assert run(capsys, "apply", rules, "--log", log) == (0, f"+ good: new (v1)\n1 change written to {log}\n", "")
    assert run(capsys, "apply", rules, "--log", log)[1].startswith("= good: unchanged (v1)\n0 changes")
    write(rules, bad_sql="PATTERN (", more_sql=LOGIN_PAY)
    (log / "upload.json").write_text("{")
    code, out, _ = run(capsys, "apply", rules, "--log", log)
    assert code == 1
    assert "bad.sql:1: error: SYNTAX_ERROR" in out and "upload.json: warning: INVALID_RULE" in out
    assert "+ more: new (v1)" in out
    (rules / "more.sql").unlink()
    (rules / "bad.sql").unlink()
    assert "- more: removed (v1 -> v2)" in run(capsys, "apply", rules, "--log", log, "--remove-missing")[1]


@pytest.fixture
def archive(tmp_path) -> Path:
    file = tmp_path / "archive.csv"
    lines = [
        f"{user},2024-03-0{day} 09:{minute}:00,{kind},3"
        for user in ("ann", "bob")
        for day in (1, 2)
        for minute, kind in ((10, "login"), (20, "pay"))
    ]
    file.write_text("\n".join(["user,ts,kind,amount", *lines]) + "\n")
    return file


def test_backtest(capsys, rules, tmp_path, archive) -> None:
    code, out, err = run(capsys, "backtest", rules, "--input", archive)
    assert (code, err) == (0, "")
    summary, days = out.strip().split("\n\n")
    assert summary.splitlines()[2].split()[:5] == ["good", "NULL", "4", "0", "2"]
    assert [line.split() for line in days.splitlines()[2:]] == [
        ["2024-03-01", "good", "2"],
        ["2024-03-02", "good", "2"],
    ]


def test_backtest_of_empty_matches(capsys, rules, archive) -> None:
    write(rules, empty_sql="MEASURES count(*) AS n PATTERN (A*) WITHIN 1 HOUR DEFINE A AS kind = 'login'")
    code, out, _ = run(capsys, "backtest", rules, "--input", archive)
    summary, days = out.strip().split("\n\n")
    assert code == 0 and summary.splitlines()[2].split()[:5] == ["empty", "NULL", "8", "0", "2"]
    assert [line.split()[-2:] for line in days.splitlines()[2:]] == [
        *([rule, "2"] for rule in ("empty", "good", "empty", "good")),
        ["empty", "4"],
    ]
    assert days.splitlines()[-1].startswith("no time ")
    code, out, _ = run(capsys, "backtest", rules, "--input", archive, "--format", "json")
    assert json.loads(out)["rules"][0]["by_day"] == {"2024-03-01": 2, "2024-03-02": 2, "no time": 4}


def test_backtest_of_two_versions(capsys, rules, tmp_path, archive) -> None:
    before = tmp_path / "before"
    before.mkdir()
    write(
        before, rules_yaml=SETTINGS, good_sql=LOGIN_PAY.replace("'pay'", "'pay' AND user = 'ann'"), bad_sql="PATTERN ("
    )
    code, out, _ = run(capsys, "backtest", rules, "--input", archive, "--compare", before)
    assert code == 1 and "bad.sql:1: error: SYNTAX_ERROR" in out
    assert "good    2     0          2" in out and "new matches of good" in out and "lost matches" not in out
    code, out, _ = run(capsys, "backtest", rules, "--input", archive, "--compare", before, "--format", "json")
    values = json.loads(out)
    assert code == 1 and [one["code"] for one in values["errors"]] == ["SYNTAX_ERROR"]
    assert values["rules"][0]["by_day"] == {"2024-03-01": 2, "2024-03-02": 2}
    (difference,) = values["differences"]
    assert [row["user"] for row in difference["new"]] == ["bob", "bob"] and difference["lost"] == []


def test_backtest_of_a_rule_that_fails(capsys, rules, archive) -> None:
    write(rules, bad_sql=LOGIN_PAY.replace("kind = 'login'", "1 / (amount - 3) > 5"))
    code, out, _ = run(capsys, "backtest", rules, "--input", archive)
    assert code == 1 and "bad.sql: error: DIVIDE_BY_ZERO" in out and "good " in out


def test_nothing_reaches_the_terminal_unescaped(capsys, rules, tmp_path) -> None:
    hostile = '"\\e[31mred\\e]0;x\\a\\u202e"'
    text = GOOD.replace("a payment", hostile).replace("user: ann, total: 30", f"user: {hostile}, total: 30")
    write(
        rules, evil_sql=text.replace("---\ntests", f"---\nid: {hostile}\ntests", 1), odd_sql=f"---\n{hostile}: 1\n---\n"
    )
    for argv in (["check"], ["test"], ["apply", "--log", tmp_path / "log"]):
        _, out, err = run(capsys, argv[0], rules, *argv[1:])
        assert "red" in out + err or argv == ["check"]
        assert not any(char in out + err for char in "\x1b\a\u202e")
