"""The conditions of rules on single events: the text of each construct, and what is refused."""

from __future__ import annotations

import pytest
from tests.sigma_rules.rule_texts import base_rule, condition, problem


@pytest.mark.parametrize(
    ("test", "written"),
    [
        ("a: Text", "(lower(`a`) = lower('Text'))"),
        ("a: 5", "(`a` = 5)"),
        ("a: -2.5", "(`a` = (- 2.5))"),
        ("a: true", "(`a` = TRUE)"),
        ("a: ''", "(lower(`a`) = lower(''))"),
        ("a: null", "(`a` IS NULL)"),
        ("a|exists: true", "(NOT (`a` IS NULL))"),
        ("a|exists: false", "(`a` IS NULL)"),
        ("a: [x, 3]", "((lower(`a`) = lower('x')) OR (`a` = 3))"),
        ("a: [x, Y, 1, 2, z*, x]", "(lower(`a`) IN (lower('x'), lower('Y'))) OR (`a` IN (1, 2)) OR (`a` ILIKE 'z%')"),
        ("a: x*y?", "(`a` ILIKE 'x%y_')"),
        ("a|contains: 5%", "(`a` ILIKE '%5\\\\%%')"),
        ("a|startswith: x", "(`a` ILIKE 'x%')"),
        ("a|endswith|cased: X", "(`a` LIKE '%X')"),
        ("a|cased: X", "(`a` = 'X')"),
        ("a|contains|all: [x, y]", "((`a` ILIKE '%x%') AND (`a` ILIKE '%y%'))"),
        ("a|neq: x", "(NOT ((lower(`a`) = lower('x')) IS TRUE))"),
        ("a|re: x.*y", "(`a` RLIKE 'x.*y')"),
        ("a|re|i|s: x.*y", "(`a` RLIKE '(?is)x.*y')"),
        ("a|gte: 5", "(`a` >= 5)"),
        ("a|lt: 5", "(`a` < 5)"),
        ("a|cidr: 10.1.0.0/16", "(`a` RLIKE '^10[.]1[.]OCTET[.]OCTET$')"),
        ("a|windash: -x", "(lower(`a`) IN (lower('-x'), lower('/x')"),
        ("a|base64: x", "(lower(`a`) = lower('eA=='))"),
        ("a|wide: x", "(lower(`a`) = lower('x\\u0000'))"),
        ("process.name: x", "(lower(`process.name`) = lower('x'))"),
    ],
)
def test_a_field_and_its_value(test: str, written: str) -> None:
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    assert written.replace("OCTET", octet) in condition(f"{{s: {{{test}}}, condition: s}}")


@pytest.mark.parametrize(
    ("detection", "written"),
    [
        ("{s: {a: 1, b: 2}, condition: s}", "((`a` = 1) AND (`b` = 2))"),
        ("{s: [{a: 1}, {b: 2}], condition: s}", "((`a` = 1) OR (`b` = 2))"),
        ("{s: {a: 1}, t: {b: 2}, condition: s and not t}", "((`a` = 1) AND (NOT ((`b` = 2) IS TRUE)))"),
        ("{s_1: {a: 1}, s_2: {b: 2}, t: {c: 3}, condition: 1 of s_*}", "((`a` = 1) OR (`b` = 2))"),
        ("{s: {a: 1}, t: {b: 2}, condition: all of them}", "((`a` = 1) AND (`b` = 2))"),
        ("{s: {a: 1}, t: {b: 2}, condition: [s, t]}", "((`a` = 1) OR (`b` = 2))"),
    ],
)
def test_a_condition(detection: str, written: str) -> None:
    assert condition(detection) == written


def test_values_and_names_are_never_read_as_sql() -> None:
    detection = """{s: {"a` = 1 OR `b": "x') OR true --\\n\\\\"}, condition: s}"""
    assert condition(detection) == "(lower(`a`` = 1 OR ``b`) = lower('x\\') OR true --\\u000a\\\\'))"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (base_rule("{s: [word], condition: s}"), "SIGMA_NOT_SUPPORTED", "a keyword"),
        (base_rule("{s: {a|fieldref: b}, condition: s}"), "SIGMA_NOT_SUPPORTED", "SigmaFieldReference"),
        (base_rule("{s: {a|expand: '%x%'}, condition: s}"), "SIGMA_NOT_SUPPORTED", "a placeholder"),
        (base_rule("{s: {a|hour: 5}, condition: s}"), "SIGMA_NOT_SUPPORTED", "a part of the time"),
        (base_rule("{s: {a|cidr: 'fe80::/10'}, condition: s}"), "SIGMA_NOT_SUPPORTED", "IPv6"),
        (base_rule("{s: {a|re: '[a&&b]'}, condition: s}"), "INVALID_REGEX", "can't be evaluated in process"),
        (base_rule("{s: {a|re: '(?=x)'}, condition: s}"), "SIGMA_INVALID", "(?=x)"),
        (base_rule("{s: {a: 1}, timeframe: 5m, condition: s}"), "SIGMA_NOT_SUPPORTED", "a timeframe"),
        (base_rule("{s: {a: 1}, condition: s | count() > 5}"), "SIGMA_INVALID", "pipe"),
        (base_rule("{s: {a: 1}, condition: t}"), "SIGMA_INVALID", "'t' not defined"),
        (base_rule("{s: {a: 1}, condition: 7}"), "SIGMA_INVALID", "can't read"),
        (base_rule("{s: {a|nope: 1}, condition: s}"), "SIGMA_INVALID", "nope"),
        (
            base_rule(f"{{s: {{a|contains: [{', '.join(f'v{i}' for i in range(4000))}]}}, condition: s}}"),
            "SIGMA_NOT_SUPPORTED",
            "characters",
        ),
        ("title: x\naction: global\n", "SIGMA_NOT_SUPPORTED", "action documents"),
        ("- a\n- list\n", "SIGMA_INVALID", "a mapping"),
        ("title: [\n", "SIGMA_INVALID", "isn't YAML"),
        ("title: x\ntitle: y\n", "SIGMA_INVALID", "Duplicate key"),
        ("x: !!python/object/apply:os.getcwd []\n", "SIGMA_INVALID", "isn't YAML"),
    ],
)
def test_refused_rules(text: str, code: str, words: str) -> None:
    found = problem(text)
    assert (found.code, words in found.message) == (code, True), found
