"""Sigma rules read one by one: the text of each condition, what is refused, and how rules refer to each other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
from sigma.processing.transformations import FieldMappingTransformation
from tests.sigma_rules.sigma_events import FILES, FOLDER, SCHEMA

import ostinato as ost
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.expressions.types import Settings
from ostinato.sigma_rules import Problem, TranslatedRule, read_sigma


def base_rule(detection: str, name: str = "one") -> str:
    return (
        f"title: Rule {name}\nname: {name}\nlogsource: {{category: Process, product: linux}}\ndetection: {detection}\n"
    )


def correlation(content: str, *rules: str) -> str:
    return "---\n".join([*rules, f"title: Together\nname: together\ncorrelation: {{{content}}}\n"])


def only(text: str, **options: object) -> TranslatedRule:
    (rule,) = read_sigma(text, time="ts", **options)  # type: ignore[arg-type]
    return rule


def condition(detection: str, **options: object) -> str:
    """The condition of a rule with one selection, or the problem."""
    rule = only(base_rule(detection), **options)
    return rule.query.split("EVENT AS ")[1] if rule.query else str(rule.problems[0])


def problem(text: str) -> Problem:
    rule = only(text)
    assert rule.query == ""
    return rule.problems[0]


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
        ("a|windash: -x", "((lower(`a`) = lower('-x')) OR (lower(`a`) = lower('/x'))"),
        ("a|base64: x", "(lower(`a`) = lower('eA=='))"),
        ("process.name: x", "(lower(`process.name`) = lower('x'))"),
    ],
)
def test_a_field_and_its_value(test: str, written: str) -> None:
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    assert condition(f"{{s: {{{test}}}, condition: s}}").startswith(written.replace("OCTET", octet))


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


ONE, TWO = base_rule("{s: {a: 1}, condition: s}"), base_rule("{s: {a: 2}, condition: s}", "two")
COUNT = "type: event_count, rules: [one], timespan: 5m, condition"
VALUES = "type: value_count, rules: [one], timespan: 5m, condition"
BOTH = "type: temporal, rules: [one, two], timespan: 5m, condition"
IN_ORDER = "type: temporal_ordered, rules: [one, two], timespan: 5m, condition"
THREE = "timespan: 5m, condition: {gte: 3}"
ALIAS = f"{COUNT}: {{gte: 3}}, group-by: [u], aliases"


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (f"{COUNT}: {{eq: 3}}", "SIGMA_NOT_SUPPORTED", "the condition eq"),
        (f"{COUNT}: {{lt: 3}}", "SIGMA_NOT_SUPPORTED", "the condition lt"),
        (f"{COUNT}: {{lte: 3}}", "SIGMA_NOT_SUPPORTED", "the condition lte"),
        (f"{COUNT}: {{neq: 3}}", "SIGMA_NOT_SUPPORTED", "the condition neq"),
        (f"{COUNT}: {{gte: 0}}", "SIGMA_NOT_SUPPORTED", "the condition gte 0"),
        (f"{COUNT}: {{gte: 99999999999}}", "SIGMA_NOT_SUPPORTED", "a count of"),
        (f"{COUNT}: {{gte: 3, lte: 5}}", "SIGMA_INVALID", "exactly one"),
        (f"{COUNT}: {{gte: 3}}, window: tumbling", "SIGMA_NOT_SUPPORTED", "'window'"),
        ("type: event_count, rules: [one], timespan: 200y, condition: {gte: 3}", "SIGMA_NOT_SUPPORTED", "timespan"),
        ("type: event_count, rules: [one], timespan: 5 min, condition: {gte: 3}", "SIGMA_INVALID", "imespan"),
        (f"type: event_count, rules: [0], {THREE}", "SIGMA_INVALID", "by texts"),
        (f"type: event_count, rules: [three], {THREE}", "SIGMA_RULE_MISSING", "three"),
        (f"type: event_count, rules: [together], {THREE}", "SIGMA_NOT_SUPPORTED", "a correlation of correlations"),
        (
            "type: value_sum, rules: [one], timespan: 5m, condition: {gte: 3, field: a}",
            "SIGMA_NOT_SUPPORTED",
            "value_sum",
        ),
        (f"{VALUES}: {{gte: 3, field: [a, b]}}", "SIGMA_NOT_SUPPORTED", "2 fields"),
        (f"{VALUES}: {{gte: 3}}", "SIGMA_INVALID", "field"),
        (f"{BOTH}: one and not two", "SIGMA_NOT_SUPPORTED", "NOT"),
        (f"{BOTH}: {{gte: 3}}", "SIGMA_NOT_SUPPORTED", "3 of 2 rules"),
        (f"{IN_ORDER}: {{gte: 1}}", "SIGMA_NOT_SUPPORTED", "temporal_ordered"),
        (f"{IN_ORDER}: one and two", "SIGMA_NOT_SUPPORTED", "words"),
        (f"{COUNT}: {{gte: 3}}, group-by: [events]", "DUPLICATE_COLUMN", "'events'"),
        (f"{ALIAS}: {{u: {{two: b}}}}", "SIGMA_INVALID", "no field for the rule 'one'"),
        (f"{ALIAS}: {{u: {{three: b}}}}", "SIGMA_RULE_MISSING", "'three'"),
    ],
)
def test_refused_correlations(content: str, code: str, words: str) -> None:
    rules = {rule.id: rule for rule in read_sigma(correlation(content, ONE, TWO), time="ts")}
    (found,) = rules["together"].problems if "together" in rules else rules["one"].problems
    assert (found.code, words in found.message) == (code, True), found


def test_a_correlation_says_which_of_its_rules_is_refused() -> None:
    broken = base_rule("{s: [word], condition: s}")
    found = problem(correlation(f"{COUNT}: {{gte: 3}}", broken))
    assert found.code == "SIGMA_NOT_SUPPORTED" and found.message.startswith("in the rule 'one': a keyword")


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


def test_a_path_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ost.QueryError, match="INPUT_MISSING"):
        read_sigma(tmp_path / "nowhere")


def test_an_anchor_that_grows_is_refused() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))]
    assert "too many nodes" in problem("\n".join(["title: bomb", *lines]) + "\n").message


def test_a_condition_that_nests_too_deeply() -> None:
    deep = base_rule(f"{{s: {{a: 1}}, condition: '{'not ' * 400}s'}}")
    assert problem(deep).code in ("TOO_DEEP", "SIGMA_INVALID")


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


# --- aliases ----------------------------------------------------------------------------------------------------------


def aliased(name: str, field: str, other: str = "b", key: str = "u") -> str:
    fields = f"{{one: {field}, two: {other}}}"
    content = f"{{type: temporal, rules: [one, two], group-by: [{key}], timespan: 5m, aliases: {{{key}: {fields}}}}}"
    return f"title: {name}\nname: {name}\ncorrelation: {content}\n"


def test_one_alias_has_one_column_and_another_sql_has_another_name() -> None:
    rules = read_sigma("---\n".join([ONE, TWO, aliased("x", "c"), aliased("y", "c"), aliased("z", "d")]), time="ts")
    assert [rule.keys for rule in rules] == [("u",), ("u",), ("u_2",)]
    assert rules[0].computed_columns == {"u": "CASE WHEN (`a` = 1) THEN `c` WHEN (`a` = 2) THEN `b` END"}
    assert rules[0].columns == ("ts", "a", "c", "b")


def test_a_computed_column_never_hides_a_column_of_the_input() -> None:
    (rule,) = read_sigma("---\n".join([ONE, TWO, aliased("x", "c", key="A")]), time="ts")
    assert rule.keys == ("A_2",)


def test_an_alias_of_one_field_is_this_field() -> None:
    (rule,) = read_sigma("---\n".join([ONE, TWO, aliased("x", "b")]), time="ts")
    assert (rule.keys, rule.computed_columns) == (("b",), {})


# --- what runs --------------------------------------------------------------------------------------------------------


def test_kernels_evaluate_all_conditions_over_the_run() -> None:
    for rule in read_sigma([FOLDER / name for name in FILES], time=("ts", "id")):
        schema = pa.schema([*SCHEMA, *(pa.field(name, pa.string()) for name in rule.computed_columns)])
        keys = f"PARTITION BY {', '.join(rule.keys)} " if rule.keys else ""
        plan = make_plan(bind(parse_clause(f"{keys}ORDER BY ts, id {rule.query}"), schema.names))
        assert EvaluatedPlan(plan, schema, Settings(), Limits()).typed.general is None, rule.id
