"""The alerts of translated Sigma rules are those of a judge that reads the same rules without pySigma."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.sigma_rules.sigma_events import (
    BASE_RULES,
    CORRELATIONS,
    EVENTS,
    FILES,
    FOLDER,
    ORACLE,
    alerts_of,
    in_order,
    table_of,
    with_times,
)

import ostinato as ost
from ostinato.sigma_rules import TranslatedRule, correlation_clauses, read_sigma

TIME = ("ts", "id")
ALONE = read_sigma(FOLDER / FILES[0], time=TIME)
TOGETHER = read_sigma([FOLDER / name for name in FILES], time=TIME)


def test_all_rules_are_translated() -> None:
    assert [rule.problems for rule in (*ALONE, *TOGETHER) if rule.problems] == []
    assert [rule.id for rule in ALONE] == [rule["name"] for rule in BASE_RULES]
    used = {name for rule in CORRELATIONS for name in rule["correlation"]["rules"]}
    names = [rule["name"] for rule in (*BASE_RULES, *CORRELATIONS)]
    assert [rule.id for rule in TOGETHER] == [name for name in names if name not in used]


@given(st.lists(EVENTS, max_size=12))
@settings(max_examples=examples(25))
def test_rules_on_single_events(drawn: list[dict[str, Any]]) -> None:
    events = with_times(drawn)
    table = table_of(events)
    for rule in ALONE:
        show_id = f"{rule.query.replace('MEASURES ', 'MEASURES LAST(id) AS id, ', 1)}"
        rows = ost.match(ost.match_recognize(show_id, time=rule.time), table).to_pylist()
        assert sorted(row["id"] for row in rows) == [e["id"] for e in events if ORACLE.matches(rule.id, e)], rule.id


def check(rules: tuple[TranslatedRule, ...], drawn: list[dict[str, Any]]) -> None:
    events = with_times(drawn)
    table = table_of(events)
    for rule in rules:
        if "correlation" in ORACLE.rules[rule.id]:
            assert in_order(alerts_of(rule, table)) == in_order(ORACLE.alerts(rule.id, events)), rule.id


@given(st.lists(EVENTS, max_size=30))
@settings(max_examples=examples(20))
def test_correlations(drawn: list[dict[str, Any]]) -> None:
    check(TOGETHER, drawn)


@pytest.fixture(scope="module")
def over_the_run() -> tuple[TranslatedRule, ...]:
    """The rules with the form that large counts and many rules have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation_clauses, "MOST_STATES_COUNTED", 0)
        patch.setattr(correlation_clauses, "MOST_RULES_IN_ANY_ORDER", 0)
        rules = read_sigma([FOLDER / name for name in FILES], time=TIME)
    in_order = {rule["name"] for rule in CORRELATIONS if rule["correlation"]["type"] == "temporal_ordered"}
    return tuple(rule for rule in rules if "WITHIN" in rule.query and rule.id not in in_order)


@given(st.lists(EVENTS, max_size=30))
@settings(max_examples=examples(12))
def test_conditions_over_the_run(over_the_run: tuple[TranslatedRule, ...], drawn: list[dict[str, Any]]) -> None:
    assert all("(FIRST REST*?)?? LAST" in rule.query for rule in over_the_run)
    check(over_the_run, drawn)
