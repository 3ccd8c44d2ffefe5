"""`ost.explain` of a summary."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato.explanation.summary_text import _STRATEGIES
from ostinato.summaries.language.summary_query import Strategy


def explained(expression: str = "E (H|K)* E", **options: Any) -> ost.Explanation:
    given = {"type": "kind", "order_by": "ts", "within": "10 minutes", "size": 100}
    return ost.explain(ost.summary(expression, **{**given, **options}))


def test_the_whole_text() -> None:
    assert (
        explained(partition_by="account", aggregate="AVG(price)").text
        == """\
1. The summary as understood
   AVG(price) over all matches of E (H|K)* E
   types in column kind, order by ts, within 0:10:00
   SKIP TILL ANY MATCH: any later event that fits may follow; a match is a set of events
   AVG is the mean sum of a match
   one summary for each account
   events of other types are seen, never kept
2. The automaton: 3 states, each set of events counts once
   0: E->1
   1: E->2 H->1 K->1
   2: final
3. What is kept
   at most 100 events; when a better one comes, this gives way (capped):
     the lowest benefit: matches so far, and those to come within the window as far as there is room
   types are as probable as they were lately: counts halve after 2,000 events
   the time between two events is learnt in the same way
4. Memory
   8,316 bytes for a key that keeps 100 events, whatever it has seen
5. On Spark
   batch: rows are repartitioned by key; a task orders its keys' events and keeps their summaries
   stream: keys are hashed into 64 buckets, whose summaries lie in the state store"""
    )


def test_every_strategy_has_words() -> None:
    assert set(_STRATEGIES) == set(Strategy)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strategy": "fifo"}, "this gives way (fifo):\n     the oldest\n4."),
        ({"probabilities": {"E": 0.5, "H": 0.25, "K": 0.25}}, "probabilities: E 0.5, H 0.25, K 0.25"),
        ({"tick": "2 seconds"}, "an event comes every 0:00:02"),
        ({"within": 70, "tick": 0.5}, "within 70\n"),
        ({"within": 70, "tick": 0.5}, "an event comes every 0.5"),
        ({"unknown_types": "refuse"}, "events of other types are an error"),
        ({"selection": "skip till next match"}, "each start has at most one match, its longest"),
        ({"partition_by": "a", "keyed_types": ("E",)}, "one summary for each a, on which E agree"),
        ({"partition_by": "a", "keyed_types": ("E",)}, "one task has all rows, as some types belong to every key"),
        ({}, "one task has all rows, as all of them may stand in one match"),
        ({"buckets": 7}, "hashed into 7 buckets"),
    ],
)
def test_settings(options: dict[str, Any], said: str) -> None:
    assert said in explained(**options).text


def test_the_picture_has_a_state_for_each_type_that_enters_one() -> None:
    svg = explained().svg
    assert svg.startswith("<svg")
    assert svg.count('class="state') == 4  # E, H and K in a loop, E again
