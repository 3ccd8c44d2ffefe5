"""Alerts worked out by hand. Each word is an event, one a minute: the rules a, b and c match the events with their
letters, and `.` is an event that no rule matches."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from tests.sigma_rules.rule_texts import base_rule

import ostinato as ost
from ostinato.sigma_rules import read_sigma

NOON = datetime(2025, 1, 1, 12)
COUNT = "type: event_count, rules: [a], timespan"
VALUES = "type: value_count, rules: [a], timespan"
BOTH = "type: temporal, rules: [a, b], timespan"
ALL = "type: temporal, rules: [a, b, c], timespan"
ORDER = "type: temporal_ordered, rules: [a, b], timespan"


def minutes(length: timedelta) -> int:
    return int(length.total_seconds() // 60)


def alerts(content: str, events: str) -> list[tuple[int, int, int]]:
    """First and last minute and number of events of each alert, by the translated rule."""
    rules = [base_rule(f"{{s: {{word|contains: {letter}}}, condition: s}}", letter) for letter in "abc"]
    text = "---\n".join([*rules, f"title: x\nname: x\ncorrelation: {{{content}}}\n"])
    rule = next(rule for rule in read_sigma(text, time="ts") if rule.id == "x")
    words = events.split()
    table = pa.table({"ts": [NOON + timedelta(minutes=minute) for minute in range(len(words))], "word": words})
    found = ost.match(ost.match_recognize(rule.query, time="ts"), table).to_pylist()
    return [(minutes(row["began"] - NOON), minutes(row["ended"] - NOON), row["events"]) for row in found]


@pytest.mark.parametrize(
    ("content", "events", "expected"),
    [
        # an alert comes with the event that completes it, and uses up its events
        (f"{COUNT}: 5m, condition: {{gte: 3}}", "a a a a a a a a a a", [(0, 2, 3), (3, 5, 3), (6, 8, 3)]),
        (f"{COUNT}: 5m, condition: {{gt: 3}}", "a a a a a", [(0, 3, 4)]),
        # the window slides: no border of a bin cuts it, other events lie between, the whole timespan counts
        (f"{COUNT}: 4m, condition: {{gte: 3}}", ". . . a . a . a", [(3, 7, 3)]),
        (f"{COUNT}: 3m, condition: {{gte: 3}}", ". . . a . a . a", []),
        (f"{COUNT}: 3m, condition: {{gte: 3}}", "a . . a a . a a", [(3, 6, 3)]),  # the first one is too old
        (f"{COUNT}: 1m, condition: {{gte: 1}}", "a . a a", [(0, 0, 1), (2, 2, 1), (3, 3, 1)]),
        # different values: repeats don't count, and case makes a difference
        (f"{VALUES}: 9m, condition: {{gte: 3, field: word}}", "a a ab a abc", [(0, 4, 5)]),
        (f"{VALUES}: 9m, condition: {{gte: 3, field: word}}", "a A Ab b ab", [(0, 2, 3)]),
        (f"{VALUES}: 2m, condition: {{gte: 2, field: word}}", "a . . a ab", [(3, 4, 2)]),
        # any order; one event can match all rules
        (f"{BOTH}: 5m", "b . a b", [(0, 2, 2)]),
        (f"{BOTH}: 5m", "ab a ab", [(0, 0, 1), (1, 2, 2)]),
        (f"{BOTH}: 1m", "a . b a", [(2, 3, 2)]),
        (f"{ALL}: 9m", "a c a . b c", [(0, 4, 4)]),
        (f"{ALL}: 9m, condition: {{gte: 2}}", "a a c b a", [(0, 2, 3), (3, 4, 2)]),
        (f"{ALL}: 9m, condition: a and (b or c)", "b c a a", [(0, 2, 3)]),
        ("type: temporal, timespan: 9m, condition: a and b", "b c a", [(0, 2, 2)]),
        # in order: different events, and the earliest first step that is near enough
        (f"{ORDER}: 5m", "b a b b", [(1, 2, 2)]),
        (f"{ORDER}: 5m", "ab", []),
        (f"{ORDER}: 5m", "ab ab ab", [(0, 1, 2)]),
        (f"{ORDER}: 2m", "a . a . b", [(2, 4, 2)]),
        (f"{ORDER}: 5m", "a a b b", [(0, 2, 3)]),
    ],
)
def test_alerts(content: str, events: str, expected: list[tuple[int, int, int]]) -> None:
    assert alerts(content, events) == expected
