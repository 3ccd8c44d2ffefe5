"""A safe part of YAML: values, lines, and hazards that are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ostinato.errors import OstinatoError
from ostinato.rule_files.yaml_values import FileFault, read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1", {"a": 1}),
        ("a: -3\nb: 2.5\nc: 1e3\nd: .5", {"a": -3, "b": 2.5, "c": 1000.0, "d": 0.5}),
        ("[true, false, null, ~, ]", [True, False, None, None]),
        ("[on, off, yes, no, y, n]", ["on", "off", "yes", "no", "y", "n"]),  # booleans in YAML 1.1
        ("[12:30, 190:20:30, 0o17, 017, 0x1F, 1_000]", ["12:30", "190:20:30", "0o17", "017", "0x1F", "1_000"]),
        ("[2024-01-31, 2024-01-31 10:00:00]", ["2024-01-31", "2024-01-31 10:00:00"]),
        ("['1', \"true\", '', null]", ["1", "true", "", None]),
        ("a: |\n  x: 1\n  - y\n", {"a": "x: 1\n- y\n"}),
        ("{a: [{b: {}}, []]}", {"a": [{"b": {}}, []]}),
        ("=: 1\n<<: 2", {"=": 1, "<<": 2}),  # no merging of mappings
    ],
)
def test_values(text: str, value: Any) -> None:
    assert read_yaml(text).value == value


def test_special_numbers() -> None:
    values = read_yaml("[.inf, -.inf, .NaN]").value
    assert values[:2] == [float("inf"), float("-inf")] and values[2] != values[2]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb:\n  a: 2\n  a: 3", 4, "'a' stands twice, first in line 3"),
        ("a: &x [1]\nb: *x", 1, "anchors"),
        ("a: *x", 1, "anchors"),
        ("a: !!python/object/apply:os.system [ls]", 1, "tag"),
        ("\n!mine a", 2, "tag"),
        ("a: 1\n---\nb: 2", 2, "second YAML document"),
        ("a:\n  - b: c: d", 2, "mapping values are not allowed"),
        ("\ta: 1", 1, "isn't YAML"),
        ("? [a]\n: 1", 1, "the name of a field"),
        ("a: [1, 2", 1, "isn't YAML"),
        ("[" * 100_000, 1, "levels"),
        ("a: " + "9" * 5_000, 1, "too long"),
        ("a: \x07", None, "isn't YAML"),
        ("a: \ud800", None, "isn't YAML"),
    ],
)
def test_refused(text: str, line: int | None, words: str) -> None:
    with pytest.raises(FileFault, match=words) as caught:
        read_yaml(text)
    assert (caught.value.code, caught.value.line) == ("INVALID_RULE_FILE", line)


def test_too_many_values() -> None:
    with pytest.raises(FileFault, match="200,000 values"):
        read_yaml("[" + "1," * 200_001 + "]")


def test_lines_of_values_and_of_missing_ones() -> None:
    document = read_yaml("a: 1\n\ntests:\n- name: x\n- events:\n  - 1\nq: |\n  text", first_line=2)
    assert [document.line("a"), document.line("tests", 1), document.line("tests", 1, "events", 0)] == [2, 6, 7]
    assert document.line("tests", 1, "nothing") == 6
    assert document.block_texts == {("q",)}


@given(st.text(alphabet="ab:-[]{}'\"|>&*!%@`#,? \n\t1.~", max_size=40))
@settings(max_examples=examples(200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text)
    except OstinatoError as error:
        assert error.code == "INVALID_RULE_FILE"
