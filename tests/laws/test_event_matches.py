"""For every query, the kernel lists the matches of the oracle in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.event_queries.enumeration.event_matching import by_oracle, kernel_matches, listed
from tests.examples import examples
from tests.laws.declined import TRENDS, Declined
from tests.laws.event_strategies import COLUMNS, Example, Knobs, bind, event_examples
from tests.laws.trend_programs import prepared

from ostinato.event_queries.enumeration import event_buffers, event_matches
from ostinato.event_queries.enumeration.match_limits import MatchLimits

MATCHES = Knobs(aggregates=False, conjunction=False, decimals=False)
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


DECLINED = Declined(TRENDS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def difference(example: Example, limit: int | None = None) -> str | None:
    with DECLINED.example():
        ready = prepared(bind(example.text), example.rows)
    with DECLINED.oracle():
        expected = by_oracle(ready)
    DECLINED.answered(rows=bool(expected))
    if limit is not None:
        expected = {key: matches[:limit] for key, matches in expected.items()}
    actual = listed(ready, kernel_matches(ready, COLUMNS, MatchLimits(limit=limit)))
    return None if actual == expected else f"{example.text}\n  actual   {actual}\n  expected {expected}"


@given(event_examples(MATCHES))
@settings(QUIET, max_examples=examples(150))
def test_the_matches_are_those_of_the_oracle(example: Example) -> None:
    assert difference(example) is None


@pytest.mark.slow
@given(event_examples(MATCHES, 10))
@settings(QUIET, max_examples=examples(500))
def test_the_matches_are_those_of_the_oracle_deeply(example: Example) -> None:
    assert difference(example) is None


@given(event_examples(MATCHES), st.integers(1, 4), st.booleans())
@settings(QUIET, max_examples=examples(150))
def test_a_limit_returns_the_first_matches(example: Example, limit: int, by_end: bool) -> None:
    """`by_end`: blocks count as too large to be listed, so that the engine searches by the end times of matches."""
    with pytest.MonkeyPatch.context() as patch:
        if by_end:
            patch.setattr(event_matches, "SMALL_BLOCK", 0)
        assert difference(example, limit) is None


@given(event_examples(MATCHES))
@settings(QUIET, max_examples=examples(100))
def test_no_match_is_lost_when_buffers_grow(example: Example) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_MATCHES", "FIRST_ROWS", "FIRST_DEPTH"):
            patch.setattr(event_buffers, name, 1)
        assert difference(example) is None
