"""A folder of rule files with tests: how long `ostinato rules test` takes, from its start to its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.experiment import Scale, expect, seconds
from benchmarks.records import Goal, Record, Sense

RULES = {Scale.SMALL: 500, Scale.FULL: 500}
ROUNDS = 3
GOAL = Goal(Sense.BELOW, 10.0)
SETTINGS = """\
keys: user
time: ts
schema: {user: string, ts: timestamp, kind: string, amount: double}
"""


def rule_file(number: int, total: float) -> str:
    """A rule of one of three shapes, with a test of each kind. `total` is what the first one expects."""
    pattern = ("(LOGIN PAY{2})", "(LOGIN GAP* PAY PAY)", "(LOGIN (PAY | GAP)*? PAY PAY)")[number % 3]
    gap = "" if number % 3 == 0 else ", GAP AS kind = 'view'"
    return f"""\
---
title: Rule {number}
severity: medium
tests:
  - should_match:
      - {{user: ann, ts: 2024-03-01 09:00:00, kind: login}}
      - {{user: ann, ts: 2024-03-01 09:10:00, kind: pay, amount: {number}}}
      - {{user: ann, ts: 2024-03-01 09:20:00, kind: pay, amount: 1}}
    expect:
      - {{user: ann, total: {total}}}
  - should_not_match:
      - {{user: ann, ts: 2024-03-01 09:00:00, kind: login}}
      - {{user: ann, ts: 2024-03-01 11:10:00, kind: pay, amount: {number}}}
      - {{user: ann, ts: 2024-03-01 11:20:00, kind: pay, amount: 1}}
---
MEASURES sum(PAY.amount) AS total
PATTERN {pattern} WITHIN INTERVAL '{60 + number % 7}' MINUTE
DEFINE LOGIN AS kind = 'login', PAY AS kind = 'pay' AND amount < {number + 2}{gap}
"""


def measure_rule_tests(scale: Scale) -> list[Record]:
    rules = RULES[scale]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules.yaml").write_text(SETTINGS)
        for number in range(rules):
            (folder / f"rule-{number:04d}.sql").write_text(rule_file(number, number + 1.0))
        right = (0, f"{rules} rules, {2 * rules:,} tests: {2 * rules:,} passed")
        taken = [seconds(lambda: expect("tests", tested(folder), right)) for _ in range(ROUNDS)]
        (folder / "rule-0000.sql").write_text(rule_file(0, 2.5))
        wrong = (1, f"{rules} rules, {2 * rules:,} tests: {2 * rules - 1:,} passed, 1 failed")
        expect("tests with a wrong one", tested(folder), wrong)
    case = f"{rules} rules, {2 * rules:,} tests"
    return [Record("rules", "tests", case, "time of ostinato rules test", min(taken), "s", goal=GOAL)]


def tested(folder: Path) -> tuple[int, str]:
    """The exit code and the last line of `ostinato rules test`."""
    command = [sys.executable, "-m", "ostinato.cli", "rules", "test", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = ran.stdout.splitlines()
    return ran.returncode, lines[-1] if lines else ran.stderr
