"""`max_partial_matches` counts for one rule in one bucket in one micro-batch, whatever number of keys it has."""

from __future__ import annotations

import pyarrow as pa
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

# The condition reads the run, so that the search has to try: four steps from each of 25 rows of a key.
HOSTILE = "PATTERN (A B? C) WITHIN INTERVAL '0.000010' SECOND DEFINE C AS C.x > A.x + 1000"
AB = "MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"


def keys(*names: str) -> pa.Table:
    return pa.concat_tables([rows("AAAB" * 6 + "A", key=name) for name in names])


def suspended(stream: RuleStream, table: pa.Table, until: int = 100) -> list[str]:
    output = stream.step(table, until, rule("hostile", HOSTILE), rule("pairs", AB))
    assert len(matches(output)) == 6 * len(set(table["k"].to_pylist()))
    return [row["message"] for row in of_kind(output, "rule_suspended")]


def test_a_rule_that_tries_a_little_from_many_rows_is_suspended() -> None:
    """Neither a row nor a key reaches the limit alone."""
    assert suspended(RuleStream(max_partial_matches=250), keys("p")) == []
    (message,) = suspended(RuleStream(max_partial_matches=250), keys("p", "q", "r"))
    assert message.startswith(
        "TOO_MANY_PARTIAL_MATCHES: more than 250 partial matches were tried in one bucket in one "
        "micro-batch, in the partition k = 'r', from the row with at = 1970-01-01 00:00:00.0000"
    )
    assert suspended(RuleStream(max_partial_matches=300), keys("p", "q", "r")) == []


def test_a_replay_suspends_at_the_same_row() -> None:
    messages = [suspended(RuleStream(max_partial_matches=150), keys("p", "q", "r")) for _ in range(2)]
    assert messages[0] == messages[1] != []


def test_each_micro_batch_counts_anew() -> None:
    stream = RuleStream(max_partial_matches=250)
    assert suspended(stream, keys("p")) == []
    for since in (100, 200, 300):
        output = stream.step(rows("AAAB" * 6 + "A", since), since + 50)
        assert of_kind(output, "rule_suspended") == []


def test_a_rule_may_lower_the_limit_of_the_call() -> None:
    stream = RuleStream(max_partial_matches=1_000_000)
    (suspension,) = of_kind(stream.step(keys("p"), 100, rule("r", HOSTILE, max_partial_matches=50)), "rule_suspended")
    assert "more than 50 partial matches" in suspension["message"]
