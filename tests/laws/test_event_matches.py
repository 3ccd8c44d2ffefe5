"""The matches that the kernel lists are those of the oracle, in their order, whatever the query."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.event_queries.enumeration.event_matching import by_oracle, kernel_matches, listed
from tests.examples import examples
from tests.laws.event_strategies import COLUMNS, DECLINED, Example, Knobs, bind, event_examples
from tests.laws.trend_programs import prepared

from ostinato.errors import QueryError
from ostinato.event_queries.enumeration import event_buffers, event_matches
from ostinato.event_queries.enumeration.match_limits import MatchLimits

MATCHES = Knobs(aggregates=False, conjunction=False, decimals=False)
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


def difference(example: Example, limit: int | None = None) -> str | None:
    try:
        ready = prepared(bind(example.text), example.rows)
    except QueryError as error:
        assert error.code in DECLINED, error
        assume(False)
    expected = by_oracle(ready)
    event("matches" if expected else "none")
    if limit is not None:
        expected = {key: matches[:limit] for key, matches in expected.items()}
    got = listed(ready, kernel_matches(ready, COLUMNS, MatchLimits(limit=limit)))
    return None if got == expected else f"{example.text}\n  gives   {got}\n  instead {expected}"


@given(event_examples(MATCHES))
@settings(QUIET, max_examples=examples(150))
def test_the_matches_are_those_of_the_oracle(example: Example) -> None:
    assert difference(example) is None


@pytest.mark.slow
@given(event_examples(MATCHES, 10))
@settings(QUIET, max_examples=examples(500))
def test_the_matches_are_those_of_the_oracle_for_long(example: Example) -> None:
    assert difference(example) is None


@given(event_examples(MATCHES), st.integers(1, 4), st.booleans())
@settings(QUIET, max_examples=examples(150))
def test_a_limit_takes_the_first(example: Example, limit: int, by_end: bool) -> None:
    """Also where blocks are too large to be listed, and matches are found by the times of their ends."""
    with pytest.MonkeyPatch.context() as patch:
        if by_end:
            patch.setattr(event_matches, "SMALL_BLOCK", 0)
        assert difference(example, limit) is None


@given(event_examples(MATCHES))
@settings(QUIET, max_examples=examples(100))
def test_nothing_is_lost_when_room_is_made(example: Example) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_MATCHES", "FIRST_ROWS", "FIRST_DEPTH"):
            patch.setattr(event_buffers, name, 1)
        assert difference(example) is None
