"""Warnings about rules that parse and type: each with its code, its line and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rule_files.folders import checked

BOUNDED = "WITHIN INTERVAL '1' HOUR"


def warnings(folder: Path, query: str, name: str = "a_sql") -> list[str]:
    found = checked(folder, **{name: query})
    assert not found.has_errors, found.problems
    return [f"{problem.line} {problem.error.code}: {problem.error.message}" for problem in found.problems]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("MEASURES 1 AS x PATTERN (A B+ C) DEFINE B AS amount > 1, C AS amount < 0", "UNBOUNDED_STATE"),
        ("MEASURES 1 AS x PATTERN (A B* C) WITHIN 1 HOUR DEFINE B AS amount > 1", None),
        ("MEASURES 1 AS x PATTERN (A B* C) MAXLENGTH 9 DEFINE B AS amount > 1", None),
        ("MEASURES 1 AS x PATTERN (A B{1,5} C) DEFINE B AS amount > 1", None),
        ("MEASURES 1 AS x PATTERN (A B) SUBSET U = (A, B) DEFINE B AS amount > 1", "UNUSED_VARIABLE"),
        ("MEASURES LAST(U.amount) AS x PATTERN (A B) SUBSET U = (A, B) DEFINE B AS amount > 1", None),
        ("MEASURES count(U.*) AS x PATTERN (A B) SUBSET U = (A, B) DEFINE B AS amount > 1", None),
        ("MEASURES CLASSIFIER(U) AS x PATTERN (A B) SUBSET U = (A, B) DEFINE B AS amount > 1", None),
        ("MEASURES 1 AS x PATTERN (A B) SUBSET U = (A, B) DEFINE B AS u.amount > 1", None),
        ("MEASURES 1 AS x AFTER MATCH SKIP TO LAST U PATTERN (A B) SUBSET U = (A, B) DEFINE B AS n > 1", None),
        ("MEASURES 1 AS x PATTERN (LOGIN LOGON) DEFINE LOGIN AS kind = 'a'", "VARIABLE_WITHOUT_CONDITION"),
        ("MEASURES 1 AS x PATTERN (STEP1 STEP2) DEFINE STEP1 AS kind = 'a'", None),
        ("MEASURES 1 AS x PATTERN (LOGIN OTHER) DEFINE LOGIN AS kind = 'a'", None),
        ("MEASURES 1 AS x PATTERN (KIND B) DEFINE B AS amount > 1", "SHADOWED_NAME"),
        ("MEASURES count(*) AS amount PATTERN (A B) DEFINE B AS amount > 1", "SHADOWED_NAME"),
        ("MEASURES LAST(B.amount) AS amount PATTERN (A B) DEFINE B AS amount > 1", None),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS n > 127", "CONDITION_NEVER_TRUE"),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS PREV(n) > 5 AND n < 9 AND PREV(n) < 5", "CONDITION_NEVER_TRUE"),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS PREV(n) > 5 AND n < 5", None),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS A.n > 5 AND B.n < 5", None),
        ("TYPE kind PATTERN SEQ(A a, B b) WHERE b.n > 5 AND b.n < 5 RETURN MATCHES", "CONDITION_NEVER_TRUE"),
        ("TYPE kind PATTERN SEQ(A a, B b) WHERE a.n > 5 AND b.n < 5 RETURN MATCHES", None),
        ('{"steps": ["a", "b"], "type": "kind"}', "UNBOUNDED_STATE"),
        ('{"steps": ["a", "b"], "type": "kind", "within": "1 hour"}', None),
        ('{"steps": {"a": "n > 5", "b": "n = NULL"}, "within": "1 hour"}', "CONDITION_NEVER_TRUE"),
    ],
)
def test_one_warning_or_none(tmp_path: Path, query: str, code: str | None) -> None:
    found = warnings(tmp_path, query)
    assert [line.split(" ")[1].rstrip(":") for line in found] == ([] if code is None else [code])


def test_the_line_and_the_words(tmp_path: Path) -> None:
    query = f"MEASURES 1 AS x\nPATTERN (A B) {BOUNDED}\nDEFINE\n  B AS kind = 'pay'\n    AND n > 5\n    AND n < 3"
    (line,) = warnings(tmp_path, query)
    assert line == "5 CONDITION_NEVER_TRUE: no row can be B: n > 5 and n < 3 exclude each other"


def test_without_a_schema_only_names_are_looked_at(tmp_path: Path) -> None:
    query = "MEASURES 1 AS x PATTERN (A B+) SUBSET U = (A, B) DEFINE B AS n > 5 AND n < 3"
    found = checked(tmp_path, rules_yaml="keys: user\ntime: ts\n", a_sql=query)
    assert [problem.error.code for problem in found.problems] == ["UNUSED_VARIABLE"]
