"""A folder and a change log -> a plan, and the files that it writes. The second time there is nothing to write."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.rule_files.folders import LOGIN_PAY, checked, write

from ostinato.rule_files.applying import ChangePlan, plan_changes, write_changes
from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.rule_folder import read_folder
from ostinato.rule_sets.change_files import read_log, write_change
from ostinato.rule_sets.rule_changes import RuleOptions

OTHER = LOGIN_PAY.replace("pay", "buy")


class Folders:
    """Rules and a log below one folder."""

    def __init__(self, root: Path) -> None:
        self.rules, self.log = root / "rules", root / "log"
        self.rules.mkdir()
        checked(self.rules)

    def write(self, **files: str) -> None:
        write(self.rules, **files)

    def plan(self, *, remove_missing: bool = False) -> ChangePlan:
        return plan_changes(check_folder(read_folder(self.rules)), read_log(self.log), remove_missing=remove_missing)

    def apply(self, *, remove_missing: bool = False) -> list[str]:
        plan = self.plan(remove_missing=remove_missing)
        write_changes(plan, self.log)
        return [str(line) for line in plan.lines]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def front(fields: str, query: str = LOGIN_PAY) -> str:
    return f"---\n{fields}\n---\n{query}"


def test_new_unchanged_changed_removed(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    assert folders.apply() == ["+ a: new (v1)", "+ b: new (v1)"]
    assert folders.apply() == ["= a: unchanged (v1)", "= b: unchanged (v1)"]
    folders.write(a_sql=front("title: new words\nseverity: low", LOGIN_PAY + "\n;\n"), b_sql=OTHER)
    assert folders.apply() == ["= a: unchanged (v1)", "~ b: changed (v1 -> v2)"]
    folders.write(b_sql=front("options: {start: kept}", OTHER))
    assert folders.apply() == ["= a: unchanged (v1)", "~ b: changed (v2 -> v3)"]
    (folders.rules / "b.sql").unlink()
    stays = "! b: not in the folder, stays in the log (v3); --remove-missing removes it"
    assert folders.apply() == ["= a: unchanged (v1)", stays]
    assert folders.apply(remove_missing=True) == ["= a: unchanged (v1)", "- b: removed (v3 -> v4)"]
    assert folders.apply(remove_missing=True) == ["= a: unchanged (v1)"]
    assert len(list(folders.log.glob("*.json"))) == 5
    assert read_log(folders.log).in_force["b"].enabled is False


def test_planning_writes_nothing(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY)
    folders.plan()
    assert not folders.log.exists()


def test_switched_off_and_on(folders: Folders) -> None:
    folders.write(a_sql=front("enabled: false"), b_sql=LOGIN_PAY)
    assert folders.apply() == ["= a: off", "+ b: new (v1)"]
    folders.write(a_sql=LOGIN_PAY, b_sql=front("enabled: false\noptions: {at_end: finish}"))
    assert folders.apply() == ["+ a: new (v1)", "~ b: switched off (v1 -> v2)"]
    assert read_log(folders.log).in_force["b"].options == RuleOptions(at_end="finish")
    assert folders.apply() == ["= a: unchanged (v1)", "= b: off"]
    folders.write(b_sql=LOGIN_PAY)
    assert folders.apply() == ["= a: unchanged (v1)", "~ b: switched on (v2 -> v3)"]


def test_a_suspension_stays_until_the_rule_changes(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY)
    folders.apply()
    write_change(folders.log, "a", "", version=None, enabled=False, options={"reason": "slow"})
    assert folders.apply() == ["= a: suspended (v2: slow); change the rule to end this"]
    folders.write(a_sql=OTHER)
    assert folders.apply() == ["~ a: changed, ends its suspension (v2 -> v3)"]
    assert folders.apply() == ["= a: unchanged (v3)"]


def test_a_rule_with_an_error_stays_as_it_is_and_the_rest_goes_on(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    folders.apply()
    folders.write(a_sql=LOGIN_PAY.replace("kind", "kynd"), b_sql=OTHER, c_sql=front("id: b"))
    lines = folders.apply(remove_missing=True)
    assert lines == [f"! {id}: not written, because its file or rules.yaml has an error" for id in "ab"]
    assert read_log(folders.log).in_force["a"].enabled


def test_nothing_is_removed_while_a_file_cant_be_read(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    folders.apply()
    folders.write(b_sql="---\nid: b")
    assert folders.apply(remove_missing=True) == [
        "= a: unchanged (v1)",
        "! b: not removed, because b.sql can't be read: it may be this rule",
    ]


def test_a_log_has_one_set_of_keys_and_one_order(folders: Folders) -> None:
    folders.write(a_sql=front("keys: kind"), b_sql=front("time: [ts, n]"), c_sql=LOGIN_PAY, d_sql=front("keys: USER"))
    plan = folders.plan()
    assert [(problem.path, problem.error.code) for problem in plan.problems] == [
        ("a.sql", "RULE_NEEDS_OTHER_KEYS"),
        ("b.sql", "RULE_NEEDS_OTHER_ORDER"),
    ]
    assert [line.id for line in plan.lines if line.change is not None] == ["c", "d"]


def test_without_settings_the_first_rule_decides(folders: Folders) -> None:
    folders.write(
        rules_yaml="", a_sql="PARTITION BY u ORDER BY t " + LOGIN_PAY, b_sql="PARTITION BY v ORDER BY t " + OTHER
    )
    plan = folders.plan()
    assert [line.action.name for line in plan.lines] == ["ADD", "LEAVE"]


def test_the_first_rule_that_is_on_decides(folders: Folders) -> None:
    off = front("enabled: false", "PARTITION BY u ORDER BY t " + LOGIN_PAY)
    folders.write(rules_yaml="", a_sql=off, b_sql="PARTITION BY v ORDER BY t " + OTHER)
    plan = folders.plan()
    assert [str(line) for line in plan.lines] == ["= a: off", "+ b: new (v1)"] and not plan.problems


def test_what_a_log_cant_hold(folders: Folders) -> None:
    folders.write(a_sql="TYPE kind PATTERN SEQ(A, B) RETURN MATCHES")
    (line,) = folders.plan().lines
    assert str(line) == "! a: not written: an event query runs as a stream of its own"


def test_suppress_becomes_an_option(folders: Folders) -> None:
    folders.write(a_sql=front("suppress: 1 hour by user"))
    (line,) = folders.plan().lines
    assert line.change is not None
    assert line.change.options.suppress == "1 hour by user"


def test_a_log_edited_by_hand(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    folders.apply()
    (folders.log / "a.v00000001.json").write_text("{")
    assert folders.apply() == ["+ a: new (v2)", "= b: unchanged (v1)"]
    assert folders.apply() == ["= a: unchanged (v2)", "= b: unchanged (v1)"]


def test_somebody_else_writes_meanwhile(folders: Folders) -> None:
    folders.write(a_sql=LOGIN_PAY, b_sql=LOGIN_PAY)
    plan = folders.plan()
    write_change(folders.log, "a", "x", version=None, enabled=True, options=None)
    assert {id: error.code for id, error in write_changes(plan, folders.log).items()} == {"a": "RULE_VERSION_EXISTS"}
    assert read_log(folders.log).in_force["b"].text == LOGIN_PAY.strip()


def test_a_log_that_cant_be_written(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    folders.write(a_sql=LOGIN_PAY)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)  # tests may run as root, who may write everywhere
    (error,) = write_changes(folders.plan(), folders.log).values()
    assert error.code == "LOG_NOT_WRITABLE" and "Permission denied" in error.message


def test_nothing_is_applied_with_broken_settings(folders: Folders) -> None:
    folders.write(a_sql="PARTITION BY user ORDER BY ts " + LOGIN_PAY, rules_yaml="keys: kind\ntimes: ts\n")
    assert folders.apply() == ["! a: not written, because its file or rules.yaml has an error"]
