"""`ostinato rules run` before Spark starts: its usage, and the change log of an operator without `--log`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rule_files.folders import LOGIN_PAY, checked

from ostinato.cli import main
from ostinato.cli.rule_commands.rules_stream import _bring_up_to_date, _tell_differences
from ostinato.rule_files.rule_groups import grouped
from ostinato.rule_sets.change_files import read_log


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--log", "log"], "LOG_NEEDS_STREAM"),
        (["--stream"], "STREAM_NEEDS_FOLDERS"),
        (["--output", "out.txt"], "UNKNOWN_FORMAT"),
    ],
)
def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: str) -> None:
    table = tmp_path / "in.csv"
    table.write_text("user,ts\n")
    assert main(["rules", "run", str(tmp_path), "--input", str(table), *more]) == 2
    assert capsys.readouterr().err.startswith(code)


def test_each_start_brings_the_log_of_an_operator_to_the_state_of_the_files(tmp_path: Path) -> None:
    log, rules = tmp_path / "log", tmp_path / "rules"
    rules.mkdir()

    def started(**files: str) -> dict[str, tuple[int, bool]]:
        for file in rules.iterdir():
            file.unlink()
        found = checked(rules, **files)
        group = next(group for group in grouped(found).groups if group.keys == ("user",))
        _bring_up_to_date(log, group, found)
        return {id: (change.version, change.enabled) for id, change in read_log(log).in_force.items()}

    other = LOGIN_PAY.replace("'pay'", "'buy'")
    assert started(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY) == {"a": (1, True), "b": (1, True)}
    assert started(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY) == {"a": (1, True), "b": (1, True)}
    assert started(a_sql=other, b_sql="PATTERN (A") == {"a": (2, True), "b": (1, True)}
    elsewhere = f"---\nkeys: kind\n---\n{LOGIN_PAY}"
    assert started(a_sql=elsewhere, c_sql=LOGIN_PAY) == {"a": (3, False), "b": (2, False), "c": (1, True)}


def test_rules_that_differ_from_the_log_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, rules = tmp_path / "log", tmp_path / "rules"
    rules.mkdir()
    found = checked(rules, a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    assert main(["rules", "apply", str(rules), "--log", str(log)]) == 0
    capsys.readouterr()
    _tell_differences(grouped(found).groups[0], found, log)
    assert capsys.readouterr().err == ""
    found = checked(rules, a_sql=LOGIN_PAY.replace("'pay'", "'buy'"))
    _tell_differences(grouped(found).groups[0], found, log)
    assert capsys.readouterr().err.startswith("the rule files differ from the log in 1 rule")
