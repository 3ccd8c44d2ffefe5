"""Rules that are read together: files, ids, metadata, options, and how rules refer to each other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
from sigma.processing.transformations import FieldMappingTransformation
from tests.sigma_rules.rule_texts import COUNT, ONE, TWO, base_rule, condition, correlation, only, problem

import ostinato as ost
from ostinato.sigma_rules import read_sigma


def test_a_rule_that_a_correlation_uses_raises_alerts_only_with_generate() -> None:
    silent, aloud = (correlation(f"{COUNT}: {{gte: 3}}{more}", ONE, TWO) for more in ("", ", generate: true"))
    assert [rule.id for rule in read_sigma(silent)] == ["two", "together"]
    assert [rule.id for rule in read_sigma(aloud)] == ["one", "two", "together"]


def test_metadata() -> None:
    rule = only(
        "title: 'A  title: with colon'\nid: 5f2c7c38-5ac0-4a45-9d2f-1bb0a3b7d7b5\nname: named\nlevel: critical\n"
        "author: Ann\ndescription: |\n  Two\n  lines\ntags: [attack.t1110, attack.credential-access]\n"
        "logsource: {category: x}\ndetection: {s: {Name: x, name: y, TS: 1}, condition: s}\n"
    )
    assert (rule.id, rule.title) == ("5f2c7c38-5ac0-4a45-9d2f-1bb0a3b7d7b5", "A title: with colon")
    assert (rule.severity, rule.owner, rule.description) == ("critical", "Ann", "Two\nlines\n")
    assert rule.tags == ("attack.t1110", "attack.credential-access")
    assert (rule.keys, rule.time, rule.columns, rule.source) == ((), ("ts",), ("ts", "Name"), "")


def test_a_rule_without_id_and_name_is_named_after_its_title() -> None:
    assert only(ONE.replace("name: one\n", "")).id == "rule-one"


def test_two_rules_with_one_id_or_name() -> None:
    first, second = read_sigma(f"{ONE}---\n{ONE}")
    assert first.query and [found.code for found in second.problems] == ["SIGMA_DUPLICATE"]


def test_a_folder_is_read_in_order_of_names_and_a_broken_file_is_alone(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "b.yml").write_bytes(b"title: \xff\n")
    (tmp_path / "deeper" / "c.yaml").write_text(TWO)
    (tmp_path / "a.yml").write_text(ONE)
    (tmp_path / "notes.txt").write_text("not a rule")
    rules = read_sigma(tmp_path)
    assert [(rule.id, Path(rule.source).name, bool(rule.query)) for rule in rules] == [
        ("one", "a.yml", True),
        ("b", "b.yml", False),
        ("two", "c.yaml", True),
    ]


def test_files_that_arent_read(tmp_path: Path) -> None:
    folder, outside = tmp_path / "rules", tmp_path / "outside.yml"
    folder.mkdir()
    outside.write_text(ONE)
    (folder / "inside.yml").write_text(TWO)
    for name, target in (("out", outside), ("none", tmp_path / "none"), ("circle", folder / "circle.yml")):
        (folder / f"{name}.yml").symlink_to(target)
    (folder / "more").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.yml")
    (folder / "long.yml").write_text("#" * (1 << 22) + "\n")
    told = {Path(rule.source).stem: [problem.code for problem in rule.problems] for rule in read_sigma(folder)}
    refused = ["SIGMA_INVALID"]
    assert told == {"inside": [], **dict.fromkeys(("out", "none", "circle", "pipe", "long"), refused)}
    (tmp_path / "link.yml").symlink_to(outside)
    assert [rule.id for rule in read_sigma(tmp_path / "link.yml")] == ["one"]  # the call names it


def test_a_path_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ost.QueryError, match="INPUT_MISSING"):
        read_sigma(tmp_path / "nowhere")


def test_an_anchor_that_grows_is_refused() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))]
    assert "too many nodes" in problem("\n".join(["title: bomb", *lines]) + "\n").message


@pytest.mark.parametrize(
    "text",
    [
        f"title: {'[' * 100_000}\n",
        f"x:\n  {'- ' * 500}1\n",
        base_rule(f"{{s: {{a: 1}}, condition: '{'not ' * 900}s'}}"),
    ],
)
def test_texts_that_nest_too_deeply(text: str) -> None:
    assert problem(text).code == "TOO_DEEP"


# --- options ----------------------------------------------------------------------------------------------------------


def test_the_log_source_is_tested_where_a_column_is_named() -> None:
    detection = "{s: {a: 1}, condition: s}"
    assert condition(detection, logsource={"category": "kind", "service": "unit"}) == (
        "((lower(`kind`) = lower('Process')) AND (`a` = 1))"
    )
    with pytest.raises(ost.QueryError, match="did you mean 'category'"):
        condition(detection, logsource={"categry": "kind"})


def test_a_pipeline_renames_fields_of_rules_and_of_correlations() -> None:
    pipeline = ProcessingPipeline([ProcessingItem(FieldMappingTransformation({"a": "column_a", "user": "account"}))])
    text = correlation(f"{COUNT}: {{gte: 2}}, group-by: [user]", ONE)
    rule = only(text, pipeline=pipeline)
    assert (rule.keys, rule.columns) == (("account",), ("account", "ts", "column_a"))


def test_filters_apply_to_the_rules_that_they_name() -> None:
    known = "title: Known\nlogsource: {category: Process, product: linux}\n"
    content = "filter: {rules: [one], s: {b: 5}, condition: not s}\n"
    first, second = read_sigma("---\n".join([ONE, TWO, known + content]), time="ts")
    assert first.query.endswith("EVENT AS ((`a` = 1) AND (NOT ((`b` = 5) IS TRUE)))")
    assert second.query.endswith("EVENT AS (`a` = 2)")


def test_time_may_be_several_columns() -> None:
    (rule,) = read_sigma(ONE, time=["ts", "id"])
    assert rule.time == ("ts", "id") and rule.columns == ("ts", "id", "a")
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        read_sigma(ONE, time=[])


def test_without_pysigma_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.sigma_rules.sigma_reader.find_spec", lambda name: None)
    with pytest.raises(ost.EnvironmentFault, match=r"EXTRA_MISSING.*\n.*ostinato\[sigma\]"):
        read_sigma(ONE)
