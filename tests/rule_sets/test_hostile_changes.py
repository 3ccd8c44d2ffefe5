"""Changes that nobody should write: they are rejected, each once, and the other rules go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

import ostinato as ost
from ostinato.rule_sets.change_files import file_name, last_version
from ostinato.rule_sets.rule_changes import UnreadableChange, read_change

AB = "MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"
GOOD = {"id": "r", "version": 1, "text": AB}
HOSTILE = {
    "not JSON": "PATTERN (A B)",
    "binary": "\x00\ufffd\ufffdPK\x03\x04",
    "empty": "",
    "deep": "[" * 100_000,
    "a long number": '{"version": ' + "9" * 5_000 + "}",
    "a list": "[1, 2]",
    "a number": "1",
    "no id": json.dumps({"version": 1, "text": AB}),
    "an id that is no text": json.dumps({**GOOD, "id": 7}),
    "an empty id": json.dumps({**GOOD, "id": ""}),
    "a huge id": json.dumps({**GOOD, "id": "x" * 1_000}),
    "half a character": '{"id": "\\ud800", "version": 1, "text": "PATTERN (A)"}',
    "half a character in the text": '{"id": "r", "version": 1, "text": "PATTERN (\\udfff)"}',
    "version 0": json.dumps({**GOOD, "version": 0}),
    "a huge version": json.dumps({**GOOD, "version": 2**70}),
    "a version that is true": json.dumps({**GOOD, "version": True}),
    "a text": json.dumps({**GOOD, "version": "1"}),
    "enabled is a text": json.dumps({**GOOD, "enabled": "false"}),
    "a text that is a list": json.dumps({**GOOD, "text": []}),
    "no text": json.dumps({**GOOD, "text": None}),
    "a text of a megabyte": json.dumps({**GOOD, "text": AB + " " * (1 << 20)}),
    "an unknown option": json.dumps({**GOOD, "options": {"\ud800": 1}}),
    "an option of another type": json.dumps({**GOOD, "options": {"start": [], "max_errors": {}}}),
    "options that are a list": json.dumps({**GOOD, "options": [1]}),
    "options that are no JSON": json.dumps({**GOOD, "options": "{"}),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_change_stops_the_stream(text: str) -> None:
    with pytest.raises(UnreadableChange):
        read_change(text)
    stream = RuleStream()
    output = stream.step(rows("AB"), 2, rule("good", AB), text)
    assert [row["kind"] for row in output] == ["rule_rejected", "rule_changed", "match"]
    assert stream.step(None, 2) == []


def test_thousands_of_changes_in_one_step() -> None:
    stream = RuleStream(max_rules=40)
    changes = [rule(f"r{number}", AB, version) for number in range(30) for version in range(1, 101)]
    output = stream.step(rows("AB"), 2, *reversed(changes), *changes[:100])
    assert len(of_kind(output, "rule_changed")) == 30
    assert {version for _, version, _ in matches(output)} == {100}
    assert of_kind(output, "rule_rejected") == []


def test_keys_that_are_null_and_ties_of_time() -> None:
    stream = RuleStream()
    output = stream.step(rows("AB", key=None), 2, rule("r", AB))
    assert matches(output) == [("r", 1, {"a": 0, "b": 1})]
    assert "k" not in of_kind(output, "match")[0]


@pytest.mark.parametrize(
    "id", ["a b", "../../etc/passwd", ".hidden", "_x", "ü/ö", "a\nb", "x" * 200, "é" * 200, "%2F", "*"]
)
def test_ids_with_odd_characters_are_names_of_files(tmp_path: Path, id: str) -> None:
    assert [ost.write_rule(tmp_path / "rules", id, AB) for _ in range(2)] == [1, 2]
    assert last_version(tmp_path / "rules", id) == 2
    names = sorted(entry.name for entry in (tmp_path / "rules").iterdir())
    assert names == [file_name(id, 1), file_name(id, 2)]
    assert not names[0].startswith((".", "_"))
    assert read_change((tmp_path / "rules" / names[0]).read_text()).id == id


def test_a_version_is_never_written_twice(tmp_path: Path) -> None:
    ost.write_rule(tmp_path, "r", AB, version=3)
    with pytest.raises(ost.QueryError, match="RULE_VERSION_EXISTS"):
        ost.write_rule(tmp_path, "r", AB, version=3)
    assert ost.suspend_rule(tmp_path, "r", "slow") == 4
    assert read_change((tmp_path / file_name("r", 4)).read_text()).options.reason == "slow"
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        ost.write_rule(tmp_path, "r", AB, options={"at_start": "kept"})
    with pytest.raises(ost.QueryError, match="INVALID_RULE"):
        ost.write_rule(tmp_path, "r", AB, version=0)
