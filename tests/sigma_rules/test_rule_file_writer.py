"""Rule files: a front matter that YAML reads back, the clause below it, and nothing overwritten by accident."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.sigma_rules.sigma_events import FILES, FOLDER

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.rule_files.problems import Problems
from ostinato.rule_files.rule_fields import read_rule_file
from ostinato.rule_files.rule_folder import read_folder, split_front_matter
from ostinato.sigma_rules import Problem, TranslatedRule, read_sigma, write_rule_files
from ostinato.sigma_rules.rule_file_writer import file_text

RULE = TranslatedRule("one", "One", severity="high", tags=("a", "b"), time=("ts",), query="PATTERN (E)")


def read_back(file: Path) -> tuple[dict[str, object], str]:
    empty, front, clause = file.read_text(encoding="utf-8").split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(front), clause


def test_all_rules_of_the_tests(tmp_path: Path) -> None:
    rules = read_sigma([FOLDER / name for name in FILES], time=("ts", "id"))
    files = write_rule_files(rules, tmp_path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    for rule, file in zip(rules, files, strict=True):
        front, clause = read_back(file)
        assert file.name == f"{rule.id}.sql"
        assert front["id"] == rule.id and front["title"] == rule.title and front["time"] == ["ts", "id"]
        assert tuple(front["keys"]) == rule.keys  # type: ignore[arg-type]
        assert parse_clause(f"ORDER BY ts {clause}") == parse_clause(f"ORDER BY ts {rule.query}")
        assert [line.startswith("-- ") for line in clause.splitlines()].count(True) == len(rule.computed_columns)


def test_rules_with_problems_are_left_out(tmp_path: Path) -> None:
    assert write_rule_files([TranslatedRule("x", problems=(Problem("A_CODE", "words"),))], tmp_path) == ()


def test_texts_stay_in_their_field_and_comments_on_their_line(tmp_path: Path) -> None:
    sql = "CASE WHEN `a` THEN `b\nSELECT 1` END"
    rule = TranslatedRule(
        "x", "---\nowner: b", "é: {", time=("t",), computed_columns={"k\r1": sql}, query="PATTERN (E)"
    )
    (file,) = write_rule_files([rule], tmp_path)
    document = file.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n")
    front = {"id": "x", "title": "---\nowner: b", "description": "é: {", "keys": [], "time": ["t"]}
    assert yaml.safe_load(document[0]) == front
    assert document[-1] == "-- The input needs the column k 1: CASE WHEN `a` THEN `b SELECT 1` END\nPATTERN (E)\n"


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["a", "A", "a b", "a/b"], ["a.sql", "A_2.sql", "a_b.sql", "a_b_2.sql"]),
        (
            ["../../up", "..", "", "\n", "x" * 300],
            ["up.sql", "rule.sql", "rule_2.sql", "rule_3.sql", f"{'x' * 150}.sql"],
        ),
        (["_under", "Вход", "._a_"], ["under.sql", "rule.sql", "a_.sql"]),
    ],
)
def test_names_of_files(tmp_path: Path, ids: list[str], names: list[str]) -> None:
    files = write_rule_files([TranslatedRule(id, query="PATTERN (E)") for id in ids], tmp_path)
    assert [file.name for file in files] == names
    assert {file.parent for file in files} == {tmp_path}


@pytest.mark.parametrize("id", ["_under", "Вход", ".git", "-", "a b"])
def test_the_reader_of_rule_files_finds_each_file(tmp_path: Path, id: str) -> None:
    write_rule_files([TranslatedRule(id, keys=("k",), time=("t",), query="PATTERN (E)")], tmp_path)
    found = read_folder(tmp_path)
    assert not found.problems and [rule.id for rule in found.rules] == [id]


TEXTS = st.one_of(
    st.sampled_from(
        ["1e3", "0x1F", "on", "NULL", "~", "12:30", "2024-01-31", "=", "---", "\ufeff", "\x85", "\u2028", "a\r\n"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


@settings(max_examples=examples(100))
@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3, unique=True))
def test_any_text_is_read_back(id: str, title: str, names: list[str]) -> None:
    rule = TranslatedRule(id, title, title, tags=tuple(names), keys=tuple(names), time=("t",), query="PATTERN (E)")
    document, query = split_front_matter(file_text(rule))
    problems = Problems("a.sql")
    found = read_rule_file("a.sql", document, query, problems)
    assert found is not None, [str(problem) for problem in problems.found]
    assert (found.id, found.title, found.description, found.tags, found.keys) == (
        id,
        title,
        title,
        rule.tags,
        rule.keys,
    )


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("is_there", [False, True])
def test_no_file_is_written_through_a_link(tmp_path: Path, overwrite: bool, is_there: bool) -> None:
    folder, outside = tmp_path / "rules", tmp_path / "outside.sql"
    folder.mkdir()
    if is_there:
        outside.write_text("by hand")
    (folder / "one.sql").symlink_to(outside)
    with pytest.raises(ost.QueryError, match=r"RULE_FILE_EXISTS: 'one.sql' is a link"):
        write_rule_files([RULE], folder, overwrite=overwrite)
    assert outside.exists() == is_there and (not is_there or outside.read_text() == "by hand")


def test_a_changed_file_is_kept_unless_asked(tmp_path: Path) -> None:
    (file,) = write_rule_files([RULE], tmp_path)
    assert write_rule_files([RULE], tmp_path) == (file,)
    file.write_text("by hand")
    with pytest.raises(ost.QueryError, match=r"RULE_FILE_EXISTS: the file 'one.sql'"):
        write_rule_files([TranslatedRule("zero", query="PATTERN (E)"), RULE], tmp_path)
    assert file.read_text() == "by hand" and not (tmp_path / "zero.sql").exists()
    write_rule_files([RULE], tmp_path, overwrite=True)
    assert file.read_text().startswith('---\nid: "one"\n')


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ost.QueryError, match="OUTPUT_FOLDER_MISSING"):
        write_rule_files([RULE], tmp_path / "nowhere")
