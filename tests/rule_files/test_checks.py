"""Rules over a schema: keys and times that must agree, kinds of queries, and the schema of a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.rule_files.folders import LOGIN_PAY, checked, told, write

from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.rule_folder import read_folder


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("PARTITION BY kind " + LOGIN_PAY, "RULE_NEEDS_OTHER_KEYS"),
        ("PARTITION BY USER ORDER BY TS " + LOGIN_PAY, None),
        ("ORDER BY n " + LOGIN_PAY, "RULE_NEEDS_OTHER_ORDER"),
        ("ORDER BY ts DESC " + LOGIN_PAY, "RULE_NEEDS_OTHER_ORDER"),
        (f"SELECT total FROM events MATCH_RECOGNIZE ({LOGIN_PAY})", None),
        (f"SELECT total FROM events MATCH_RECOGNIZE (PARTITION BY n {LOGIN_PAY})", "RULE_NEEDS_OTHER_KEYS"),
        ("TYPE kind TIME n PATTERN SEQ(A, B) RETURN MATCHES", "RULE_NEEDS_OTHER_ORDER"),
        ("TYPE kind PATTERN SEQ(A, B) GROUP BY n RETURN MATCHES", "RULE_NEEDS_OTHER_KEYS"),
        ("TYPE kind PATTERN SEQ(A, B) GROUP BY user RETURN MATCHES", None),
        ("---\ntime: [ts, n]\n---\nTYPE kind PATTERN SEQ(A, B) RETURN MATCHES", "RULE_NEEDS_OTHER_ORDER"),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS " + "(" * 5000, "TOO_DEEP"),
        ("TYPE kynd PATTERN SEQ(A, B) RETURN MATCHES", "UNKNOWN_COLUMN"),
        ("PATTERN SEQ(A, B) RETURN MATCHES", "TYPE_COLUMN_MISSING"),
        ('{"steps": ["a", "b"], "type": "kynd", "within": "1 hour"}', "UNKNOWN_COLUMN"),
        ('{"steps": ["a"], "type": "kind"}', "INVALID_STEPS"),
        ('{"steps": ["a", "b"], "type": "kind", "when": 1}', "INVALID_OPTION"),
        ("MEASURES 1 AS x PATTERN (A B) DEFINE B AS kind + ARRAY(1) > 5", "TYPE_MISMATCH"),
    ],
)
def test_a_rule_over_the_schema(tmp_path: Path, query: str, code: str | None) -> None:
    found = checked(tmp_path, a_sql=query)
    assert [problem.error.code for problem in found.problems] == ([] if code is None else [code])


def test_a_rule_may_have_keys_and_a_time_of_its_own(tmp_path: Path) -> None:
    found = checked(tmp_path, a_sql=f"---\nkeys: kind\ntime: [ts, n]\n---\n{LOGIN_PAY}", b_sql=LOGIN_PAY)
    assert told(found) == []
    assert [(rule.keys, rule.time) for rule in found.rules] == [(("kind",), ("ts", "n")), (("user",), ("ts",))]


def test_keys_and_time_may_stand_in_the_text(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        rules_yaml="",
        a_sql="PARTITION BY user ORDER BY ts " + LOGIN_PAY,
        b_sql="TYPE kind TIME ts PATTERN SEQ(A, B) GROUP BY user RETURN MATCHES",
        c_sql=LOGIN_PAY,
        d_yaml="query: {steps: [a, b], type: kind}",
    )
    assert told(found) == [("c.sql", 1, "TIME_COLUMN_MISSING"), ("d.yaml", 1, "INVALID_OPTION")]
    assert {(rule.keys, rule.time) for rule in found.rules} == {(("user",), ("ts",))}


def test_the_time_is_a_time(tmp_path: Path) -> None:
    found = checked(
        tmp_path,
        rules_yaml="time: n\nkeys: user\nschema: {user: string, n: int, kind: string, amount: int}",
        a_sql=LOGIN_PAY,
    )
    assert told(found) == [("a.sql", 1, "STREAM_NOT_SUPPORTED")]


def test_the_schema_of_a_table_comes_first(tmp_path: Path) -> None:
    write(tmp_path, rules_yaml="keys: user\ntime: ts\nschema: {user: int}", a_sql=LOGIN_PAY)
    schema = pa.schema({"user": pa.large_string(), "ts": pa.timestamp("ns"), "kind": pa.string(), "amount": pa.int8()})
    assert check_folder(read_folder(tmp_path), schema).problems == ()
    assert [one.error.code for one in check_folder(read_folder(tmp_path)).problems] == ["UNKNOWN_COLUMN"]
