"""Correlations: numbers, timespans and aliases, what is refused, and where their conditions run."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.sigma_rules.rule_texts import COUNT, ONE, TWO, base_rule, correlation, only, problem
from tests.sigma_rules.sigma_events import FILES, FOLDER, SCHEMA

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.expressions.types import Settings
from ostinato.sigma_rules import read_sigma

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
        (f"{COUNT}: {{gte: 3, field: a}}", "SIGMA_NOT_SUPPORTED", "a field in the condition of event_count"),
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


@pytest.mark.parametrize(
    ("timespan", "seconds"),
    [("90s", 90), ("2h", 7200), ("1d", 86400), ("1w", 604800), ("1M", 2629746), ("1y", 31556952)],
)
def test_a_month_and_a_year_have_their_mean_length(timespan: str, seconds: int) -> None:
    content = f"type: event_count, rules: [one], timespan: {timespan}, condition: {{gte: 3}}"
    assert f"WITHIN INTERVAL '{seconds}' SECOND" in only(correlation(content, ONE)).query


@pytest.mark.parametrize(("condition", "least"), [("gte: 3", 3), ("gt: 3", 4), ("gte: 2.5", 3), ("gt: 2.5", 3)])
def test_the_number_with_which_a_condition_becomes_true(condition: str, least: int) -> None:
    assert f"EVENT (OTHER* EVENT){{{least - 1}}}" in only(correlation(f"{COUNT}: {{{condition}}}", ONE)).query


def test_a_correlation_says_which_of_its_rules_is_refused() -> None:
    broken = base_rule("{s: [word], condition: s}")
    found = problem(correlation(f"{COUNT}: {{gte: 3}}", broken))
    assert found.code == "SIGMA_NOT_SUPPORTED" and found.message.startswith("in the rule 'one': a keyword")


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
