"""Changes that nobody should write: they are rejected, each once, and the other rules go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

import ostinato as ost
from ostinato.rule_sets.change_files import file_name, versions
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.rule_changes import UnreadableChange, read_change
from ostinato.rule_sets.rule_output import OutputTable
from ostinato.rule_sets.rule_search import RuleSearch

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
    "a version that is a text": json.dumps({**GOOD, "version": "one"}),
    "a version with a fraction": json.dumps({**GOOD, "version": 1.5}),
    "a version that is no number": '{"id": "r", "version": NaN, "text": "PATTERN (A)"}',
    "enabled is a text": json.dumps({**GOOD, "enabled": "off"}),
    "enabled is misspelt": json.dumps({**GOOD, "enable": False}),
    "half a character as a field": json.dumps({**GOOD, "\ud800": False}),
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


QUERY = f"SELECT {{}} FROM events MATCH_RECOGNIZE ({AB})"
UNRUNNABLE = {
    QUERY.format("a, a"): "DUPLICATE_COLUMN",
    QUERY.format("*, a"): "DUPLICATE_COLUMN",
    QUERY.format("a, b AS A"): "DUPLICATE_COLUMN",
    QUERY.format("b AS k"): "DUPLICATE_COLUMN",
    QUERY.format("*") + " AS m (x, k, y)": "DUPLICATE_COLUMN",
    "MEASURES INTERVAL '1' MONTH AS m PATTERN (A) DEFINE A AS kind = 'A'": "TYPE_MISMATCH",
    "PATTERN (A B) WITHIN INTERVAL '999999999' DAY DEFINE A AS x > 0": "INVALID_WITHIN",
    "PATTERN (A B) WITHIN 9000000000 HOURS DEFINE A AS x > 0": "INVALID_WITHIN",
    "PATTERN (A B) WITHIN INTERVAL '106751991' DAY DEFINE A AS x > 0": "INVALID_WITHIN",
}
"""Rules that were in force until their first match, which stopped the stream."""


@pytest.mark.parametrize(("text", "code"), UNRUNNABLE.items(), ids=UNRUNNABLE)
def test_a_rule_whose_rows_cannot_be_written_is_rejected(text: str, code: str) -> None:
    stream = RuleStream()
    output = stream.step(rows("AB"), 2, rule("good", AB), rule("r", text))
    assert matches(output) == [("good", 1, {"a": 0, "b": 1})]
    (rejected,) = of_kind(output, "rule_rejected")
    assert (rejected["rule"], rejected["message"].split(":")[0]) == ("r", code)
    assert stream.finish() == []


def test_the_longest_within() -> None:
    stream = RuleStream()
    stream.step(rows("A"), 1, rule("r", "PATTERN (A B) WITHIN INTERVAL '36500000' DAY DEFINE A AS x >= 0"))
    assert stream.steps[-1].wake_at_us == 36_500_000 * 86_400_000_000 + 1
    ends_of_time = rows("A", (1 << 63) - 10)
    stream.step(ends_of_time, (1 << 63) - 10)
    assert stream.steps[-1].counts.open_runs == 1


def test_keys_under_their_own_names_are_no_measures() -> None:
    for selected in ("a, k", "K, a", "m.a, m.k"):
        output = RuleStream().step(rows("AB"), 2, rule("r", QUERY.format(selected) + " AS m"))
        assert matches(output) == [("r", 1, {"a": 0})]
    output = RuleStream().step(rows("AB"), 2, rule("r", QUERY.format("k AS who, a")))
    assert matches(output) == [("r", 1, {"who": "p", "a": 0})]


@pytest.mark.parametrize("stage", ["run", "output"])
def test_a_defect_that_one_rule_meets_suspends_this_rule(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object, *arguments: object, **options: object) -> object:
        if any(getattr(each, "rule", each).change.id == "bad" for each in (self, *arguments) if _is_of_rule(each)):
            raise KeyError("no such thing")
        return before(self, *arguments, **options)

    owner, name = (RuleSearch, "run") if stage == "run" else (OutputTable, "add_matches")
    before = getattr(owner, name)
    monkeypatch.setattr(owner, name, fails)
    stream = RuleStream()
    output = stream.step(rows("AB"), 2, rule("bad", AB), rule("good", AB))
    (report,) = of_kind(output, "rule_suspended")
    assert report["rule"] == "bad"
    assert report["message"].startswith("INTERNAL_ERROR: the rule can't run: KeyError: 'no such thing'")
    assert matches(output) == [("good", 1, {"a": 0, "b": 1})]


def _is_of_rule(value: object) -> bool:
    return isinstance(value, RuleSearch | CompiledRule)


def test_a_lack_of_memory_suspends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(RuleSearch, "run", fails)
    with pytest.raises(MemoryError):
        RuleStream().step(rows("AB"), 2, rule("r", AB))


@pytest.mark.parametrize("version", ["7", " 7 ", 7.0])
def test_numbers_and_booleans_of_tables_may_be_texts(version: object) -> None:
    change = read_change(json.dumps({**GOOD, "version": version, "enabled": "False"}))
    assert (change.version, change.enabled) == (7, False)
    assert read_change(json.dumps({**GOOD, "enabled": None})).enabled


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
    assert versions(tmp_path / "rules", id) == {1, 2}
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


def test_files_with_other_names_count_as_versions(tmp_path: Path) -> None:
    """A tool may upload changes under names of its own."""
    (tmp_path / "uploaded-42.json").write_text(json.dumps({**GOOD, "version": 7}))
    (tmp_path / "wrong.json").write_text(json.dumps({**GOOD, "version": 9, "enable": True}))
    (tmp_path / "other.json").write_text(json.dumps({**GOOD, "id": "other", "version": 20}))
    (tmp_path / "broken.json").write_bytes(b"\xff{")
    (tmp_path / "folder.json").mkdir()
    assert ost.suspend_rule(tmp_path, "r", "slow") == 10
    with pytest.raises(ost.QueryError, match="RULE_VERSION_EXISTS"):
        ost.write_rule(tmp_path, "r", AB, version=7)
