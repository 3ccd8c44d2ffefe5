"""Folders of rule files, written for a test."""

from __future__ import annotations

from pathlib import Path

from ostinato.rule_files.checks import CheckedFolder, check_folder
from ostinato.rule_files.rule_folder import read_folder

SETTINGS = """\
keys: user
time: ts
schema:
  user: string
  ts: timestamp
  kind: string
  amount: double
  n: tinyint
"""
LOGIN_PAY = """\
MEASURES sum(PAY.amount) AS total
PATTERN (LOGIN PAY) WITHIN INTERVAL '1' HOUR
DEFINE LOGIN AS kind = 'login', PAY AS kind = 'pay'
"""


def write(folder: Path, **files: str) -> Path:
    """Writes files: `a_sql="..."` is the file a.sql."""
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return folder


def checked(folder: Path, **files: str) -> CheckedFolder:
    """The folder with these files, and settings unless `rules_yaml` has others."""
    write(folder, **{"rules_yaml": SETTINGS, **files})
    return check_folder(read_folder(folder))


def told(found: CheckedFolder) -> list[tuple[str, int | None, str]]:
    """Path, line and code of each problem."""
    return [(problem.path, problem.line, problem.error.code) for problem in found.problems]
