"""`ostinato rules from-sigma`: translated rules are rule files that `ostinato rules check` and `test` read."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sigma")

from ostinato.cli import main

LOGINS = """
title: Failed login
name: failed_login
logsource: {category: authentication}
detection: {selection: {action: login, result: failure}, condition: selection}
---
title: Two failed logins
name: two_failures
level: high
correlation:
  type: event_count
  rules: [failed_login]
  timespan: 10m
  condition: {gte: 2}
---
title: Words
name: words
logsource: {category: authentication}
detection: {keywords: [mimikatz], condition: keywords}
"""
SETTINGS = "keys: user\ntime: ts\nschema: {user: string, ts: timestamp, action: string, result: string}\n"


def test_a_folder_of_sigma_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sigma").mkdir()
    (tmp_path / "sigma" / "logins.yml").write_text(LOGINS)
    rules = tmp_path / "rules"
    words = ["rules", "from-sigma", str(tmp_path / "sigma"), str(rules), "--time", "ts"]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert "words: SIGMA_NOT_SUPPORTED" in printed
    assert f"1 rule written to {rules}; 1 not translated" in printed
    (file,) = rules.iterdir()
    assert "keys: []" in file.read_text()  # not the keys of the folder

    (rules / "rules.yaml").write_text(SETTINGS)
    test = """
tests:
- should_match:
  - {ts: 2024-03-01 09:00:00, user: ann, action: login, result: FAILURE}
  - {ts: 2024-03-01 09:05:00, user: bob, action: Login, result: failure}
---
"""
    front, clause = file.read_text()[4:].split("---\n")
    file.write_text(f"---\n{front}{test.lstrip()}{clause}")
    assert main(["rules", "test", str(rules)]) == 0
    assert "1 rule, 1 test: 1 passed" in capsys.readouterr().out
    assert main(words) == 1
    assert "RULE_FILE_EXISTS" in capsys.readouterr().err
