"""`ost.explain` of a summary."""

from __future__ import annotations

from typing import Any

import pytest
from tests.summaries.fed_summaries import grouped

import ostinato as ost
from ostinato.explanation.summary_text import _STRATEGIES
from ostinato.summaries.language.summary_query import Strategy


def explained(expression: str = "E (H|K)* E", **options: Any) -> ost.Explanation:
    given = {"type": "kind", "time": "ts", "within": "10 minutes", "size": 100}
    return ost.explain(ost.summary(expression, **grouped({**given, **options})))


def test_the_whole_text() -> None:
    assert (
        explained(keys="account", aggregate="AVG(price)").text
        == """\
1. The summary as understood
   AVG(price) over all matches of E (H|K)* E
   types in column kind, order by ts, within 0:10:00
   SKIP TILL ANY MATCH: any later event that fits can follow; a match is a set of events
   AVG is the mean, over all matches, of the sum in a match
   one summary for each account
   events of other types are counted as arrivals, never kept

2. The automaton: 3 states; each set of events counts once
   0: E->1
   1: E->2 H->1 K->1
   2: final

3. Events kept
   At most 100 events are kept. To make room for a better one, capped drops
     the event with the lowest benefit: its matches so far, plus those expected within the window and the size
   Type probabilities are learnt from recent events: counts halve every 2,000 events.
   The time between two events is learnt in the same way.

4. Memory
   8,316 bytes for a key with 100 events, however many arrived

5. On Spark
   batch: rows are repartitioned by key; each task sorts the events of its keys and builds their summaries
   stream: keys are hashed into 16 buckets; the state store holds their summaries"""
    )


def test_every_strategy_has_words() -> None:
    assert set(_STRATEGIES) == set(Strategy)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"eviction": {"strategy": "fifo"}}, "fifo drops\n     the oldest event\n\n4."),
        ({"eviction": {"probabilities": {"E": 0.5, "H": 0.25, "K": 0.25}}}, "probabilities: E 0.5, H 0.25, K 0.25"),
        ({"eviction": {"tick": "2 seconds"}}, "one event every 0:00:02"),
        ({"within": 70, "eviction": {"tick": 0.5}}, "within 70\n"),
        ({"within": 70, "eviction": {"tick": 0.5}}, "one event every 0.5"),
        ({"event_types": {"unknown": "refuse"}}, "events of other types are an error"),
        ({"selection": "skip till next match"}, "each start has at most one match, the longest"),
        (
            {"keys": "a", "event_types": ost.EventTypes(keyed=("E",))},
            "one summary for each a; only events of type E have a key",
        ),
        (
            {"keys": "a", "event_types": ost.EventTypes(keyed=("E",))},
            "one task gets all rows, because some types belong to every key",
        ),
        ({}, "one task gets all rows, because any of them can be in one match"),
        ({"buckets": 7}, "hashed into 7 buckets"),
    ],
)
def test_settings(options: dict[str, Any], said: str) -> None:
    assert said in explained(**options).text


def test_the_picture_has_a_state_for_each_type_that_enters_one() -> None:
    svg = explained().svg
    assert svg.startswith("<svg")
    assert svg.count('class="state') == 4  # E, H and K in a loop, E again
