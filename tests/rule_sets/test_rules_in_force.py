"""The change log -> the rules in force, however the log is split into steps."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.rule_sets.rule_streams import LETTERS, rule

from ostinato.rule_sets.declaration import Declaration, RuleLimits
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_set import RuleSet, rules_from_bytes, rules_to_bytes
from ostinato.rule_sets.rules_in_force import MOST_REJECTED, MOST_RULES_WITH_REJECTED, Applied, RuleBook

A, B = "PATTERN (A) DEFINE A AS kind = 'A'", "PATTERN (B) DEFINE B AS kind = 'B'"
BROKEN = "PATTERN (A"
BOOK = RuleBook(Declaration(("k",), ("at",), LETTERS))


def apply(rules: RuleSet, *changes: RuleChange, book: RuleBook = BOOK) -> Applied:
    """One step, after which the rules are read from their bytes."""
    applied = book.apply(rules, [change.to_json() for change in changes])
    assert rules_from_bytes(rules_to_bytes(applied.rules)) == applied.rules
    return applied


def in_force(rules: RuleSet) -> dict[str, int]:
    return {name: record.change.version for name, record in rules.records.items() if record.change.enabled}


def codes(applied: Applied) -> list[tuple[str | None, int | None, str]]:
    return [(rejection.rule, rejection.version, rejection.error.code) for rejection in applied.rejected]


@st.composite
def logs(draw: st.DrawFn) -> list[RuleChange]:
    """Up to three rules, each with up to four versions: right, wrong, or a removal."""
    contents = st.lists(st.sampled_from([A, B, BROKEN, None]), min_size=1, max_size=4)
    return [
        rule(id, text or "", version, enabled=text is not None)
        for id in "rst"[: draw(st.integers(1, 3))]
        for version, text in enumerate(draw(contents), 1)
    ]


@given(logs(), st.data())
def test_the_rules_in_force_depend_on_the_log_alone(log: list[RuleChange], data: st.DataObject) -> None:
    """Not on its order, on duplicates, or on its steps. A wrong version is reported once at most."""
    more = data.draw(st.lists(st.sampled_from(log), max_size=4))
    arrived = data.draw(st.permutations([*log, *more]))
    rules, reported = RuleSet(), Counter[tuple[str | None, int | None, str]]()
    while arrived:
        count = data.draw(st.integers(1, len(arrived)))
        applied = apply(rules, *arrived[:count])
        rules, arrived = applied.rules, arrived[count:]
        reported.update(codes(applied))
    decided = {change.id: change for change in sorted(log, key=lambda change: change.version) if change.text != BROKEN}
    assert in_force(rules) == {name: change.version for name, change in decided.items() if change.enabled}
    above = [
        each
        for each in log
        if each.text == BROKEN and (each.id not in decided or each.version > decided[each.id].version)
    ]
    assert reported.keys() >= {(each.id, each.version, "SYNTAX_ERROR") for each in above}
    assert set(reported.values()) <= {1}


def test_a_wrong_version_leaves_the_one_before_in_force_also_if_both_come_at_once() -> None:
    applied = apply(RuleSet(), rule("r", A), rule("r", BROKEN, 2))
    assert (in_force(applied.rules), codes(applied)) == ({"r": 1}, [("r", 2, "SYNTAX_ERROR")])
    applied = apply(apply(RuleSet(), rule("r", BROKEN, 2)).rules, rule("r", A))
    assert (in_force(applied.rules), codes(applied)) == ({"r": 1}, [])


def test_a_rejected_version_has_another_content() -> None:
    rules = apply(RuleSet(), rule("r", A), rule("r", BROKEN, 2)).rules
    assert apply(rules, rule("r", BROKEN, 2)) == Applied(rules)
    corrected = apply(rules, rule("r", B, 2))
    assert (in_force(corrected.rules), codes(corrected)) == ({"r": 1}, [("r", 2, "RULE_VERSION_EXISTS")])
    assert in_force(apply(corrected.rules, rule("r", B, 3)).rules) == {"r": 3}


def test_two_contents_of_one_version() -> None:
    applied = apply(RuleSet(), rule("r", A), rule("r", B))
    assert (in_force(applied.rules), codes(applied)) == ({"r": 1}, [("r", 1, "RULE_VERSION_EXISTS")])
    assert applied.rules == apply(RuleSet(), rule("r", B), rule("r", A)).rules


def test_a_rule_may_take_the_place_of_another_in_one_step() -> None:
    book = RuleBook(Declaration(("k",), ("at",), LETTERS, limits=RuleLimits(max_rules=1)))
    rules = apply(RuleSet(), rule("z", A), book=book).rules
    assert codes(apply(rules, rule("a", A), book=book)) == [("a", 1, "TOO_MANY_RULES")]
    applied = apply(rules, rule("a", A), rule("z", "", 2, enabled=False), book=book)
    assert (in_force(applied.rules), codes(applied)) == ({"a": 1}, [])
    assert in_force(apply(applied.rules, rule("a", B, 2), book=book).rules) == {"a": 2}


def test_a_log_of_mistakes_leaves_little_in_the_state() -> None:
    wrong = [rule(f"r{number}", BROKEN, version) for number in range(1_100) for version in range(1, 3)]
    versions = [rule("a", BROKEN, version) for version in range(1, 20)]
    rules = apply(RuleSet(), *wrong, *versions).rules
    assert len(rules.rejected) == MOST_RULES_WITH_REJECTED
    assert list(rules.rejected["a"]) == list(range(19, 19 - MOST_REJECTED, -1))
