"""Rule files with random damage: each is read, or refused by an error of ours, and none stops the others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.rule_files.folders import LOGIN_PAY, SETTINGS, write

from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.rule_folder import read_folder
from ostinato.rule_files.rule_tests import TestRunner

EVENTS = (
    "[{user: ann, ts: 2024-03-01 09:00:00, kind: login, n: 3}, {user: ann, ts: 2024-03-01 09:01:00, kind: pay, n: 4}]"
)
FRONT = f"""\
---
title: A rule
severity: high
tags: [a, b]
time: [ts]
suppress: 1 hour by user
options: {{start: kept, max_errors: 5}}
tests:
- should_match: {EVENTS}
  expect: [{{user: ann, total: null}}]
- should_not_match: |
    user,ts,kind
    ann,2024-03-01 09:00:00,view
---
"""
FILES = {
    "sql": FRONT + LOGIN_PAY.replace("DEFINE", "SUBSET U = (LOGIN, PAY)\nDEFINE").replace("'pay'", "'pay' AND n < 200"),
    "yaml": f"query: {{steps: [login, pay], type: kind, within: 1 hour}}\ntests:\n- should_match: {EVENTS}\n",
    "yml": f"query: |\n  TYPE kind PATTERN SEQ(login l, pay p) RETURN MATCHES\ntests:\n- should_match: {EVENTS}\n",
}
PIECES = (
    *("---", "\n", "null", "true", "5", "-1", "1e999", "''", "[]", "{}", ": ", "- ", "|", "&a ", "*a", "!x", "\t", "#"),
    *("NULL", " AND ", " NOT ", "n", "kind", "'", "(", ")", "PREV(", "U.", "count(*)", "1.5", "DATE '2024-01-01'"),
    *("ORDER BY", "PARTITION BY n", "by user", "1 day", "é", "\u202e", ".nan", "9" * 30, "{a: 1}", "[1, a]"),
)


def damaged(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 2, 3])):
        begin = chance.randrange(len(text) + 1)
        end = begin + chance.choice([0, 0, 1, 3, 10, 30])
        text = text[:begin] + chance.choice([*PIECES, ""]) + text[end:]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(40):
        ending = chance.choice(list(FILES))
        write(tmp_path, **{f"r{number}_{ending}": damaged(FILES[ending], chance)})
    write(tmp_path, rules_yaml=SETTINGS, whole_sql=FILES["sql"])
    checked = check_folder(read_folder(tmp_path))
    runner = TestRunner(tmp_path, checked.folder.settings)
    results = [result for rule in checked.rules for result in runner.run(rule)]
    errors = [problem.error for problem in checked.problems] + [one.error for one in results if one.error is not None]
    assert not [str(error) for error in errors if error.code == "INTERNAL_ERROR"]
    assert [result.passed for result in results if result.rule.file.id == "whole"] == [True, True]
    assert 5 < len(checked.rules) < 40
