"""Event queries in process give what the oracle gives, on random queries over random small tables."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings
from tests.laws.event_comparison import differing
from tests.laws.event_strategies import (
    AGGREGATES_ONLY,
    DECLINED,
    MATCHES_ONLY,
    Example,
    bind,
    event_examples,
)

from ostinato.errors import QueryError
from ostinato.predicates.types import Settings
from ostinato.reference.trend_matches import TooManyRuns
from ostinato.runtimes.event_queries import events
from ostinato.runtimes.local_events import match_events


def check(example: Example) -> None:
    try:
        found = match_events(events(example.text), example.table, Settings()).to_pylist()
    except QueryError as error:
        if error.code not in DECLINED:
            raise
        event(f"declined: {error.code}")
        assume(False)
    try:
        difference = differing(bind(example.text), example.rows, found)
    except TooManyRuns:
        event("the oracle gives up")
        assume(False)
    assert difference is None, f"{example.text}\n{example.rows}\n{difference}"


@given(event_examples(AGGREGATES_ONLY))
def test_aggregates(example: Example) -> None:
    check(example)


@given(event_examples(MATCHES_ONLY))
def test_matches(example: Example) -> None:
    check(example)


@pytest.mark.slow
@settings(max_examples=600)
@given(event_examples(AGGREGATES_ONLY))
def test_aggregates_deeply(example: Example) -> None:
    check(example)


@pytest.mark.slow
@settings(max_examples=600)
@given(event_examples(MATCHES_ONLY))
def test_matches_deeply(example: Example) -> None:
    check(example)
