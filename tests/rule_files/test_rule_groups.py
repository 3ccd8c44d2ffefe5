"""Rules of a folder -> operators: one for each set of keys and order, and one for each event query."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rule_files.folders import LOGIN_PAY, checked

from ostinato.rule_files.rule_groups import GroupedRules, grouped

EVENTS = "TYPE kind PATTERN SEQ(login l, pay p) WITHIN 1 HOUR RETURN MATCHES"
FUNNEL = "query: {steps: [login, pay], type: kind, within: 1 hour}"


def groups(folder: Path, **files: str) -> GroupedRules:
    found = checked(folder, **files)
    assert not found.has_errors, [str(problem) for problem in found.problems]
    return grouped(found)


def ids(found: GroupedRules) -> list[list[str]]:
    return [[rule.file.id for rule in group.rules] for group in found.groups]


def test_rules_with_the_same_keys_and_order_share_an_operator(tmp_path: Path) -> None:
    found = groups(
        tmp_path,
        a_sql=LOGIN_PAY,
        b_yaml=FUNNEL,
        c_sql=f"---\nkeys: [kind, USER]\n---\n{LOGIN_PAY}",
        d_sql=f"---\nkeys: [user, kind]\n---\n{LOGIN_PAY}",
        e_sql=f"---\nkeys: []\n---\n{LOGIN_PAY}",
        f_sql=f"---\ntime: [ts, n]\n---\n{LOGIN_PAY}",
        off_sql=f"---\nenabled: false\n---\n{LOGIN_PAY}",
        q_sql=EVENTS,
    )
    assert [(group.keys, group.time) for group in found.groups] == [
        ((), ("ts",)),
        (("kind", "user"), ("ts",)),
        (("user",), ("ts",)),
        (("user",), ("ts", "n")),
    ]
    assert ids(found) == [["e"], ["c", "d"], ["a", "b"], ["f"]]
    assert [(run.rule.file.id, run.keys, run.time) for run in found.event_queries] == [("q", ("user",), ("ts",))]
    assert found.event_queries[0].request.options.match_id is not None
    names = [one.name for one in (*found.groups, *found.event_queries)]
    assert len(set(names)) == 5
    assert names[2].startswith("rules-user-by-ts-")


def test_an_operator_keeps_its_name_when_rules_come_and_go(tmp_path: Path) -> None:
    both = {
        "a_sql": f"---\nkeys: [kind, user]\n---\n{LOGIN_PAY}",
        "b_sql": f"---\nkeys: [user, kind]\n---\n{LOGIN_PAY}",
    }
    (before,) = groups(tmp_path, **both).groups
    (tmp_path / "a.sql").unlink()
    (after,) = groups(tmp_path, b_sql=both["b_sql"]).groups
    assert (before.name, before.keys) == (after.name, after.keys)


def test_changes_have_the_options_of_the_files(tmp_path: Path) -> None:
    suppressed = f"---\nsuppress: 1 hour by user\noptions: {{max_errors: 3}}\n---\n{LOGIN_PAY}"
    (group,) = groups(tmp_path, a_sql=suppressed).groups
    (change,) = group.changes()
    assert (change.id, change.version, change.text) == ("a", 1, LOGIN_PAY.strip())
    assert change.options.to_values() == {"suppress": "1 hour by user", "max_errors": 3}


@pytest.mark.parametrize(
    ("front", "words"),
    [
        ("suppress: 1 hour by user", "the field suppress"),
        ("options: {max_errors: 3}", "the field options"),
        ("time: n", "'n' is TINYINT"),
    ],
)
def test_event_queries_that_no_operator_runs_as_written(tmp_path: Path, front: str, words: str) -> None:
    text = EVENTS.replace("1 HOUR", "3 EVENTS")
    found = groups(tmp_path, a_sql=f"---\n{front}\n---\n{text}", b_sql=LOGIN_PAY)
    (problem,) = found.problems
    assert (problem.path, problem.error.code) == ("a.sql", "UNSUPPORTED_IN_RUN")
    assert words in problem.error.message
    assert ids(found) == [["b"]]
    assert not found.event_queries


def test_alone_keeps_rules_with_errors(tmp_path: Path) -> None:
    """They may belong to the group, so its change log must not lose them."""
    found = checked(tmp_path, a_sql=LOGIN_PAY, bad_sql="PATTERN (A", c_sql=f"---\nkeys: kind\n---\n{LOGIN_PAY}")
    by_keys = {group.keys: group for group in grouped(found).groups}
    alone = by_keys[("kind",)].alone(found)
    assert [rule.id for rule in alone.folder.rules] == ["bad", "c"]
    assert [rule.file.id for rule in alone.rules] == ["c"]
    assert alone.folder.settings.keys == ("kind",)
