"""Keys in the state of rules, by the reason why a rule keeps them."""

from __future__ import annotations

import pyarrow as pa
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

from ostinato.rule_sets.kept_keys import kept_keys

RUNS = "PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"
RISES = "PATTERN (UP) DEFINE UP AS x > PREV(x) AND kind = 'U'"
FIRST = "PATTERN (^ A) DEFINE A AS kind = 'A'"
NUMBERED = "MEASURES MATCH_NUMBER() AS n PATTERN (A) DEFINE A AS kind = 'A'"


def reasons(stream: RuleStream) -> dict[tuple[str | None, str], tuple[int, int]]:
    """Keys and rows, by rule and reason."""
    found = kept_keys(stream.core(), stream.state, stream.rules).to_pylist()
    return {(row["rule"], row["reason"]): (row["keys"], row["rows"]) for row in found}


def three_keys() -> pa.Table:
    return pa.concat_tables([rows("AB", key="p"), rows("CA", key="q"), rows("CC", key=None)])


def test_reasons_of_each_rule() -> None:
    stream = RuleStream()
    quiet = rule("quiet", "PATTERN (C) DEFINE C AS kind = 'C'", suppress="1 hour by k")
    rules = [rule("runs", RUNS), rule("rises", RISES), rule("first", FIRST), rule("numbered", NUMBERED), quiet]
    stream.step(pa.concat_tables([three_keys(), rows("XX", 9, "r"), rows("X", 10, "p")]), 8, *rules)
    assert reasons(stream) == {
        ("runs", "open partial match"): (2, 3),
        ("rises", "PREV"): (3, 3),
        ("first", "^"): (3, 3),
        ("numbered", "MATCH_NUMBER()"): (2, 2),
        ("quiet", "suppress"): (2, 2),
        (None, "waits for the watermark"): (1, 3),
    }
    counts = stream.steps[-1].counts
    assert (counts.open_runs, counts.kept_for_prev, counts.kept_for_start, counts.kept_for_number) == (2, 3, 3, 2)


def test_a_silent_key_is_forgotten_by_all_rules() -> None:
    stream = RuleStream(forget_us=10)
    longest = "MEASURES count(*) AS n PATTERN (A B*) DEFINE A AS kind = 'A', B AS kind = 'B'"
    output = stream.step(three_keys(), 2, rule("rises", RISES), rule("longest", longest))
    assert matches(output) == []
    assert stream.steps[-1].wake_at_us == 12
    assert matches(stream.step(None, 11)) == []
    output = stream.step(rows("CU", 13, "p"), 12)
    assert sorted(match["n"] for _, _, match in matches(output)) == [1, 2]  # q and p have ended
    assert stream.steps[-1].counts.forgotten_keys == 3
    assert matches(stream.step(None, 14)) == [("rises", 1, {})]  # from the second row of the new lifetime on
    assert reasons(stream) == {("rises", "PREV"): (1, 1)}
    stream.step(None, stream.steps[-1].wake_at_us or 0)
    assert (reasons(stream), stream.steps[-1].counts.buffered_rows) == ({}, 0)


def test_a_removed_or_rejected_rule_keeps_nothing() -> None:
    stream = RuleStream(forget_us=10)
    output = stream.step(three_keys(), 2, rule("rises", RISES), rule("quiet", RUNS, suppress="1 hour by k"))
    assert [row["message"].split(":")[0] for row in of_kind(output, "rule_rejected")] == ["INVALID_SUPPRESS"]
    stream.step(None, 3, rule("rises", "", 2, enabled=False))
    assert reasons(stream) == {}
